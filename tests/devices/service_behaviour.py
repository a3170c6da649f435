"""What clients and members get to see of listeners, pools, members and monitors, whatever the device: each driver's
tests run this unchanged.

A driver's tests subclass :class:`ServiceBehaviour` and give a fixture ``site``: a device with a data plane. What its
table of capabilities lacks is skipped.
"""

import asyncio
import contextlib
import os
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Protocol

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.capabilities import Capabilities, definition_problems
from evenkeel.core.devices.device import Observation, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import SessionPersistence, Vip
from tests.devices.plain_http import LIMIT_SECONDS, ask
from tests.devices.services import listener, member, monitor, pool, service, vip
from tests.listening import StreamServer
from tests.services.process import free_port
from tests.waiting import eventually

VIP = "10.1.0.2"
SIX = Vip(address="::1", subnet_id="s-6", network_id="n", port_id="p")
"""The only address of IPv6 that every host has."""
SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")


class Site(Protocol):
    """A device under test, with a data plane."""

    table: Capabilities

    async def apply(self, service: ServiceDefinition) -> PartitionOutcome:
        """Make the load balancer so."""
        ...

    async def observe(self) -> Observation:
        """Statuses and statistics, as the device tells them."""
        ...

    def place(self, address: str, port: int) -> tuple[str, int]:
        """Where clients find a port of a VIP."""
        ...


# -- who answers, and who asks


class Server:
    """Answers with its name and a cookie of its own; remembers how each connection began."""

    def __init__(self, name: str, address: str = "127.0.0.1") -> None:
        self.name = name
        self.address = address
        self.port = 0
        self.heard: list[bytes] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, self.address, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def keep_port(self) -> None:
        """Move to a port that the kernel gives to nobody else while this one is away."""
        await self.stop()
        self.port = free_port()
        await self.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            begun = await reader.readuntil(b"\r\n\r\n")
            if begun == SIGNATURE[:4]:  # of the PROXY protocol, version 2
                begun += await reader.readuntil(b"\r\n\r\n")
            if b" /check" not in begun:
                self.heard.append(begun)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.name)}\r\nSet-Cookie: SESSION={self.name}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n{self.name}".encode())
            await writer.drain()
        writer.close()


def members(servers: tuple[Server, ...], *changes: dict[str, Any]) -> Any:
    """The servers as members. ``changes``: of each, in order."""
    padded = (*changes, *({} for _ in servers[len(changes) :]))
    return tuple(
        member(place=place, address=server.address, protocol_port=server.port, **change)
        for place, (server, change) in enumerate(zip(servers, padded, strict=True), 1)
    )


def sticky(kind: Any, cookie_name: str | None = None) -> SessionPersistence:
    return SessionPersistence(type=kind, cookie_name=cookie_name)


def checked(**changes: Any) -> Any:
    """A monitor that finds out soon that nobody is there; who is there may take its time to answer: members answer in
    this process, which may stand still for a while."""
    return monitor(
        **{"delay": 1, "timeout": 10, "max_retries": 1, "max_retries_down": 1, "url_path": "/check", **changes}
    )


class Clients:
    """Clients of one load balancer."""

    def __init__(self, site: Site) -> None:
        self.site = site

    async def apply(self, definition: ServiceDefinition) -> None:
        """Make it so, or skip where the device type cannot."""
        for problem in definition_problems(self.site.table, definition):
            pytest.skip(problem)
        outcome = await self.site.apply(definition)
        assert not [one.error for one in outcome.outcomes if one.error]

    async def ask(self, *headers: str, port: int = 80, at: str = VIP) -> tuple[str, str]:
        """Head and body of one answer on a connection of its own; nothing if it was refused."""
        return await ask(self.site.place(at, port), "/", *headers)

    async def bodies(self, count: int, *headers: str) -> Counter[str]:
        return Counter([(await self.ask(*headers))[1] for _ in range(count)])

    async def statuses(self) -> dict[str, str]:
        return {one.id: one.status.value for one in (await self.site.observe()).statuses}

    async def until(self, **expected: str) -> None:
        """Wait for statuses, by ids with ``_`` for ``-``."""
        wanted = {name.replace("_", "-"): status for name, status in expected.items()}

        async def so() -> bool:
            return (await self.statuses()).items() >= wanted.items()

        await eventually(so)


