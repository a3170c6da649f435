"""Helpers for asyncio streams: wrapping accepted sockets, copying with counters, closing with RST."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple

from icontrol_emulator.dataplane.networks import HOST, Network
from icontrol_emulator.dataplane.tls.contexts import Unusable, client_context
from icontrol_emulator.dataplane.tls.plan import TlsPlan
from icontrol_emulator.dataplane.tls.transport import Chooser, TlsTransport, accept, start_client

CHUNK_BYTES = 65_536
CONNECT_SECONDS = 5.0
HANDSHAKE_SECONDS = 10.0
LINGER_RESET = b"\x01\0\0\0\0\0\0\0"
Count = Callable[[int], None]


class Stream(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def wrap(sock: socket.socket, chooser: Chooser | None) -> Stream:
    """Streams over an accepted socket, with TLS if a chooser is given."""
    loop = asyncio.get_running_loop()
    reader, protocol = _reader(loop)
    transport: asyncio.Transport
    if chooser is None:
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
    else:
        transport = await accept(sock, protocol, chooser, HANDSHAKE_SECONDS)
    return Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def dial(
    host: str, port: int, source: str | None = None, protocol: int = socket.IPPROTO_TCP, network: Network = HOST,
    *, leaving: Callable[[tuple[str, int]], None] | None = None,
) -> socket.socket:  # fmt: skip
    """A connected socket in the network, from the source address.

    ``leaving`` gets the near address and port before the connection can be accepted on this event loop.
    """
    sock = network.make_socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, protocol)
    try:
        sock.setblocking(False)
        network.bind(sock, source)
        if leaving is not None:
            with contextlib.suppress(BlockingIOError):
                sock.connect((host, port))
            leaving(sock.getsockname()[:2])
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().sock_connect(sock, (host, port))
        if protocol == socket.IPPROTO_TCP:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


async def talk(sock: socket.socket, plan: TlsPlan | None) -> Stream:
    """Streams over a connected socket, with TLS if there is a plan. ssl.SSLError when the handshake fails."""
    loop = asyncio.get_running_loop()
    reader, protocol = _reader(loop)
    transport: asyncio.Transport
    if plan is None:
        transport, _ = await loop.create_connection(lambda: protocol, sock=sock)
    else:
        transport = await _secure(sock, protocol, plan)
    return Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def _secure(sock: socket.socket, protocol: asyncio.Protocol, plan: TlsPlan) -> TlsTransport:
    try:
        context = client_context(plan)
    except Unusable as error:
        sock.close()
        raise ssl.SSLError(str(error)) from error
    transport = await start_client(sock, protocol, context, plan.name, HANDSHAKE_SECONDS)
    if plan.verify == "require" and plan.wanted_name and not transport.is_for(plan.wanted_name):
        transport.abort()
        raise ssl.SSLError(f"the certificate is not for {plan.wanted_name}")
    return transport


def _reader(loop: asyncio.AbstractEventLoop) -> tuple[asyncio.StreamReader, asyncio.StreamReaderProtocol]:
    reader = asyncio.StreamReader(limit=CHUNK_BYTES, loop=loop)
    return reader, asyncio.StreamReaderProtocol(reader, loop=loop)


def abort(stream: Stream) -> None:
    """Close the connection with a TCP reset (RST)."""
    sock = stream.writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
    stream.writer.transport.abort()


async def close(stream: Stream) -> None:
    stream.writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await stream.writer.wait_closed()


async def send(stream: Stream, data: bytes, count: Count) -> None:
    stream.writer.write(data)
    count(len(data))
    await stream.writer.drain()


async def copy(source: Stream, target: Stream, took: Count, gave: Count) -> None:
    """Copy until the source ends, then half-close the target."""
    while data := await source.reader.read(CHUNK_BYTES):
        took(len(data))
        await send(target, data, gave)
    if target.writer.can_write_eof():
        target.writer.write_eof()
    else:
        target.writer.close()


async def splice(client: Stream, server: Stream, counts: tuple[Count, Count, Count, Count]) -> None:
    """Copy in both directions until both ended or one failed. Counts: client in and out, server in and out."""
    client_in, client_out, server_in, server_out = counts
    async with asyncio.TaskGroup() as group:
        group.create_task(copy(client, server, client_in, server_out))
        group.create_task(copy(server, client, server_in, client_out))
