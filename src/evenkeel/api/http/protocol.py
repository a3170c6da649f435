"""uvicorn's HTTP protocol with additional limits.

uvicorn (0.54, over httptools) limits neither the size of a request's header nor its duration, keeps incomplete requests
forever, queues pipelined requests without limit, and waits forever for clients that do not read. Unauthenticated
clients can do all this, so it is limited here, before the request is processed. :mod:`evenkeel.api.http.bodies` limits
the body while a handler reads it; unread bodies are limited here.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from evenkeel.api.http.joined_writes import JoinedWrites
from evenkeel.api.identity.caller import PEER, Peer
from evenkeel.api.responses.answers import fault_answer
from evenkeel.serving.connections import Connection
from evenkeel.serving.http_limits import HttpLimits
from evenkeel.serving.refusal_log import RefusalLog
from evenkeel.serving.write_timeout import WriteTimeout

CONNECTION = "connection"
"""Key of the request's :class:`Connection` in the scope's ``state``."""
FEED_BYTES = 16 * 1024
"""Size of the chunks passed to the parser: a header may exceed its limit by this much before that is detected."""
PIPELINED_MAX = 16
"""Most pipelined requests that wait for the response to an earlier one."""


class _LimitExceeded(Exception):
    """A request exceeds a limit: ends the parser, which then refuses the connection."""


class BoundedProtocol(HttpToolsProtocol):
    """One HTTP connection to the API, with limits. Set :attr:`limits`, :attr:`connection` and
    :attr:`refusals` (the log that counts refused requests) before the connection is made.
    """

    limits = HttpLimits()
    connection: Connection
    refusals: RefusalLog

    _peer = Peer()
    _in_header = False
    """True while a request's header is incomplete."""
    _in_body = False
    """True while a request's body is incomplete."""
    _running: RequestResponseCycle | None = None
    """The request that was begun last to be answered, of pipelined requests the oldest; None before the first."""
    _refusal: tuple[int, str] | None = None
    _header_bytes = 0
    _fed_bytes = 0
    _unread_left: int | None = None
    """Bytes of the body that may still arrive, after a response that did not wait for the end of its request; else
    None.
    """
    _header_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    _writing: WriteTimeout
    _response_writes: JoinedWrites

    # -- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection: determine the peer, and begin the time-out of the first request's header."""
        super().connection_made(transport)
        self._peer = peer_of_transport(transport)
        self._writing = WriteTimeout(transport, self.limits.write_seconds, self._abort_stalled_connection)
        self._response_writes = JoinedWrites(transport, self.loop)
        self.connection.close = self._abort_connection
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection, end pending responses, and stop the timers."""
        self.connection.release()
        self._end_pending_responses()
        self._unset_keepalive_if_required()
        self._writing.stop()
        self._stop_timers(self._header_timer, self._unread_timer)
        super().connection_lost(exc)

    def _stop_timers(self, *timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()

    # -- reading

    def data_received(self, data: bytes) -> None:
        """Pass received data to the parser in chunks; a request that is invalid or exceeds a limit is
        refused.
        """
        for begin in range(0, len(data), FEED_BYTES):
            if self.transport.is_closing() or self.parser is None:
                return
            self._feed_parser(data[begin : begin + FEED_BYTES] if len(data) > FEED_BYTES else data)

    def _feed_parser(self, data: bytes) -> None:
        if self._unread_left is not None:
            self._unread_left -= len(data)
            if self._unread_left < 0:
                self.transport.close()
                return
        self._fed_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # upgrades are not supported: the request is answered without
        except httptools.HttpParserError:
            self._refuse_request(*(self._refusal or (400, "Invalid HTTP request.")))
            return
        if self._in_header:
            self._unset_keepalive_if_required()
            # the parser calls back for complete lines only: an endless line is found by the bytes fed
            if self._fed_bytes > self.limits.header_bytes_max + FEED_BYTES:
                self._refuse_request(431, self._header_too_large_text())
            elif self._header_timer is None:
                self._start_header_timer()
        elif self._in_body:
            self._unset_keepalive_if_required()

    def _start_header_timer(self) -> None:
        self._header_timer = self.loop.call_later(self.limits.header_seconds, self._refuse_late_header)

    def _refuse_late_header(self) -> None:
        self._refuse_request(408, f"The request's header did not arrive within {self.limits.header_seconds:g} seconds.")

    def _refuse_request(self, status: int, text: str) -> None:
        """Send an error and close the connection; only close it if a response is in progress. The refusal is
        counted for the log.
        """
        self.refusals.add(f"{status} {text}", self.connection.address)
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            # the client would take an error for a part of the response in progress
            self._abort_connection()
            return
        body = fault_answer(status, text).body or b""
        head = (b"content-type: application/json", b"content-length: %d" % len(body), b"connection: close", b"", body)
        # Written directly: uvicorn has no response object for a request whose header is incomplete.
        self.transport.write(STATUS_LINE[status] + b"\r\n".join(head))
        self.transport.close()

    def _abort_connection(self) -> None:
        """Close the connection immediately, and end pending responses."""
        self._end_pending_responses()
        self.transport.abort()

    def _end_pending_responses(self) -> None:
        """End pending responses of a closed connection; uvicorn ends only the response to the newest request."""
        for cycle in (self._running, self.cycle):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        # uvicorn's `cycle` is the newest request of a pipeline, which may not be the one that is answered.
        self._running = cycle
        cycle.transport = self._response_writes
        super()._start_asgi_task(cycle, app)

    def _header_too_large_text(self) -> str:
        return f"The request's header is larger than the limit of {self.limits.header_bytes_max} bytes."

    # -- parser callbacks

    def on_message_begin(self) -> None:
        """Reset the header limits for a new request, and store its peer and connection in the scope's state."""
        super().on_message_begin()
        state = self.scope["state"]
        state[PEER] = self._peer
        state[CONNECTION] = self.connection
        self._in_header = True
        self._header_bytes = self._fed_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Count a part of the request's target; a target or header over the limit ends parsing with a refusal
        (414, 431).
        """
        super().on_url(url)
        limit = self.limits.target_bytes_max
        if len(self.url) > limit:
            self._refuse_over_limit(414, f"The request's path and query are longer than the limit of {limit} bytes.")
        self._count_header_bytes(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header line; too many lines or bytes end parsing with a refusal (431)."""
        super().on_header(name, value)
        limit = self.limits.headers_max
        if len(self.headers) > limit:
            self._refuse_over_limit(431, f"The request's header has more than the limit of {limit} lines.")
        # Four bytes for the colon, the space and the end of the line.
        self._count_header_bytes(len(name) + len(value) + 4)

    def _count_header_bytes(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self.limits.header_bytes_max:
            self._refuse_over_limit(431, self._header_too_large_text())

    def _refuse_over_limit(self, status: int, text: str) -> None:
        self._refusal = (status, text)
        # httptools ends the parsing when a callback raises; :meth:`_feed_parser` then sends the refusal.
        raise _LimitExceeded

    def on_headers_complete(self) -> None:
        """End the header's limits and begin the request; too many pipelined requests end parsing with a
        refusal (400).
        """
        # Before uvicorn's method, which starts the request or appends it to the pipeline.
        if len(self.pipeline) >= PIPELINED_MAX:
            self._refuse_over_limit(400, f"More than {PIPELINED_MAX} requests wait for the answer to the one before.")
        self._in_header = False
        self._in_body = True
        self._stop_timers(self._header_timer)
        self._header_timer = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the limits of a completely received request."""
        self._in_body = False
        self._unread_left = None
        self._stop_timers(self._unread_timer)
        super().on_message_complete()

    # -- answering

    def on_response_complete(self) -> None:
        """Begin the write time-out of the response, and limit the rest of a body that the response did not
        wait for.
        """
        self._response_writes.flush()
        super().on_response_complete()
        if self._in_body and self.cycle.response_complete and not self.transport.is_closing():
            self._limit_unread_body()
        self._writing.watch()

    def _limit_unread_body(self) -> None:
        """Limit bytes and time of the rest of a body after a response that did not wait for it; close at once
        if the client still waits for permission to send it.
        """
        if self.cycle.waiting_for_100_continue:
            self.transport.close()  # the rest cannot be distinguished from another request
            return
        self._unread_left = self.limits.unread_bytes_max
        self._unread_timer = self.loop.call_later(self.limits.unread_seconds, self.transport.close)

    def pause_writing(self) -> None:
        """Start the write time-out, because data waits in the buffer: the client reads more slowly than the server
        writes.
        """
        super().pause_writing()
        self._writing.watch()

    def _abort_stalled_connection(self) -> None:
        self.refusals.add("the client does not read its response", self.connection.address)
        self._abort_connection()


def peer_of_transport(transport: asyncio.BaseTransport) -> Peer:
    """Return the peer of a connection: ``host`` is empty if unknown, ``certificate_names`` None without a
    verified certificate.
    """
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert")
    return Peer(
        host=str(address[0]) if isinstance(address, tuple) and address else "",
        certificate_names=tuple(names_in_certificate(certificate)) if certificate else None,
    )


def names_in_certificate(certificate: dict[str, Any]) -> Iterator[str]:
    """Yield the DNS names in a certificate from :meth:`ssl.SSLSocket.getpeercert`; the common name only if
    there are none (RFC 6125).
    """
    found = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    if not found:
        found = [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
    yield from found
