"""Responses in one piece: a client reads the bytes that uvicorn alone would send, in the same order."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from evenkeel.api.http.joined_writes import JOINED_BYTES_MAX, JoinedWrites
from evenkeel.api.http.protocol import BoundedProtocol
from evenkeel.serving.connections import ConnectionLimits, Connections
from evenkeel.serving.refusal_log import RefusalLog

PATIENCE_SECONDS = 60.0
Application = Callable[..., Any]
Make = Callable[[Any], HttpToolsProtocol]


class Transport(asyncio.Transport):
    """Notes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def make_writes() -> tuple[JoinedWrites, Transport]:
    transport = Transport()
    return JoinedWrites(transport, asyncio.get_running_loop()), transport


async def test_two_writes_are_one() -> None:
    writes, transport = make_writes()
    writes.write(b"head")
    writes.write(b"body")
    assert transport.written == [b"headbody"]
    writes.write(b"head")
    writes.write(b"")
    assert transport.written == [b"headbody", b"head"]


async def test_data_that_nothing_follows_is_written_in_the_next_round_of_the_loop() -> None:
    writes, transport = make_writes()
    writes.write(b"head")
    assert transport.written == []
    await asyncio.sleep(0)
    assert transport.written == [b"head"]
    writes.write(b"body")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert transport.written == [b"head", b"body"]


async def test_an_earlier_timer_does_not_write_what_is_held_later() -> None:
    writes, transport = make_writes()
    writes.write(b"a")
    writes.flush()
    writes.write(b"b")
    writes.write(b"c")
    writes.flush()
    assert transport.written == [b"a", b"bc"]
    await asyncio.sleep(0)
    assert transport.written == [b"a", b"bc"]


async def test_large_data_is_not_copied() -> None:
    writes, transport = make_writes()
    large = b"x" * JOINED_BYTES_MAX
    writes.write(b"head")
    writes.write(large)
    writes.write(large)
    assert transport.written == [b"head", large, large]


async def test_closing_writes_what_is_held_and_a_lost_connection_does_not() -> None:
    writes, transport = make_writes()
    writes.write(b"head")
    writes.close()
    assert transport.written == [b"head"] and writes.is_closing()
    lost, gone = make_writes()
    lost.write(b"head")
    gone.close()
    lost.flush()
    await asyncio.sleep(0)
    assert gone.written == []


async def plain(scope: Any, receive: Any, send: Any) -> None:
    """By the path: status, whether a length is told, and pieces, of which ``.`` waits for the event loop."""
    _, status, length, pieces = scope["path"].split("/")
    while (await receive())["more_body"]:
        pass
    body = [b"" if piece == "." else piece.encode() * 1000 for piece in pieces.split(",") if piece]
    headers = [(b"content-length", b"%d" % sum(map(len, body)))] if length == "length" else []
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    for piece in body:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        if not piece:
            await asyncio.sleep(0.001)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def broken(scope: Any, receive: Any, send: Any) -> None:
    """Raises before, or in the middle of, its response."""
    if scope["path"] == "/later":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        await send({"type": "http.response.body", "body": b"abc", "more_body": True})
    raise RuntimeError("broken")


async def refusing(scope: Any, receive: Any, send: Any) -> None:
    """Answers without reading the request."""
    await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"no"})


