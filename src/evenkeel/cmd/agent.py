"""``evenkeel-agent``: configures one device group. Run several on different hosts for one group."""

import asyncio
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import structlog
from oslo_config import cfg

from evenkeel.agent.service import AgentMisconfigured, AgentService
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.watched_device import notify_after_changes
from evenkeel.bus.access import AgentAccess
from evenkeel.bus.factory import open_bus
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.refusal import print_refusal
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS
from evenkeel.cmd.options.device_drivers import driver_entry_point
from evenkeel.cmd.options.logging_options import LOG_OPTIONS
from evenkeel.cmd.options.neutron_agent_options import open_neutron_agent
from evenkeel.cmd.options.tracing_options import open_tracing
from evenkeel.cmd.process.logs import set_log_level, set_up_logs
from evenkeel.cmd.process.metrics_endpoint import METRICS_CERTIFICATE_OPTIONS, MetricsEndpoint
from evenkeel.cmd.process.reloading import OptionReloader, ReloadAction, ignore_hangup
from evenkeel.cmd.process.runtime import SystemClock, handle_stop_signals, new_id, start_bus
from evenkeel.cmd.process.service_manager import ServiceManager
from evenkeel.cmd.process.start_log import log_start
from evenkeel.config.problems import Problems
from evenkeel.config.values import read_password_files
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.ports import Bus, Device, Reloadable
from evenkeel.core.resources.capacity import parse_policy
from evenkeel.devices.certificate_watch import CertificateWatch

if TYPE_CHECKING:
    from evenkeel.neutron_agent.service import NeutronAgent

log = structlog.get_logger(__name__)

PROCESS_NAME = "evenkeel-agent"
DESCRIPTION = "Configure the devices of one device group. Several agents on different hosts share a group."


class MovedNetworksCallback:
    """Callback for ids of networks whose ports Neutron moved: passes them to the function ``notify``, and
    drops them until that is set.
    """

    def __init__(self) -> None:
        self.notify: Callable[[Collection[str]], None] = lambda networks: None

    def __call__(self, networks: Collection[str]) -> None:
        self.notify(networks)


class AgentDependencies(NamedTuple):
    """The parts of an agent's process, created from its options. ``capacity_policy``: ``{metric: limit}``;
    ``end_traces`` ends the export of traces; ``neutron``: None if Neutron's message bus is not used.
    """

    settings: AgentSettings
    capacity_policy: dict[str, float]
    device: Device
    bus: Bus
    metrics: MetricsEndpoint
    end_traces: Callable[[], None]
    moved: MovedNetworksCallback
    neutron: "NeutronAgent | None" = None

    async def close(self) -> None:
        if self.neutron is not None:
            # First of all, because its thread reads the devices.
            await self.neutron.stop()
        await self.metrics.stop()
        await asyncio.to_thread(self.end_traces)
        await self.bus.close()
        await self.device.close()


def main() -> int:
    """Run ``evenkeel-agent`` until stopped. Exit codes: 0 stopped, 2 configuration refused, 3 refused by
    controllers, or devices are unfit.
    """
    ignore_hangup()
    try:
        conf = load_configuration(PROCESS_NAME, sys.argv[1:], groups=AGENT_OPTION_GROUPS, description=DESCRIPTION)
    except ValueError as error:
        return print_refusal(PROCESS_NAME, error)
    # A missing host is refused later, together with all other problems of the configuration.
    set_up_logs(conf, name=f"agent {conf.host or 'without a host'}")
    log_start(conf, AGENT_OPTION_GROUPS)
    try:
        asyncio.run(run_agent(conf))
    except ValueError as error:
        return print_refusal(PROCESS_NAME, error, conf)
    except AgentMisconfigured as error:
        log.error("agent refused", reason=str(error))
        return 3
    return 0


async def run_agent(conf: cfg.ConfigOpts) -> None:
    """Create all parts and serve until stopped. Raises :class:`ValueError` with all problems of the
    configuration, and :class:`AgentMisconfigured`.
    """
    parts = open_agent_dependencies(conf)
    actions = reload_actions(conf, parts.device) | {METRICS_CERTIFICATE_OPTIONS: parts.metrics.reload}
    # Before the wait for the message bus, which may take long: SIGHUP is ignored until then.
    OptionReloader(PROCESS_NAME, sys.argv[1:], AGENT_OPTION_GROUPS, conf, actions).listen()
    systemd = ServiceManager(health_file=conf.health_file)
    neutron, certificates = parts.neutron, CertificateWatch()
    agent = AgentService(
        bus=parts.bus,
        device=parts.device if neutron is None else notify_after_changes(parts.device, neutron.report_when_bound),
        clock=SystemClock(),
        settings=parts.settings,
        new_id=new_id,
        configurations={
            "report_interval": str(conf.report_interval),
            "keepalive_interval": str(conf.keepalive_interval),
            "device_driver": conf.device_driver,
            **({"capacity_policy": conf.capacity_policy} if parts.capacity_policy else {}),
        },
        capacity_policy=parts.capacity_policy,
        on_ready=systemd.notify_ready,
        certificate_ends=certificates.certificate_expiry_times,
    )
    # Set only here: the part that reports to Neutron is opened before the agent exists.
    parts.moved.notify = agent.note_moved_networks
    if neutron is not None:
        neutron.start()
    watching = asyncio.create_task(systemd.watch())
    try:
        systemd.set_status("waiting for the message broker, controllers and devices")
        await parts.metrics.start(agent.set_gauges)
        if await wait_for_bus(parts.bus, agent, systemd):
            await agent.run()
    finally:
        watching.cancel()
        await certificates.close()
        await parts.close()


