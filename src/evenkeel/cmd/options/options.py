"""The options of the processes, read from ini files by oslo.config, as OpenStack's and F5's. Options of F5's agent have
F5's names.
"""

from oslo_config import cfg

from evenkeel.cmd.options.logging_options import LOGGING_OPTIONS
from evenkeel.config.connections import connection_options
from evenkeel.core.resources.capacity import Metric
from evenkeel.serving.accepting import SPARE_FILES
from evenkeel.serving.http_limits import HttpLimits

_HTTP_OPTIONS = HttpLimits()

COMMON_OPTIONS = [
    *LOGGING_OPTIONS,
    cfg.StrOpt(
        "transport_url",
        default="embedded:///var/lib/evenkeel/bus.db",
        secret=True,
        help="Message bus: embedded:///absolute/path.db for one host, or amqp://user:password@host:port[,…]/vhost.",
    ),
    cfg.BoolOpt(
        "rabbit_agents_authenticated",
        default=False,
        help="Each agent has a RabbitMQ user named after its id; controllers refuse messages in another agent's "
        "name. See how-to/secure-the-message-bus.md.",
    ),
    cfg.IntOpt(
        "max_message_bytes", default=4 * 1024 * 1024, min=65536, help="Largest message sent or accepted, bytes."
    ),
]

CONTROLLER_OPTIONS = [
    cfg.IntOpt(
        "workers",
        default=1,
        min=1,
        max=64,
        help="Processes on the API's port, each a controller: at most one per core. Database connections, and "
        "limits of connections and rates, count for each. See how-to/configure.md.",
    ),
    cfg.ListOpt(
        "environments",
        default=[],
        help="Environments as name:device_driver; created at start if missing.",
    ),
    cfg.StrOpt("default_provider", help="Environment of load balancers without a provider; default: the first."),
    cfg.BoolOpt(
        "bare_esd_tags",
        default=False,
        help="A listener's tag that is the name of an enhanced service chooses it, as with SAP's provider driver; else "
        "only esd:NAME does, and such a tag is logged. The same on all controllers; agents must be of this version.",
    ),
    cfg.URIOpt(
        "documentation_url",
        schemes=["http", "https"],
        max_length=2048,
        help="Where this documentation can be read (scripts/docs build makes a site); the dashboard links to it.",
    ),
    cfg.FloatOpt("session_ttl", default=5.0, min=1.0, help="TTL of an agent's session without a keepalive, seconds."),
    cfg.FloatOpt(
        "settle_time",
        default=15.0,
        min=0.0,
        help="Seconds that a home agent must be up before it gets its shards back.",
    ),
    cfg.IntOpt("handbacks_at_once", default=4, min=1, help="Shards of a device group handed back at the same time."),
    cfg.FloatOpt(
        "balance_interval",
        default=60.0,
        min=0.0,
        help="Seconds between two planned moves of a shard in a device group whose agents are home to uneven "
        "numbers of shards (by 3 or more, and a tenth of the average). 0: homes stay.",
    ),
    cfg.FloatOpt("schedule_interval", default=0.5, min=0.05, help="Seconds between checks for unserved shards."),
    cfg.FloatOpt(
        "suspicion_interval",
        default=0.4,
        min=0.0,
        help="Seconds between probes of agents that may have vanished from the message bus: on the embedded bus "
        "all agents; on RabbitMQ those with a reason, and all once a minute. 0: only session_ttl decides.",
    ),
    cfg.IntOpt(
        "handovers_at_once",
        default=16,
        min=1,
        help="Shards of a device group moved away from drained agents at the same time.",
    ),
    cfg.FloatOpt(
        "pending_deadline",
        default=300.0,
        min=1.0,
        help="Seconds until a PENDING object becomes ERROR; a load balancer that no device group can take stays "
        "PENDING_CREATE.",
    ),
    cfg.FloatOpt(
        "orphan_grace_time",
        default=86_400.0,
        min=0.0,
        help="Seconds from the first report of a load balancer or tenant's partition that a device holds and the "
        "database does not know, to its removal. 0: never.",
    ),
]

