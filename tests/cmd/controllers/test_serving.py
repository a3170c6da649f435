"""The API's server against clients that send too much, too slowly, or read nothing."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.api.http import bodies
from evenkeel.cmd.controllers.serving import ApiHttpServer
from evenkeel.serving.http_limits import HttpLimits
from tests.cmd.apiserver import load, serving
from tests.waiting import eventually

PATIENCE_SECONDS = 60.0
GET = b"GET /v2/lbaas/pools HTTP/1.1\r\nHost: x\r\n"


class Client:
    """A bare connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        """Send, as far as the server takes it."""
        with contextlib.suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    async def answer(self) -> tuple[int, bytes]:
        """The next answer's status and body."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            return int(head.split(b" ", 2)[1]), await self.reader.readexactly(length)

    async def ended(self) -> bytes:
        """What comes until the server hangs up."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


class World:
    """A server and its clients."""

    def __init__(self, address: str, server: ApiHttpServer) -> None:
        self.address = address
        self.server = server
        self._clients: list[Client] = []

    async def connect(self) -> Client:
        host, _, port = self.address.rpartition(":")
        client = Client(*await asyncio.open_connection(host, int(port)))
        self._clients.append(client)
        return client

    def limit(self, **limits: Any) -> None:
        self.server._limits = HttpLimits(**limits)

    def close(self) -> None:
        for client in self._clients:
            client.writer.close()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with serving(tmp_path, "") as (address, server):
        world = World(address, server)
        yield world
        world.close()


async def refused(world: World, data: bytes) -> tuple[int, str]:
    """The answer to bytes, after which the connection is closed."""
    client = await world.connect()
    await client.send(data)
    status, body = await client.answer()
    assert await client.ended() == b""
    return status, json.loads(body)["faultstring"]


TOO_MUCH = [
    (GET + b"A: " + b"a" * 200_000, 431, "larger than the limit of 65536 bytes"),
    (GET + b"a" * 200_000, 431, "larger than the limit of 65536 bytes"),
    (GET + b"A: b\r\n" * 101 + b"\r\n", 431, "more than the limit of 100 lines"),
    (GET + b"".join(b"A%d: %s\r\n" % (n, b"a" * 8000) for n in range(9)) + b"\r\n", 431, "larger"),
    (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "longer than the limit of 16384 bytes"),
    (b"GET /?" + b"a" * 200_000, 414, "longer than the limit of 16384 bytes"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "Invalid HTTP request."),
    (b"\0" * 1000, 400, "Invalid HTTP request."),
    (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "Invalid HTTP"),
    (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, "Invalid HTTP request."),
    (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, "Invalid HTTP request."),
    (b"GET / HTTP/1.1\nHost: x\n\n", 400, "Invalid HTTP request."),
]
"""Bytes, the status of the answer, and what it tells."""


async def test_oversized_or_invalid_request_is_refused_at_once(world: World) -> None:
    for data, status, told in TOO_MUCH:
        answered = await refused(world, data)
        assert answered[0] == status and told in answered[1], data[:100]


async def test_a_header_below_the_limits_is_taken_in_any_pieces(world: World) -> None:
    client = await world.connect()
    request = GET + b"".join(b"A%d: %s\r\n" % (n, b"a" * 4000) for n in range(15)) + b"\r\n"
    for begin in range(0, len(request), 5000):
        await client.send(request[begin : begin + 5000])
    assert (await client.answer())[0] == 200
    await client.send(request * 3)
    assert [(await client.answer())[0] for _ in range(3)] == [200] * 3


async def test_endless_headers_are_not_read(world: World) -> None:
    client = await world.connect()
    await client.send(GET)
    taken = 0
    with contextlib.suppress(ConnectionError):
        while taken < 1000:  # 64 MB
            client.writer.write(b"a" * 65536)
            await client.writer.drain()
            taken += 1
    assert taken < 200  # what fits into buffers on the way
    assert (await client.ended()).startswith((b"HTTP/1.1 431", b""))


