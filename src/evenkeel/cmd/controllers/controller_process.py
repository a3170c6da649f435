"""A controller: the API, the scheduler and the callback queues in one process. Any number may run."""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial

import structlog
from oslo_config import cfg
from prometheus_client import REGISTRY

import evenkeel
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers.api_server import ApiServer
from evenkeel.cmd.controllers.api_thread import run_in_own_thread
from evenkeel.cmd.controllers.controller_parts import ControllerDependencies, open_controller_dependencies
from evenkeel.cmd.controllers.own_certificates import CertificateExpiryReader
from evenkeel.cmd.controllers.process_context import ProcessContext
from evenkeel.cmd.controllers.serving import run_serving
from evenkeel.cmd.options.notification_options import notification_settings
from evenkeel.cmd.options.series_options import traffic_settings
from evenkeel.cmd.process.endpoint import api_socket, api_url_for_other_hosts
from evenkeel.cmd.process.metrics_endpoint import METRICS_CERTIFICATE_OPTIONS
from evenkeel.cmd.process.reloading import OptionReloader, ReloadAction
from evenkeel.cmd.process.runtime import NEIGHBOUR_RETRY_SECONDS, SystemClock, handle_stop_signals, new_id, start_bus
from evenkeel.cmd.process.service_manager import EventLoopWatchdog, ServiceManager
from evenkeel.controller.notifications import Notifications
from evenkeel.controller.presence import Presence
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Conflict, StoreUnavailable
from evenkeel.core.ports import Store
from evenkeel.metrics.load_balancers import TrafficCollector
from evenkeel.metrics.system import SystemCollector
from evenkeel.store.engine.database import url_without_password

log = structlog.get_logger(__name__)


def run_controller(
    command: str, arguments: Sequence[str], conf: cfg.ConfigOpts, context: ProcessContext | None = None
) -> None:
    """Serve until stopped. ``command`` and ``arguments``: the process's name and its arguments, which are
    read again at each SIGHUP. ``context``: of a worker; None: a process of its own. Raises
    :class:`ValueError` for options that cannot be used.
    """
    run_serving(run_process(command, arguments, conf, context))


async def run_process(
    command: str, arguments: Sequence[str], conf: cfg.ConfigOpts, context: ProcessContext | None
) -> None:
    """Create all parts and serve until stopped; a worker stops, too, when its parent is gone. Raises
    :class:`ValueError` for options that cannot be used.
    """
    parts = await open_controller_dependencies(conf, worker=context is not None)
    try:
        context = context or ProcessContext(api_socket(conf), ServiceManager(health_file=conf.health_file))
    except ValueError:
        await parts.close()
        raise
    stop = asyncio.Event()
    handle_stop_signals(stop.set)
    reloading = partial(OptionReloader, command, arguments, CONTROLLER_OPTION_GROUPS, conf)
    serving = asyncio.create_task(serve_until_cancelled(conf, parts, context, reloading))
    stopped = asyncio.create_task(stop.wait())
    # a worker without its parent would keep the port that the next one wants
    orphaned = asyncio.create_task(context.parent.answer_requests() if context.parent else stop.wait())
    try:
        await asyncio.wait({serving, stopped, orphaned}, return_when=asyncio.FIRST_COMPLETED)
        if orphaned.done() and (error := orphaned.exception()) is not None:
            log.error("the connection to the parent failed", exc_info=error)
        if not serving.done():
            serving.cancel()
        # Raises the error with which serving ended, if it did not end by the cancellation above.
        with suppress(asyncio.CancelledError):
            await serving
    finally:
        stopped.cancel()
        orphaned.cancel()
        await parts.close()


