"""TCP through the kernel: connections in network namespaces, members that leave, die and drain."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.balancer import DatagramBalancer
from evenkeel.haproxyd.layer4.drains import DrainFile, add_draining_servers, draining_after_change, has_expired_server
from evenkeel.haproxyd.layer4.elements import FlowTarget, VirtualService
from evenkeel.haproxyd.ports import PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.lab import CLIENT, CLIENTS, PORT, VIP, Lab, in_namespace, ip

SERVICE = VirtualService(protocol="tcp", address=VIP, port=PORT)
ONE, TWO = (FlowTarget(address=f"10.91.0.{number}", port=5000) for number in (1, 2))


class Answering:
    """A TCP server that answers each line with its name and the client's address."""

    def __init__(self, lab: Lab, number: int) -> None:
        self.name, self.address = f"m{number}", f"10.91.0.{100 + number}"
        self._lab = lab
        self._server: asyncio.Server | None = None
        self._open: list[asyncio.StreamWriter] = []

    @property
    def peer(self) -> tuple[str, int]:
        """The client of the newest connection, as the member sees it."""
        address, port = self._open[-1].get_extra_info("peername")
        return address, port

    async def start(self) -> wire.BackendServer:
        ip("-n", self._lab.servers, "address", "replace", f"{self.address}/24", "dev", "eth0")

        def listening() -> socket.socket:
            return socket.create_server((self.address, 5000))

        opened = in_namespace(self._lab.servers, listening)
        self._server = await asyncio.start_server(self._serve, sock=opened)
        return wire.BackendServer(name=self.name, address=self.address, port=5000)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        with contextlib.suppress(ConnectionError):
            while await reader.readline():
                writer.write(f"{self.name} {writer.get_extra_info('peername')[0]}\n".encode())
        writer.close()

    def refuse(self) -> None:
        """Accept no more connections."""
        if self._server is not None:
            self._server.close()

    def close(self) -> None:
        self.refuse()
        for writer in self._open:  # those of which no packet told the end
            writer.close()


class Connection:
    """A client's connection to the VIP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self) -> str:
        """The name of the member that answers; ``reset`` if the connection ended."""
        try:
            self._writer.write(b"question\n")
            async with asyncio.timeout(10):
                return (await self._reader.readline()).decode().partition(" ")[0] or "reset"
        except ConnectionError:
            return "reset"

    @property
    def source(self) -> tuple[str, int]:
        """The client's address and port."""
        address, port = self._writer.get_extra_info("sockname")
        return address, port

    def close(self) -> None:
        self._writer.close()


