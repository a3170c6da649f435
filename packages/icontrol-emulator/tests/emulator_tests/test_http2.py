"""HTTP/2 to clients, seen with curl and with a library's client; and what profiles add to responses over TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset

from emulator_tests.client import Backend, Client, exchange
from emulator_tests.tls_site import NEW, VIP, believing, client_ssl, connect, https, run
from tests.waiting import eventually

Start = Callable[..., Awaitable[Backend]]


@pytest.fixture
async def site(device: Client, backend: Start) -> tuple[int, Backend]:
    """Port of a virtual server that offers HTTP/2, and its member."""
    server = await backend("a")
    leaf = trustme.CA().issue_cert("a.test", key_type=trustme.KeyType.RSA)
    path = await client_ssl(device, "site", leaf, renegotiation="disabled", **NEW)
    await device.post("ltm/profile/http", {"name": "h", "partition": "P", "insertXforwardedFor": "enabled"})
    return await https(device, [server], ["/P/h", "http2", path]), server


def offering(*protocols: str) -> ssl.SSLContext:
    context = believing()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


async def chosen(port: int, *protocols: str) -> str | None:
    _, writer = await connect(port, offering(*protocols))
    found = writer.get_extra_info("ssl_object").selected_alpn_protocol()
    writer.close()
    return str(found) if found is not None else None


async def test_protocols_are_negotiated_with_an_http2_profile_only(site: tuple[int, Backend], device: Client) -> None:
    port, _ = site
    assert await chosen(port, "http/1.1", "h2") == "h2"
    assert await chosen(port, "http/1.1") == "http/1.1"
    assert await chosen(port, "spdy/3") is None
    assert await chosen(port) is None
    await device.patch("ltm/virtual/~P~v", {"profiles": ["/P/h", "tcp", "/P/site"]})
    assert await chosen(port, "h2", "http/1.1") is None


async def curl(port: int, *words: str) -> str:
    said = await run(
        "curl", "-ksS", "--max-time", "60", "-w", " %{http_version}", *words, f"https://{VIP}:{port}/x?y=1"
    )
    assert said.code == 0, said.text
    return said.text


async def test_curl_speaks_http2(site: tuple[int, Backend], tmp_path: Path) -> None:
    port, server = site
    assert await curl(port, "--http2", "-b", "c=1; d=2") == "a 2"
    head = server.last_head.lower()
    assert head.startswith("get /x?y=1 http/1.1\r\n")
    for line in ("x-forwarded-for: 127.0.0.1", f"host: {VIP}:{port}", "cookie: c=1; d=2"):
        assert f"\r\n{line}\r\n" in head
    body = tmp_path / "body"
    body.write_bytes(b"z" * 2_000_000)
    assert await curl(port, "--http2", "--data-binary", f"@{body}") == "a" + "z" * 2_000_000 + " 2"
    assert await curl(port, "--http1.1") == "a 1.1"


class Streams:
    """A client that asks several things at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.connection = H2Connection()
        self.connection.initiate_connection()
        self.said: dict[int, bytes] = {}
        self.heads: dict[int, dict[bytes, bytes]] = {}
        self.ended: dict[int, str] = {}

    def ask(self, path: str) -> int:
        number = self.connection.get_next_available_stream_id()
        asked = [(":method", "GET"), (":path", path), (":scheme", "https"), (":authority", "a.test")]
        self.connection.send_headers(number, asked, end_stream=True)
        self.writer.write(self.connection.data_to_send())
        return number

    async def finish(self, numbers: set[int]) -> None:
        while not numbers <= self.ended.keys():
            data = await asyncio.wait_for(self.reader.read(65_536), 60)
            assert data
            for event in self.connection.receive_data(data):
                self._note(event)
            self.writer.write(self.connection.data_to_send())

    def _note(self, event: Any) -> None:
        if isinstance(event, ResponseReceived):
            self.heads[event.stream_id] = {bytes(name): bytes(value) for name, value in event.headers}
        elif isinstance(event, DataReceived):
            self.said[event.stream_id] = self.said.get(event.stream_id, b"") + event.data
            self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.ended[event.stream_id] = "end"
        elif isinstance(event, StreamReset):
            self.ended[event.stream_id] = "reset"


async def test_many_streams_on_one_connection(site: tuple[int, Backend]) -> None:
    port, server = site
    client = Streams(*await connect(port, offering("h2")))
    server.hold = asyncio.Event()
    numbers = {client.ask(f"/{index}") for index in range(8)}
    await eventually(lambda: _asked(server, 8))
    server.hold.set()
    await client.finish(numbers)
    assert {client.said[number] for number in numbers} == {b"a"}
    await client.finish({client.ask("/again")})
    client.writer.close()


async def _asked(server: Backend, requests: int) -> bool:
    return server.requests >= requests


async def test_without_a_member_only_the_stream_is_reset(site: tuple[int, Backend], device: Client) -> None:
    port, server = site
    client = Streams(*await connect(port, offering("h2")))
    off = {"state": "user-down", "session": "user-disabled"}
    member = f"ltm/pool/~P~p/members/~P~127.0.0.1:{server.port}"
    await device.patch(member, off)
    lost = client.ask("/")
    await client.finish({lost})
    await device.patch(member, {"state": "user-up", "session": "user-enabled"})
    kept = client.ask("/")
    await client.finish({kept})
    assert (client.ended[lost], client.ended[kept], client.said[kept]) == ("reset", "end", b"a")
    client.writer.close()


async def test_strict_transport_security(site: tuple[int, Backend], device: Client) -> None:
    port, _ = site
    hsts = {"mode": "enabled", "maximumAge": 100, "preload": "enabled"}
    await device.patch("ltm/profile/http/~P~h", {"hsts": hsts})
    reader, writer = await connect(port, offering())
    head, _ = await exchange(reader, writer)
    assert "\r\nStrict-Transport-Security: max-age=100; includeSubDomains; preload\r\n" in head
    writer.close()
    client = Streams(*await connect(port, offering("h2")))
    number = client.ask("/")
    await client.finish({number})
    assert client.heads[number][b"strict-transport-security"] == b"max-age=100; includeSubDomains; preload"
    client.writer.close()
