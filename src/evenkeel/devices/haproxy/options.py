"""The driver's settings: text in, checked values out."""

from collections.abc import Mapping

from yarl import URL

from evenkeel.core.statuses import HaType
from evenkeel.core.values import Value
from evenkeel.devices.settings import choice, filled, known, number

DEFAULT_PORT = 9443


class HaproxyOptions(Value):
    """Settings of one device group. Times in seconds."""

    hosts: tuple[str, ...]
    """``host:port`` of every daemon."""
    username: str
    password: str
    environment: str
    group_number: int
    agent_host: str
    ca_file: str = ""
    verify_tls: bool = True
    prefix: str = ""
    """First part of every partition's name; the environment by default."""
    ha_type: HaType = HaType.STANDALONE
    connect_timeout_seconds: float = 3.0
    """For a connection to be made, and the silence after which a daemon is asked whether it lives."""
    request_timeout_seconds: float = 60.0
    """A change may have to wait for the reload of another one and for its own."""

    @property
    def owner(self) -> str:
        """Whose a daemon's partitions are, as the daemon keeps it."""
        return f"{self.environment}/{self.group_number}"


OPTIONS = (
    "haproxyd_url",
    "haproxyd_username",
    "haproxyd_password",
    "ha_type",
    "ca_file",
    "verify_tls",
    "prefix",
    "connect_timeout",
    "request_timeout",
)


def parse_options(options: Mapping[str, str], *, environment: str, group_number: int, host: str) -> HaproxyOptions:
    """The checked options. Raises :class:`ValueError` naming option, value and what is allowed; never a password."""
    known(options, OPTIONS)
    ha_type = HaType(choice(options, "ha_type", HaType.STANDALONE, (HaType.STANDALONE, HaType.PAIR)))
    username = filled(options, "haproxyd_username")
    if ":" in username:
        raise ValueError(f"haproxyd_username: {username!r}: ':' is not allowed in a user's name")
    return HaproxyOptions(
        hosts=_hosts(options.get("haproxyd_url", ""), ha_type),
        username=username,
        password=filled(options, "haproxyd_password"),
        environment=environment,
        group_number=group_number,
        agent_host=host,
        ca_file=options.get("ca_file", ""),
        verify_tls=choice(options, "verify_tls", "true", ("true", "false")) == "true",
        prefix=options.get("prefix") or environment,
        ha_type=ha_type,
        connect_timeout_seconds=number(options, "connect_timeout", 3.0, float, 0.1, 300),
        request_timeout_seconds=number(options, "request_timeout", 60.0, float, 0.1, 600),
    )


def _hosts(text: str, ha_type: HaType) -> tuple[str, ...]:
    hosts = tuple(_host(part.strip()) for part in text.split(",") if part.strip())
    if len(set(hosts)) != len(hosts):
        raise ValueError(f"haproxyd_url: {text!r}: a daemon is named twice")
    wanted = 1 if ha_type is HaType.STANDALONE else 2
    if len(hosts) != wanted:
        raise ValueError(f"haproxyd_url: {text!r}: ha_type {ha_type} needs exactly {wanted} of https://host:port")
    return hosts


def _host(text: str) -> str:
    """``host:port`` of a URL. A user and password in it would end in logs, so they have options of their own."""
    refusal = ValueError(f"haproxyd_url: {text.rpartition('@')[2]!r}: allowed is https://host or https://host:port")
    try:
        url = URL(text)
        port = url.explicit_port or DEFAULT_PORT
    except ValueError:
        raise refusal from None
    plain = url.scheme == "https" and url.host and url.path in ("", "/")
    if not plain or url.user is not None or url.password is not None or url.query_string or url.fragment:
        raise refusal
    return f"{url.host_subcomponent}:{port}"
