"""The driver's settings: text in, checked values out."""

from collections.abc import Iterable, Mapping

from evenkeel.core.addresses import STRICT, Address, AddressRules, parsed_address, parsed_networks
from evenkeel.core.statuses import HaType
from evenkeel.core.values import Value
from evenkeel.devices.settings import choice, filled, known, number

DEFAULT_PORT = 443


class BigIpOptions(Value):
    """Settings of one device group. Times in seconds."""

    hosts: tuple[str, ...]
    username: str
    password: str
    environment: str
    group_number: int
    agent_host: str
    ca_file: str = ""
    verify_tls: bool = True
    prefix: str = ""
    """First part of every name on the device; the environment by default."""
    ha_type: HaType = HaType.PAIR
    connect_timeout_seconds: float = 3.0
    """For a connection to be made, and the silence after which a device is asked whether it lives."""
    request_timeout_seconds: float = 30.0
    commit_timeout_seconds: float = 60.0
    """A commit changes much at once and is not repeated blindly, so it is given longer."""
    retry_seconds: float = 5.0
    """How long a busy device is asked again before it counts as out of reach."""
    full_read_interval_seconds: float = 300.0
    """All attributes of a partition are read again when the last time was longer ago."""
    save_delay_seconds: float = 30.0
    """The running configuration is saved this long after a change; 0: never."""
    addresses: AddressRules = STRICT
    """Which ones load balancers may have and send to; asked for again here, whoever has asked before."""
    commands_max: int = 200
    """Commands of one transaction; what needs more is applied in several, whole load balancers at a time."""


OPTIONS = (
    "icontrol_hostname",
    "icontrol_username",
    "icontrol_password",
    "f5_ha_type",
    "ca_file",
    "verify_tls",
    "prefix",
    "connect_timeout",
    "request_timeout",
    "commit_timeout",
    "retry_time",
    "full_read_interval",
    "save_delay",
    "commands_max",
    "allow_loopback_addresses",
    "denied_member_networks",
)


def parse_options(options: Mapping[str, str], *, environment: str, group_number: int, host: str) -> BigIpOptions:
    """The checked options. Raises :class:`ValueError` naming option, value and what is allowed; never a password."""
    known(options, OPTIONS)
    ha_type = choice(options, "f5_ha_type", HaType.PAIR.value, tuple(HaType))
    hosts = _hosts(options.get("icontrol_hostname", ""), HaType(ha_type))
    return BigIpOptions(
        hosts=hosts,
        username=filled(options, "icontrol_username"),
        password=filled(options, "icontrol_password"),
        environment=environment,
        group_number=group_number,
        agent_host=host,
        ca_file=options.get("ca_file", ""),
        verify_tls=choice(options, "verify_tls", "true", ("true", "false")) == "true",
        prefix=options.get("prefix") or environment,
        ha_type=HaType(ha_type),
        connect_timeout_seconds=number(options, "connect_timeout", 3.0, float, 0.1, 300),
        request_timeout_seconds=number(options, "request_timeout", 30.0, float, 0.1, 600),
        commit_timeout_seconds=number(options, "commit_timeout", 60.0, float, 0.1, 600),
        retry_seconds=number(options, "retry_time", 5.0, float, 0, 600),
        full_read_interval_seconds=number(options, "full_read_interval", 300.0, float, 0, 86_400),
        save_delay_seconds=number(options, "save_delay", 30.0, float, 0, 86_400),
        addresses=_addresses(options, hosts),
        commands_max=number(options, "commands_max", 200, int, 10, 10_000),
    )


def _addresses(options: Mapping[str, str], hosts: Iterable[str]) -> AddressRules:
    allowed = choice(options, "allow_loopback_addresses", "false", ("true", "false")) == "true"
    texts = [text for text in options.get("denied_member_networks", "").split(",") if text.strip()]
    try:
        denied = parsed_networks(texts)
    except ValueError as error:
        raise ValueError(f"denied_member_networks: {error}") from None
    own = frozenset(address for address in map(_management, hosts) if address is not None)
    return AddressRules(allow_loopback=allowed, denied_networks=denied, own_addresses=own)


def _management(host: str) -> Address | None:
    """The management address of a device; None: it goes by a name, or is on loopback, as stand-ins are."""
    try:
        address = parsed_address(host.rpartition(":")[0].strip("[]"))
    except ValueError:
        return None
    return None if address.is_loopback else address


def _hosts(text: str, ha_type: HaType) -> tuple[str, ...]:
    hosts = tuple(_host(part.strip()) for part in text.split(",") if part.strip())
    if len(set(hosts)) != len(hosts):
        raise ValueError(f"icontrol_hostname: {text!r}: a device is named twice")
    fits, allowed = {
        HaType.STANDALONE: (len(hosts) == 1, "exactly one"),
        HaType.PAIR: (len(hosts) == 2, "exactly two"),
        HaType.SCALEN: (len(hosts) >= 2, "two or more"),
    }[ha_type]
    if not fits:
        raise ValueError(f"icontrol_hostname: {text!r}: f5_ha_type {ha_type} needs {allowed} host[:port]")
    return hosts


def _host(text: str) -> str:
    """``host:port``; an IPv6 address with a port stands in brackets."""
    if text.count(":") > 1 and not text.startswith("["):
        return f"[{text}]:{DEFAULT_PORT}"
    head, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        head, port = text, str(DEFAULT_PORT)
    if not head or not port.isdigit() or not 0 < int(port) < 65_536 or "/" in head or "@" in head:
        raise ValueError(f"icontrol_hostname: {text!r}: host or host:port is allowed")
    return f"{head}:{port}"