class Datagrams(asyncio.DatagramProtocol):
    """A member that answers datagrams with its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.transport.sendto(self.name.encode(), addr)


_used_ports: set[int] = set()


def _from_a_new_port(where: tuple[str, int]) -> socket.socket:
    """A socket for datagrams to an address. What comes from a port that was used before may belong to a flow that the
    kernel still has, and goes to that flow's member.
    """
    while True:
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        own.setblocking(False)
        own.connect(where)
        if (port := own.getsockname()[1]) not in _used_ports:
            _used_ports.add(port)
            return own
        own.close()


async def exchange(where: tuple[str, int]) -> str:
    """The answer to a datagram from a port of its own; datagrams may be lost."""
    loop = asyncio.get_running_loop()
    with _from_a_new_port(where) as own:
        for _ in range(30):
            try:
                await loop.sock_sendall(own, b"ask")
                async with asyncio.timeout(1):
                    return (await loop.sock_recv(own, 100)).decode()
            except TimeoutError:
                continue
            except OSError:
                return ""
    return ""


class ServiceBehaviour:
    """Unchanged for every driver."""

    @pytest.fixture
    def clients(self, site: Site) -> Clients:
        return Clients(site)

    @pytest.fixture
    async def servers(self) -> AsyncIterator[tuple[Server, ...]]:
        made = tuple(Server(f"member-1-{place}") for place in (1, 2, 3))
        for server in made:
            await server.start()
        yield made
        for server in made:
            await server.stop()

    @pytest.fixture
    async def server_of_ipv6(self) -> AsyncIterator[Server]:
        """The fourth member."""
        made = Server("member-1-4", "::1")
        await made.start()
        yield made
        await made.stop()

    def one_pool(self, servers: tuple[Server, ...], *changes: dict[str, Any], **of_pool: Any) -> ServiceDefinition:
        fields = {"members": members(servers, *changes), "monitor": None, **of_pool}
        return service(pools=(pool(**fields),))

    # -- algorithms

    @pytest.mark.parametrize(
        ("algorithm", "spread"), [("ROUND_ROBIN", True), ("SOURCE_IP", False), ("SOURCE_IP_PORT", True)]
    )
    @pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
    async def test_algorithms_spread_one_client(
        self, clients: Clients, servers: tuple[Server, ...], algorithm: str, spread: bool, protocol: str
    ) -> None:
        made = pool(protocol=protocol, lb_algorithm=algorithm, members=members(servers), monitor=None)
        await clients.apply(service(listeners=(listener(protocol=protocol),), pools=(made,)))
        assert (len(await clients.bodies(40)) > 1) is spread

    @pytest.mark.parametrize("algorithm", ["ROUND_ROBIN", "SOURCE_IP_PORT"])
    async def test_weights_divide_the_clients(
        self, clients: Clients, servers: tuple[Server, ...], algorithm: str
    ) -> None:
        weights = ({"weight": 1}, {"weight": 200}, {"weight": 0})
        await clients.apply(self.one_pool(servers, *weights, lb_algorithm=algorithm))
        found = await clients.bodies(40)
        assert set(found) <= {"member-1-1", "member-1-2"} and found["member-1-2"] > 30

    @pytest.mark.parametrize("weights", [(1, 1), (1, 3)])
    async def test_the_member_with_the_fewest_connections_is_next(
        self, clients: Clients, servers: tuple[Server, ...], weights: tuple[int, int]
    ) -> None:
        place = members(servers[:2], *({"weight": weight} for weight in weights))
        made = pool(protocol="TCP", lb_algorithm="LEAST_CONNECTIONS", members=place, monitor=None)
        await clients.apply(service(listeners=(listener(protocol="TCP"),), pools=(made,)))
        kept = []
        try:
            for _ in range(sum(weights)):
                reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
                kept.append((reader, writer))
                total = len(kept)

                async def counted(total: int = total) -> bool:
                    (only,) = (await clients.site.observe()).statistics
                    return only.statistics.active_connections == total

                await eventually(counted)
            names = []
            for reader, writer in kept:
                writer.write(b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
                async with asyncio.timeout(LIMIT_SECONDS):
                    names.append((await reader.read()).rpartition(b"\r\n\r\n")[2].decode())
            assert Counter(names) == {"member-1-1": weights[0], "member-1-2": weights[1]}
        finally:
            for _, writer in kept:
                writer.transport.abort()

    # -- persistence

    @pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
    async def test_cookies_keep_clients_with_their_member(
        self, clients: Clients, servers: tuple[Server, ...], protocol: str
    ) -> None:
        made = self.one_pool(servers, protocol=protocol, session_persistence=sticky("HTTP_COOKIE"))
        await clients.apply(replace(made, listeners=(listener(protocol=protocol),)))
        head, body = await clients.ask()
        cookies = re.findall(r"set-cookie: ([^;\r]*)", head, re.IGNORECASE)
        (ours,) = (cookie for cookie in cookies if not cookie.startswith("SESSION="))
        assert len(await clients.bodies(9)) == 3
        assert set(await clients.bodies(9, f"Cookie: {ours}")) == {body}

    async def test_the_members_own_cookie_keeps_clients_with_it(
        self, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        persistence = sticky("APP_COOKIE", "SESSION")
        await clients.apply(self.one_pool(servers, session_persistence=persistence))
        assert len(await clients.bodies(9)) == 3
        for name in ("member-1-1", "member-1-2", "member-1-3"):
            assert set(await clients.bodies(6, f"Cookie: other=1; SESSION={name}")) == {name}
        assert len(await clients.bodies(9, "Cookie: OTHER=member-1-2")) == 3

    async def test_one_address_stays_with_its_member(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        await clients.apply(self.one_pool(servers, session_persistence=sticky("SOURCE_IP")))
        assert len(await clients.bodies(9)) == 1

    # -- admission

    @pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
    async def test_only_allowed_clients_get_in(
        self, clients: Clients, servers: tuple[Server, ...], protocol: str
    ) -> None:
        def allowed(*cidrs: str) -> ServiceDefinition:
            pools = (pool(members=members(servers), monitor=None),)
            return service(listeners=(listener(protocol=protocol, allowed_cidrs=cidrs),), pools=pools)

        await clients.apply(allowed("10.0.0.0/8"))
        assert set(await clients.bodies(3)) == {""}
        await clients.apply(allowed("10.0.0.0/8", "127.0.0.0/8"))
        assert "" not in await clients.bodies(3)
        await clients.apply(allowed())
        assert "" not in await clients.bodies(3)

    async def test_a_listener_at_its_limit_is_degraded(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        pools = (pool(protocol="TCP", members=members(servers), monitor=None),)
        await clients.apply(service(listeners=(listener(protocol="TCP", connection_limit=1),), pools=pools))
        _, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        await clients.until(listener_1="DEGRADED")
        writer.transport.abort()

        async def online_again() -> bool:
            return (await clients.statuses())["listener-1"] == "ONLINE" and bool((await clients.ask())[1])

        await eventually(online_again)

    async def test_every_address_of_a_load_balancer_answers(
        self, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        pools = (pool(members=members(servers), monitor=None),)
        more = (vip(77), vip(78))
        await clients.apply(service(pools=pools, additional_vips=more))
        everywhere = (VIP, *(each.address for each in more))
        for at in everywhere:
            assert (await clients.ask(at=at))[1] in {server.name for server in servers}

        async def counted() -> bool:
            seen = await clients.site.observe()
            online = {one.id: one.status.value for one in seen.statuses}["listener-1"] == "ONLINE"
            return online and [one.statistics.total_connections for one in seen.statistics] == [len(everywhere)]

        await eventually(counted)
        await clients.apply(service(pools=pools, additional_vips=more[:1]))
        assert await clients.ask(at=more[1].address) == ("", "")
        assert (await clients.ask(at=more[0].address))[1]

    @pytest.mark.parametrize("first", [4, 6])
    async def test_addresses_of_both_families_answer_for_members_of_both_and_each_comes_and_goes(
        self, clients: Clients, servers: tuple[Server, ...], server_of_ipv6: Server, first: int
    ) -> None:
        mine, other = (vip(77), SIX) if first == 4 else (SIX, vip(77))
        port = 1000 + os.getpid() % 1000
        everyone = (*servers, server_of_ipv6)

        async def served_at(*addresses: str) -> None:
            changed = service(
                vip=mine,
                additional_vips=tuple(each for each in (other,) if each.address in addresses),
                listeners=(listener(protocol_port=port),),
                pools=(pool(members=members(everyone), monitor=checked()),),
            )
            await clients.apply(changed)
            for each in (mine.address, other.address):
                found = {(await clients.ask(port=port, at=each))[1] for _ in everyone}
                assert found == ({server.name for server in everyone} if each in addresses else {""})

        await served_at(mine.address)
        await clients.until(lb_1="ONLINE", **{f"member_1_{place + 1}": "ONLINE" for place in range(len(everyone))})
        await served_at(mine.address, other.address)
        await served_at(mine.address)
        await served_at(mine.address, other.address)

    # -- what members are told

    async def test_members_are_informed_about_the_client(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        headers = {"X-Forwarded-For": "true", "X-Forwarded-Port": "true", "X-Forwarded-Proto": "true"}
        pools = (pool(members=members(servers[:1]), monitor=None),)
        await clients.apply(service(listeners=(listener(insert_headers=headers),), pools=pools))
        await clients.ask("X-Forwarded-Proto: forged")
        heard = servers[0].heard[-1].decode().lower().replace('"', "")
        assert "x-forwarded-for: 127." in heard and "x-forwarded-port: 80\r\n" in heard
        assert "x-forwarded-proto: http\r\n" in heard and "forged" not in heard

    @pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
    @pytest.mark.parametrize("version", ["PROXY", "PROXYV2"])
    async def test_members_may_be_told_by_the_proxy_protocol(
        self, clients: Clients, servers: tuple[Server, ...], protocol: str, version: str
    ) -> None:
        pools = (pool(protocol=version, members=members(servers[:1]), monitor=None),)
        await clients.apply(service(listeners=(listener(protocol=protocol),), pools=pools))
        assert (await clients.ask())[1] == "member-1-1"
        where, port = clients.site.place(VIP, 80)
        heard = servers[0].heard[-1]
        if version == "PROXY":
            assert re.match(rf"PROXY TCP4 127\.[0-9.]+ {re.escape(where)} [0-9]+ {port}\r\nGET / ", heard.decode())
            return
        assert heard.startswith(SIGNATURE + b"\x21\x11")
        size = int.from_bytes(heard[14:16])
        addresses = heard[16 : 16 + size]
        assert addresses[:1] == b"\x7f" and addresses[4:8] == socket.inet_aton(where)
        assert int.from_bytes(addresses[10:12]) == port and heard[16 + size :].startswith(b"GET / ")

    # -- states

    async def test_admin_down_at_every_level(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        def with_(**changes: Any) -> ServiceDefinition:
            return replace(self.one_pool(servers), **changes)

        await clients.apply(with_())
        assert len(await clients.bodies(9)) == 3
        await clients.apply(self.one_pool(servers, {}, {}, {"admin_state_up": False}))
        assert set(await clients.bodies(9)) == {"member-1-1", "member-1-2"}
        await clients.apply(self.one_pool(servers, admin_state_up=False))
        head, body = await clients.ask()
        assert body not in {server.name for server in servers} and (not head or "503" in head)
        await clients.apply(with_(listeners=(listener(admin_state_up=False),)))
        assert await clients.ask() == ("", "")
        await clients.apply(with_(admin_state_up=False))
        assert await clients.ask() == ("", "")
        await clients.apply(with_())
        assert len(await clients.bodies(9)) == 3

    async def test_a_member_of_weight_0_gets_no_new_clients(
        self, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        await clients.apply(self.one_pool(servers, {"weight": 0}))
        assert set(await clients.bodies(9)) == {"member-1-2", "member-1-3"}
        assert (await clients.statuses())["member-1-1"] == "DRAINING"

    async def test_a_draining_member_that_fails_its_checks_is_in_error(
        self, clients: Clients, servers: tuple[Server, ...]
    ) -> None:
        await servers[0].keep_port()
        await clients.apply(self.one_pool(servers, {"weight": 0}, monitor=checked()))
        await clients.until(member_1_1="DRAINING", member_1_2="ONLINE", pool_1="ONLINE")
        await servers[0].stop()
        await clients.until(member_1_1="ERROR", pool_1="DEGRADED")
        await servers[0].start()
        await clients.until(member_1_1="DRAINING", pool_1="ONLINE")

    async def test_backup_members_serve_when_no_other_can(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        backups = ({}, {"backup": True}, {"backup": True})
        await servers[0].keep_port()
        await clients.apply(self.one_pool(servers, *backups, monitor=checked()))
        await clients.until(member_1_1="ONLINE", member_1_2="ONLINE", member_1_3="ONLINE")
        assert set(await clients.bodies(6)) == {"member-1-1"}  # settled: traffic follows the status that is shown
        await servers[0].stop()
        await clients.until(member_1_1="ERROR")
        # settled: traffic follows the status that is shown
        assert set(await clients.bodies(9)) == {"member-1-2", "member-1-3"}

    # -- monitors

    @pytest.mark.parametrize("type_", ["HTTP", "TCP"])
    async def test_a_member_that_dies_gets_no_clients(
        self, clients: Clients, servers: tuple[Server, ...], type_: Any
    ) -> None:
        await servers[0].keep_port()
        await clients.apply(self.one_pool(servers, monitor=checked(type=type_)))
        every = {"member_1_1": "ONLINE", "member_1_2": "ONLINE", "member_1_3": "ONLINE"}
        await clients.until(lb_1="ONLINE", pool_1="ONLINE", **every)
        await servers[0].stop()
        await clients.until(member_1_1="ERROR", pool_1="DEGRADED", lb_1="DEGRADED")
        # settled: traffic follows the status that is shown
        assert set(await clients.bodies(9)) == {"member-1-2", "member-1-3"}
        await servers[0].start()
        await clients.until(lb_1="ONLINE", **every)
        assert len(await clients.bodies(9)) == 3  # settled: traffic follows the status that is shown

    @pytest.mark.parametrize("later", [None, {"admin_state_up": False}])
    async def test_members_that_a_monitor_found_down_serve_once_it_is_gone(
        self, clients: Clients, servers: tuple[Server, ...], later: dict[str, Any] | None
    ) -> None:
        wrong = {"type": "HTTP", "expected_codes": "418"}
        await clients.apply(self.one_pool(servers, monitor=checked(**wrong)))
        await clients.until(member_1_1="ERROR", member_1_2="ERROR", member_1_3="ERROR")
        without = self.one_pool(servers, monitor=None if later is None else checked(**wrong, **later))
        await clients.apply(replace(without, revision=2))
        await clients.until(member_1_1="NO_MONITOR", member_1_2="NO_MONITOR", member_1_3="NO_MONITOR")
        assert len(await clients.bodies(9)) == 3  # settled: without a monitor all are used

    async def test_an_unexpected_code_is_no_success(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        await clients.apply(self.one_pool(servers, monitor=checked(expected_codes="201-299,404")))
        await clients.until(member_1_1="ERROR", member_1_2="ERROR", pool_1="ERROR")
        await clients.apply(replace(self.one_pool(servers, monitor=checked(expected_codes="404,200-204")), revision=2))
        await clients.until(member_1_1="ONLINE", member_1_2="ONLINE", pool_1="ONLINE")

    async def test_members_may_be_checked_elsewhere(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        watched = Server("watched")
        await watched.keep_port()
        elsewhere: tuple[dict[str, Any], ...] = (
            {"monitor_port": watched.port},
            {"monitor_address": "127.0.0.1", "monitor_port": watched.port},
        )
        await clients.apply(self.one_pool(servers, *elsewhere, monitor=checked()))
        await clients.until(member_1_1="ONLINE", member_1_2="ONLINE", member_1_3="ONLINE")
        await watched.stop()
        await clients.until(member_1_1="ERROR", member_1_2="ERROR", member_1_3="ONLINE")
        assert set(await clients.bodies(6)) == {"member-1-3"}  # settled: traffic follows the status that is shown

    @pytest.mark.parametrize("version", ["PROXY", "PROXYV2"])
    async def test_checks_begin_as_members_expect_it(
        self, clients: Clients, servers: tuple[Server, ...], version: str
    ) -> None:
        begun: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                begun.append(await reader.readexactly(12))
                if begun[-1].startswith(b"PROXY " if version == "PROXY" else SIGNATURE):
                    await reader.readuntil(b"/check")
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    await writer.drain()
            writer.close()

        server = await StreamServer.start(serve)
        place = member(address="127.0.0.1", protocol_port=server.port)
        made = pool(protocol=version, members=(place,), monitor=checked())
        await clients.apply(service(pools=(made,)))
        await clients.until(member_1_1="ONLINE")
        assert begun  # settled: a check that succeeds has begun
        server.close()

    # -- datagrams

    @pytest.fixture
    async def datagrams(self) -> AsyncIterator[tuple[Any, ...]]:
        """Two members that answer datagrams."""
        loop = asyncio.get_running_loop()
        made = [
            await loop.create_datagram_endpoint(lambda place=place: Datagrams(f"datagrams-{place}"), ("127.0.0.1", 0))
            for place in (1, 2)
        ]
        yield tuple(
            member(place=place, address="127.0.0.1", protocol_port=found.port)
            for place, (_, found) in enumerate(made, 1)
        )
        for transport, _ in made:
            transport.close()

    async def test_datagrams_reach_members_and_their_answers_the_client(
        self, clients: Clients, datagrams: tuple[Any, ...]
    ) -> None:
        def wanted(*cidrs: str, **changes: Any) -> ServiceDefinition:
            made = pool(protocol="UDP", members=datagrams, monitor=None, **changes)
            return service(listeners=(listener(protocol="UDP", allowed_cidrs=cidrs),), pools=(made,))

        where = clients.site.place(VIP, 80)
        await clients.apply(wanted())
        # a device may choose at random: of 40 at least one reaches each, but for one time in 10^11
        assert {await exchange(where) for _ in range(40)} == {"datagrams-1", "datagrams-2"}
        await clients.apply(wanted(session_persistence=sticky("SOURCE_IP")))
        assert len({await exchange(where) for _ in range(8)}) == 1
        await clients.apply(wanted("127.0.0.0/8", lb_algorithm="SOURCE_IP"))
        assert len({await exchange(where) for _ in range(8)}) == 1
