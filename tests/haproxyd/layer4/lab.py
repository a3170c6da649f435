"""Hosts as network namespaces: clients, a load balancing host with VIPs that forwards, and members behind it.

Sockets belong to the namespace in which they are made, so clients and members run in the test's own process.
"""

import asyncio
import contextlib
import ctypes
import functools
import itertools
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tests.waiting import eventually

T = TypeVar("T")
VIP, VIP6 = "192.0.2.10", "2001:db8:2::10"
CLIENT, CLIENT6 = "10.90.0.2", "2001:db8::2"
HOST, HOST6 = "10.90.0.1", "2001:db8::1"
PORT = 5353
CLIENTS = 32
"""Clients of which two members both get some: that one gets none has a chance of one in 2**31."""
MEMBER_PORT = 5000
_NUMBERS = itertools.count()
_NETWORK_NAMESPACE = 0x40000000
_COMMAND_SECONDS = 30
ANSWER_SECONDS = 10.0
"""Limit for the answer to one datagram."""


def obstacle() -> str:
    """Why there cannot be such namespaces here; empty if there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root and iproute2"
    try:
        ctypes.CDLL("libnftables.so.1")
    except OSError:
        return "needs libnftables1, by which tests list rules"
    name = f"ekp{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True)
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    return "" if made.returncode == 0 else "no network namespace can be made here"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=_COMMAND_SECONDS)


def remove_namespace(name: str) -> None:
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def in_namespace(name: str, work: Callable[[], T]) -> T:
    """Run in a thread of its own, which is in the namespace."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with Path(f"/run/netns/{name}").open("rb") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NETWORK_NAMESPACE):
                    raise OSError(ctypes.get_errno(), "setns")
            found.append(work())
        except BaseException as error:  # raised again below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


