"""HTTP or HTTPS server of ``/metrics``.

Connections are limited and have time-outs, like those of the other servers. There is no login: Prometheus authenticates
by a client certificate if the server requires one.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import web
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder

from evenkeel.core.kit.values import Value
from evenkeel.serving.web_server import WebServer

log = structlog.get_logger(__name__)

PATH = "/metrics"
CONNECTIONS_MAX = 32


class ScrapeLimits(Value):
    """Time-outs of a connection; see :class:`evenkeel.serving.bounded_handler.HandlerLimits`."""

    keep_alive_seconds: float = 120.0
    unread_seconds: float = 1.0
    write_seconds: float = 15.0
    login_seconds: float = 0.0
    header_seconds: float = 10.0


async def do_nothing() -> None:
    """Do nothing: the default where no values have to be read before an exposition."""


Expose = Callable[[str], Awaitable[tuple[bytes, str]]]
"""Function from a scraper's Accept header to the exposition and its content type."""


def expose_registry(registry: CollectorRegistry, before: Callable[[], Awaitable[None]] = do_nothing) -> Expose:
    """Return the function that exposes a registry in the format that a scraper accepts. ``before``: awaited
    before each exposition; its errors are passed on.
    """

    async def expose(accept: str) -> tuple[bytes, str]:
        await before()
        encode, content_type = choose_encoder(accept)
        # in a thread: some thousand series take tens of milliseconds
        return await asyncio.to_thread(encode, registry), content_type

    return expose


class ScrapeServer:
    """HTTP server, or with ``tls`` HTTPS server, of one process's metrics. ``listening``: its bound socket,
    which it closes.
    """

    def __init__(
        self,
        listening: socket.socket,
        *,
        tls: ssl.SSLContext | None = None,
        expose: Expose | None = None,
        limits: ScrapeLimits = ScrapeLimits(),  # noqa: B008  # frozen
    ) -> None:
        """Initialize the server. ``tls``: None for plain HTTP; ``expose``: source of the exposition; None:
        this process's registry.
        """
        self._listening = listening
        self._is_https = tls is not None
        self._expose = expose or expose_registry(REGISTRY)
        app = web.Application()
        app.router.add_get(PATH, self._answer_scrape)
        self._server = WebServer(app, name="metrics", limits=limits, connections_max=CONNECTIONS_MAX, tls=tls)

    async def start(self) -> None:
        """Start to accept connections."""
        host, port = self._listening.getsockname()[:2]
        await self._server.start([self._listening])
        log.info("metrics listening", host=host, port=port, path=PATH, tls=self._is_https)

    def use_tls(self, tls: ssl.SSLContext) -> None:
        """Use another TLS context for new connections."""
        self._server.use_tls(tls)

    async def stop(self) -> None:
        """Stop accepting connections, and close existing ones."""
        await self._server.stop()

    async def _answer_scrape(self, request: web.Request) -> web.Response:
        body, content_type = await self._expose(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})
