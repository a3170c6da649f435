"""The options of the processes, read from ini files by oslo.config, so that OpenStack's and F5's files can be read.

Names that F5's agent ini has are F5's names.
"""

from collections.abc import Mapping, Sequence

from oslo_config import cfg

from evenkeel.cmd.address_options import ADDRESSES
from evenkeel.core.capacity import Metric

COMMON = [
    cfg.BoolOpt("debug", default=False, help="Log at debug level."),
    cfg.StrOpt(
        "transport_url",
        default="embedded:///var/lib/evenkeel/bus.db",
        secret=True,
        help="Message bus: embedded:///absolute/path.db for one machine, or amqp://user:password@host:port[,…]/vhost.",
    ),
    cfg.BoolOpt(
        "rabbit_agents_authenticated",
        default=False,
        help="Every agent has a RabbitMQ user of its own, called as its id: agents use that, controllers refuse what "
        "an agent says in another one's name. See how-to/deploy.md.",
    ),
    cfg.IntOpt("max_message_bytes", default=4 * 1024 * 1024, min=65536, help="Largest message sent or taken, bytes."),
]

CONTROLLER = [
    cfg.ListOpt(
        "environments",
        default=[],
        help="Environments that must exist, each as name:device_driver; made at start if absent.",
    ),
    cfg.StrOpt("default_provider", help="Environment of load balancers that name no provider; else the first one."),
    cfg.FloatOpt("session_ttl", default=5.0, min=1.0, help="Seconds an agent's session lives without a keepalive."),
    cfg.FloatOpt("settle_time", default=15.0, min=0.0, help="Seconds a home agent must be up to get its shards back."),
    cfg.IntOpt("handbacks_at_once", default=4, min=1, help="Shards of a device group handed back at the same time."),
    cfg.FloatOpt("schedule_interval", default=0.5, min=0.05, help="Seconds between looks for unserved shards."),
    cfg.FloatOpt(
        "suspicion_interval",
        default=0.4,
        min=0.0,
        help="Seconds between looks whether agents' processes are on the message bus; 0: only session_ttl decides.",
    ),
    cfg.IntOpt("handovers_at_once", default=16, min=1, help="Shards of a device group leaving drained agents at once."),
    cfg.FloatOpt("pending_deadline", default=300.0, min=1.0, help="Seconds until something PENDING becomes ERROR."),
]

DATABASE = [
    cfg.StrOpt(
        "connection",
        default="sqlite:////var/lib/evenkeel/evenkeel.db",
        secret=True,
        help="sqlite:///path, postgresql://user:password@host:port/name, or mysql://… in the same form for MariaDB.",
    ),
]

API = [
    cfg.StrOpt("bind_host", default="127.0.0.1", help="Address to listen on."),
    cfg.PortOpt("bind_port", default=9876, help="Port to listen on; 0 takes a free one."),
    cfg.StrOpt("endpoint_file", help="Write the URL to this file once the API answers."),
    cfg.BoolOpt(
        "allow_unauthenticated",
        default=False,
        help="Serve without authentication on an address that is not loopback. Anybody who reaches it is admin.",
    ),
    cfg.BoolOpt(
        "strict_immutability",
        default=False,
        help="Refuse writes to a load balancer that is not ACTIVE, and to all of it, with 409, as Octavia does.",
    ),
    cfg.IntOpt("max_body_bytes", default=1024 * 1024, min=4096, help="Largest request body taken, bytes."),
    cfg.IntOpt(
        "max_header_bytes", default=64 * 1024, min=4096, help="Largest request header taken, bytes; at most 100 lines."
    ),
    cfg.FloatOpt(
        "header_seconds",
        default=10.0,
        min=0.1,
        help="Seconds for a TLS handshake, and again for the header of a request, to arrive as a whole.",
    ),
    cfg.IntOpt(
        "connections_max",
        default=1000,
        min=16,
        help="Connections held at once; at most what the limit of open files allows, less 192. A new one closes the "
        "oldest on which nobody has logged in.",
    ),
    cfg.IntOpt(
        "connections_per_address_max",
        default=100,
        min=0,
        help="Of those, from one address (of IPv6: one /64 network), unless it is one of proxies; 0: no limit.",
    ),
    cfg.ListOpt(
        "proxies",
        default=["127.0.0.0/8", "::1"],
        help="Addresses and networks of load balancers in front of the API: without a limit of connections of their "
        "own, and believed what X-Forwarded-For and X-Forwarded-Proto say.",
    ),
]

