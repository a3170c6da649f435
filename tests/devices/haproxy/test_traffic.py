"""What clients and members get to see, through real HAProxys: what every device does, and what is HAProxy's own."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from itertools import product
from typing import Any

import pytest

from evenkeel.core.devices.device import Observation, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from tests.devices.haproxy.features import one_pool, tcp
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Clients, Server, ServiceBehaviour, checked, members, sticky
from tests.devices.services import batch, listener, member, pool, service, vip

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


class SlowServer(Server):
    """Answers after 2 seconds: after a check's time-out of 1 s, and before the next check."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2)
        await super()._serve(reader, writer)


class TestHaproxyServices(ServiceBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> HaproxySite:
        return HaproxySite(rig)

    async def test_an_address_is_no_others(
        self, site: HaproxySite, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        pools = (pool(members=members(servers), monitor=None),)
        await clients.apply(service(pools=pools, additional_vips=(vip(77), vip(78))))
        assert await clients.ask(at="10.1.0.99") == ("", "")
        outcome = await site.apply(service(2, vip=vip(78)))
        assert [bool(one.error) for one in outcome.outcomes] == [True]

    async def test_a_member_may_be_a_vip_of_the_same_host(
        self, site: HaproxySite, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        back = service(2, vip=vip(77), pools=(pool(2, members=members(servers[:1]), monitor=None),))
        await site.owner.apply(batch(back))
        address, port = site.place(vip(77).address, 80)
        chained = (member(3, 1, address=address, protocol_port=port),)
        await clients.apply(service(pools=(pool(members=chained, monitor=checked()),)))
        assert {name for _, name in [await clients.ask() for _ in range(5)]} == {servers[0].name}
        await clients.until(member_3_1="ONLINE")

    async def test_listeners_of_two_modes_share_a_pool(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        listeners = (listener(1), tcp(2, default_pool_id="pool-1", protocol_port=81))
        await clients.apply(service(listeners=listeners, pools=(pool(members=members(servers), monitor=None),)))
        assert (await clients.ask())[1] and (await clients.ask(port=81))[1]

    async def test_a_member_that_dies_is_reported(
        self, site: HaproxySite, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        await servers[0].keep_port()
        await clients.apply(service(pools=(pool(members=members(servers), monitor=checked()),)))
        await clients.until(lb_1="ONLINE")
        await servers[0].stop()
        async with asyncio.timeout(LIMIT_SECONDS):
            await site.owner.wait_for_change()
        # what changed first may have been another one, that was checked while this process was slow
        await clients.until(member_1_1="ERROR", pool_1="DEGRADED", lb_1="DEGRADED")

    async def test_a_member_that_answers_checks_after_their_timeout_is_in_error_beside_others(
        self, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        slow = SlowServer("slow")
        await slow.start()
        try:
            each = members((*servers, slow))
            await clients.apply(service(pools=(pool(members=each, monitor=checked(delay=3, timeout=1)),)))
            await clients.until(member_1_4="ERROR")
        finally:
            await slow.stop()

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


class Breaking(Server):
    """Ends each connection after it has received a request, without an answer."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.transport.abort()


@pytest.fixture
def refusing() -> Iterator[int]:
    """A port that refuses connections and that the kernel gives to nobody else."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Server, Server]]:
    made = Server("member-1-1"), Server("member-1-2")
    for server in made:
        await server.start()
    yield made
    for server in made:
        await server.stop()


class TestMembersThatRefuseConnections:
    """Without a monitor nothing takes such a member out of service."""

    @pytest.fixture
    def clients(self, rig: HaproxyRig) -> Clients:
        return Clients(HaproxySite(rig))

    async def test_requests_are_answered_by_a_member_that_accepts_them(
        self, clients: Clients, servers: tuple[Server, ...], refusing: int
    ) -> None:
        algorithms = ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT")
        kinds = list(enumerate(product(("HTTP", "TCP"), algorithms), 1))
        listeners = [
            listener(place, protocol=protocol, protocol_port=80 + place, default_pool_id=f"pool-{place}")
            for place, (protocol, _) in kinds
        ]
        pools = [
            pool(place, protocol=protocol, lb_algorithm=algorithm, monitor=None, members=_two(place, servers, refusing))
            for place, (protocol, algorithm) in kinds
        ]
        await clients.apply(service(listeners=tuple(listeners), pools=tuple(pools)))
        for place, kind in kinds:
            asked = [
                ask(clients.site.place(VIP, 80 + place), "/", source=f"127.0.0.{client}") for client in range(2, 8)
            ]
            assert {body for _, body in await asyncio.gather(*asked)} == {servers[0].name}, kind

    @pytest.mark.parametrize("kind", ["HTTP_COOKIE", "APP_COOKIE"])
    async def test_a_client_bound_by_a_cookie_is_given_another_member(
        self, clients: Clients, servers: tuple[Server, ...], kind: str
    ) -> None:
        await servers[0].keep_port()
        name = "SESSION" if kind == "APP_COOKIE" else None
        persistent = pool(members=members(servers), monitor=None, session_persistence=sticky(kind, name))
        await clients.apply(service(pools=(persistent,)))
        cookie = ""
        while not cookie:
            head, body = await clients.ask()
            if body == servers[0].name:
                cookie = _cookie(head, name or "SRV")
        await servers[0].stop()
        head, body = await clients.ask(f"Cookie: {cookie}")
        assert body == servers[1].name
        again = _cookie(head, name or "SRV")
        assert (await clients.ask(f"Cookie: {again}"))[1] == servers[1].name

    @pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
    async def test_a_client_bound_by_its_address_is_given_another_member_and_stays_there(
        self, clients: Clients, servers: tuple[Server, ...], protocol: str
    ) -> None:
        for server in servers:
            await server.keep_port()
        places = members(servers)
        persistent = pool(protocol=protocol, members=places, monitor=None, session_persistence=sticky("SOURCE_IP"))
        await clients.apply(service(listeners=(listener(protocol=protocol),), pools=(persistent,)))
        bound, other = servers if (await clients.ask())[1] == servers[0].name else reversed(servers)
        await bound.stop()
        assert (await clients.ask())[1] == other.name
        await bound.start()
        assert set(await clients.bodies(4)) == {other.name}

    @pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
    async def test_a_request_that_a_member_has_received_is_not_repeated(
        self, clients: Clients, servers: tuple[Server, ...], protocol: str
    ) -> None:
        breaking = Breaking("member-1-1")
        await breaking.start()
        pools = (pool(protocol=protocol, members=members((breaking, servers[1])), monitor=None),)
        await clients.apply(service(listeners=(listener(protocol=protocol),), pools=pools))
        asked = [await clients.ask(f"X-Number: {number}") for number in range(6)]
        assert [body == servers[1].name for _, body in asked].count(True) == len(servers[1].heard) == 3
        assert len(breaking.heard) == 3
        await breaking.stop()


def _two(place: int, servers: tuple[Server, ...], refusing: int) -> Any:
    """Two members of a pool, one of which refuses."""
    ports = servers[0].port, refusing
    return tuple(member(place, number, address="127.0.0.1", protocol_port=port) for number, port in enumerate(ports, 1))


def _cookie(head: str, name: str) -> str:
    found = re.search(rf"(?i)^set-cookie: ({name}=[^;\r]+)", head, re.MULTILINE)
    assert found is not None
    return found[1]
