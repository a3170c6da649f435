"""Our API in-process, with what the table's requests need to be there."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from msgspec.structs import replace

from evenkeel.api.app import create_app
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.core.kit.ids import ProjectId
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.live import InstantAgent
from tests.api.stores import started_store
from tests.api.subnet import SUBNET

BASE = "/neutron/v2.0"
OTHERS = replace(
    SUBNET,
    id="5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a02",
    network_id="7a2f3c3e-9f61-4b0a-8a8e-6d1c5a8f0b03",
    name="private",
    cidr="10.12.0.0/16",
    gateway_ip="10.12.0.1",
    allocation_start="10.12.0.10",
    allocation_end="10.12.255.200",
    project_id=ProjectId("proj-c"),
)
KNOWN: Mapping[str, str] = {
    "subnet": bodies.SUBNET_ID,
    "network": SUBNET.network_id,
    "others_subnet": OTHERS.id,
    "others_network": OTHERS.network_id,
    "bare_network": "7a2f3c3e-9f61-4b0a-8a8e-6d1c5a8f0b04",
    "agent": "instant",
}


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of our API, whose load balancers become ACTIVE at once."""
    async with started_store(folder) as store:
        await store.operators.add_subnet(OTHERS)
        agent = InstantAgent(store)
        await agent.register()
        app = create_app(
            store=store,
            network=BuiltinNetwork(store.operators),
            driver=agent,
            default_provider="dev",
            identity=TrustedHeaders(),
        )
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:
            yield http
