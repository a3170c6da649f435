"""aiohttp's HTTP protocol, with the limits that it has none for.

aiohttp bounds the size of a request's header, but keeps who sends none, or half of one, for as long as a kept
connection, and who does not read for ever; and it logs a traceback for what is no HTTP. A connection on which nobody
has logged in after some seconds is closed here, whatever it does: there is nothing to be had without.
"""

import asyncio

from aiohttp import web

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.handlers import answer
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.serving.connections import Connection
from evenkeel.serving.refusal_log import RefusalLog
from evenkeel.serving.stalled_writes import StalledWrites


class BoundedHandler(web.RequestHandler):
    """A connection to the daemon."""

    def __init__(
        self,
        server: web.Server,
        connection: Connection,
        settings: HttpSettings,
        tally: RefusalLog,
        *,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=settings.keep_alive_seconds,
            lingering_time=settings.unread_seconds,
            auto_decompress=False,
        )
        self.stranger = connection
        self._settings = settings
        self._tally = tally
        self._header_timer: asyncio.TimerHandle | None = None
        self._login_timer: asyncio.TimerHandle | None = None
        self._writing: StalledWrites | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self.stranger.close = transport.abort
        self._writing = StalledWrites(
            transport, self._settings.write_seconds, lambda: self._count("its answer is not taken")
        )
        self._login_timer = self._loop.call_later(self._settings.login_seconds, self._look_for_login)
        self._expect_header()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        self.stranger.release()
        if self._writing is not None:
            self._writing.stop()
        for timer in (self._header_timer, self._login_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _count(self, reason: str) -> None:
        self._tally.add(reason, self.stranger.address)

    def _look_for_login(self) -> None:
        if not self.stranger.is_known:
            self._count("nobody has logged in on a connection")
            self._abort()

    def _expect_header(self) -> None:
        self._header_timer = self._loop.call_later(self._settings.header_seconds, self._header_is_late)

    def _header_is_late(self) -> None:
        self._header_timer = None
        if self._current_request is not None or self._messages:
            return  # it was of the body
        self._count("the header of a request did not arrive")
        self._abort()

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Some more; the header has come as a whole when there is a further request."""
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None
        elif self._header_timer is None and self._current_request is None and not self._messages:
            self._expect_header()

    def eof_received(self) -> None:
        """The client has gone, or will send no more: what it has sent before and nobody looked at is left."""
        self.close()

    def pause_writing(self) -> None:
        """The client does not take as much as there is."""
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
        """Answer what is no HTTP, without a traceback for each."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._count("no HTTP request")
        refusal = wire.DaemonRefusal(code="invalid", reason="not an HTTP request that is understood")
        told = answer(refusal, status=status)
        told.force_close()
        return told
