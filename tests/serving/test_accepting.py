"""Accepting on both event loops: counted before the handshake, in bounded time, and without file descriptors."""

import asyncio
import contextlib
import gc
import os
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import trustme
import uvloop
from structlog.testing import capture_logs

from evenkeel.serving.accepting import CONNECTIONS_MIN, SPARE_FILES, Acceptor, max_connections_for_files
from evenkeel.serving.connections import Connection, ConnectionLimits, Connections
from tests.waiting import eventually

Loop = Callable[[], asyncio.AbstractEventLoop]
LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


class Echo(asyncio.Protocol):
    """Sends back what it gets."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._connection.close = transport.abort

    def data_received(self, data: bytes) -> None:
        self._connection.mark_authenticated()
        self._transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.release()


@contextlib.asynccontextmanager
async def accepting(
    connections_max: int = 100, tls: ssl.SSLContext | None = None, handshake_seconds: float = 30.0
) -> AsyncIterator[tuple[Connections, tuple[str, int]]]:
    connections = Connections(ConnectionLimits(connections_max=connections_max))
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    acceptor = Acceptor(listening, connections, Echo, tls=tls, handshake_seconds=handshake_seconds)
    acceptor.start()
    try:
        yield connections, listening.getsockname()
    finally:
        acceptor.close()
        for connection in tuple(vars(connections)["_held"]):
            connections.release(connection)
            connection.close()
        await asyncio.sleep(0.05)


async def echo(address: tuple[str, int], tls: ssl.SSLContext | None = None) -> bytes:
    reader, writer = await asyncio.open_connection(*address, ssl=tls, server_hostname="localhost" if tls else None)
    writer.write(b"x")
    answer = await reader.readexactly(1)
    writer.close()
    return answer


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS of the server and of a client."""
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    return server, client


@LOOPS
def test_silent_connections_keep_nobody_out(new_loop: Loop) -> None:
    async def main() -> None:
        async with accepting(connections_max=10) as (connections, address):
            silent = [socket.create_connection(address) for _ in range(30)]
            await eventually(lambda: len(connections) == 10)
            for _ in range(20):
                assert await asyncio.wait_for(echo(address), 10) == b"x"
            assert len(connections) <= 10
            for each in silent:
                each.close()

    run(new_loop, main)


@LOOPS
def test_handshakes_that_never_end_are_counted_and_end(
    new_loop: Loop, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    server, client = contexts

    async def main() -> None:
        async with accepting(connections_max=10, tls=server, handshake_seconds=3.0) as (connections, address):
            silent = [socket.create_connection(address) for _ in range(30)]
            for each in silent[:15]:
                each.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            for each in silent[15:20]:
                each.send(b"GET / HTTP/1.1\r\n\r\n")
            await eventually(lambda: len(connections) == 10)
            assert await asyncio.wait_for(echo(address, client), 20) == b"x"  # settled: the request waits itself
            await eventually(lambda: len(connections) == 0)  # all by themselves
            for each in silent:
                each.close()

    run(new_loop, main)


@LOOPS
def test_without_file_descriptors_connections_are_shed_and_that_is_reported_plainly(new_loop: Loop) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def main() -> None:
        async with accepting(connections_max=10_000) as (connections, address):
            assert await echo(address) == b"x"
            waiting = [socket.socket() for _ in range(40)]
            # room for a few of them
            resource.setrlimit(resource.RLIMIT_NOFILE, (next_file() + 8, hard))
            with capture_logs() as logs:
                for each in waiting:
                    each.connect(address)
                await eventually(lambda: any(entry["log_level"] == "error" for entry in logs))
                await asyncio.sleep(0.3)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert {entry["reason"] for entry in logs} == {"out of file descriptors; connections are closed"}
            assert len(logs) == 1
            for each in waiting:
                each.close()
            assert await asyncio.wait_for(echo(address), 10) == b"x"
            await eventually(lambda: len(connections) == 0)

    try:
        run(new_loop, main)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def next_file() -> int:
    """The file descriptor that the next file gets."""
    probe = os.dup(0)
    os.close(probe)
    return probe


def run(new_loop: Loop, main: Callable[[], object]) -> None:
    """Run it, and see that all files are closed."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_files_are_left() -> Iterator[None]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # it keeps two files for ever
        runner.run(asyncio.sleep(0))
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    yield
    gc.collect()
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before


def test_connections_leave_files_for_everything_else() -> None:
    assert max_connections_for_files(1000, 65_536) == 1000
    assert max_connections_for_files(1000, 1024) == 1024 - SPARE_FILES
    assert max_connections_for_files(1000, 64) == CONNECTIONS_MIN
