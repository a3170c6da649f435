"""A controller: the API, the scheduler and the callback queues in one process. Any number may run."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import structlog
from oslo_config import cfg
from prometheus_client import REGISTRY

import evenkeel
from evenkeel.api.app import create_app
from evenkeel.cmd.api_thread import ThreadedChangeSink, run_beside
from evenkeel.cmd.capabilities import load_capabilities
from evenkeel.cmd.configuration.sections import CONTROLLER
from evenkeel.cmd.controller_parts import ControllerParts, open_parts
from evenkeel.cmd.endpoint import announce, listen, url_of
from evenkeel.cmd.key_manager_options import open_key_manager
from evenkeel.cmd.logs import LOG_OPTIONS, set_log_level
from evenkeel.cmd.metrics_endpoint import METRICS_CERTIFICATE_OPTIONS, MetricsEndpoint
from evenkeel.cmd.network_options import open_network
from evenkeel.cmd.reloading import Action, Reloading
from evenkeel.cmd.runtime import (
    NEIGHBOUR_RETRY_SECONDS,
    SystemClock,
    new_id,
    on_stop_signal,
    start_bus,
    tune_collector,
)
from evenkeel.cmd.series_options import traffic_settings
from evenkeel.cmd.server_tls import API_CERTIFICATE_OPTIONS, api_tls
from evenkeel.cmd.service_manager import Heart, ServiceManager
from evenkeel.cmd.serving import Server, run_serving, server_of
from evenkeel.cmd.surroundings import Surroundings
from evenkeel.controller.presence import Presence
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control import Environment
from evenkeel.core.errors import Conflict, StoreUnavailable
from evenkeel.core.ports import Store
from evenkeel.metrics.load_balancers import TrafficCollector
from evenkeel.metrics.system import SystemCollector
from evenkeel.serving.accepting import AT_ONCE
from evenkeel.store.engine.database import Database, without_password
from evenkeel.store.engine.statement_count import count_statements

log = structlog.get_logger(__name__)


def run_controller(
    command: str, arguments: Sequence[str], conf: cfg.ConfigOpts, surroundings: Surroundings | None = None
) -> None:
    """Serve until stopped. ``command`` and ``arguments``: read again at each SIGHUP. ``surroundings``: of a worker;
    None: a process of its own. Raises :class:`ValueError`."""
    run_serving(run(command, arguments, conf, surroundings))


async def run(command: str, arguments: Sequence[str], conf: cfg.ConfigOpts, surroundings: Surroundings | None) -> None:
    """Wire everything, serve until stopped."""
    parts = await open_parts(conf, worker=surroundings is not None)
    try:
        around = surroundings or Surroundings(listen(conf), ServiceManager(health_file=conf.health_file))
    except ValueError:
        await parts.close()
        raise
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    reloading = partial(Reloading, command, arguments, CONTROLLER, conf)
    serving = asyncio.create_task(serve(conf, parts, around, reloading))
    stopped = asyncio.create_task(stop.wait())
    # a worker without its parent would keep the port that the next one wants
    orphaned = asyncio.create_task(around.parent.answer() if around.parent else stop.wait())
    try:
        await asyncio.wait({serving, stopped, orphaned}, return_when=asyncio.FIRST_COMPLETED)
        if orphaned.done() and (error := orphaned.exception()) is not None:
            log.error("the connection to the parent failed", exc_info=error)
        if not serving.done():
            serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    finally:
        stopped.cancel()
        orphaned.cancel()
        await parts.close()


async def serve(
    conf: cfg.ConfigOpts,
    parts: ControllerParts,
    around: Surroundings,
    reloading: Callable[[Mapping[tuple[str, ...], Action]], Reloading],
) -> None:
    """Start store and bus as soon as they are reachable, then serve until cancelled."""
    systemd = around.service_manager
    store, bus, network = parts.store, parts.bus, parts.network
    systemd.status("waiting for the database and the message broker")
    await start_store(store, parts.environments, conf)
    log.info("database ready", schema=store.schema_revision)
    await start_bus(bus)
    controller = Controller(
        store=store,
        bus=bus,
        clock=SystemClock(),
        settings=settings(conf),
        network=network.network if network.gives_back else None,
        key_manager=parts.keys.key_manager,
        presence=Presence(
            store.scheduling,
            id_=new_id(),
            host=around.place(socket.gethostname()),
            url=url_of(around.listening, conf),
            version=evenkeel.__version__,
            problem=bus.problem,
        ),
    )
    await controller.start()
    collectors: list[SystemCollector | TrafficCollector] = [SystemCollector(store.operators, bus.problem)]
    if conf.metrics.load_balancers_max:
        collectors.append(TrafficCollector(store.reports, limit=conf.metrics.load_balancers_max))
    for collector in collectors:
        REGISTRY.register(collector)

    async def refresh() -> None:
        for collector in collectors:
            await collector.refresh()

    if around.parent is None:
        await parts.metrics.start(refresh)
    else:
        around.parent.expose(refresh)
    driver = ThreadedChangeSink(controller.driver)

    async def serve_api(stop: asyncio.Event) -> None:
        tenants = store.beside()
        count_statements(tenants.database, enabled=conf.debug)
        counted.append(tenants.database)
        theirs = open_network(conf, tenants)
        # of its own: what tenants have read takes no turn from agents and renewals
        their_keys = open_key_manager(conf)
        app = create_app(
            store=tenants,
            network=theirs.network,
            driver=driver,
            default_provider=conf.default_provider or (parts.environments[0].name if parts.environments else ""),
            capabilities=load_capabilities(),
            max_body_bytes=conf.api.max_body_bytes,
            max_page_items=conf.api.max_page_items,
            identity=parts.admission.identity,
            policy=parts.admission.policy,
            rate_limit=parts.admission.rate_limit,
            addresses=parts.addresses,
            certificates=their_keys.certificates,
            key_manager=their_keys.key_manager,
            tls=parts.tls,
            broker_problem=bus.problem,
            traffic=controller.traffic,
            activity=controller.activity,
        )
        tune_collector()
        beating = asyncio.create_task(heart.beat())
        server = server_of(app, conf, accept_at_once=1 if around.worker else AT_ONCE)
        servers.append(server)
        try:
            await serve_until(stop, server, around, conf, app.end_streams)
        finally:
            beating.cancel()
            their_keys.close()
            theirs.close()
            await tenants.close()

    servers: list[Server] = []
    counted: list[Database] = []
    reloading(reload_actions(conf, servers, counted, parts.metrics)).listen()
    heart = Heart()
    watching = asyncio.create_task(systemd.watch(hangs=heart.stopped))
    try:
        await run_beside(serve_api, name="api")
    finally:
        systemd.stopping()
        for collector in collectors:
            REGISTRY.unregister(collector)
        await controller.stop()
        watching.cancel()


def reload_actions(
    conf: cfg.ConfigOpts, servers: Sequence[Server], counted: Sequence[Database], metrics: MetricsEndpoint
) -> Mapping[tuple[str, ...], Action]:
    """What a SIGHUP does. ``counted``: databases whose statements are counted at debug level."""

    def use_debug(changed: cfg.ConfigOpts) -> None:
        set_log_level(changed)
        for database in counted:
            count_statements(database, enabled=changed.debug)

    def use_certificate(changed: cfg.ConfigOpts) -> None:
        tls = api_tls(changed)
        if (tls is None) != (not conf.api.ssl_cert_file):
            raise ValueError("api.ssl_cert_file: HTTPS is turned on and off by a restart")
        if tls is not None:
            for server in servers:
                server.use(tls)

    return {
        LOG_OPTIONS: use_debug,
        API_CERTIFICATE_OPTIONS: use_certificate,
        METRICS_CERTIFICATE_OPTIONS: metrics.reload,
    }


async def serve_until(
    stop: asyncio.Event,
    server: Server,
    around: Surroundings,
    conf: cfg.ConfigOpts,
    end_streams: Callable[[], None],
) -> None:
    """Serve, log the address, and finish requests in progress when stopped."""

    async def end() -> None:
        await stop.wait()
        end_streams()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        # before anybody is told; what connects waits in the queue until the server accepts, in a moment
        around.listening.listen(server.config.backlog)
        host, port = around.listening.getsockname()[:2]
        log.info("API listening", host=host, port=port, identity=conf.identity.kind)
        around.service_manager.ready()
        if around.parent is None:
            announce(conf.api.endpoint_file, url_of(around.listening, conf))
        await server.serve(sockets=[around.listening])
    finally:
        ending.cancel()


async def start_store(store: Store, environments: list[Environment], conf: cfg.ConfigOpts) -> None:
    """Wait for the database, and create missing environments.

    Raises :class:`ValueError` if one differs, or if the default provider does not exist.
    """
    while True:
        try:
            await store.start()
            there = {
                environment.name: environment.device_driver for environment in await store.operators.environments()
            }
            for environment in environments:
                # attributes set by operators stay; only the device driver is configured here
                if there.get(environment.name) != environment.device_driver:
                    await store.operators.add_environment(environment)
            known = [environment.name for environment in await store.operators.environments()]
            if conf.default_provider and conf.default_provider not in known:
                raise ValueError(f"default_provider: {conf.default_provider!r} is not one of {known}")
            return
        except Conflict as error:
            raise ValueError(f"environments: {error}") from error
        except StoreUnavailable as error:
            log.warning(
                "database unreachable; trying again",
                database=without_password(conf.database.connection),
                error=str(error),
                cause=_first_line(error.__cause__),
            )
            await asyncio.sleep(NEIGHBOUR_RETRY_SECONDS)


def _first_line(cause: BaseException | None) -> str:
    """The first line of the database client's error; the rest may be a whole statement."""
    original = getattr(cause, "orig", None) or cause
    return str(original).partition("\n")[0][:300]


def settings(conf: cfg.ConfigOpts) -> ControllerSettings:
    """The controller's settings from its options."""
    return ControllerSettings(
        session_ttl_seconds=conf.session_ttl,
        schedule_interval_seconds=conf.schedule_interval,
        settle_seconds=conf.settle_time,
        handbacks_at_once=conf.handbacks_at_once,
        handovers_at_once=conf.handovers_at_once,
        balance_interval_seconds=conf.balance_interval,
        suspicion_interval_seconds=conf.suspicion_interval,
        max_message_bytes=conf.max_message_bytes,
        orphan_grace_seconds=conf.orphan_grace_time,
        network_facts_seconds=conf.neutron.facts_interval,
        port_search_seconds=conf.neutron.port_search_interval,
        events_kept=conf.database.events_kept,
        traffic=traffic_settings(conf),
    )
