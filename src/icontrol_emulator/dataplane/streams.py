"""Helpers over asyncio streams: wrapping accepted sockets, copying with counting, closing hard."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple

CHUNK_BYTES = 65_536
CONNECT_SECONDS = 5.0
LINGER_RESET = b"\x01\0\0\0\0\0\0\0"
Count = Callable[[int], None]


class Stream(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def wrap(sock: socket.socket, context: ssl.SSLContext | None) -> Stream:
    """An accepted socket as streams, behind TLS if a context is given."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock, ssl=context)
    return Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


async def connect(host: str, port: int, context: ssl.SSLContext | None = None) -> Stream:
    async with asyncio.timeout(CONNECT_SECONDS):
        return Stream(*await asyncio.open_connection(host, port, ssl=context, limit=CHUNK_BYTES))


def abort(stream: Stream) -> None:
    """Close with RST."""
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
    """Everything until the source ends, then half-close the target."""
    while data := await source.reader.read(CHUNK_BYTES):
        took(len(data))
        await send(target, data, gave)
    if target.writer.can_write_eof():
        target.writer.write_eof()
    else:
        target.writer.close()


async def splice(client: Stream, server: Stream, counts: tuple[Count, Count, Count, Count]) -> None:
    """Copy both ways until both sides ended or one failed. Counts: client in and out, server in and out."""
    client_in, client_out, server_in, server_out = counts
    async with asyncio.TaskGroup() as group:
        group.create_task(copy(client, server, client_in, server_out))
        group.create_task(copy(server, client, server_in, client_out))
