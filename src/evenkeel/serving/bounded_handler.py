"""aiohttp's HTTP protocol with limits that aiohttp lacks.

aiohttp bounds the size of a request's header, but it keeps a connection without a complete header for as long
as the keep-alive timeout, keeps a connection whose client does not read forever, and logs a traceback for
input that is not HTTP. This module adds the timeouts, and, on servers with authentication, closes every
connection that is not authenticated within some seconds, whatever its client sends.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from evenkeel.serving.connections import Connection
from evenkeel.serving.refusal_log import RefusalLog
from evenkeel.serving.write_timeout import WriteTimeout


class HandlerLimits(Protocol):
    """Time-outs of a connection, in seconds."""

    @property
    def keep_alive_seconds(self) -> float:
        """Seconds for which an idle connection is kept."""
        ...

    @property
    def unread_seconds(self) -> float:
        """Seconds for which the rest of a request's body is read after the response was sent."""
        ...

    @property
    def write_seconds(self) -> float:
        """Seconds for which the client may read nothing of a response."""
        ...

    @property
    def login_seconds(self) -> float:
        """Seconds that a connection may stay unauthenticated; 0: without limit, for servers without authentication."""
        ...

    @property
    def header_seconds(self) -> float:
        """Seconds for the header of each request."""
        ...


def plain_bad_request(status: int) -> web.Response:
    """Build the plain-text response, with this status, to input that is not HTTP."""
    return web.Response(status=status, text="not an HTTP request that is understood")


class BoundedHandler(web.RequestHandler):
    """aiohttp's handler of one connection, with additional limits. ``refusals``: log that counts refused
    requests; ``bad_request``: builds the response to input that is not HTTP, given its status.
    """

    def __init__(
        self,
        server: web.Server,
        connection: Connection,
        settings: HandlerLimits,
        refusals: RefusalLog,
        *,
        loop: asyncio.AbstractEventLoop,
        bad_request: Callable[[int], web.Response] = plain_bad_request,
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=settings.keep_alive_seconds,
            lingering_time=settings.unread_seconds,
            auto_decompress=False,
        )
        self.client_connection = connection
        self._settings = settings
        self._refusals = refusals
        self._bad_request = bad_request
        self._header_timer: asyncio.TimerHandle | None = None
        self._login_timer: asyncio.TimerHandle | None = None
        self._writing: WriteTimeout | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection's time-outs: of the header, of writing, and of the login if there is one."""
        super().connection_made(transport)
        # abort(), because close() waits until the peer has read the buffered data, which it may never do.
        self.client_connection.close = transport.abort
        self._writing = WriteTimeout(
            transport,
            self._settings.write_seconds,
            lambda: self._count_refusal("the client does not read its response"),
        )
        if self._settings.login_seconds:
            self._login_timer = self._loop.call_later(self._settings.login_seconds, self._check_login)
        self._start_header_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release the connection and stop its time-outs."""
        self.client_connection.release()
        if self._writing is not None:
            self._writing.stop()
        for timer in (self._header_timer, self._login_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _count_refusal(self, reason: str) -> None:
        self._refusals.add(reason, self.client_connection.address)

    def _check_login(self) -> None:
        if not self.client_connection.is_authenticated:
            self._count_refusal("no login on a connection in time")
            self._abort_connection()

    def _start_header_timer(self) -> None:
        self._header_timer = self._loop.call_later(self._settings.header_seconds, self._on_late_header)

    def _on_late_header(self) -> None:
        self._header_timer = None
        if self._current_request is not None or self._messages:
            return  # the data belonged to a body
        self._count_refusal("the header of a request did not arrive")
        self._abort_connection()

    def _abort_connection(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass data to the parser. Stops the header time-out when a request's header is complete, and starts
        it when one begins.
        """
        # aiohttp has no hook for a complete header; its count of requests grows exactly when one was parsed.
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None
        elif self._header_timer is None and self._current_request is None and not self._messages:
            self._start_header_timer()

    def eof_received(self) -> None:
        """Begin no further request of the connection, because the client has disconnected or will send nothing more."""
        self.close()

    def pause_writing(self) -> None:
        """Start the write time-out, because data waits in the buffer: the client reads more slowly than the
        server writes.
        """
        super().pause_writing()
        if self._writing is not None:
            self._writing.watch()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Build the response to an error. Input that is not HTTP (status below 500) is counted, not logged
        with a traceback, and closes the connection; other errors are left to aiohttp.
        """
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._count_refusal("no HTTP request")
        told = self._bad_request(status)
        # The parser cannot find the next request behind input that it does not understand.
        told.force_close()
        return told
