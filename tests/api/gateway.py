"""The API behind a gateway in the same process: callers are who the headers say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from evenkeel.api.app import create_app
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.core.ports import Network, Store
from evenkeel.core.protocol.messages import Register
from evenkeel.core.resources.statuses import HaType
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.personas import ADMIN, PROJECT
from tests.api.requests_of import Known

AGENT_ID = "agent-1"


async def join(store: Store, agent_id: str, group_number: int) -> None:
    """Let an agent of this device group join."""
    await store.ownership.register(
        Register(
            agent_id=agent_id,
            session_id=f"session of {agent_id}",
            environment="dev",
            group_number=group_number,
            host=f"host of {agent_id}",
            device_driver="noop",
            ha_type=HaType.STANDALONE,
        ),
        ttl_seconds=3600.0,
    )


@asynccontextmanager
async def gateway(store: Store, network: Network | None = None) -> AsyncIterator[Client]:
    """A client of the API with one agent. ``network``: the built-in one unless told otherwise."""
    await join(store, AGENT_ID, 1)
    app = create_app(
        store=store,
        network=network or BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        identity=TrustedHeaders(),
    )
    async with Client.of(app) as client:
        yield client


async def catalogue(client: Client) -> dict[str, str]:
    """The ids of a new flavor and a new availability zone, and of their profiles."""
    profile, zone = {"name": "profile", "provider_name": "dev"}, f"zone-{uuid4()}"

    async def new(path: str, name: str, body: dict[str, Any]) -> Any:
        return (await client.post(path, {name: body}, headers=ADMIN.headers))[name]

    flavors = await new("/flavorprofiles", "flavorprofile", {**profile, "flavor_data": "{}"})
    zones = {**profile, "availability_zone_data": "{}"}
    zones = await new("/availabilityzoneprofiles", "availability_zone_profile", zones)
    flavor = await new("/flavors", "flavor", {"name": f"flavor-{uuid4()}", "flavor_profile_id": flavors["id"]})
    wanted = {"name": zone, "availability_zone_profile_id": zones["id"]}
    await new("/availabilityzones", "availability_zone", wanted)
    return {"flavor": flavor["id"], "flavor_profile": flavors["id"], "zone": zone, "zone_profile": zones["id"]}


async def made(client: Client, project_id: str = PROJECT, **attributes: Any) -> Known:
    """A new load balancer of the project with everything below it, made by the administrator."""
    body = bodies.populated(project_id=project_id, **attributes)
    answer = await client.post("/loadbalancers", body, headers=ADMIN.headers)
    root = answer["loadbalancer"]
    (pool,) = root["pools"]
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"}
    judged = {"listener_id": root["listeners"][0]["id"], "action": "REJECT", "rules": [rule]}
    policy = (await client.post("/l7policies", {"l7policy": judged}, headers=ADMIN.headers))["l7policy"]
    limited = {"listener_id": root["listeners"][0]["id"], "action": "DENY"}
    limit = (await client.post("/ratelimitpolicies", {"ratelimitpolicy": limited}, headers=ADMIN.headers))[
        "ratelimitpolicy"
    ]
    counted = {"metric": "REQUESTS", "threshold": 50}
    rules = f"/ratelimitpolicies/{limit['id']}/rules"
    rate = (await client.post(rules, {"rule": counted}, headers=ADMIN.headers))["rule"]
    return Known(
        rate_limit_policy=limit["id"],
        rate_limit_rule=rate["id"],
        load_balancer=root["id"],
        listener=root["listeners"][0]["id"],
        pool=pool["id"],
        member=pool["members"][0]["id"],
        monitor=pool["healthmonitor"]["id"],
        agent=AGENT_ID,
        l7policy=policy["id"],
        l7rule=policy["rules"][0]["id"],
        **await catalogue(client),
    )
