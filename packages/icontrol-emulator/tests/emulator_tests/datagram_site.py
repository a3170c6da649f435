"""One UDP virtual server over servers that answer, and its clients."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from emulator_tests.client import Client
from emulator_tests.virtual_site import VIP


class Echo(asyncio.DatagramProtocol):
    """A server that answers with its name and what it got."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.peers: list[tuple[str, int]] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.peers.append(addr)
        self.transport.sendto(self.name.encode() + data, addr)


Start = Callable[[str], Awaitable[Echo]]


async def site(device: Client, servers: list[Echo], profile: str = "udp", **virtual: Any) -> int:
    """A UDP virtual server /P/v; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((VIP, 0))
        port = int(sock.getsockname()[1])
    members = [{"name": f"127.0.0.1:{each.port}"} for each in servers]
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": members})
    body = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "ipProtocol": "udp"}
    await device.post("ltm/virtual", {**body, "profiles": [profile], **virtual})
    return port


class Asker:
    """One client: it takes answers from the virtual server's address only."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.setblocking(False)
        self._sock.bind((host, 0))
        self._sock.connect((VIP, port))

    def tell(self, data: bytes) -> None:
        self._sock.send(data)

    async def ask(self, data: bytes = b"") -> str:
        self.tell(data or b"?")
        return await self.hear()

    async def hear(self) -> str:
        return (await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self._sock, 65_535), 30)).decode()

    def hears_nothing(self) -> bool:
        try:
            return not self._sock.recv(65_535)
        except BlockingIOError:
            return True

    def close(self) -> None:
        self._sock.close()
