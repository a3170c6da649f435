"""The connection between a parent and a worker: a pair of sockets that no other process has.

The parent requests metrics by a line with a number and the media types that the scraper accepts; the worker answers
with the number, the length and the text. Each side detects by it that the other is gone.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from itertools import count

import structlog
from prometheus_client import REGISTRY

from evenkeel.cmd.controllers.workers.exposition import metrics_exposition
from evenkeel.metrics.server import do_nothing

ANSWER_HEADER = struct.Struct(">QQ")
"""Header of an answer: number of the request, length in bytes."""
ACCEPT_CHARACTERS_MAX = 1000
"""Maximum number of characters of a scraper's header that are forwarded."""

log = structlog.get_logger(__name__)

AsyncCallback = Callable[[], Awaitable[None]]


class WorkerConnection:
    """The parent's end of the connection to a worker."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected
        self._writer: asyncio.StreamWriter | None = None
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start reading the worker's answers, in a task."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._connected)
        self._reading = asyncio.create_task(self._read_answers(reader))

    async def request_exposition(self, accept: str, *, within_seconds: float) -> bytes:
        """Request the worker's metrics, in the format for the Accept header ``accept``; empty if it does not
        answer in time, or has none yet.
        """
        if self._writer is None or self._reading is None or self._reading.done():
            return b""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(_request_line(number, accept))
            async with asyncio.timeout(within_seconds):
                return await self._waiting[number]
        except TimeoutError:
            return b""
        finally:
            del self._waiting[number]

    @property
    def waiting_request_count(self) -> int:
        """Number of expositions that the worker has not answered yet."""
        return len(self._waiting)

    async def _read_answers(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                number, size = ANSWER_HEADER.unpack(await reader.readexactly(ANSWER_HEADER.size))
                # Answers to requests that have timed out are read, too, and dropped: the next answer begins behind
                # them.
                text = await reader.readexactly(size)
                pending = self._waiting.get(number)
                if pending is not None and not pending.done():
                    pending.set_result(text)
        for pending in self._waiting.values():
            if not pending.done():
                pending.set_result(b"")

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()
        else:
            # Without open() no stream owns the socket.
            self._connected.close()


def _request_line(number: int, accept: str) -> bytes:
    """Format a request for metrics: one line of ASCII, whatever bytes the scraper's header contains."""
    return f"{number} {' '.join(accept[:ACCEPT_CHARACTERS_MAX].split())}\n".encode("ascii", "replace")


class ParentConnection:
    """The worker's end of the connection to its parent. ``number``: number of the worker."""

    def __init__(self, connected: socket.socket, number: int) -> None:
        self._connected = connected
        self._number = number
        self._before: AsyncCallback | None = None

    def expose(self, before: AsyncCallback = do_nothing) -> None:
        """Start to answer requests with metrics. ``before`` is awaited before each exposition."""
        self._before = before

    async def answer_requests(self) -> None:
        """Answer the parent's requests for metrics until the parent is gone."""
        reader, writer = await asyncio.open_unix_connection(sock=self._connected)
        try:
            while line := await reader.readline():
                number, _, accept = line.decode().partition(" ")
                text = await self._expose_metrics(accept.strip())
                writer.write(ANSWER_HEADER.pack(int(number), len(text)) + text)
                await writer.drain()
        except OSError:
            # The parent is gone: returning makes the worker end.
            return
        finally:
            writer.close()

    async def _expose_metrics(self, accept: str) -> bytes:
        # The parent may ask before the worker has registered its collectors.
        if self._before is None:
            return b""
        try:
            await self._before()
            # in a thread: some thousand series take tens of milliseconds
            return await asyncio.to_thread(metrics_exposition, REGISTRY, str(self._number), accept)
        except Exception:  # a scrape must not end the worker
            log.exception("metrics failed", worker=self._number)
            return b""
