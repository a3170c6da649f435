"""Options of ``[evenkeel]`` in ``octavia.conf``."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from oslo_config import cfg

from evenkeel_octavia.credentials import KeystoneCredential, PasswordCredential
from evenkeel_octavia.settings import AgentSettings, ControllersEndpoint, MisconfiguredError, NoCredential

OPTION_GROUP = "evenkeel"
DEFAULT_PROVIDERS = {"evenkeel": "evenkeel"}

DRIVER_AGENT, DATABASE = "driver-agent", "database"
BY_OCTAVIA, BY_EVENKEEL = "octavia", "evenkeel"

OPTIONS: list[Any] = [
    cfg.DictOpt(
        "providers",
        default=DEFAULT_PROVIDERS,
        help="Even Keel's environment of each provider, as provider:environment. Each provider needs an entry point "
        "(see evenkeel-octavia register-providers) and must be in [api_settings] enabled_provider_drivers.",
    ),
    cfg.ListOpt(
        "controllers",
        default=["http://127.0.0.1:9876"],
        help="Root URLs of Even Keel's controllers; another one is tried if one does not answer.",
    ),
    cfg.StrOpt("ca_file", help="CA certificates that sign the controllers' certificates; unset: those of the system."),
    cfg.StrOpt(
        "api_username",
        help="User at controllers with [identity] kind = password_file. For Keystone set auth_type and its options, "
        "as in [keystone_authtoken], here.",
    ),
    cfg.StrOpt("api_password_file", help="File with the password of api_username; mode 0600."),
    cfg.FloatOpt(
        "check_timeout",
        default=2.0,
        min=0.2,
        max=30.0,
        help="Seconds in which the controllers must answer a check; Octavia's transaction is open as long.",
    ),
    cfg.StrOpt(
        "vip_ports",
        default=BY_OCTAVIA,
        choices=[
            (BY_OCTAVIA, "Octavia creates and deletes them"),
            (
                BY_EVENKEEL,
                "the controllers create and delete them in Neutron, as those of their own load balancers",
            ),
        ],
        help="Which service makes the ports of VIPs. Load balancers keep the ports that they have.",
    ),
    cfg.FloatOpt(
        "vip_port_timeout",
        default=5.0,
        min=0.5,
        max=60.0,
        help="Seconds in which the controllers must have made a VIP port, with vip_ports = evenkeel; most of it is "
        "Neutron's time, for which Octavia's transaction is open, as it is when Octavia makes the port itself.",
    ),
    cfg.FloatOpt(
        "poll_interval", default=0.25, min=0.05, max=10.0, help="Seconds between looks at Octavia's database."
    ),
    cfg.FloatOpt("request_timeout", default=20.0, min=1.0, max=300.0, help="Time-out of an agent's request, seconds."),
    cfg.FloatOpt(
        "drift_interval",
        default=60.0,
        min=5.0,
        max=86400.0,
        help="Seconds between comparisons of all load balancers of Octavia with those of the controllers.",
    ),
    cfg.FloatOpt(
        "operating_status_interval",
        default=1.0,
        min=0.0,
        max=600.0,
        help="Seconds between reports of changed operating statuses; 0: operating statuses are never reported.",
    ),
    cfg.FloatOpt(
        "statistics_interval",
        default=60.0,
        min=0.0,
        max=86400.0,
        help="Seconds between reports of listeners' statistics; 0: none.",
    ),
    cfg.StrOpt(
        "report_by",
        default=DRIVER_AGENT,
        choices=[
            (DRIVER_AGENT, "through octavia-driver-agent's sockets, the interface for providers"),
            (DATABASE, "by Octavia's own code inside the provider agent: a tenth of the CPU, no driver-agent needed"),
        ],
        help="How statuses and statistics are reported to Octavia.",
    ),
    cfg.FloatOpt(
        "lease",
        default=5.0,
        min=1.0,
        max=60.0,
        help="Seconds after which another host's agent takes over from one that is gone.",
    ),
    cfg.IntOpt(
        "parallel_writes",
        default=4,
        min=1,
        max=32,
        help="Load balancers that the agent writes to the controllers at the same time.",
    ),
]

_registration = threading.Lock()


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return the options for oslo-config-generator, by group."""
    return [(OPTION_GROUP, OPTIONS)]


def register_options(conf: Any) -> Any:
    """Register the options with ``conf`` and return their group."""
    with _registration:
        conf.register_opts(OPTIONS, group=OPTION_GROUP)
    return conf[OPTION_GROUP]


def parse_endpoint(conf: Any) -> ControllersEndpoint:
    """Return the controllers' addresses and credential. Raises :class:`MisconfiguredError` for a missing or
    impossible URL; the credential's options are checked when it is made.
    """
    group = register_options(conf)
    urls = tuple(url.rstrip("/") for url in group.controllers)
    if not urls:
        raise MisconfiguredError("[evenkeel] controllers is empty: at least one URL is needed")
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.username:
            raise MisconfiguredError(
                f"[evenkeel] controllers: '{url}' is not allowed; allowed are https://host:port and http://host:port"
            )
    ca_file = Path(group.ca_file) if group.ca_file else None
    return ControllersEndpoint(urls=urls, ca_file=ca_file, credential=lambda: _credential_factory(conf))


def _credential_factory(conf: Any) -> Any:
    group = conf[OPTION_GROUP]
    if group.api_username:
        if not group.api_password_file:
            raise MisconfiguredError("[evenkeel] api_password_file is not set: api_username needs it")
        return PasswordCredential(group.api_username, Path(group.api_password_file))
    if KeystoneCredential.is_configured(conf, OPTION_GROUP):
        return KeystoneCredential(conf, OPTION_GROUP)
    return NoCredential()


def parse_environments(conf: Any) -> Mapping[str, str]:
    """Return ``{provider: environment}``. Raises :class:`MisconfiguredError` for an empty name, or an
    environment of two providers.
    """
    providers: dict[str, str] = dict(register_options(conf).providers)
    for provider, environment in providers.items():
        if not provider or not environment:
            raise MisconfiguredError(
                f"[evenkeel] providers: '{provider}:{environment}' is not allowed; allowed is provider:environment"
            )
    if len(set(providers.values())) != len(providers):
        raise MisconfiguredError("[evenkeel] providers: each provider needs an environment of its own")
    return providers


def parse_agent_settings(conf: Any) -> AgentSettings:
    """Return the agent's settings. Raises :class:`MisconfiguredError` as :func:`parse_environments`."""
    group = register_options(conf)
    return AgentSettings(
        environments=parse_environments(conf),
        poll_seconds=group.poll_interval,
        request_seconds=group.request_timeout,
        drift_seconds=group.drift_interval,
        statuses_seconds=group.operating_status_interval,
        statistics_seconds=group.statistics_interval,
        lease_seconds=group.lease,
        puts_at_once=group.parallel_writes,
        makes_vip_ports=group.vip_ports == BY_EVENKEEL,
    )
