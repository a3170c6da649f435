"""HTTP or HTTPS server of an aiohttp application, with this project's accepting of connections and limits."""

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable, Sequence

from aiohttp import web

from evenkeel.serving.accepting import Acceptor, max_connections_for_files
from evenkeel.serving.bounded_handler import BoundedHandler, HandlerLimits, plain_bad_request
from evenkeel.serving.connections import Connection, ConnectionLimits, Connections
from evenkeel.serving.refusal_log import RefusalLog

STOP_SECONDS = 1.0
"""Time for requests in progress when the process stops."""


class WebServer:
    """Serves one application on its listening sockets."""

    def __init__(
        self,
        app: web.Application,
        *,
        name: str,
        limits: HandlerLimits,
        connections_max: int,
        per_address_max: int = 0,
        tls: ssl.SSLContext | None = None,
        bad_request: Callable[[int], web.Response] = plain_bad_request,
    ) -> None:
        """Initialize the server. ``name``: for logs; ``connections_max``: most connections, if the process may open as
        many files; ``per_address_max``: most connections of one client's address, 0: any number; ``tls``: None for
        plain HTTP; ``bad_request``: builds the response to input that is not HTTP, given its status.
        """
        self._runner = web.AppRunner(app, shutdown_timeout=STOP_SECONDS)
        self._limits = limits
        self._tls = tls
        self._bad_request = bad_request
        self._refusals = RefusalLog(name)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        bounds = ConnectionLimits(
            connections_max=max_connections_for_files(connections_max, files), per_address_max=per_address_max
        )
        self._connections = Connections(bounds, self._refusals.add)
        self._acceptors: list[Acceptor] = []

    async def start(self, listening: Sequence[socket.socket]) -> None:
        """Accept connections on these sockets, which belong to the server from now on. Raises
        :class:`OSError` if a socket cannot listen.
        """
        await self._runner.setup()
        for each in listening:
            acceptor = Acceptor(
                each,
                self._connections,
                self._make_protocol,
                tls=self._tls,
                handshake_seconds=self._limits.header_seconds,
            )
            acceptor.start()
            self._acceptors.append(acceptor)

    def use_tls(self, tls: ssl.SSLContext) -> None:
        """Use another TLS context for new connections; open ones keep theirs."""
        self._tls = tls
        for acceptor in self._acceptors:
            acceptor.use_tls(tls)

    async def stop(self) -> None:
        """Stop accepting connections, wait up to :data:`STOP_SECONDS` for requests in progress, then close."""
        while self._acceptors:
            self._acceptors.pop().close()
        await self._runner.cleanup()

    def _make_protocol(self, connection: Connection) -> BoundedHandler:
        server = self._runner.server
        if server is None:
            raise RuntimeError("connections are taken before the server is set up")
        return BoundedHandler(
            server,
            connection,
            self._limits,
            self._refusals,
            loop=asyncio.get_running_loop(),
            bad_request=self._bad_request,
        )
