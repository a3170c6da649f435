"""A controller's API server, in the thread that :mod:`evenkeel.cmd.controllers.api_thread` gives it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

import structlog
from oslo_config import cfg

from evenkeel.api.app import Application, create_app
from evenkeel.cmd.controllers.api_thread import ThreadedChangeSink
from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.cmd.controllers.controller_parts import ControllerDependencies
from evenkeel.cmd.controllers.process_context import ProcessContext
from evenkeel.cmd.controllers.serving import ApiHttpServer, configured_server
from evenkeel.cmd.options.key_manager_options import open_key_manager
from evenkeel.cmd.options.logging_options import LOG_OPTIONS
from evenkeel.cmd.options.network_options import open_network
from evenkeel.cmd.options.server_tls import API_CERTIFICATE_OPTIONS, api_tls_context
from evenkeel.cmd.process.endpoint import api_url, write_endpoint_file
from evenkeel.cmd.process.logs import set_log_level
from evenkeel.cmd.process.reloading import ReloadAction
from evenkeel.cmd.process.runtime import tune_collector
from evenkeel.cmd.process.service_manager import EventLoopWatchdog
from evenkeel.controller.service import Controller
from evenkeel.core.ports import CertificateStore, KeyManager, Network, Store
from evenkeel.serving.accepting import AT_ONCE
from evenkeel.store.engine.database import Database
from evenkeel.store.engine.statement_count import count_statements

log = structlog.get_logger(__name__)


class ApiServer:
    """Serves the API over database connections, a network and a key manager of its own.

    Create it in the event loop of ``controller``, :meth:`run` it in another. ``watchdog`` records that the
    latter still runs its tasks.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        parts: ControllerDependencies,
        context: ProcessContext,
        controller: Controller,
        watchdog: EventLoopWatchdog,
    ) -> None:
        self._conf = conf
        self._parts = parts
        self._context = context
        self._controller = controller
        self._driver = ThreadedChangeSink(controller.driver)
        self._watchdog = watchdog
        self._server: ApiHttpServer | None = None
        self._database: Database | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until ``stop`` is set. Raises :class:`ValueError` for options of network, key manager,
        proxies or TLS that cannot be used.
        """
        conf = self._conf
        async with AsyncExitStack() as ending:
            # Database connections belong to the event loop that opened them, so the API cannot use the controller's.
            tenants = self._parts.store.with_own_connections()
            ending.push_async_callback(tenants.close)
            count_statements(tenants.database, enabled=conf.debug)
            self._database = tenants.database
            network = open_network(conf, tenants)
            ending.callback(network.close)
            # of its own: what tenants have read takes no turn from agents and renewals
            keys = open_key_manager(conf)
            ending.callback(keys.close)
            app = self._create_app(tenants, network.network, keys.key_manager, keys.certificates)
            tune_collector()
            beating = asyncio.create_task(self._watchdog.record_beats())
            ending.callback(beating.cancel)
            self._server = configured_server(app, conf, accept_at_once=1 if self._context.worker else AT_ONCE)
            await self._serve_until_stopped(self._server, stop, app.end_streams)

    def _create_app(
        self, store: Store, network: Network, key_manager: KeyManager | None, certificates: CertificateStore | None
    ) -> Application:
        conf, parts = self._conf, self._parts
        return create_app(
            store=store,
            network=network,
            driver=self._driver,
            default_provider=conf.default_provider or (parts.environments[0].name if parts.environments else ""),
            capabilities=load_capabilities(),
            max_body_bytes=conf.api.max_body_bytes,
            max_page_items=conf.api.max_page_items,
            wait_until_applied=conf.api.wait_until_applied,
            identity=parts.admission.identity,
            policy=parts.admission.policy,
            rate_limit=parts.admission.rate_limit,
            origins=parts.admission.origins,
            addresses=parts.addresses,
            certificates=certificates,
            key_manager=key_manager,
            acme=parts.acme.requests,
            tls=parts.tls,
            bare_esd_tags=conf.bare_esd_tags,
            documentation_url=conf.documentation_url or "",
            broker_problem=parts.bus.problem,
            traffic=self._controller.traffic,
            activity=self._controller.activity,
        )

    async def _serve_until_stopped(
        self, server: ApiHttpServer, stop: asyncio.Event, end_streams: Callable[[], None]
    ) -> None:
        """Listen, report to the service manager that the API serves, write the endpoint file, and when
        stopped finish requests in progress.
        """
        conf, listening = self._conf, self._context.listening

        async def end_when_stopped() -> None:
            await stop.wait()
            # uvicorn waits for the responses in progress, and event streams do not end by themselves.
            end_streams()
            server.should_exit = True

        ending = asyncio.create_task(end_when_stopped())
        try:
            # before the URL is announced; connections wait in the queue until the server accepts them, in a moment
            listening.listen(server.config.backlog)
            host, port = listening.getsockname()[:2]
            log.info("API listening", host=host, port=port, identity=conf.identity.kind)
            self._context.service_manager.notify_ready()
            if self._context.parent is None:
                write_endpoint_file(conf.api.endpoint_file, api_url(listening, conf))
            await server.serve(sockets=[listening])
        finally:
            ending.cancel()

    def reload_actions(self) -> Mapping[tuple[str, ...], ReloadAction]:
        """Return the API server's actions at SIGHUP, by the options that they apply. They are thread-safe."""
        return {LOG_OPTIONS: self._apply_debug, API_CERTIFICATE_OPTIONS: self._apply_certificate}

    def _apply_debug(self, changed: cfg.ConfigOpts) -> None:
        set_log_level(changed)
        if self._database is not None:
            count_statements(self._database, enabled=changed.debug)

    def _apply_certificate(self, changed: cfg.ConfigOpts) -> None:
        tls = api_tls_context(changed)
        if (tls is None) != (not self._conf.api.ssl_cert_file):
            raise ValueError("api.ssl_cert_file: HTTPS is turned on and off by a restart")
        if tls is not None and self._server is not None:
            self._server.use_tls(tls)