async def test_slow_headers_end_in_time_also_on_a_kept_connection(world: World) -> None:
    world.limit(header_seconds=0.5)
    silent, slow, kept = await world.connect(), await world.connect(), await world.connect()
    await slow.send(GET)
    await kept.send(GET + b"\r\n")
    assert (await kept.answer())[0] == 200
    await kept.send(b"\r\n\r\nG")
    for client in (silent, slow, kept):
        status, body = await client.answer()
        assert status == 408 and b"within 0.5 seconds" in body
        assert await client.ended() == b""


async def test_a_body_that_nobody_requested_is_not_taken_for_ever(world: World) -> None:
    world.limit(unread_seconds=0.5, unread_bytes_max=100_000)
    head = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n"
    slow, fast = await world.connect(), await world.connect()
    await slow.send(head + b"a")
    assert (await slow.answer())[0] == 404
    assert await slow.ended() == b""
    await fast.send(head)
    assert (await fast.answer())[0] == 404
    for _ in range(100):
        await fast.send(b"a" * 65536)
    assert await fast.ended() == b""


async def test_a_small_body_that_nobody_requested_keeps_the_connection(world: World) -> None:
    client = await world.connect()
    for _ in range(3):
        await client.send(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
        assert (await client.answer())[0] == 404
        await client.send(b"a" * 5000)
    await client.send(GET + b"\r\n")
    assert (await client.answer())[0] == 200


async def test_a_body_that_stops_half_way_is_not_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PIECE_TIMEOUT_SECONDS", 0.3)
    world.limit(unread_seconds=0.3)
    client = await world.connect()
    head = b"POST /v2/lbaas/loadbalancers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    await client.send(head + b'Content-Length: 100\r\n\r\n{"load')
    status, body = await client.answer()
    assert status == 408 and b"a piece of it within 0.3" in body
    assert await client.ended() == b""


async def test_pipelined_requests_have_a_bound(world: World, caplog: pytest.LogCaptureFixture) -> None:
    client = await world.connect()
    with capture_logs() as logs:
        await client.send((GET + b"\r\n") * 5000)
        assert (await client.ended()).count(b"HTTP/1.1 200") < 100
        await eventually(lambda: bool(logs))
    assert "wait for the answer to the one before" in logs[0]["reason"]
    await eventually(lambda: not world.server.server_state.tasks)
    # settled: there may be none, and all tasks have ended
    assert not caplog.records  # no traceback of an answer to a connection that is closed


async def test_a_client_that_does_not_read_is_left(world: World) -> None:
    world.limit(write_seconds=0.5)
    client = await world.connect()
    client.writer.transport.pause_reading()
    for _ in range(400):  # the document is some hundred kB
        await client.send(b"GET /evenkeel/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
        if client.writer.transport.get_write_buffer_size() or not len(world.server._connections):
            break
    await eventually(lambda: len(world.server._connections) == 0)


async def test_an_address_may_hold_so_many_connections_and_a_proxy_more(tmp_path: Path) -> None:
    few = "[api]\nconnections_per_address_max = 4\nproxies = 192.0.2.1\n"
    async with serving(tmp_path, few) as (address, server):
        world = World(address, server)
        first = await world.connect()
        for _ in range(10):
            await world.connect()
        assert await first.ended() == b""
        await eventually(lambda: len(server._connections) == 4)
        busy = await world.connect()
        await busy.send(GET + b"\r\n")
        assert (await busy.answer())[0] == 200
        for _ in range(10):
            await world.connect()
        await busy.send(GET + b"\r\n")
        assert (await busy.answer())[0] == 200
        world.close()


def test_bad_limits_are_refused_by_name(tmp_path: Path) -> None:
    from evenkeel.cmd.controllers.serving import configured_server

    for text, told in (
        ("connections_max = 1", r"\[api\] connections_max"),
        ("header_seconds = 0", r"\[api\] header_seconds"),
    ):
        with pytest.raises(ValueError, match=told):
            load(tmp_path, f"[api]\n{text}\n")
    with pytest.raises(ValueError, match=r"^api.proxies: .*elsewhere"):
        configured_server(None, load(tmp_path, "[api]\nproxies = elsewhere\n"))
