"""``evenkeel-controller``: the API, the scheduler and the callback queues in one process. Any number may run."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog
from oslo_config import cfg
from prometheus_client import REGISTRY

import evenkeel
from evenkeel.api.app import create_app
from evenkeel.cmd.api_thread import ThreadedChangeSink, run_beside
from evenkeel.cmd.capabilities import load_capabilities
from evenkeel.cmd.configuration.loading import load
from evenkeel.cmd.configuration.refusal import tell_refusal
from evenkeel.cmd.configuration.sections import CONTROLLER
from evenkeel.cmd.controller_parts import ControllerParts, open_parts
from evenkeel.cmd.key_manager_options import open_key_manager
from evenkeel.cmd.logs import LOG_OPTIONS, set_log_level, set_up_logs
from evenkeel.cmd.metrics_endpoint import METRICS_CERTIFICATE_OPTIONS, MetricsEndpoint
from evenkeel.cmd.network_options import open_network
from evenkeel.cmd.reloading import Action, Reloading, ignore_hangup
from evenkeel.cmd.runtime import (
    NEIGHBOUR_RETRY_SECONDS,
    SystemClock,
    new_id,
    on_stop_signal,
    start_bus,
    tune_collector,
)
from evenkeel.cmd.series_options import traffic_settings
from evenkeel.cmd.service_manager import Heart, ServiceManager
from evenkeel.cmd.serving import CERTIFICATE_OPTIONS, Server, run_serving, server_of, tls_context
from evenkeel.cmd.start_log import log_start
from evenkeel.controller.presence import Presence
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control import Environment
from evenkeel.core.errors import Conflict, StoreUnavailable
from evenkeel.core.ports import Store
from evenkeel.metrics.load_balancers import TrafficCollector
from evenkeel.metrics.system import SystemCollector
from evenkeel.store.engine.database import Database, without_password
from evenkeel.store.engine.statement_count import count_statements

log = structlog.get_logger(__name__)

NAME = "evenkeel-controller"


def main() -> int:
    """Entry point."""
    ignore_hangup()
    try:
        conf = load(NAME, sys.argv[1:], groups=CONTROLLER)
    except ValueError as error:
        return tell_refusal(NAME, error)
    set_up_logs(conf, name="controller")
    log_start(conf, CONTROLLER)
    try:
        run_serving(run(conf))
    except ValueError as error:
        return tell_refusal(NAME, error, conf)
    return 0


async def run(conf: cfg.ConfigOpts) -> None:
    """Wire everything, serve until stopped."""
    parts = await open_parts(conf)
    try:
        listening = listen(conf)
    except ValueError:
        await parts.close()
        raise
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    serving = asyncio.create_task(serve(conf, parts, listening, ServiceManager(health_file=conf.health_file)))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    finally:
        stopped.cancel()
        await parts.close()


async def serve(
    conf: cfg.ConfigOpts, parts: ControllerParts, listening: socket.socket, systemd: ServiceManager
) -> None:
    """Start store and bus as soon as they are reachable, then serve until cancelled."""
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
            host=socket.gethostname(),
            url=url_of(listening, conf),
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

    await parts.metrics.start(refresh)
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
        )
        tune_collector()
        beating = asyncio.create_task(heart.beat())
        server = server_of(app, conf)
        servers.append(server)
        try:
            await serve_until(stop, server, listening, conf, systemd, app.end_streams)
        finally:
            beating.cancel()
            their_keys.close()
            theirs.close()
            await tenants.close()

    servers: list[Server] = []
    counted: list[Database] = []
    reloading(conf, servers, counted, parts.metrics).listen()
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


def reloading(
    conf: cfg.ConfigOpts,
    servers: Sequence[Server],
    counted: Sequence[Database] = (),
    metrics: MetricsEndpoint | None = None,
) -> Reloading:
    """What a SIGHUP does. ``counted``: databases whose statements are counted at debug level."""

    def use_debug(changed: cfg.ConfigOpts) -> None:
        set_log_level(changed)
        for database in counted:
            count_statements(database, enabled=changed.debug)

    def use_certificate(changed: cfg.ConfigOpts) -> None:
        tls = tls_context(changed)
        if (tls is None) != (not conf.api.ssl_cert_file):
            raise ValueError("api.ssl_cert_file: HTTPS is turned on and off by a restart")
        if tls is not None:
            for server in servers:
                server.use(tls)

    actions: dict[tuple[str, ...], Action] = {
        LOG_OPTIONS: use_debug,
        CERTIFICATE_OPTIONS: use_certificate,
    }
    if metrics is not None:
        actions[METRICS_CERTIFICATE_OPTIONS] = metrics.reload
    return Reloading(NAME, sys.argv[1:], CONTROLLER, conf, actions)


async def serve_until(
    stop: asyncio.Event,
    server: Server,
    listening: socket.socket,
    conf: cfg.ConfigOpts,
    systemd: ServiceManager,
    end_streams: Callable[[], None],
) -> None:
    """Serve, log the address, and finish requests in progress when stopped."""

    async def end() -> None:
        await stop.wait()
        end_streams()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        host, port = listening.getsockname()[:2]
        log.info("API listening", host=host, port=port, identity=conf.identity.kind)
        systemd.ready()
        announce(conf.api.endpoint_file, url_of(listening, conf))
        await server.serve(sockets=[listening])
    finally:
        ending.cancel()


def url_of(listening: socket.socket, conf: cfg.ConfigOpts) -> str:
    """The API's URL on this host."""
    host, port = listening.getsockname()[:2]
    return f"{'https' if conf.api.ssl_cert_file else 'http'}://{host}:{port}"


def announce(endpoint_file: str | None, url: str) -> None:
    """Write the API's URL to a file, for a parent process that chose port 0."""
    if endpoint_file:
        Path(endpoint_file).write_text(f"{url}\n")


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


def listen(conf: cfg.ConfigOpts) -> socket.socket:
    """The bound socket. Raises :class:`ValueError`."""
    host = conf.api.bind_host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, conf.api.bind_port))
    except OSError as error:
        raise ValueError(f"api.bind_host, api.bind_port: {host}:{conf.api.bind_port}: {error.strerror}") from error
    return listening


if __name__ == "__main__":
    sys.exit(main())
