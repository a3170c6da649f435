"""The same small cloud behind each network driver: one network of project ``p1`` with an IPv4 subnet."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from openstack.connection import Connection

from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Network
from evenkeel.core.resources.model import Subnet
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.network.neutron.client import NeutronClient
from evenkeel.network.neutron.driver import NeutronNetwork
from tests.network.claims import Claims
from tests.network.conftest import session_to

CIDR = "10.77.0.0/24"


class World:
    """A driver over that cloud."""

    def __init__(
        self,
        driver: Network,
        network_id: str,
        subnet_id: str,
        project_id: str,
        claims: Claims,
        device_ports: Claims | None = None,
    ) -> None:
        self.driver = driver
        self.network_id = network_id
        self.subnet_id = subnet_id
        self.project_id = project_id
        self.claims = claims
        self.device_ports = device_ports or Claims()

    async def plan(self, **wanted: Any) -> VipPlan:
        """A VIP for a new load balancer of the project, unless told otherwise."""
        nothing = dict.fromkeys(("subnet_id", "network_id", "port_id", "address"))
        new = {"project_id": self.project_id, "load_balancer_id": str(uuid4())}
        return await self.driver.plan_vip(**{**nothing, **new, **wanted})


class Pools:
    """The store's subnets."""

    def __init__(self, *subnets: Subnet) -> None:
        self._subnets = subnets

    async def subnets(self) -> tuple[Subnet, ...]:
        return self._subnets


@asynccontextmanager
async def builtin_world(_request: pytest.FixtureRequest) -> AsyncIterator[World]:
    subnet = Subnet(
        id=str(uuid4()),
        network_id=str(uuid4()),
        cidr=CIDR,
        name=f"pool-{uuid4()}",
        gateway_ip="10.77.0.1",
        allocation_start="10.77.0.2",
        allocation_end="10.77.0.254",
        project_id="p1",
    )
    yield World(BuiltinNetwork(Pools(subnet)), subnet.network_id, subnet.id, "p1", Claims())


@asynccontextmanager
async def neutron_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    url: str = request.getfixturevalue("neutron_url")
    session = session_to(url)
    operator = Connection(session=session).network
    project = uuid4().hex
    network = operator.create_network(name=f"net-{project}", project_id=project)
    subnet = operator.create_subnet(
        network_id=network.id, ip_version=4, cidr=CIDR, name=f"pool-{project}", project_id=project
    )
    claims, device_ports = Claims(), Claims()
    driver = NeutronNetwork(NeutronClient(session), claims, device_ports, timeout_seconds=60.0)
    yield World(driver, network.id, subnet.id, project, claims, device_ports)
    driver.close()
    for port in operator.ports(network_id=network.id):
        operator.delete_port(port)
    operator.delete_network(network)


WORLDS: dict[str, Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[World]]] = {
    "builtin": builtin_world,
    "neutron": neutron_world,
}
