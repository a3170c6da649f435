"""A switch, hosts on it, and devices whose interfaces are plugged into it. Nothing of it outlives the process."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import pytest

from icontrol_emulator.wiring import frames, namespaces
from icontrol_emulator.wiring.cables import Cable
from icontrol_emulator.wiring.layout import GRE, VXLAN, Tunnel
from icontrol_emulator.wiring.links import Tap, TunnelEnds
from icontrol_emulator.wiring.namespaces import Namespace

CONNECT_SECONDS = 60.0
SILENCE_SECONDS = 1.0
Deliver = Callable[[bytes], None]


@cache
def _obstacle() -> str:
    return namespaces.obstacle()


def need_namespaces() -> None:
    """Skip where this process cannot have networks of its own."""
    if reason := _obstacle():
        pytest.skip(reason)


class Switch:
    """Learns where hardware addresses are. VLAN 0 is that of frames without a tag."""

    def __init__(self) -> None:
        self._ports: dict[int, tuple[Callable[[int], bool], Callable[[int, bytes], None]]] = {}
        self._known: dict[tuple[int, bytes], int] = {}
        self.drops: set[int] = set()
        """VLANs that it does not pass any more."""

    def trunk(self, cable: Cable) -> None:
        """A port of all VLANs."""
        number = len(self._ports)
        self._ports[number] = (
            lambda vlan: True,
            lambda vlan, frame: cable.deliver(frames.tagged(frame, vlan) if vlan else frame),
        )
        cable.sent = lambda frame: self._arrived(number, frame)

    def access(self, vlan: int, deliver: Deliver) -> Deliver:
        """A port of one VLAN; returns what takes its frames."""
        number = len(self._ports)
        self._ports[number] = (lambda other: other == vlan, lambda _, frame: deliver(frame))
        return lambda frame: self._pass(number, vlan, frame)

    def _arrived(self, port: int, frame: bytes) -> None:
        found = frames.untagged(frame)
        if found is not None:
            self._pass(port, found.number, found.frame)

    def _pass(self, port: int, vlan: int, frame: bytes) -> None:
        if vlan in self.drops:
            return
        self._known[vlan, frame[6:12]] = port
        known = None if frames.is_for_many(frame) else self._known.get((vlan, frame[:6]))
        for number in self._ports if known is None else (known,):
            member, deliver = self._ports[number]
            if number != port and member(vlan):
                deliver(vlan, frame)


@dataclass(eq=False)
class Host:
    """A server or a client with one interface on the switch, in a namespace of its own."""

    name: str
    namespace: Namespace
    ends: TunnelEnds = field(default_factory=TunnelEnds)
    taps: list[Tap] = field(default_factory=list)
    servers: list[asyncio.Server] = field(default_factory=list)
    peers: set[str] = field(default_factory=set)
    """Who asked the server."""
    answers: int = 0

    @classmethod
    def on(cls, switch: Switch, name: str, address: str, *, vlan: int = 0, hardware: str = "") -> "Host":
        """With an address such as `10.0.0.5/24`."""
        made = cls(name, Namespace())
        tap = made._tap("eth0", hardware, address, lambda frame: send(frame))
        send = switch.access(vlan, tap.deliver)
        return made

    def _tap(self, name: str, hardware: str, address: str, sent: Deliver, mtu: int = 1500) -> Tap:
        tap = Tap(self.namespace, name, sent)
        self.taps.append(tap)
        own = f" address {hardware}" if hardware else ""
        self.run(f"link set dev {name}{own} mtu {mtu} up", f"address add {address} dev {name}")
        return tap

    def run(self, *commands: str) -> None:
        assert self.namespace.ip(commands) == []

    def vxlan(self, key: int, local: str, remotes: Iterable[str], address: str, hardware: str) -> None:
        """The kernel's VXLAN: broadcasts go to all of the other ends, the rest to where it was learned."""
        self.run(
            f"link add vx0 type vxlan id {key} local {local} dstport 4789",
            f"link set dev vx0 address {hardware} mtu 1450 up",
            f"address add {address} dev vx0",
        )
        everybody = [f"fdb append 00:00:00:00:00:00 dev vx0 dst {remote}" for remote in remotes]
        assert self.namespace.ip(everybody, program="bridge") == []

    def gre(self, key: int, local: str, remotes: Iterable[str], address: str, hardware: str) -> None:
        """Ethernet in GRE, which not every kernel has: by the code that devices use."""
        tunnel = Tunnel("gre", "0", 1458, GRE, key, local, "0", 0)
        tap = self._tap("gre0", hardware, address, lambda frame: self.ends.send(tunnel, frame), mtu=1458)
        self.ends.know({"gre": {frames.EVERYBODY: frozenset(remotes)}})
        self.ends.connect(tunnel, tap, self.namespace)

    async def serve(self, port: int = 8080) -> None:
        """Answer each request with the host's name."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.peers.add(writer.get_extra_info("peername")[0])
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await reader.readuntil(b"\r\n\r\n"):
                    self.answers += 1
                    body = self.name.encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                    await writer.drain()
            writer.close()

        sock = self.namespace.make_socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.bind(("0.0.0.0", port))
        self.servers.append(await asyncio.start_server(answer, sock=sock, backlog=1024))

    async def connect(self, address: str, port: int = 80) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        sock = self.namespace.make_socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.get_running_loop().sock_connect(sock, (address, port))
            return await asyncio.open_connection(sock=sock)
        except BaseException:
            sock.close()
            raise

    async def ask(self, address: str, count: int = 1, port: int = 80) -> list[str]:
        """The names of the servers that answer requests on one connection."""
        reader, writer = await self.connect(address, port)
        found = []
        try:
            for _ in range(count):
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                async with asyncio.timeout(CONNECT_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.lower().split(b"content-length:")[1].split()[0])
                    found.append((await reader.readexactly(length)).decode())
        finally:
            writer.transport.abort()
        return found

    async def finds_nobody(self, address: str, port: int = 80) -> bool:
        """Whether nothing answers there; asks for a short time, as silence is what is expected."""
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                return await self.ask(address, port=port) == []
        except (OSError, asyncio.IncompleteReadError):
            return True

    async def close(self) -> None:
        for server in self.servers:
            server.close()
        self.ends.close()
        for tap in self.taps:
            tap.close()
        self.namespace.close()


class WiredSite:
    """The switch, devices' cables, and hosts that end with it."""

    def __init__(self, *devices: str, interfaces: tuple[str, ...] = ("1.1", "1.2")) -> None:
        self.switch = Switch()
        self.cables = {device: {name: Cable() for name in interfaces} for device in devices}
        self.hosts: list[Host] = []
        for each in self.cables.values():
            self.switch.trunk(each["1.1"])
            self.switch.trunk(each["1.2"])

    def host(self, name: str, address: str, *, vlan: int = 0, hardware: str = "") -> Host:
        self.hosts.append(Host.on(self.switch, name, address, vlan=vlan, hardware=hardware))
        return self.hosts[-1]

    async def server(self, name: str, address: str, *, vlan: int = 0) -> Host:
        made = self.host(name, address, vlan=vlan)
        await made.serve()
        return made

    async def close(self) -> None:
        for host in self.hosts:
            await host.close()


@contextlib.asynccontextmanager
async def wired(*devices: str) -> AsyncIterator[WiredSite]:
    """Skips where that is not possible."""
    need_namespaces()
    made = WiredSite(*devices)
    try:
        yield made
    finally:
        await made.close()


__all__ = ["GRE", "VXLAN", "Host", "Switch", "WiredSite", "need_namespaces", "wired"]
