"""`HSL::open` and `HSL::send`: messages of rules to log servers (clouddocs.f5.com, iRules API)."""

from __future__ import annotations

import asyncio
import socket

import pytest

from emulator_tests.client import Client, fetch
from emulator_tests.test_irules import Start, rule
from emulator_tests.test_traffic import VIP, site

SENDS = """
when CLIENT_ACCEPTED {{ set pool logs\n set handle [HSL::open -proto {protocol} -pool $pool] }}
when HTTP_REQUEST {{ HTTP::header insert X-Sent [HSL::send $handle "<190> [HTTP::uri]\\n"] }}
"""


async def test_datagram_goes_to_a_member_of_the_pool_as_it_is(device: Client, backend: Start) -> None:
    server = await backend("a")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        members = [f"127.0.0.1:{sock.getsockname()[1]}"]
        await device.post("ltm/pool", {"name": "logs", "partition": "P", "members": members})
        port = await site(device, [server], ["http"], rules=[await rule(device, SENDS.format(protocol="UDP"))])
        await fetch(VIP, port, "/one")
        async with asyncio.timeout(30):
            assert await asyncio.get_running_loop().sock_recv(sock, 1000) == b"<190> /one\n"
    assert "X-Sent: 1" in server.last_head


async def test_messages_over_tcp_come_in_order(device: Client, backend: Start) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            heard.put_nowait(line)
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as logs:
        members = [f"127.0.0.1:{logs.sockets[0].getsockname()[1]}"]
        await device.post("ltm/pool", {"name": "logs", "partition": "P", "members": members})
        text = SENDS.format(protocol="TCP").replace("\\n", "\\n<190> again\\n")
        port = await site(device, [await backend("a")], ["http"], rules=[await rule(device, text)])
        await fetch(VIP, port, "/one")
        async with asyncio.timeout(30):
            assert [await heard.get(), await heard.get()] == [b"<190> /one\n", b"<190> again\n"]


async def test_message_to_a_pool_without_members_is_not_sent(device: Client, backend: Start) -> None:
    server = await backend("a")
    await device.post("ltm/pool", {"name": "logs", "partition": "P"})
    port = await site(device, [server], ["http"], rules=[await rule(device, SENDS.format(protocol="UDP"))])
    await fetch(VIP, port)
    assert "X-Sent: 0" in server.last_head


@pytest.mark.parametrize("protocol", ["UDP", "udp"])
async def test_unknown_pool_or_protocol_resets_the_connection(device: Client, backend: Start, protocol: str) -> None:
    if protocol == "udp":
        await device.post("ltm/pool", {"name": "logs", "partition": "P"})
    port = await site(
        device, [await backend("a")], ["http"], rules=[await rule(device, SENDS.format(protocol=protocol))]
    )
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port)