class Member(asyncio.DatagramProtocol):
    """A UDP server that answers each datagram with its name, and counts them."""

    def __init__(self, namespace: str, name: str, address: str, port: int = MEMBER_PORT) -> None:
        self.namespace, self.name, self.address, self.port = namespace, name, address, port
        self.received = 0
        self.peers: Counter[str] = Counter()
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> None:
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET

        def bound() -> socket.socket:
            made = socket.socket(family, socket.SOCK_DGRAM)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            made.bind((self.address, self.port))
            made.setblocking(False)
            return made

        opened = in_namespace(self.namespace, bound)
        self._transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=opened)

    def stop(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def send(self, data: bytes, target: tuple[str, int]) -> None:
        """Send a datagram that nobody asked for."""
        assert self._transport is not None
        self._transport.sendto(data, target)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if data:  # an empty one is a check
            self.received += 1
            self.peers[addr[0]] += 1
            assert self._transport is not None
            self._transport.sendto(self.name.encode(), addr)


class Client:
    """One flow: a socket with a port of its own, whose answers are counted by text."""

    def __init__(self, opened: socket.socket, where: tuple[str, int]) -> None:
        self.socket = opened
        self._where = where

    @property
    def address(self) -> tuple[str, int]:
        """Its own address and port."""
        address, port, *_ = self.socket.getsockname()
        return address, port

    async def ask(self, limit_seconds: float = ANSWER_SECONDS) -> str:
        """The answer to one datagram: a member's name, ``refused`` or ``silence``."""
        loop = asyncio.get_running_loop()
        try:
            self.socket.send(b"question")
            async with asyncio.timeout(limit_seconds):
                return (await loop.sock_recv(self.socket, 2048)).decode()
        except ConnectionRefusedError:
            return "refused"
        except TimeoutError:
            return "silence"

    def close(self) -> None:
        self.socket.close()


class Lab:
    """The namespaces; :meth:`close` removes them."""

    def __init__(self) -> None:
        number = f"{os.getpid()}x{next(_NUMBERS)}"
        self.client, self.host, self.servers = (f"ek{kind}{number}" for kind in ("c", "h", "m"))
        self._members: list[Member] = []
        self._more_hosts: list[str] = []
        self._clients: list[Client] = []

    def start(self) -> None:
        for name in (self.client, self.host, self.servers):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        links = (
            (self.client, f"{CLIENT}/24", f"{CLIENT6}/64", f"{HOST}/24", f"{HOST6}/64"),
            (self.servers, "10.91.0.2/24", "2001:db8:1::2/64", "10.91.0.1/24", "2001:db8:1::1/64"),
        )
        for number, (name, *addresses) in enumerate(links):
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"eth{number}", "netns", self.host)
            ends = ((name, "eth0"), (name, "eth0"), (self.host, f"eth{number}"), (self.host, f"eth{number}"))
            for (where, link), address in zip(ends, addresses, strict=True):
                nodad = ("nodad",) if ":" in address else ()
                ip("-n", where, "address", "add", address, "dev", link, *nodad)
            for where, link in set(ends):
                ip("-n", where, "link", "set", link, "up")
        for sysctl in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            in_namespace(self.host, functools.partial(Path(f"/proc/sys/net/{sysctl}").write_text, "1"))
        for address in (VIP, VIP6):
            gateway = HOST6 if ":" in address else HOST
            ip("-n", self.client, "route", "add", address, "via", gateway)
            ip("-n", self.host, "address", "add", address, "dev", "eth0", *(("nodad",) if ":" in address else ()))

    async def close(self) -> None:
        for client in self._clients:
            client.close()
        for member in self._members:
            member.stop()
        for name in (self.client, self.host, self.servers, *self._more_hosts):
            remove_namespace(name)

    def add_host(self) -> str:
        """One more host between the clients' and the members' networks, as the other one of a pair; its namespace."""
        name = f"{self.host}b"
        ip("netns", "add", name)
        self._more_hosts.append(name)
        links = (
            (self.client, "10.92.0.2/24", "10.92.0.1/24"),
            (self.servers, "10.93.0.2/24", "10.93.0.1/24"),
        )
        for number, (where, theirs, ours) in enumerate(links):
            ip("-n", where, "link", "add", "eth1", "type", "veth", "peer", "name", f"eth{number}", "netns", name)
            ip("-n", where, "address", "add", theirs, "dev", "eth1")
            ip("-n", name, "address", "add", ours, "dev", f"eth{number}")
            ip("-n", where, "link", "set", "eth1", "up")
            ip("-n", name, "link", "set", f"eth{number}", "up")
        in_namespace(name, functools.partial(Path("/proc/sys/net/ipv4/ip_forward").write_text, "1"))
        ip("-n", name, "route", "add", "10.91.0.0/24", "via", "10.93.0.2")
        ip("-n", name, "route", "add", "10.90.0.0/24", "via", "10.92.0.2")
        return name

    def move_vip(self, to: str) -> None:
        """Move the VIP to the other host, as VRRP does: the address goes, and the clients' network sends it there."""
        ip("-n", self.host, "address", "del", VIP, "dev", "eth0")
        ip("-n", to, "address", "add", VIP, "dev", "eth0")
        ip("-n", self.client, "route", "replace", VIP, "via", "10.92.0.1")

    async def member(self, number: int, *, six: bool = False, port: int = MEMBER_PORT) -> Member:
        """One more member, which answers."""
        address = f"2001:db8:1::{100 + number}" if six else f"10.91.0.{100 + number}"
        nodad = ("nodad",) if six else ()
        ip("-n", self.servers, "address", "replace", f"{address}/{64 if six else 24}", "dev", "eth0", *nodad)
        made = Member(self.servers, f"m{number}", address, port)
        await made.start()
        self._members.append(made)
        return made

    def open_client(self, address: str = VIP, port: int = PORT, source: str = "") -> Client:
        """One more flow."""

        def connected() -> socket.socket:
            made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
            made.setblocking(False)
            if source:
                made.bind((source, 0))
            made.connect((address, port))
            return made

        client = Client(in_namespace(self.client, connected), (address, port))
        self._clients.append(client)
        return client

    async def ask(
        self, address: str = VIP, port: int = PORT, source: str = "", *, limit_seconds: float = ANSWER_SECONDS
    ) -> str:
        """The answer to a datagram of a new flow."""
        client = self.open_client(address, port, source)
        try:
            return await client.ask(limit_seconds)
        finally:
            client.close()
            self._clients.remove(client)

    @contextlib.contextmanager
    def all_datagrams(self, *, six: bool) -> Iterator[socket.socket]:
        """Gets every datagram that reaches the clients' host."""
        family = socket.AF_INET6 if six else socket.AF_INET
        raw = in_namespace(self.client, lambda: socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_UDP))
        raw.setblocking(False)
        with contextlib.closing(raw):
            yield raw

    async def send_flows(self, count: int, members: list[Member], address: str = VIP, port: int = PORT) -> Counter[str]:
        """Send a datagram in each of so many flows, and count the members that received them."""
        before = {member.name: member.received for member in members}
        raw = in_namespace(self.client, lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP))
        with contextlib.closing(raw):
            for number in range(count):
                header = struct.pack("!HHHH", 10_000 + number, port, 12, 0)  # without a checksum, as IPv4 allows
                raw.sendto(header + b"ping", (address, 0))
                if number % 200 == 199:  # members read what has arrived
                    await _all_received(members, before, number + 1)
            await _all_received(members, before, count)
        return _received(members, before)


class Stream:
    """Datagrams of some flows without a pause; counts answers, and datagrams without one."""

    def __init__(self, lab: Lab, flows: int = 8) -> None:
        self._clients = [lab.open_client() for _ in range(flows)]
        self.answers: Counter[str] = Counter()
        self.moves: Counter[tuple[str, str]] = Counter()
        """Members of flows before and after their flow moved."""
        self._ending = False

    @contextlib.asynccontextmanager
    async def flowing(self) -> AsyncIterator["Stream"]:
        tasks = [asyncio.create_task(self._flow(client)) for client in self._clients]
        try:
            yield self
        finally:
            self._ending = True
            await asyncio.gather(*tasks)

    async def more(self, count: int) -> None:
        goal = self.answers.total() + count
        await eventually(lambda: self.answers.total() >= goal)

    async def _flow(self, client: Client) -> None:
        before = ""
        while not self._ending:
            answer = await client.ask()
            self.answers[answer] += 1
            if answer != before and before:
                self.moves[before, answer] += 1
            before = answer
            await asyncio.sleep(0.005)


async def _all_received(members: list[Member], before: dict[str, int], count: int) -> None:
    await eventually(lambda: _received(members, before).total() >= count)


def _received(members: list[Member], before: dict[str, int]) -> Counter[str]:
    return Counter({member.name: member.received - before[member.name] for member in members})


@contextlib.asynccontextmanager
async def lab() -> AsyncIterator[Lab]:
    made = Lab()
    try:
        made.start()
        yield made
    finally:
        await made.close()
