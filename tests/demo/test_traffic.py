"""Traffic counts what clients would notice, and hides nothing."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from evenkeel.demo.backend import http_response, keeps_alive
from evenkeel.demo.traffic import RequestFailed, TrafficCounts, TrafficGenerator, parse_head
from tests.listening import StreamServer
from tests.waiting import eventually

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[int]:
    """A server on a free port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(EOFError, OSError):  # the client has gone
            await serve(reader, writer)
        writer.close()

    async with await StreamServer.start(handle) as running:
        yield running.port


async def traffic_until(port: int, enough: Callable[[TrafficCounts], bool]) -> TrafficCounts:
    """Run traffic until there is enough of it."""
    traffic = TrafficGenerator("127.0.0.1", port, clients=2, pause_seconds=0.001)
    traffic.start()
    try:
        await eventually(lambda: enough(traffic.counts))
    finally:
        counts = await traffic.stop()
    return counts


async def test_good_answers_are_counted_by_backend_over_kept_and_one_shot_connections() -> None:
    connections = 0

    async def good(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        more = True
        while more and (head := await reader.readuntil(b"\r\n\r\n")):
            writer.write(http_response("backend-1"))
            more = keeps_alive(head)

    async with server(good) as port:
        counts = await traffic_until(port, lambda counts: counts.sent > 20)
    assert counts.failed == 0
    assert counts.answers["backend-1"] == counts.sent
    assert 1 < connections < counts.sent


async def test_a_connection_closed_without_an_answer_is_a_failure() -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async with server(rude) as port:
        counts = await traffic_until(port, lambda counts: counts.failed > 1)
    assert counts.failed == counts.sent
    assert counts.first_failure


async def test_refused_connection_is_a_failed_request() -> None:
    with socket.socket() as nobody:  # the port is taken, so that nobody else listens on it meanwhile
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        assert (await traffic_until(port, lambda counts: counts.failed > 1)).first_failure


async def test_a_status_other_than_200_is_a_failure() -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    async with server(broken) as port:
        assert (await traffic_until(port, lambda counts: counts.failed > 0)).first_failure == "status 503"


@pytest.mark.parametrize("head", ["", "SSH-2.0-x", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nContent-Length: x"])
def test_answer_without_a_length_is_refused(head: str) -> None:
    with pytest.raises(RequestFailed, match="not an HTTP answer"):
        parse_head(head)


def test_a_servers_wish_to_close_is_seen() -> None:
    assert parse_head("HTTP/1.1 200 OK\r\nContent-length: 3\r\nConnection: Close\r\n\r\n") == (200, 3, True)
    assert parse_head("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n") == (200, 3, False)