async def serve_until_cancelled(
    conf: cfg.ConfigOpts,
    parts: ControllerDependencies,
    context: ProcessContext,
    reloading: Callable[[Mapping[tuple[str, ...], ReloadAction]], OptionReloader],
) -> None:
    """Start store and bus as soon as they are reachable, then serve until cancelled. ``reloading`` creates
    the part that applies changed options. Raises :class:`ValueError` for options that cannot be used.
    """
    systemd = context.service_manager
    systemd.set_status("waiting for the database and the message broker")
    await start_store(parts.store, parts.environments, conf)
    log.info("database ready", schema=parts.store.schema_revision)
    await start_bus(parts.bus)
    watchdog = EventLoopWatchdog()
    async with AsyncExitStack() as ending:
        watching = asyncio.create_task(systemd.watch(hangs=watchdog.is_stopped))
        ending.callback(watching.cancel)  # last: stopping takes some seconds
        controller = open_controller(conf, parts, context)
        ending.push_async_callback(controller.stop)
        # Callbacks run in reverse order: STOPPING=1 is sent before the controller begins to stop.
        ending.callback(systemd.notify_stopping)
        await controller.start()
        await expose_metrics(conf, parts, context, ending)
        api = ApiServer(conf, parts, context, controller, watchdog)
        reloading({**api.reload_actions(), METRICS_CERTIFICATE_OPTIONS: parts.metrics.reload}).listen()
        await run_in_own_thread(api.run, name="api")


def open_controller(conf: cfg.ConfigOpts, parts: ControllerDependencies, context: ProcessContext) -> Controller:
    """Create the controller from its opened parts; it is not started yet."""
    store, network = parts.store, parts.network
    return Controller(
        store=store,
        bus=parts.bus,
        clock=SystemClock(),
        settings=controller_settings(conf),
        network=network.network if network.gives_back else None,
        key_manager=parts.keys.key_manager,
        acme=parts.acme.parts,
        notifications=open_notifier(conf, parts),
        certificates=CertificateExpiryReader(conf, socket.gethostname()),
        presence=Presence(
            store.scheduling,
            id_=new_id(),
            host=context.process_name(socket.gethostname()),
            url=api_url_for_other_hosts(context.listening, conf),
            version=evenkeel.__version__,
            problem=parts.bus.problem,
        ),
    )


def open_notifier(conf: cfg.ConfigOpts, parts: ControllerDependencies) -> Notifications | None:
    """Create the part that sends notifications; None if they are off."""
    if parts.notifications is None:
        return None
    settings = notification_settings(conf)
    return Notifications(parts.store.notifications, parts.notifications, settings, SystemClock(), holder=new_id())


async def expose_metrics(
    conf: cfg.ConfigOpts, parts: ControllerDependencies, context: ProcessContext, ending: AsyncExitStack
) -> None:
    """Serve the metrics of this process and of the database, or send them to the parent, which serves them.

    The collectors are removed from the registry when ``ending`` is closed.
    """
    store = parts.store
    collectors: list[SystemCollector | TrafficCollector] = [
        SystemCollector(store.operators, parts.bus.problem, store.write_problem)
    ]
    if conf.metrics.load_balancers_max:
        collectors.append(TrafficCollector(store.reports, limit=conf.metrics.load_balancers_max))
    for collector in collectors:
        REGISTRY.register(collector)
        ending.callback(REGISTRY.unregister, collector)

    async def refresh() -> None:
        for collector in collectors:
            await collector.refresh()

    if context.parent is None:
        await parts.metrics.start(refresh)
    else:
        context.parent.expose(refresh)


async def start_store(store: Store, environments: list[Environment], conf: cfg.ConfigOpts) -> None:
    """Start the store as soon as the database is reachable, and create missing environments.

    Raises :class:`ValueError` if an environment exists with another device driver, or if the default provider
    does not exist.
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
            # Read again: the list now has the environments added above, and those of controllers that started
            # meanwhile.
            known = [environment.name for environment in await store.operators.environments()]
            if conf.default_provider and conf.default_provider not in known:
                raise ValueError(f"default_provider: {conf.default_provider!r} is not one of {known}")
            return
        except Conflict as error:
            # Trying again would not help: the environment exists with another device driver.
            raise ValueError(f"environments: {error}") from error
        except StoreUnavailable as error:
            log.warning(
                "database unreachable; trying again",
                database=url_without_password(conf.database.connection),
                error=str(error),
                cause=_first_line(error.__cause__),
            )
            await asyncio.sleep(NEIGHBOUR_RETRY_SECONDS)


def _first_line(cause: BaseException | None) -> str:
    """Return the first line of the database client's error, at most 300 characters; the rest may be a whole
    statement.
    """
    original = getattr(cause, "orig", None) or cause
    return str(original).partition("\n")[0][:300]


def controller_settings(conf: cfg.ConfigOpts) -> ControllerSettings:
    """Build the controller's settings from its options."""
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