AGENT = [
    cfg.StrOpt("host", help="Name of this host, unique among the agents of the environment and group."),
    cfg.StrOpt("agent_id", help="Stable id of the agent; by default derived from environment, group and host."),
    cfg.StrOpt("environment_prefix", default="Project", help="The environment the agent belongs to."),
    cfg.IntOpt("environment_group_number", default=1, min=1, help="The device group in the environment."),
    cfg.StrOpt("device_driver", default="bigip", help="Entry point in evenkeel.devices that configures the devices."),
    cfg.FloatOpt("report_interval", default=10.0, min=0.5, help="Seconds between full state reports."),
    cfg.FloatOpt("keepalive_interval", default=1.0, min=0.05, help="Seconds between keepalives."),
    cfg.FloatOpt("status_interval", default=5.0, min=0.2, help="Seconds between looks at statuses and statistics."),
    cfg.FloatOpt("service_resync_interval", default=300.0, min=1.0, help="Seconds between complete passes."),
    cfg.FloatOpt(
        "device_check_timeout", default=120.0, min=1.0, help="Seconds devices may take to become fit at start."
    ),
    cfg.StrOpt(
        "capacity_policy",
        default="",
        help="metric:limit, metric:limit: a device group that reaches one takes no more load balancers. "
        f"Metrics: {', '.join(Metric)}.",
    ),
    cfg.FloatOpt("write_budget", default=1.0, min=0.1, help="Seconds the lease must still stand to start a write."),
]

BIGIP = [
    cfg.ListOpt(
        "icontrol_hostname", default=[], help="Management addresses, host[:port], of all devices of the group."
    ),
    cfg.StrOpt("icontrol_username", default="admin", help="User on every device."),
    cfg.StrOpt("icontrol_password", default="", secret=True, help="Its password."),
    cfg.StrOpt("icontrol_password_file", help="File whose first line is the password; wins over icontrol_password."),
    cfg.StrOpt(
        "f5_ha_type", default="pair", choices=["standalone", "pair", "scalen"], help="How many devices there are."
    ),
    cfg.StrOpt("ca_file", help="PEM file of authorities that signed the devices' certificates; else the system's."),
    cfg.BoolOpt("verify_tls", default=True, help="Verify the devices' certificates. Turning it off is logged loudly."),
    cfg.FloatOpt("request_timeout", default=30.0, min=1.0, help="Seconds one request to a device may take."),
    *ADDRESSES,
]

HAPROXY = [
    cfg.ListOpt(
        "haproxyd_url", default=[], help="https://host:port of the daemon beside each HAProxy of the group; port 9443."
    ),
    cfg.StrOpt("haproxyd_username", default="", help="This agent's user on every daemon."),
    cfg.StrOpt("haproxyd_password", default="", secret=True, help="Its password."),
    cfg.StrOpt("haproxyd_password_file", help="File whose first line is the password; wins over haproxyd_password."),
    cfg.StrOpt("ha_type", default="standalone", choices=["standalone", "pair"], help="How many HAProxys there are."),
    cfg.StrOpt("ca_file", help="PEM file of authorities that signed the daemons' certificates; else the system's."),
    cfg.BoolOpt("verify_tls", default=True, help="Verify the daemons' certificates. Turning it off is logged loudly."),
    cfg.FloatOpt("request_timeout", default=60.0, min=1.0, help="Seconds one request to a daemon may take."),
]

DRIVER_SECTIONS: dict[str | None, Sequence[cfg.Opt]] = {"bigip": BIGIP, "haproxy": HAPROXY}
"""Sections of device drivers that have options, each called as its driver's entry point."""


def load(name: str, arguments: Sequence[str], *, groups: Mapping[str | None, Sequence[cfg.Opt]]) -> cfg.ConfigOpts:
    """Read the ``--config-file``s. Raises :class:`ValueError` naming the file or option; exits on bad arguments."""
    conf = cfg.ConfigOpts()
    for group, options in groups.items():
        conf.register_opts(options, group=group)
    try:
        conf(list(arguments), project="evenkeel", prog=name, default_config_files=None)
    except cfg.ConfigFilesNotFoundError as error:
        raise ValueError(f"--config-file: {', '.join(error.config_files)}: no such file") from error
    except cfg.Error as error:
        raise ValueError(f"--config-file: {error}") from error
    for group, options in groups.items():
        for option in options:
            _check(conf, group, option)
    return conf


def _check(conf: cfg.ConfigOpts, group: str | None, option: cfg.Opt) -> None:
    """Read it once, so that a bad value is found at start. The value is told unless it is a secret."""
    try:
        getattr(conf[group] if group else conf, option.name)
    except (cfg.Error, ValueError) as error:
        name = f"{group}.{option.name}" if group else option.name
        reason = "a value that is not allowed" if option.secret else str(error).rpartition(": ")[2]
        raise ValueError(f"{name}: {reason}; {option.help}") from error