def open_agent_dependencies(conf: cfg.ConfigOpts) -> AgentDependencies:
    """Open all parts from the options, without connecting to other hosts; the port of metrics is bound.
    Raises :class:`ValueError` with all problems.
    """
    with Problems() as problems:
        settings = problems.collect_from(lambda: agent_settings(conf))
        policy = problems.collect_from(lambda: parse_policy(conf.capacity_policy))
        bus = problems.collect_from(lambda: _open_agent_bus(conf))
        device = problems.collect_from(lambda: open_device(conf))
        metrics = problems.collect_from(lambda: MetricsEndpoint(conf))
        moved = MovedNetworksCallback()
        neutron = None if device is None else problems.collect_from(lambda: open_neutron_agent(conf, device, moved))
        end_traces = problems.collect_from(lambda: open_tracing(conf, PROCESS_NAME))
    return AgentDependencies(settings, policy, device, bus, metrics, end_traces, moved, neutron)


def reload_actions(conf: cfg.ConfigOpts, device: Device) -> dict[tuple[str, ...], ReloadAction]:
    """Return the agent's actions at SIGHUP, by the options that they apply: the log level, and reloadable options of
    the device driver.
    """
    actions: dict[tuple[str, ...], ReloadAction] = {LOG_OPTIONS: set_log_level}
    if isinstance(device, Reloadable):
        names = tuple(f"{conf.device_driver}.{name}" for name in device.reloaded_options)
        actions[names] = lambda changed: device.reload(driver_options(changed))
    return actions


async def check_configuration(conf: cfg.ConfigOpts) -> None:
    """Check the configuration by opening and closing all parts. Raises :class:`ValueError` with all problems."""
    await open_agent_dependencies(conf).close()


def _open_agent_bus(conf: cfg.ConfigOpts) -> Bus:
    authenticated = conf.rabbit_agents_authenticated
    return open_bus(
        conf.transport_url,
        name=f"agent-{conf.host}",
        max_message_bytes=conf.max_message_bytes,
        access=AgentAccess(user=_agent_id(conf)) if authenticated else None,
    )


async def wait_for_bus(bus: Bus, agent: AgentService, systemd: ServiceManager) -> bool:
    """Start the message bus, however long that takes, and from now on stop at SIGTERM and SIGINT. False: the
    agent was stopped before the bus was reached.
    """
    starting = asyncio.create_task(start_bus(bus))

    def stop() -> None:
        systemd.notify_stopping()
        agent.stop()
        starting.cancel()

    handle_stop_signals(stop)
    try:
        await starting
    except asyncio.CancelledError:
        return False
    return True


def agent_settings(conf: cfg.ConfigOpts) -> AgentSettings:
    """Build the agent's settings from its options. Raises :class:`ValueError` if ``host`` is not set, or
    ``agent_id`` cannot be used.
    """
    if not conf.host:
        raise ValueError("host: not set; it must name this host, unique among the agents of the group")
    return AgentSettings(
        agent_id=_agent_id(conf),
        environment=conf.environment_prefix,
        group_number=conf.environment_group_number,
        host=conf.host,
        report_interval_seconds=conf.report_interval,
        keepalive_interval_seconds=conf.keepalive_interval,
        status_interval_seconds=conf.status_interval,
        resync_interval_seconds=conf.service_resync_interval,
        device_check_timeout_seconds=conf.device_check_timeout,
        write_budget_seconds=conf.write_budget,
        max_message_bytes=conf.max_message_bytes,
    )


def _agent_id(conf: cfg.ConfigOpts) -> AgentId:
    """Return the agent's id: the option, or derived from environment, group and host. Raises :class:`ValueError` for an
    option that differs from the derived id where RabbitMQ authenticates agents.
    """
    derived = default_agent_id(conf.environment_prefix, conf.environment_group_number, conf.host or "")
    if conf.rabbit_agents_authenticated and conf.agent_id not in (None, derived):
        raise ValueError(f"agent_id: with rabbit_agents_authenticated it is {derived}; leave it out")
    return AgentId(conf.agent_id or derived)


def open_device(conf: cfg.ConfigOpts) -> Device:
    """Open the device group with the configured driver. Raises :class:`ValueError` if the driver is not
    installed, or for options that it refuses.
    """
    device: Device = driver_entry_point(conf.device_driver).load()(
        driver_options(conf),
        environment=conf.environment_prefix,
        group_number=conf.environment_group_number,
        host=conf.host or "",
    )
    return device


def driver_options(conf: cfg.ConfigOpts) -> dict[str, Any]:
    """Return the values of the options in the device driver's section, in their types; None: not set.

    An option ``…_password_file`` is replaced by the password in that file. Raises :class:`ValueError` naming an
    unreadable one.
    """
    return read_password_files(conf[conf.device_driver], section=conf.device_driver)


if __name__ == "__main__":
    sys.exit(main())
