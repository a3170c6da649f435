"""HTTP or HTTPS server of ``/metrics``.

Connections are limited and have time-outs, like those of the other servers. There is no login: Prometheus authenticates
by a client certificate if the server requires one.
"""

import asyncio
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import web
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder

from evenkeel.core.kit.values import Value
from evenkeel.serving.accepting import Acceptor, fitting
from evenkeel.serving.bounded_handler import BoundedHandler
from evenkeel.serving.connections import Connection, ConnectionLimits, Connections
from evenkeel.serving.refusal_log import RefusalLog

log = structlog.get_logger(__name__)

PATH = "/metrics"
CONNECTIONS_MAX = 32
STOP_SECONDS = 1.0


class ScrapeLimits(Value):
    """Time-outs of a connection; see :class:`evenkeel.serving.bounded_handler.HandlerLimits`."""

    keep_alive_seconds: float = 120.0
    unread_seconds: float = 1.0
    write_seconds: float = 15.0
    login_seconds: float = 0.0
    header_seconds: float = 10.0


async def _nothing() -> None:
    """Do nothing: no values have to be read before an exposition."""


Expose = Callable[[str], Awaitable[tuple[bytes, str]]]
"""Function from a scraper's Accept header to the exposition and its content type."""


def expose_registry(registry: CollectorRegistry, before: Callable[[], Awaitable[None]] = _nothing) -> Expose:
    """Return the function that exposes a registry. ``before``: awaited before each exposition."""

    async def expose(accept: str) -> tuple[bytes, str]:
        await before()
        encode, content_type = choose_encoder(accept)
        # in a thread: some thousand series take tens of milliseconds
        return await asyncio.to_thread(encode, registry), content_type

    return expose


class ScrapeServer:
    """Listening HTTP server of one process's metrics."""

    def __init__(
        self,
        listening: socket.socket,
        *,
        tls: ssl.SSLContext | None = None,
        expose: Expose | None = None,
        limits: ScrapeLimits = ScrapeLimits(),  # noqa: B008  # frozen
    ) -> None:
        """Initialize the server. ``expose``: source of the exposition; None: this process's registry."""
        self._listening = listening
        self._tls = tls
        self._expose = expose or expose_registry(REGISTRY)
        self._limits = limits
        self._tally = RefusalLog("metrics")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._connections = Connections(
            ConnectionLimits(connections_max=fitting(CONNECTIONS_MAX, files)), self._tally.add
        )
        app = web.Application()
        app.router.add_get(PATH, self._metrics)
        self._runner = web.AppRunner(app, shutdown_timeout=STOP_SECONDS)
        self._acceptor: Acceptor | None = None

    async def start(self) -> None:
        """Start to accept connections."""
        await self._runner.setup()
        host, port = self._listening.getsockname()[:2]
        self._acceptor = Acceptor(
            self._listening,
            self._connections,
            self._protocol,
            tls=self._tls,
            handshake_seconds=self._limits.header_seconds,
        )
        self._acceptor.start()
        log.info("metrics listening", host=host, port=port, path=PATH, tls=self._tls is not None)

    def use(self, tls: ssl.SSLContext) -> None:
        """Use another TLS context for new connections."""
        self._tls = tls
        if self._acceptor is not None:
            self._acceptor.use(tls)

    async def stop(self) -> None:
        """Stop accepting connections, and close existing ones."""
        if self._acceptor is not None:
            self._acceptor.close()
        await self._runner.cleanup()

    def _protocol(self, connection: Connection) -> BoundedHandler:
        server = self._runner.server
        if server is None:
            raise RuntimeError("connections are taken before the server is set up")
        return BoundedHandler(server, connection, self._limits, self._tally, loop=asyncio.get_running_loop())

    async def _metrics(self, request: web.Request) -> web.Response:
        body, content_type = await self._expose(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})
