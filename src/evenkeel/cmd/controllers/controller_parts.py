"""The parts of a controller's process, created from its options."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import structlog
from oslo_config import cfg

from evenkeel.bus.access import ControllerAccess, impersonation_refusal
from evenkeel.bus.factory import AMQP, open_bus
from evenkeel.cmd.configuration.nearest import name_suggestion
from evenkeel.cmd.controllers.acme_parts import AcmeComponents, open_acme
from evenkeel.cmd.controllers.admission import RequestAdmission, check_exposure, open_admission
from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.cmd.controllers.serving import api_path_prefix, api_proxies
from evenkeel.cmd.options import limit_options, quota_options
from evenkeel.cmd.options.device_drivers import installed_drivers
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.cmd.options.network_options import OpenedNetwork, open_network
from evenkeel.cmd.options.notification_options import notifications_enabled, open_notifications
from evenkeel.cmd.options.tls_options import tls_rules
from evenkeel.cmd.options.tracing_options import open_tracing
from evenkeel.cmd.process.metrics_endpoint import MetricsEndpoint
from evenkeel.cmd.process.runtime import new_id
from evenkeel.config.addresses import address_rules
from evenkeel.config.problems import Problems
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.names import ENVIRONMENT_NAME_RULE, is_environment_name
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.ports import Bus, NotificationSender
from evenkeel.core.tls.tls import TlsRules
from evenkeel.store.engine.database import missing_tls_setting
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store

log = structlog.get_logger(__name__)


class ControllerDependencies(NamedTuple):
    """The parts of a controller, opened and not yet connected. ``end_traces`` ends the export of traces."""

    environments: list[Environment]
    admission: RequestAdmission
    addresses: AddressRules
    tls: TlsRules
    keys: OpenedKeyManager
    acme: AcmeComponents
    store: SqlStore
    network: OpenedNetwork
    bus: Bus
    notifications: NotificationSender | None
    metrics: MetricsEndpoint
    end_traces: Callable[[], None]

    async def close(self) -> None:
        """Close all parts."""
        await self.metrics.stop()
        # In a thread: sending the last spans blocks.
        await asyncio.to_thread(self.end_traces)
        self.acme.close()
        self.keys.close()
        self.network.close()
        if self.notifications is not None:
            await self.notifications.close()
        await self.bus.close()
        await self.store.close()


async def open_controller_dependencies(conf: cfg.ConfigOpts, *, worker: bool = False) -> ControllerDependencies:
    """Open all parts from the options, without connecting to other hosts; the port of metrics is bound.
    Raises :class:`ValueError` with all problems, after it closed what was opened.

    ``worker``: True if a parent process serves the metrics.
    """
    # Each part is opened even if another one failed, so that one start reports every problem of the configuration.
    problems = Problems()
    environments = [problems.collect_from(partial(parse_environment, item)) for item in conf.environments]
    admission = problems.collect_from(lambda: open_admission(conf))
    problems.collect_from(lambda: check_exposure(conf))
    addresses = problems.collect_from(lambda: address_rules(conf.api, "api"))
    tls = problems.collect_from(lambda: tls_rules(conf))
    problems.collect_from(lambda: api_proxies(conf))
    problems.collect_from(lambda: api_path_prefix(conf))
    keys = problems.collect_from(lambda: open_key_manager(conf))
    acme = problems.collect_from(lambda: open_acme(conf, keys, load_capabilities())) if keys else None
    bus = problems.collect_from(lambda: open_controller_bus(conf))
    notifications = problems.collect_from(lambda: open_notifications(conf))
    store = problems.collect_from(lambda: _open_store(conf))
    network = problems.collect_from(lambda: open_network(conf, store)) if store else None
    metrics = problems.collect_from(lambda: MetricsEndpoint(conf, listens=not worker))
    end_traces = problems.collect_from(lambda: open_tracing(conf, "evenkeel-controller"))
    # The opened parts hold sockets and threads: they are closed before the problems are raised.
    if problems.found:
        if end_traces is not None:
            end_traces()
        if metrics:
            await metrics.stop()
        if acme:
            acme.close()
        if keys:
            keys.close()
        if network:
            network.close()
        if bus:
            await bus.close()
        if notifications:
            await notifications.close()
        if store:
            await store.close()
    with problems:
        pass  # raises what was found
    assert network is not None  # noqa: S101  # else there was a problem
    return ControllerDependencies(
        environments, admission, addresses, tls, keys, acme, store, network, bus, notifications, metrics, end_traces
    )


async def check_configuration(conf: cfg.ConfigOpts) -> None:
    """Check the configuration by opening and closing all parts. Raises :class:`ValueError` with all problems."""
    await (await open_controller_dependencies(conf)).close()


def _open_store(conf: cfg.ConfigOpts) -> SqlStore:
    store = open_store(
        conf.database.connection,
        StoreOptions(
            auto_upgrade=conf.database.auto_upgrade,
            pending_deadline_seconds=conf.pending_deadline,
            strict_immutability=conf.api.strict_immutability,
            bare_esd_tags=conf.bare_esd_tags,
            default_quotas=quota_options.default_quotas(conf),
            load_balancer_limits=limit_options.load_balancer_limits(conf),
            orphan_grace_seconds=conf.orphan_grace_time,
            events_kept=conf.database.events_kept,
            notifications=notifications_enabled(conf),
            certificate_refresh_seconds=conf.certificates.certificate_refresh,
        ),
    )
    if advice := missing_tls_setting(conf.database.connection):
        log.warning("the database's certificate is not verified", advice=advice)
    return store


def open_controller_bus(conf: cfg.ConfigOpts) -> Bus:
    """Open the controller's message bus, which does not connect yet; logs a warning if agents on RabbitMQ are
    not authenticated. Raises :class:`ValueError` for a ``transport_url`` that cannot be used.
    """
    authenticated = conf.rabbit_agents_authenticated
    if not authenticated and conf.transport_url.startswith(AMQP):
        log.warning(
            "agents are not authenticated: any client with a RabbitMQ password can impersonate them; "
            "see how-to/secure-the-message-bus.md"
        )
    return open_bus(
        conf.transport_url,
        name=f"controller-{new_id()[:8]}",
        max_message_bytes=conf.max_message_bytes,
        access=ControllerAccess(refusal=impersonation_refusal) if authenticated else None,
    )


def parse_environment(item: str) -> Environment:
    """Parse ``name:device_driver``. Raises :class:`ValueError` for another form, a name that is not allowed, or a
    driver that is not installed.
    """
    name, _, driver = item.partition(":")
    if not driver or not is_environment_name(name):
        raise ValueError(f"environments: {item!r} is not name:device_driver with a name of {ENVIRONMENT_NAME_RULE}")
    installed = installed_drivers()
    if driver not in installed:
        raise ValueError(
            f"environments: {item!r}: no device driver {driver!r} is installed (there are"
            f" {', '.join(sorted(installed))}){name_suggestion(driver, installed)}"
        )
    return Environment(name=name, device_driver=driver)