DATABASE_OPTIONS = [
    cfg.StrOpt(
        "connection",
        default="sqlite:////var/lib/evenkeel/evenkeel.db",
        secret=True,
        help="sqlite:///path, postgresql://user:password@host:port/name, or mysql://… likewise for MariaDB.",
    ),
    cfg.BoolOpt(
        "auto_upgrade",
        default=True,
        help="Upgrade the schema at start. If false, the database user needs no right to change tables, and an "
        "administrator runs evenkeel-db upgrade before controllers of a new version start.",
    ),
    cfg.IntOpt("events_kept", default=10_000, min=100, max=1_000_000, help="Number of newest events kept."),
]

API_OPTIONS = [
    cfg.StrOpt("bind_host", default="127.0.0.1", help="Address to listen on."),
    cfg.PortOpt("bind_port", default=9876, help="Port to listen on; 0 takes a free one."),
    cfg.StrOpt("endpoint_file", help="Write the URL to this file once the API answers."),
    cfg.BoolOpt(
        "allow_unauthenticated",
        default=False,
        help="Serve without authentication on an address that is not loopback: every client is admin.",
    ),
    cfg.BoolOpt(
        "strict_immutability",
        default=False,
        help="Refuse writes to a load balancer that is not ACTIVE, and to its children, with 409, as Octavia does.",
    ),
    cfg.FloatOpt(
        "wait_until_applied",
        default=0.0,
        min=0.0,
        max=5.0,
        help="Longest time, seconds, that the answer to a tenant's write waits until devices have applied it: clients "
        "that pause while a load balancer is PENDING, as Kubernetes' do, then find it ACTIVE. 0: answered at once.",
    ),
    cfg.IntOpt("max_body_bytes", default=1024 * 1024, min=4096, help="Largest accepted request body, bytes."),
    cfg.IntOpt(
        "max_header_bytes",
        default=_HTTP_OPTIONS.header_bytes_max,
        min=4096,
        help=f"Largest accepted request header, bytes; at most {_HTTP_OPTIONS.headers_max} lines.",
    ),
    *connection_options(
        connections_max=1000,
        per_address_max=100,
        header_seconds=_HTTP_OPTIONS.header_seconds,
        spare_files=SPARE_FILES,
        exempt=", unless it is one of proxies",
    ),
    cfg.ListOpt(
        "proxies",
        default=["127.0.0.0/8", "::1"],
        help="Addresses and networks of load balancers in front of the API: no limit of connections per address; "
        "their X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Prefix are trusted.",
    ),
    cfg.StrOpt(
        "path_prefix",
        default="",
        help="Path below which clients reach the API, such as /load-balancer, behind a proxy that removes it: links in "
        "answers begin with it. X-Forwarded-Prefix of a proxy takes its place.",
    ),
    cfg.ListOpt(
        "trusted_origins",
        default=[],
        help="Origins (scheme://host[:port]) of web pages that may write, besides the API's own: of a gateway that "
        "answers CORS requests, or a plain HTTP proxy that changes the Host header.",
    ),
]

AGENT_OPTIONS = [
    cfg.StrOpt("host", help="Name of this host, unique among the agents of the environment and group."),
    cfg.StrOpt("agent_id", help="Stable id of the agent; default: derived from environment, group and host."),
    cfg.StrOpt("environment_prefix", default="Project", help="The environment the agent belongs to."),
    cfg.IntOpt("environment_group_number", default=1, min=1, help="The device group in the environment."),
    cfg.StrOpt("device_driver", default="bigip", help="Entry point in evenkeel.devices that configures the devices."),
    cfg.FloatOpt(
        "report_interval",
        default=10.0,
        min=0.5,
        help="Seconds between full state reports; an unchanged one is sent every sixth time.",
    ),
    cfg.FloatOpt("keepalive_interval", default=1.0, min=0.05, help="Seconds between keepalives."),
    cfg.FloatOpt(
        "status_interval", default=5.0, min=0.2, help="Seconds between observations of statuses and statistics."
    ),
    cfg.FloatOpt("service_resync_interval", default=300.0, min=1.0, help="Seconds between complete passes."),
    cfg.FloatOpt(
        "device_check_timeout",
        default=120.0,
        min=1.0,
        help="Seconds that devices may take at start to meet the requirements.",
    ),
    cfg.StrOpt(
        "capacity_policy",
        default="",
        help="metric:limit, metric:limit: a device group that reaches a limit gets no more load balancers. "
        f"Metrics: {', '.join(Metric)}.",
    ),
    cfg.FloatOpt("write_budget", default=1.0, min=0.1, help="Seconds of the lease that must be left to start a write."),
]
