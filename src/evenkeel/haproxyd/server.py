"""The daemon's HTTPS server: the routes, who may use them, and how errors are answered.

A request is authenticated before its body is read. Connections are kept; what is silent too long is closed.
"""

import ssl
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from evenkeel.haproxyd.credentials import Credentials
from evenkeel.haproxyd.handlers import AGENT, Handlers, answer
from evenkeel.haproxyd.httpsettings import HttpSettings
from evenkeel.haproxyd.refusals import STATUS, Refused, refusal_of

STOP_SECONDS = 1.0
"""How long requests under way may still take when the daemon stops; who waits for events asks another time."""


def routes(handlers: Handlers) -> list[web.RouteDef]:
    """All there are; :mod:`wire` says what each takes and answers."""
    return [
        web.get("/v1", handlers.about),
        web.get("/v1/partitions", handlers.partitions),
        web.get("/v1/partitions/{name}", handlers.partition),
        web.post("/v1/partitions/{name}/guard", handlers.guard),
        web.put("/v1/partitions/{name}", handlers.put),
        web.patch("/v1/partitions/{name}", handlers.patch),
        web.get("/v1/observation", handlers.observation),
        web.get("/v1/events", handlers.events),
        web.get("/v1/journal", handlers.journal),
    ]


def create_app(
    handlers: Handlers, credentials: Credentials, settings: HttpSettings, *, is_ready: Callable[[], bool]
) -> web.Application:
    """The application, for any server. Until ``is_ready``, agents are told to come again."""
    app = web.Application(
        client_max_size=settings.body_bytes_max,
        middlewares=[_refusals, _authentication(credentials), _readiness(is_ready)],
    )
    app.add_routes(routes(handlers))
    return app


class HttpsServer:
    """Listens."""

    def __init__(self, app: web.Application, context: ssl.SSLContext, settings: HttpSettings) -> None:
        self._settings = settings
        self._context = context
        self._runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=settings.keep_alive_seconds, shutdown_timeout=STOP_SECONDS
        )

    async def start(self) -> str:
        """Listen; the URL. Raises :class:`ValueError` naming address and port if that is impossible."""
        await self._runner.setup()
        host, port = self._settings.host, self._settings.port
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=self._context, reuse_address=True).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ValueError(f"bind_host, bind_port: {host}:{port}: {error.strerror or error}") from error
        taken = self._runner.addresses[0]
        shown = f"[{taken[0]}]" if ":" in taken[0] else taken[0]
        return f"https://{shown}:{taken[1]}"

    @property
    def place(self) -> tuple[str, int]:
        """Address and port, once it listens."""
        address: str = self._runner.addresses[0][0]
        port: int = self._runner.addresses[0][1]
        return address, port

    async def stop(self) -> None:
        """Answer what is under way, then close."""
        await self._runner.cleanup()


@web.middleware
async def _refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Exception as error:
        refusal = refusal_of(error)
        refused = answer(refusal, status=STATUS[refusal.code])
        if refusal.code == "unauthorized":
            refused.headers["WWW-Authenticate"] = 'Basic realm="evenkeel-haproxyd"'
        if refusal.code == "busy":
            refused.headers["Retry-After"] = "1"
        return refused


def _authentication(credentials: Credentials) -> Middleware:
    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        peer = request.remote or "unknown"
        request[AGENT] = await credentials.agent(request.headers.get("Authorization", ""), peer=peer)
        return await handler(request)

    return authenticate


def _readiness(is_ready: Callable[[], bool]) -> Middleware:
    @web.middleware
    async def ready(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_ready():
            raise Refused("busy", "the daemon is reading what it holds; try again later")
        return await handler(request)

    return ready
