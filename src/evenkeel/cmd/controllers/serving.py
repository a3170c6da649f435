"""The HTTP server: uvicorn with this project's accepting of connections and limits, and with TLS if configured."""

import asyncio
import contextlib
import resource
import socket
import ssl
from collections.abc import Coroutine, Iterator
from typing import Any

import uvicorn
import uvloop
from oslo_config import cfg

from evenkeel.api.http.path_prefix import PathPrefix, checked_prefix
from evenkeel.api.http.protocol import BoundedProtocol
from evenkeel.cmd.options.server_tls import api_tls_context
from evenkeel.serving.accepting import AT_ONCE, Acceptor, max_connections_for_files
from evenkeel.serving.connections import Connection, ConnectionLimits, Connections
from evenkeel.serving.http_limits import HttpLimits
from evenkeel.serving.peers import Network, parse_networks
from evenkeel.serving.refusal_log import RefusalLog

KEEP_ALIVE_SECONDS = 75
"""Time for which idle connections are kept: longer than gateways and clients keep theirs, which would otherwise send
on a connection that is just being closed.
"""

STOP_SECONDS = 5
"""Time for requests in progress when the process stops."""
OPEN_FILES_WANTED = 65_536


def run_serving(main: Coroutine[Any, Any, None]) -> None:
    """Run a process's main coroutine like ``asyncio.run``, on uvloop's event loop, which is faster for many
    small requests.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


class ApiHttpServer(uvicorn.Server):
    """A uvicorn server that handles no signals, because the process decides when to stop, and accepts connections by a
    loop of this project.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        limits: HttpLimits,
        refusals: RefusalLog,
        tls: ssl.SSLContext | None,
        accept_at_once: int,
    ) -> None:
        """Initialize the server. ``tls``: context of HTTPS; None: plain HTTP. ``accept_at_once``: see
        :class:`Acceptor`.
        """
        super().__init__(config)
        self._accept_at_once = accept_at_once
        self._tls = tls
        self._connections = connections
        self._limits = limits
        self._refusals = refusals
        self._acceptor: Acceptor | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signal handlers alone: the controller process has its own."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections on the one socket in ``sockets``. Raises :class:`ValueError` without one."""
        await self.lifespan.startup()
        # uvicorn's shutdown closes the servers of this list; the acceptor replaces them.
        self.servers = []
        if sockets is None:
            raise ValueError("there is no socket to take connections from")
        (listening,) = sockets
        self._acceptor = Acceptor(
            listening,
            self._connections,
            self._make_protocol,
            tls=self._tls,
            handshake_seconds=self._limits.header_seconds,
            at_once=self._accept_at_once,
        )
        self._acceptor.start()
        self.started = True

    def use_tls(self, tls: ssl.SSLContext) -> None:
        """Use this TLS context for new connections."""
        self._tls = tls
        if self._acceptor is not None:
            self._acceptor.use_tls(tls)

    def _make_protocol(self, connection: Connection) -> BoundedProtocol:
        protocol = BoundedProtocol(self.config, self.server_state, self.lifespan.state)
        protocol.limits, protocol.connection, protocol.refusals = self._limits, connection, self._refusals
        return protocol

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections; wait at most :data:`STOP_SECONDS` for requests in progress."""
        if self._acceptor is not None:
            self._acceptor.close()
        await super().shutdown(sockets)


def configured_server(app: Any, conf: cfg.ConfigOpts, *, accept_at_once: int = AT_ONCE) -> ApiHttpServer:
    """Create the server of ``app`` as ``[api]`` configures it; raises the process's limit of open files.
    ``accept_at_once``: see :class:`Acceptor`. Raises :class:`ValueError` for an invalid proxy or path
    prefix, or a certificate that cannot be loaded.
    """
    shared = api_proxies(conf)
    config = uvicorn.Config(
        PathPrefix(app, default=api_path_prefix(conf), proxies=shared),
        access_log=False,
        log_config=None,
        log_level="warning",
        lifespan="off",
        http=BoundedProtocol,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        # Given even if there are none: uvicorn would otherwise read FORWARDED_ALLOW_IPS from the environment, or
        # trust 127.0.0.1.
        forwarded_allow_ips=[str(network) for network in shared],
    )
    refusals = RefusalLog("api")
    limits = ConnectionLimits(
        connections_max=max_connections_for_files(conf.api.connections_max, raise_open_files_limit()),
        per_address_max=conf.api.connections_per_address_max,
        shared=shared,
    )
    http = HttpLimits(header_bytes_max=conf.api.max_header_bytes, header_seconds=conf.api.header_seconds)
    return ApiHttpServer(
        config, Connections(limits, refusals.add), http, refusals, api_tls_context(conf), accept_at_once
    )


def api_path_prefix(conf: cfg.ConfigOpts) -> str:
    """Return the path below which clients reach the API; empty if it is the root. Raises :class:`ValueError`
    if the option is not a path.
    """
    try:
        return checked_prefix(conf.api.path_prefix)
    except ValueError as error:
        raise ValueError(f"api.path_prefix: {error}") from error


def api_proxies(conf: cfg.ConfigOpts) -> tuple[Network, ...]:
    """Return the networks of trusted proxies in front of the API. Raises :class:`ValueError` for an entry of
    the option that is no network.
    """
    return parse_networks(conf.api.proxies, "api.proxies")


def raise_open_files_limit() -> int:
    """Raise the process's limit of open files to :data:`OPEN_FILES_WANTED`, or to its hard limit if that is
    lower, and return the limit; for an unlimited number :data:`OPEN_FILES_WANTED`.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_WANTED)
    # Many systems set a soft limit of 1,024 for programs that use select(2), which this one does not.
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return OPEN_FILES_WANTED if soft == resource.RLIM_INFINITY else soft
