"""Options of the agent's part that uses Neutron's message bus, and opening it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from oslo_config import cfg, types

from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.core.ports import Attachable, Device

if TYPE_CHECKING:
    from evenkeel.neutron_agent.service import NeutronAgent

NEUTRON_AGENT_SECTION = "neutron_agent"
AGENT_TYPES = ("Loadbalancerv2 agent", "Open vSwitch agent")

NEUTRON_AGENT_OPTIONS = [
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="Neutron's message bus, as its transport_url: rabbit://user:password@host:5672/vhost. Empty, and no "
        "config_files: it is not used.",
    ),
    cfg.ListOpt(
        "config_files",
        default=[],
        help="Files in Neutron's format, such as neutron.conf, from which transport_url and "
        "[oslo_messaging_rabbit] are read; options of queues and TLS have to be Neutron's own.",
    ),
    cfg.StrOpt(
        "host",
        default="",
        regex=r"^[A-Za-z0-9_.-]{0,255}$",
        help="Host under which Neutron lists the agent, and to which ports of VIPs have to be bound. Empty: the device "
        "driver's port_binding_host, else this agent's host.",
    ),
    cfg.ListOpt(
        "agent_types",
        default=["Loadbalancerv2 agent"],
        item_type=types.String(choices=list(AGENT_TYPES)),
        help="Types under which it is listed. 'Open vSwitch agent': ML2's mechanism driver openvswitch binds ports "
        "of VIPs, and l2population informs hosts of them; no real agent of that type may have the same host.",
    ),
    cfg.FloatOpt(
        "report_interval",
        default=30.0,
        min=1.0,
        max=600.0,
        help="Seconds between reports; at most half of Neutron's agent_down_time.",
    ),
    cfg.FloatOpt("rpc_timeout", default=20.0, min=1.0, max=300.0, help="Time-out of a call, seconds."),
]


def open_neutron_agent(
    conf: cfg.ConfigOpts, device: Device, on_networks: Callable[[frozenset[str]], None]
) -> "NeutronAgent | None":
    """Open the part that uses Neutron's message bus; None if it is not configured. Raises :class:`ValueError` if a
    library or an option is missing, or the device driver is not attached to networks of Neutron.
    """
    options = conf[NEUTRON_AGENT_SECTION]
    if not options.transport_url and not options.config_files:
        return None
    try:
        from evenkeel.neutron_agent.service import NeutronAgent
        from evenkeel.neutron_agent.settings import AgentFacts, NeutronAgentSettings
    except ImportError as error:
        raise ValueError(
            f"{NEUTRON_AGENT_SECTION}: needs {error.name}, which is not installed:"
            f" {pip_install_command('neutron-agent')}"
        ) from error
    if not isinstance(device, Attachable):
        raise ValueError(
            f"{NEUTRON_AGENT_SECTION}: device_driver {conf.device_driver} is not attached to networks of Neutron"
        )
    settings = NeutronAgentSettings(
        host=options.host or device.facts.network_layout.binding_host or conf.host,
        transport_url=options.transport_url,
        config_files=tuple(options.config_files),
        agent_types=tuple(dict.fromkeys(options.agent_types)),
        report_interval_seconds=options.report_interval,
        timeout_seconds=options.rpc_timeout,
    )
    facts = AgentFacts(
        environment=conf.environment_prefix,
        group_number=conf.environment_group_number,
        device_driver=conf.device_driver,
    )
    return NeutronAgent(settings, facts, device, on_networks)
