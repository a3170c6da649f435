"""``evenkeel-agent``: configures one device group. Run several on different hosts for one group."""

import asyncio
import sys
from importlib.metadata import entry_points
from pathlib import Path

import structlog
from oslo_config import cfg

from evenkeel.agent.service import Agent, AgentRefused
from evenkeel.agent.settings import AgentSettings
from evenkeel.bus.access import AgentAccess
from evenkeel.bus.factory import open_bus
from evenkeel.cmd import options
from evenkeel.cmd.runtime import SystemClock, new_id, on_stop_signal, set_up_logs, start_bus
from evenkeel.core.capacity import parse_policy
from evenkeel.core.names import derived_agent_id
from evenkeel.core.ports import Bus, Device

log = structlog.get_logger(__name__)

PASSWORD_FILE = "_password_file"


def main() -> int:
    """Entry point. Exit codes: 2 configuration refused, 3 refused by the controllers or devices unfit."""
    try:
        conf = options.load(
            "evenkeel-agent",
            sys.argv[1:],
            groups={None: options.COMMON + options.AGENT, **options.DRIVER_SECTIONS},
        )
    except ValueError as error:
        print(f"evenkeel-agent: configuration refused: {error}", file=sys.stderr)
        return 2
    set_up_logs(debug=conf.debug, name=f"agent {conf.host or 'without a host'}")
    try:
        asyncio.run(run(conf))
    except ValueError as error:
        log.error("configuration refused", reason=str(error))
        return 2
    except AgentRefused as error:
        log.error("agent refused", reason=str(error))
        return 3
    return 0


async def run(conf: cfg.ConfigOpts) -> None:
    """Wire everything, serve until told to stop."""
    settings = agent_settings(conf)
    policy = parse_policy(conf.capacity_policy)
    device = open_device(conf, settings)
    bus = open_bus(
        conf.transport_url,
        name=f"agent-{settings.host}",
        max_message_bytes=conf.max_message_bytes,
        access=AgentAccess(user=settings.agent_id) if conf.rabbit_agents_authenticated else None,
    )
    agent = Agent(
        bus=bus,
        device=device,
        clock=SystemClock(),
        settings=settings,
        new_id=new_id,
        configurations={
            "report_interval": str(conf.report_interval),
            "keepalive_interval": str(conf.keepalive_interval),
            "device_driver": conf.device_driver,
            **({"capacity_policy": conf.capacity_policy} if policy else {}),
        },
        capacity_policy=policy,
    )
    try:
        if await connected(bus, agent):
            await agent.run()
    finally:
        await bus.close()
        await device.close()


async def connected(bus: Bus, agent: Agent) -> bool:
    """Wait for the message bus. False: asked to stop meanwhile."""
    starting = asyncio.create_task(start_bus(bus))

    def stop() -> None:
        agent.stop()
        starting.cancel()

    on_stop_signal(stop)
    try:
        await starting
    except asyncio.CancelledError:
        return False
    return True


def agent_settings(conf: cfg.ConfigOpts) -> AgentSettings:
    """The agent's settings from its options. Raises :class:`ValueError`."""
    if not conf.host:
        raise ValueError("host: not set; it must name this host, unique among the agents of the group")
    environment, number = conf.environment_prefix, conf.environment_group_number
    derived = derived_agent_id(environment, number, conf.host)
    if conf.rabbit_agents_authenticated and conf.agent_id not in (None, derived):
        raise ValueError(f"agent_id: with rabbit_agents_authenticated it is {derived}; leave it out")
    return AgentSettings(
        agent_id=conf.agent_id or derived,
        environment=environment,
        group_number=number,
        host=conf.host,
        report_interval_seconds=conf.report_interval,
        keepalive_interval_seconds=conf.keepalive_interval,
        status_interval_seconds=conf.status_interval,
        resync_interval_seconds=conf.service_resync_interval,
        device_check_timeout_seconds=conf.device_check_timeout,
        write_budget_seconds=conf.write_budget,
        max_message_bytes=conf.max_message_bytes,
    )


def open_device(conf: cfg.ConfigOpts, settings: AgentSettings) -> Device:
    """The device group, by the entry point the configuration names. Raises :class:`ValueError`."""
    found = {entry.name: entry for entry in entry_points(group="evenkeel.devices")}
    if conf.device_driver not in found:
        raise ValueError(f"device_driver: {conf.device_driver!r} is not one of {sorted(found)}")
    device: Device = found[conf.device_driver].load()(
        driver_options(conf), environment=settings.environment, group_number=settings.group_number, host=settings.host
    )
    return device


def driver_options(conf: cfg.ConfigOpts) -> dict[str, str]:
    """The options of the device driver's own section, as text.

    An option called ``…_password_file`` stands for the password in it. Raises :class:`ValueError` naming one that
    cannot be read.
    """
    section = conf[conf.device_driver] if conf.device_driver in options.DRIVER_SECTIONS else {}
    found = {name: as_text(section[name]) for name in section if not name.endswith(PASSWORD_FILE)}
    for name in section:
        if name.endswith(PASSWORD_FILE) and section[name]:
            found[name.removesuffix("_file")] = first_line(f"{conf.device_driver}.{name}", section[name])
    return found


def as_text(value: object) -> str:
    """An option as drivers take it: lists with commas, switches in lower case, nothing if it is not set."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def first_line(option: str, path: str) -> str:
    """What a secret's file holds. Raises :class:`ValueError` naming the option."""
    try:
        return Path(path).read_text().splitlines()[0]
    except (OSError, IndexError) as error:
        raise ValueError(f"{option}: {path}: unreadable") from error


if __name__ == "__main__":
    sys.exit(main())
