"""What clients and members get to see, through real HAProxys: what every device does, and what is HAProxy's own."""

import asyncio

import pytest

from evenkeel.core.device import Observation, PartitionOutcome
from evenkeel.core.service import ServiceDefinition
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from tests.devices.haproxy.features import one_pool, tcp
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.service_behaviour import Clients, Server, ServiceBehaviour, checked, members
from tests.devices.services import batch, listener, pool, service, vip

LIMIT_SECONDS = 60.0


class HaproxySite:
    """One HAProxy, as clients and an agent see it."""

    table = CAPABILITIES

    def __init__(self, rig: HaproxyRig) -> None:
        self.rig = rig
        self.owner = rig.owner()

    async def apply(self, service: ServiceDefinition) -> PartitionOutcome:
        outcome: PartitionOutcome = await self.owner.apply(batch(service))
        return outcome

    async def observe(self) -> Observation:
        found: Observation = await self.owner.observe()
        return found

    def place(self, address: str, port: int) -> tuple[str, int]:
        return self.rig.box.moved(address, port)


class TestHaproxyServices(ServiceBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> HaproxySite:
        return HaproxySite(rig)

    async def test_an_address_is_nobody_elses(
        self, site: HaproxySite, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        pools = (pool(members=members(servers), monitor=None),)
        await clients.apply(service(pools=pools, additional_vips=(vip(77), vip(78))))
        assert await clients.ask(at="10.1.0.99") == ("", "")
        outcome = await site.apply(service(2, vip=vip(78)))
        assert [bool(one.error) for one in outcome.outcomes] == [True]

    async def test_listeners_of_two_modes_share_a_pool(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        listeners = (listener(1), tcp(2, default_pool_id="pool-1", protocol_port=81))
        await clients.apply(service(listeners=listeners, pools=(pool(members=members(servers), monitor=None),)))
        assert (await clients.ask())[1] and (await clients.ask(port=81))[1]

    async def test_a_member_that_dies_is_told(
        self, site: HaproxySite, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        await servers[0].keep_port()
        await clients.apply(service(pools=(pool(members=members(servers), monitor=checked()),)))
        await clients.until(lb_1="ONLINE")
        await servers[0].stop()
        async with asyncio.timeout(LIMIT_SECONDS):
            await site.owner.changed()
        # what changed first may have been another one, that was checked while this process was slow
        await clients.until(member_1_1="ERROR", pool_1="DEGRADED", lb_1="DEGRADED")

    async def test_connections_are_counted(
        self, site: HaproxySite, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        await clients.apply(one_pool(members=members(servers), monitor=None))
        await clients.bodies(5)
        (found,) = (await site.observe()).statistics
        assert found.listener_id == "listener-1" and found.statistics.total_connections == 5
        assert found.statistics.bytes_in and found.statistics.bytes_out
        used = await site.owner.capacity(["tenant_count", "node_count"])
        assert used == {"tenant_count": 1.0, "node_count": 1.0}
