"""``evenkeel-controller``: the API, the scheduler and the callback queues in one process. Any number may run."""

import asyncio
import contextlib
import ipaddress
import socket
import sys
from pathlib import Path

import structlog
from oslo_config import cfg

from evenkeel.api.app import create_app
from evenkeel.bus.access import ControllerAccess, refusal_of
from evenkeel.bus.factory import AMQP, open_bus
from evenkeel.cmd import limit_options, quota_options
from evenkeel.cmd.admission import Admission, check_exposure, open_admission
from evenkeel.cmd.api_thread import ThreadedChangeSink, run_beside
from evenkeel.cmd.capabilities import load_capabilities
from evenkeel.cmd.config_files import load
from evenkeel.cmd.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.cmd.network_options import OpenedNetwork, open_network
from evenkeel.cmd.runtime import (
    NEIGHBOUR_RETRY_SECONDS,
    SystemClock,
    new_id,
    on_stop_signal,
    set_up_logs,
    start_bus,
    tune_collector,
)
from evenkeel.cmd.sections import CONTROLLER
from evenkeel.cmd.service_manager import Heart, ServiceManager
from evenkeel.cmd.serving import Server, proxies_of, run_serving, server_of
from evenkeel.cmd.start_log import log_start
from evenkeel.cmd.tls_options import tls_rules
from evenkeel.config.addresses import address_rules
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.addresses import AddressRules
from evenkeel.core.control import Environment
from evenkeel.core.errors import Conflict, StoreUnavailable
from evenkeel.core.names import ENVIRONMENT_NAME_RULE, is_environment_name
from evenkeel.core.ports import Bus, Store
from evenkeel.core.tls import TlsRules
from evenkeel.store.engine.database import without_password
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store

log = structlog.get_logger(__name__)


def main() -> int:
    """Entry point."""
    try:
        conf = load("evenkeel-controller", sys.argv[1:], groups=CONTROLLER)
    except ValueError as error:
        print(f"evenkeel-controller: configuration refused: {error}", file=sys.stderr)
        return 2
    set_up_logs(debug=conf.debug, name="controller")
    log_start(conf, CONTROLLER)
    try:
        run_serving(run(conf))
    except ValueError as error:
        log.error("configuration refused", reason=str(error))
        return 2
    return 0


async def run(conf: cfg.ConfigOpts) -> None:
    """Wire everything, serve until stopped."""
    environments = [parse_environment(item) for item in conf.environments]
    admission = open_admission(conf)
    addresses = address_rules(conf.api, "api")
    tls = tls_rules(conf)
    proxies_of(conf)
    keys = open_key_manager(conf)
    listening = listen(conf)
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    stored = StoreOptions(
        pending_deadline_seconds=conf.pending_deadline,
        strict_immutability=conf.api.strict_immutability,
        default_quotas=quota_options.default_quotas(conf),
        load_balancer_limits=limit_options.load_balancer_limits(conf),
        certificate_refresh_seconds=conf.certificates.certificate_refresh,
    )
    store = open_store(conf.database.connection, stored)
    network = open_network(conf, store)
    bus = open_controller_bus(conf)
    serving = asyncio.create_task(
        serve(conf, store, bus, network, environments, admission, addresses, tls, keys, listening, ServiceManager())
    )
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    finally:
        stopped.cancel()
        keys.close()
        network.close()
        await bus.close()
        await store.close()


def open_controller_bus(conf: cfg.ConfigOpts) -> Bus:
    """The bus, not connected yet. Raises :class:`ValueError`."""
    authenticated = conf.rabbit_agents_authenticated
    if not authenticated and conf.transport_url.startswith(AMQP):
        log.warning(
            "agents are not authenticated: any client with a RabbitMQ password can impersonate them; see deploy.md"
        )
    return open_bus(
        conf.transport_url,
        name=f"controller-{new_id()[:8]}",
        max_message_bytes=conf.max_message_bytes,
        access=ControllerAccess(refusal=refusal_of) if authenticated else None,
    )