def request(path: str, method: str = "GET", extra: str = "", body: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n{body}".encode()


LAST = request("/200/length/z", extra="Connection: close\r\n")
LARGE = "y," * 600
CASES = {
    "with a length": (plain, request("/200/length/a") + LAST),
    "in pieces": (plain, request("/200/length/a,b,.,c,.") + LAST),
    "chunked": (plain, request("/200/chunked/a,b,.,c") + LAST),
    "chunked and large": (plain, request(f"/200/chunked/{LARGE}") + LAST),
    "large": (plain, request(f"/200/length/{LARGE}") + LAST),
    "empty": (plain, request("/200/length/") + LAST),
    "HEAD": (plain, request("/200/length/a", "HEAD") + LAST),
    "HEAD, then closed": (plain, request("/200/length/a", "HEAD", "Connection: close\r\n")),
    "204": (plain, request("/204/none/") + LAST),
    "304": (plain, request("/304/none/") + LAST),
    "pipelined": (plain, b"".join(request(f"/200/length/{name}") for name in "abcdefg") + LAST),
    "HTTP/1.0": (plain, b"GET /200/length/a HTTP/1.0\r\n\r\n"),
    "with a body": (plain, request("/200/length/a", "POST", "Content-Length: 5\r\n", "hello") + LAST),
    "100-continue": (
        plain,
        request("/200/length/a", "POST", "Content-Length: 5\r\nExpect: 100-continue\r\n", "hello") + LAST,
    ),
    "body not read": (refusing, request("/", "POST", "Content-Length: 5\r\nConnection: close\r\n", "hello")),
    "broken before": (broken, request("/")),
    "broken later": (broken, request("/later")),
}


async def received(app: Application, make: Make, data: bytes) -> bytes:
    """What a client reads until the connection ends."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none")
    server = await asyncio.get_running_loop().create_server(lambda: make(config), "127.0.0.1", 0)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            writer.write(data)
            got = await reader.read()
            writer.close()
            return got
    finally:
        server.close()


def of_uvicorn(config: uvicorn.Config) -> HttpToolsProtocol:
    return HttpToolsProtocol(config, ServerState(), {})


def of_ours(config: uvicorn.Config) -> HttpToolsProtocol:
    protocol = BoundedProtocol(config, ServerState(), {})
    admitted = Connections(ConnectionLimits(connections_max=9)).admit("127.0.0.1")
    assert admitted is not None
    protocol.connection, protocol.refusals = admitted, RefusalLog("api")
    return protocol


@pytest.mark.parametrize("case", CASES)
async def test_a_client_reads_what_uvicorn_alone_would_send(case: str) -> None:
    app, data = CASES[case]
    ours = await received(app, of_ours, data)
    assert ours == await received(app, of_uvicorn, data)
    assert ours.startswith(b"HTTP/1.1 ")


async def test_the_header_of_a_streamed_response_does_not_wait_for_its_body() -> None:
    ended = asyncio.Event()

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await ended.wait()
        await send({"type": "http.response.body", "body": b"event", "more_body": True})
        await ended.wait()

    config = uvicorn.Config(stream, lifespan="off", log_config=None, ws="none")
    server = await asyncio.get_running_loop().create_server(lambda: of_ours(config), "127.0.0.1", 0)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            writer.write(request("/"))
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            ended.set()
            assert await reader.readuntil(b"event\r\n") == b"5\r\nevent\r\n"
            writer.close()
    finally:
        server.close()


async def test_a_client_that_reads_nothing_stops_the_application() -> None:
    sent = 0
    blocked = asyncio.Event()
    done = asyncio.Event()
    pieces, size = 400, 100_000

    async def flood(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        length = str(pieces * size).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        for number in range(pieces):
            waiting = asyncio.ensure_future(
                send({"type": "http.response.body", "body": b"x" * size, "more_body": number < pieces - 1})
            )
            await asyncio.sleep(0)
            if not waiting.done():
                blocked.set()
            await waiting
            sent += 1
        done.set()

    config = uvicorn.Config(flood, lifespan="off", log_config=None, ws="none")
    server = await asyncio.get_running_loop().create_server(lambda: of_ours(config), "127.0.0.1", 0)
    try:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(PATIENCE_SECONDS):
                await loop.sock_connect(client, server.sockets[0].getsockname())
                await loop.sock_sendall(client, request("/"))
                await blocked.wait()
                assert sent < pieces
                left = pieces * size
                head = await loop.sock_recv(client, 1_000_000)
                left -= len(head.partition(b"\r\n\r\n")[2])
                while left:
                    left -= len(await loop.sock_recv(client, 1_000_000))
                await done.wait()
    finally:
        server.close()
