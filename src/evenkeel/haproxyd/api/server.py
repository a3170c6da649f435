"""The daemon's HTTPS server: routes, authentication, and error responses.

A request is authenticated before its body is read. Connections are kept alive; idle ones are closed, and
unauthenticated connections cannot crowd out agents (:mod:`evenkeel.serving.connections`).
"""

import asyncio
import socket
import ssl
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from evenkeel.core.networking.addresses import host_and_port
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.credentials import AgentCredentials
from evenkeel.haproxyd.api.handlers import AGENT_NAME, Handlers, json_response
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.refusals import STATUS_BY_CODE, DaemonRefused, refusal_for_error
from evenkeel.serving.bounded_handler import BoundedHandler
from evenkeel.serving.web_server import WebServer


def http_routes(handlers: Handlers) -> list[web.RouteDef]:
    """Return all routes; :mod:`wire` defines requests and responses."""
    return [
        web.get("/v1", handlers.show_about),
        web.get("/v1/partitions", handlers.list_partitions),
        web.get("/v1/partitions/{name}", handlers.show_partition),
        web.post("/v1/partitions/{name}/guard", handlers.take_over_partition),
        web.put("/v1/partitions/{name}", handlers.put_partition),
        web.patch("/v1/partitions/{name}", handlers.patch_partition),
        web.get("/v1/observation", handlers.show_observation),
        web.get("/v1/events", handlers.show_events),
        web.get("/v1/journal", handlers.show_journal),
    ]


def create_app(
    handlers: Handlers, credentials: AgentCredentials, settings: HttpSettings, *, is_ready: Callable[[], bool]
) -> web.Application:
    """Build the web application with its routes, authentication and error responses, independent of the
    server. Until ``is_ready()``, authenticated requests are refused with ``busy`` (503).
    """
    app = web.Application(
        client_max_size=settings.body_bytes_max,
        # The first middleware is the outermost: it answers the errors of the others, and the login comes before
        # readiness.
        middlewares=[_answer_refusals, _authentication_middleware(credentials), _readiness_middleware(is_ready)],
    )
    app.add_routes(http_routes(handlers))
    return app


class HttpsServer:
    """HTTPS server of the daemon's API, with limits for connections and requests."""

    def __init__(self, app: web.Application, context: ssl.SSLContext, settings: HttpSettings) -> None:
        self._settings = settings
        self._server = WebServer(
            app,
            name="haproxyd",
            limits=settings,
            connections_max=settings.connections_max,
            per_address_max=settings.connections_per_address_max,
            tls=context,
            bad_request=_bad_request,
        )
        self._address = (settings.host, settings.port)

    async def start(self) -> str:
        """Listen on every address of the configured host, and return the URL with the bound port. Raises
        :class:`ValueError` naming address and port if they cannot be bound.
        """
        host, port = self._settings.host, self._settings.port
        try:
            listening = await _open_sockets(host, port)
        except OSError as error:
            raise ValueError(f"bind_host, bind_port: {host_and_port(host, port)}: {error.strerror or error}") from error
        taken = listening[0].getsockname()
        self._address = (str(taken[0]), int(taken[1]))
        await self._server.start(listening)
        return f"https://{host_and_port(*self._address)}"

    def use_tls_context(self, context: ssl.SSLContext) -> None:
        """Use this TLS context for new connections; established ones keep theirs."""
        self._server.use_tls(context)

    @property
    def address(self) -> tuple[str, int]:
        """Return the address and port on which the server listens; before :meth:`start`, the configured ones."""
        return self._address

    async def stop(self) -> None:
        """Accept no more connections, give requests in progress a second to finish, and close."""
        await self._server.stop()


def _bad_request(status: int) -> web.Response:
    return json_response(
        wire.DaemonRefusal(code="invalid", reason="not an HTTP request that is understood"), status=status
    )


async def _open_sockets(host: str, port: int) -> list[socket.socket]:
    """Open a bound socket for each address of the host name, and return them. Raises :class:`OSError` if the
    name has no address, or one of them cannot be bound; all are closed then.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listening: list[socket.socket] = []
    try:
        # getaddrinfo() may return an address more than once.
        for family, _, _, _, address in dict.fromkeys(found):
            made = socket.socket(family, socket.SOCK_STREAM)
            listening.append(made)
            # A restarted daemon can listen again while connections of the earlier one are in TIME_WAIT.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # Without this option a socket on `::` would also take the IPv4 addresses, which have sockets of their
                # own.
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made.bind(address)
    except OSError:
        for made in listening:
            made.close()
        raise
    return listening


@web.middleware
async def _answer_refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Exception as error:
        refusal = refusal_for_error(error)
        refused = json_response(refusal, status=STATUS_BY_CODE[refusal.code])
        if refusal.code == "unauthorized":
            refused.headers["WWW-Authenticate"] = 'Basic realm="evenkeel-haproxyd"'
        if refusal.code == "busy":
            refused.headers["Retry-After"] = "1"
        return refused


def _authentication_middleware(credentials: AgentCredentials) -> Middleware:
    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        peer = request.remote or "unknown"
        request[AGENT_NAME] = await credentials.authenticate(request.headers.get("Authorization", ""), peer=peer)
        # From here on the connection is an agent's, and is not closed in favour of a newer one.
        if isinstance(request.protocol, BoundedHandler):
            request.protocol.client_connection.mark_authenticated()
        return await handler(request)

    return authenticate


def _readiness_middleware(is_ready: Callable[[], bool]) -> Middleware:
    @web.middleware
    async def refuse_unless_ready(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_ready():
            raise DaemonRefused("busy", "the daemon is reading what it holds; try again later")
        return await handler(request)

    return refuse_unless_ready