async def serve(
    conf: cfg.ConfigOpts,
    store: SqlStore,
    bus: Bus,
    network: OpenedNetwork,
    environments: list[Environment],
    admission: Admission,
    addresses: AddressRules,
    tls: TlsRules,
    keys: OpenedKeyManager,
    listening: socket.socket,
    systemd: ServiceManager,
) -> None:
    """Start store and bus as soon as they are reachable, then serve until cancelled."""
    systemd.status("waiting for the database and the message broker")
    await start_store(store, environments, conf)
    log.info("database ready", schema=store.schema_revision)
    await start_bus(bus)
    controller = Controller(
        store=store,
        bus=bus,
        clock=SystemClock(),
        settings=settings(conf),
        network=network.network if network.gives_back else None,
        key_manager=keys.key_manager,
    )
    await controller.start()
    driver = ThreadedChangeSink(controller.driver)

    async def serve_api(stop: asyncio.Event) -> None:
        tenants = store.beside()
        theirs = open_network(conf, tenants)
        # of its own: what tenants have read takes no turn from agents and renewals
        their_keys = open_key_manager(conf)
        app = create_app(
            store=tenants,
            network=theirs.network,
            driver=driver,
            default_provider=conf.default_provider or (environments[0].name if environments else ""),
            capabilities=load_capabilities(),
            max_body_bytes=conf.api.max_body_bytes,
            max_page_items=conf.api.max_page_items,
            identity=admission.identity,
            policy=admission.policy,
            rate_limit=admission.rate_limit,
            addresses=addresses,
            certificates=their_keys.certificates,
            key_manager=their_keys.key_manager,
            tls=tls,
        )
        tune_collector()
        beating = asyncio.create_task(heart.beat())
        try:
            await serve_until(stop, server_of(app, conf), listening, conf, systemd)
        finally:
            beating.cancel()
            their_keys.close()
            theirs.close()
            await tenants.close()

    heart = Heart()
    watching = asyncio.create_task(systemd.watch(hangs=heart.stopped))
    try:
        await run_beside(serve_api, name="api")
    finally:
        systemd.stopping()
        await controller.stop()
        watching.cancel()


async def serve_until(
    stop: asyncio.Event, server: Server, listening: socket.socket, conf: cfg.ConfigOpts, systemd: ServiceManager
) -> None:
    """Serve, log the address, and finish requests in progress when stopped."""

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        host, port = listening.getsockname()[:2]
        log.info("API listening", host=host, port=port, identity=conf.identity.kind)
        systemd.ready()
        announce(conf.api.endpoint_file, f"{'https' if conf.api.ssl_cert_file else 'http'}://{host}:{port}")
        await server.serve(sockets=[listening])
    finally:
        ending.cancel()


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
        suspicion_interval_seconds=conf.suspicion_interval,
        max_message_bytes=conf.max_message_bytes,
        orphan_grace_seconds=conf.orphan_grace_time,
        network_facts_seconds=conf.neutron.facts_interval,
    )


def parse_environment(item: str) -> Environment:
    """``name:device_driver``. Raises :class:`ValueError`."""
    name, _, driver = item.partition(":")
    if not driver or not is_environment_name(name):
        raise ValueError(f"environments: {item!r} is not name:device_driver with a name of {ENVIRONMENT_NAME_RULE}")
    return Environment(name=name, device_driver=driver)


def listen(conf: cfg.ConfigOpts) -> socket.socket:
    """The bound socket, at an address that is safe for the kind of authentication. Raises :class:`ValueError`."""
    host = conf.api.bind_host
    check_exposure(conf, loopback=_is_loopback(host))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, conf.api.bind_port))
    except OSError as error:
        raise ValueError(f"api.bind_host, api.bind_port: {host}:{conf.api.bind_port}: {error.strerror}") from error
    return listening


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
