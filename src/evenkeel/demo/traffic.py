"""Clients that send requests to the VIP continuously, and count results.

Nothing is retried: errors that a client library would hide (a reset connection before the answer) count as failures.
"""

import asyncio
import contextlib
import hashlib
import ssl
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

TIMEOUT_SECONDS = 5.0
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024


class RequestFailed(Exception):
    """A response is not usable, or its status is not 200; the text gives the reason."""


class TlsClient(NamedTuple):
    """TLS parameters of a client: trusted authorities, and the server name it sends."""

    context: ssl.SSLContext
    server_name: str


@dataclass
class TrafficCounts:
    """Totals since the traffic began. ``first_failure``: reason of the first failed request; ``answers``:
    good responses by their text, the backend's name; ``certificates``: TLS handshakes by the SHA-256 of
    the certificate that was shown, in DER.
    """

    sent: int = 0
    failed: int = 0
    first_failure: str = ""
    answers: Counter[str] = field(default_factory=Counter)
    certificates: Counter[str] = field(default_factory=Counter)


class TrafficGenerator:
    """Sends requests to a VIP by ``clients`` concurrent clients, each with ``pause_seconds`` between two
    requests; every other client keeps its connection. ``tls`` None: plain HTTP.
    """

    def __init__(
        self, address: str, port: int, *, clients: int = 4, pause_seconds: float = 0.02, tls: TlsClient | None = None
    ) -> None:
        self.counts = TrafficCounts()
        self._address = address
        self._port = port
        self._clients = clients
        self._pause_seconds = pause_seconds
        self._tls = tls
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the clients, which send requests until :meth:`stop`."""
        self._tasks = [asyncio.create_task(self._send_repeatedly(keep=bool(n % 2))) for n in range(self._clients)]

    async def stop(self) -> TrafficCounts:
        """Stop the clients after their current requests; returns the totals."""
        self._stopping.set()
        await asyncio.gather(*self._tasks)
        return self.counts

    async def _send_repeatedly(self, *, keep: bool) -> None:
        connection: TrafficConnection | None = None
        while not self._stopping.is_set():
            self.counts.sent += 1
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    connection = connection or await self._connect_and_count()
                    answer = await connection.get(keep=keep)
                self.counts.answers[answer.strip()] += 1
            except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, RequestFailed) as error:
                self._count_failure(error)
                if connection is not None:
                    connection.open_for_more = False
            if connection is not None and not connection.open_for_more:
                connection.close()
                connection = None
            # The pause between two requests; it ends early when the traffic stops.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_seconds):
                    await self._stopping.wait()
        if connection is not None:
            connection.close()

    async def _connect_and_count(self) -> "TrafficConnection":
        connection = await TrafficConnection.open(self._address, self._port, self._tls)
        if connection.certificate:
            self.counts.certificates[connection.certificate] += 1
        return connection

    def _count_failure(self, error: Exception) -> None:
        self.counts.failed += 1
        # The TimeoutError that asyncio raises has no text.
        reason = f"no answer within {TIMEOUT_SECONDS:.0f} s" if isinstance(error, TimeoutError) else str(error)
        self.counts.first_failure = self.counts.first_failure or reason or type(error).__name__


class TrafficConnection:
    """One connection to the VIP, for one or several GET requests."""

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_for_more = True
        self._host = host
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: str, port: int, tls: TlsClient | None = None) -> "TrafficConnection":
        """Connect to the VIP, by TLS if ``tls`` is given. Raises OSError; a failed TLS handshake is one, too."""
        context, name = tls or (None, None)
        reader, writer = await asyncio.open_connection(
            address, port, limit=MAX_HEAD_BYTES, ssl=context, server_hostname=name
        )
        return cls(f"{address}:{port}", reader, writer)

    @property
    def certificate(self) -> str:
        """SHA-256, in hexadecimal, of the certificate (DER) that the server has shown; empty without TLS."""
        session: ssl.SSLObject | None = self._writer.get_extra_info("ssl_object")
        shown = session.getpeercert(binary_form=True) if session else None
        return hashlib.sha256(shown).hexdigest() if shown else ""

    async def get(self, *, keep: bool) -> str:
        """Request ``/`` and return the body of the response. ``keep``: ask the server to keep the connection
        open; ``open_for_more`` then tells whether it does. Raises :class:`RequestFailed` for a response
        that is not usable or has another status than 200, OSError, EOFError, and
        :class:`asyncio.LimitOverrunError` for a header longer than :data:`MAX_HEAD_BYTES`.
        """
        wish = "keep-alive" if keep else "close"
        self._writer.write(f"GET / HTTP/1.1\r\nHost: {self._host}\r\nConnection: {wish}\r\n\r\n".encode())
        await self._writer.drain()
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, length, closing = parse_head(head)
        body = await self._reader.readexactly(length)
        self.open_for_more = keep and not closing
        if status != 200:
            raise RequestFailed(f"status {status}")
        return body.decode(errors="replace")

    def close(self) -> None:
        self._writer.close()


def parse_head(head: str) -> tuple[int, int, bool]:
    """Parse the header of an HTTP response; returns status, length of the body in bytes, and whether the
    server closes the connection. Raises :class:`RequestFailed` if it is no HTTP response with a length, or
    the body is larger than 64 KiB.
    """
    first, *lines = head.rstrip().split("\r\n")
    version, _, rest = first.partition(" ")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = fields.get("content-length", "")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit() or not length.isdigit():
        raise RequestFailed(f"not an HTTP answer with a length: {first[:80]!r}")
    if int(length) > MAX_BODY_BYTES:
        raise RequestFailed(f"a body of {length} bytes")
    closing = fields.get("connection", "").lower() == "close" or version == "HTTP/1.0"
    return int(rest[:3]), int(length), closing