async def connect(lab: Lab) -> Connection | str:
    """One more connection, or ``refused``."""
    opened = in_namespace(lab.client, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    opened.setblocking(False)
    try:
        async with asyncio.timeout(10):
            await asyncio.get_running_loop().sock_connect(opened, (VIP, PORT))
    except ConnectionRefusedError:
        opened.close()
        return "refused"
    return Connection(*await asyncio.open_connection(sock=opened))


async def connected(lab: Lab) -> Connection:
    made = await connect(lab)
    assert isinstance(made, Connection)
    return made


async def answer(lab: Lab) -> str:
    """The member that answers a new connection."""
    made = await connect(lab)
    if isinstance(made, str):
        return made
    try:
        return await made.ask()
    finally:
        made.close()


def plain(*servers: wire.BackendServer, **balance: object) -> wire.LoadBalancerConfig:
    return balancer(*servers, listener={"protocol": "tcp"}, protocol="tcp", **balance)


@pytest.fixture
async def servers(lab: Lab) -> AsyncIterator[list[wire.BackendServer]]:
    made = [Answering(lab, number) for number in (1, 2)]
    yield [await each.start() for each in made]
    for each in made:
        each.close()


class Balanced:
    """The daemon's part that serves the kernel's table, on the lab's host."""

    def __init__(self, lab: Lab, settings: DaemonSettings) -> None:
        self._lab = lab
        self.events: list[PartitionEvent] = []
        self.balancer = DatagramBalancer(settings, on_event=self.events.append, forwarding=lambda *_: "")

    async def start(self, *held: wire.LoadBalancerConfig) -> None:
        await self.balancer.start({"p": {one.id: one for one in held}} if held else {})

    async def serve(self, *balancers: wire.LoadBalancerConfig) -> None:
        await self.balancer.forward_datagrams("p", {one.id: one for one in balancers})


@pytest.fixture
def in_host(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has the kernel's table be the lab host's: the balancer works in threads of its own."""

    async def to_thread(work, /, *arguments, **named):  # type: ignore[no-untyped-def]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: in_namespace(lab.host, lambda: work(*arguments, **named)))

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    yield


@pytest.fixture
def settings(tmp_path: object) -> DaemonSettings:
    return DaemonSettings(name="host-1", state_dir=tmp_path, run_dir=tmp_path, kernel_drain_seconds=3600.0)  # type: ignore[arg-type]


@pytest.fixture
async def daemon(lab: Lab, in_host: None, settings: DaemonSettings) -> AsyncIterator[Balanced]:
    made = Balanced(lab, settings)
    await made.start()
    yield made
    await made.balancer.close()


async def test_connections_are_dealt_and_members_see_the_host(
    lab: Lab, daemon: Balanced, servers: list[wire.BackendServer]
) -> None:
    await daemon.serve(plain(*servers))
    assert {await answer(lab) for _ in range(30)} == {"m1", "m2"}
    await daemon.balancer.collect_totals()
    assert daemon.balancer.partition_totals("p")["lb1_f"].flows == 30
    await daemon.serve(plain(*servers, sticky_seconds=60))
    assert len({await answer(lab) for _ in range(10)}) == 1


async def test_connections_of_a_removed_member_go_on_until_the_deadline_and_others_are_undisturbed(
    lab: Lab, daemon: Balanced, servers: list[wire.BackendServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    await daemon.serve(plain(*servers))
    connections = [await connected(lab) for _ in range(CLIENTS)]
    before = [await each.ask() for each in connections]
    assert set(before) == {"m1", "m2"}
    await daemon.serve(plain(servers[0]))
    assert [await each.ask() for each in connections] == before
    assert {await answer(lab) for _ in range(10)} == {"m1"}
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    await daemon.balancer.verify_table()
    await daemon.balancer.close()
    assert [await each.ask() for each in connections] == [name if name == "m1" else "reset" for name in before]
    for each in connections:
        each.close()


async def test_connections_of_a_dead_member_end_at_once(
    lab: Lab, daemon: Balanced, servers: list[wire.BackendServer]
) -> None:
    await daemon.serve(plain(*servers))
    connections = [await connected(lab) for _ in range(CLIENTS)]
    before = [await each.ask() for each in connections]
    assert set(before) == {"m1", "m2"}
    daemon.balancer.record_event_health(PartitionEvent(partition="p", backend="lb1_b", server="m2", up=False))
    assert daemon.balancer._task is not None
    await daemon.balancer._task
    assert [await each.ask() for each in connections] == [name if name == "m1" else "reset" for name in before]
    daemon.balancer.record_event_health(PartitionEvent(partition="p", backend="lb1_b", server="m1", up=False))
    await daemon.balancer._task
    assert await answer(lab) == "refused"
    alive = next(each for each, name in zip(connections, before, strict=True) if name == "m1")
    assert await alive.ask() == "reset"  # no member is left that could refuse
    for each in connections:
        each.close()


async def test_connections_go_on_while_the_daemon_restarts_those_of_a_draining_member_too(
    lab: Lab, daemon: Balanced, servers: list[wire.BackendServer], settings: DaemonSettings
) -> None:
    await daemon.serve(plain(*servers))
    connections = [await connected(lab) for _ in range(CLIENTS)]
    before = [await each.ask() for each in connections]
    await daemon.serve(plain(servers[0]))
    await daemon.balancer.close()
    assert [await each.ask() for each in connections] == before
    following = Balanced(lab, settings)
    await following.start(plain(servers[0]))
    assert following.balancer.problem == ""
    assert [await each.ask() for each in connections] == before
    await following.balancer.close()
    for each in connections:
        each.close()


def test_draining_servers_keep_their_first_deadline_and_leave_when_they_come_back_die_or_it_passes() -> None:
    both, alone = {SERVICE: frozenset({ONE, TWO})}, {SERVICE: frozenset({ONE})}

    def after(
        draining: object, before: object, wanted: object, now: float, dead: tuple[FlowTarget, ...] = ()
    ) -> object:
        return draining_after_change(draining, before, wanted, dead_servers=dead, now=now, seconds=60.0)  # type: ignore[arg-type]

    first = after({}, both, alone, 100.0)
    assert first == {SERVICE: {TWO: 160.0}}
    assert add_draining_servers(alone, first) == both  # type: ignore[arg-type]
    assert after(first, both, alone, 120.0) == first
    assert after(first, both, both, 120.0) == {}
    assert after(first, both, alone, 120.0, (TWO,)) == {}
    assert (has_expired_server(first, 159.0), has_expired_server(first, 160.0)) == (False, True)  # type: ignore[arg-type]
    assert after(first, both, alone, 160.0) == {}
    assert after(first, {}, alone, 120.0) == first  # a new daemon has the file alone
    assert after({}, both, {}, 100.0) == {}
    datagrams = {VirtualService(protocol="udp", address=VIP, port=PORT): frozenset({ONE})}
    assert after({}, datagrams, dict.fromkeys(datagrams, frozenset()), 100.0) == {}


def test_draining_servers_are_on_disk(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = DrainFile(tmp_path / "draining.json")
    assert file.read() == {}
    file.write({"p": {SERVICE: {TWO: 160.0}}, "q": {}})
    assert DrainFile(tmp_path / "draining.json").read() == {"p": {SERVICE: {TWO: 160.0}}}


def stray_segment(source: tuple[str, int], target: tuple[str, int], number: int) -> bytes:
    """A segment with a number of its own, which is most probably far outside the connection's window."""
    ends = socket.inet_aton(source[0]) + socket.inet_aton(target[0])
    header = struct.pack("!HHIIBBHHH", source[1], target[1], number, number, 5 << 4, 0x10, 0, 0, 0)
    total = sum(struct.unpack("!16H", ends + struct.pack("!HH", 6, len(header)) + header))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return header[:16] + struct.pack("!H", checksum) + header[18:]


@contextlib.contextmanager
def raw_socket(namespace: str) -> Iterator[socket.socket]:
    """Sends segments as they are, and receives every one that the namespace gets."""
    made = in_namespace(namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))
    made.setblocking(False)
    with contextlib.closing(made):
        yield made


def resets(raw: socket.socket) -> int:
    """Number of resets that the host has got."""
    count = 0
    with contextlib.suppress(BlockingIOError):
        while packet := raw.recv(2048):
            header = packet[(packet[0] & 15) * 4 :]
            count += bool(header[13] & 4)
    return count


async def test_stray_packets_are_not_answered_with_a_reset(
    lab: Lab, daemon: Balanced, servers: list[wire.BackendServer]
) -> None:
    await daemon.serve(plain(*servers))
    connection = await connected(lab)
    name = await connection.ask()
    with raw_socket(lab.client) as raw:
        for number in range(0, 1 << 32, 1 << 29):
            raw.sendto(stray_segment(connection.source, (VIP, PORT), number), (VIP, 0))
        # answers come in order: after this one, the host has dealt with the packets
        assert await connection.ask() == name
        assert resets(raw) == 0
    connection.close()


@pytest.mark.parametrize("direct", [False, True])
async def test_stray_packets_of_a_member_reset_no_connection(
    lab: Lab, tmp_path: Path, in_host: None, direct: bool
) -> None:
    ip("-n", lab.servers, "route", "add", "default", "via", "10.91.0.1")
    member = Answering(lab, 1)
    served = await member.start()
    options = {"name": "host-1", "state_dir": tmp_path, "run_dir": tmp_path, "kernel_direct_return": direct}
    daemon = Balanced(lab, DaemonSettings(**options))
    await daemon.start()
    await daemon.serve(plain(served))
    connection = await connected(lab)
    assert await connection.ask() == "m1"
    assert member.peer[0] == (CLIENT if direct else "10.91.0.1")
    with raw_socket(lab.servers) as raw:
        raw.bind((member.address, 0))
        for number in range(0, 1 << 32, 1 << 29):
            raw.sendto(stray_segment((member.address, 5000), member.peer, number), (member.peer[0], 0))
        # answers come in order: after this one, the host has dealt with the packets
        assert await connection.ask() == "m1"
        assert resets(raw) == 0
    connection.close()
    member.close()
    await daemon.balancer.close()
