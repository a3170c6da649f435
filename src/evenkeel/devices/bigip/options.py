"""The BIG-IP driver's options, declared once, and the validated values made from them."""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from oslo_config import cfg, types

from evenkeel.config.addresses import ADDRESSES
from evenkeel.config.esd.log_targets import NO_TARGETS, LogTargets
from evenkeel.config.problems import Problems
from evenkeel.config.values import checked_values
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import Address, AddressRules, parsed_address, parsed_networks
from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.bigip import attachment
from evenkeel.devices.bigip.attachment import AttachmentOptions
from evenkeel.devices.bigip.cookie_secret import OPTION_NAME, CookieSecret, parse_cookie_secret
from evenkeel.devices.esd.log_targets import OPTION, log_targets
from evenkeel.devices.options import https_client_options, required_credential

DEFAULT_PORT = 443
_NOT_IN_HOSTS = frozenset("/@ \t:[]")
DEVICES_MAX = 4
FORCED_SYNC_MAX = timedelta(hours=24)
TRAFFIC_GROUP_PATH = r"^/Common/[A-Za-z0-9_.-]{1,64}$"
PROFILE_PATH = r"^/[A-Za-z0-9_.-]{1,64}(/[A-Za-z0-9_.-]{1,64}){1,3}$"


class SyncMode(StrEnum):
    """How the devices of a device group get their configuration: from the agent, or by config-sync."""

    REPLICATE = "replicate"  # the agent writes each named device
    SYNC = "sync"  # it writes one device of each sync-failover group, which config-sync copies to the others


OPTIONS = [
    cfg.ListOpt(
        "icontrol_hostname", default=[], help="Management addresses, host[:port], of all devices of the group."
    ),
    cfg.ListOpt(
        "icontrol_vcmp_hostname",
        default=[],
        help="Management addresses, host[:port], of the vCMP hosts of the devices: VLANs are made there and "
        "assigned to the guests. User and password are those of the devices.",
    ),
    cfg.StrOpt("icontrol_username", default="admin", help="User on every device."),
    cfg.StrOpt("icontrol_password", default="", secret=True, help="Its password."),
    cfg.StrOpt("icontrol_password_file", help="File whose first line is the password; wins over icontrol_password."),
    cfg.StrOpt(
        "f5_ha_type",
        default=HaType.PAIR.value,
        choices=[one.value for one in HaType],
        help="Number of devices: one (config-sync copies to the others of its cluster), two (if only one is named, "
        "the other is taken from the device trust), or two to four.",
    ),
    cfg.StrOpt(
        "sync_mode",
        default=SyncMode.REPLICATE.value,
        choices=[one.value for one in SyncMode],
        help="replicate: each named device is written. sync: one device of each sync-failover group, which config-"
        "sync copies to its others.",
    ),
    cfg.FloatOpt(
        "sync_timeout",
        default=60.0,
        min=0.1,
        max=600.0,
        help="Seconds that a config-sync may take until the device group is in sync.",
    ),
    cfg.StrOpt(
        "sync_force_until",
        help="UTC time, such as 2026-11-23T14:30Z, at most 24 h ahead: until then a device group with pending "
        "changes that no agent made is written, and these changes are overwritten.",
    ),
    *https_client_options(servers="devices", request_timeout=30.0),
    cfg.FloatOpt(
        "commit_timeout",
        default=60.0,
        min=0.1,
        max=600.0,
        help="Time-out of a commit, seconds: it changes much at once, and is not repeated blindly.",
    ),
    cfg.FloatOpt(
        "retry_time",
        default=5.0,
        min=0.0,
        max=600.0,
        help="Seconds for which requests to a busy device are repeated before it counts as out of reach.",
    ),
    cfg.FloatOpt(
        "full_read_interval",
        default=300.0,
        min=0.0,
        max=86_400.0,
        help="Seconds between reads of all attributes of a partition; other reads are of pools and virtual servers "
        "only.",
    ),
    cfg.FloatOpt(
        "save_interval",
        default=30.0,
        min=0.0,
        max=86_400.0,
        help="Least seconds between two saves of a device's running configuration, and most from a change to its "
        "save; a reboot loses what is not saved. 0: never.",
    ),
    cfg.IntOpt(
        "connections_max",
        default=4,
        min=1,
        max=10,
        help="Concurrent requests to one device, of the ten that a BIG-IP serves for all clients.",
    ),
    cfg.IntOpt(
        "commands_max",
        default=200,
        min=10,
        max=10_000,
        help="Commands of one transaction; more are split at whole load balancers.",
    ),
    cfg.BoolOpt(
        "move_nodes",
        default=True,
        help="Members of earlier versions, and of F5's agent in adopted partitions, move to nodes in /Common, which "
        "projects share. False: they stay at nodes in the project's partition, and their addresses are refused to "
        "other projects; the partition can still be given back to F5's agent, or agents to an earlier version.",
    ),
    cfg.StrOpt(
        "f5_parent_ssl_profile",
        default="/Common/clientssl",
        regex=PROFILE_PATH,
        help="client-ssl profile from which listeners' profiles inherit what load balancers do not set.",
    ),
    cfg.StrOpt(
        "esd_dir",
        default="",
        help="Directory of the enhanced services that tenants may choose: *.json in F5's format, reloaded within "
        "seconds. Empty: none.",
    ),
    cfg.BoolOpt(
        "esd_strict",
        default=False,
        help="An enhanced service with an unusable tag cannot be used. False: the tag is discarded with a warning, as "
        "F5's agent does.",
    ),
    OPTION,
    cfg.StrOpt(
        OPTION_NAME,
        default="",
        secret=True,
        help="Secret of at least 32 characters, the same for all agents of the environment, from which the "
        "passphrases of encrypted cookies derive. Empty: enhanced services cannot encrypt cookies.",
    ),
    cfg.StrOpt(f"{OPTION_NAME}_file", help=f"File whose first line is the secret; wins over {OPTION_NAME}."),
    cfg.ListOpt(
        "traffic_groups",
        default=[],
        item_type=types.String(regex=TRAFFIC_GROUP_PATH),
        help="Floating traffic groups, such as /Common/traffic-group-1, among which tenants are distributed by the "
        "md5 of the project's id, modulo their number: another number moves most tenants. Empty: the "
        "partition's own.",
    ),
    *attachment.OPTIONS,
    *ADDRESSES,
]


class BigIpOptions(Value):
    """Validated settings of one device group, from :data:`OPTIONS`. Times in seconds."""

    hosts: tuple[str, ...]
    """Management address ``host:port`` of every device."""
    username: str
    password: str
    environment: str
    group_number: int
    agent_host: str
    ca_file: str
    verify_tls: bool
    prefix: str
    ha_type: HaType
    sync_mode: SyncMode
    sync_timeout_seconds: float
    sync_force_until: datetime | None
    connect_timeout_seconds: float
    request_timeout_seconds: float
    commit_timeout_seconds: float
    retry_seconds: float
    full_read_interval_seconds: float
    save_interval_seconds: float
    connections_max: int
    addresses: AddressRules
    """Address ranges that load balancers may use and send to; checked here too, independently of the API's checks."""
    traffic_groups: tuple[str, ...]
    commands_max: int
    parent_ssl_profile: str
    """Full path of the client-ssl profile from which listeners' profiles inherit."""
    esd_dir: str
    """Directory with the files of enhanced services; empty: no enhanced services."""
    esd_strict: bool = False
    """Whether an unusable tag makes its enhanced service unusable."""
    log_targets: LogTargets = NO_TARGETS
    cookie_secret: CookieSecret | None = None
    move_nodes: bool = True
    """Whether pool members are moved from nodes in the tenant's partition to nodes in /Common."""
    attachment: AttachmentOptions = attachment.ROUTED_NETWORK_LAYOUT
    vcmp_hosts: tuple[str, ...] = ()
    """``host:port`` of the vCMP hosts; empty: the devices are no guests."""


def parse_options(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> BigIpOptions:
    """Validate the options. Raises :class:`ValueError` that names the wrong options, and never repeats a
    password.
    """
    values = checked_values(OPTIONS, options)
    ha_type = HaType(values["f5_ha_type"])
    with Problems() as problems:
        hosts = problems.collect_from(lambda: _parse_hosts(values["icontrol_hostname"], ha_type)) or ()
        if ha_type is HaType.PAIR and len(hosts) == 1 and not values["f5_global_routed_mode"]:
            problems.found.append(
                f"icontrol_hostname: {hosts[0]!r}: both devices of a pair must be named with f5_global_routed_mode"
                " False, because controllers allocate addresses for each device"
            )
        username = problems.collect_from(lambda: required_credential(values, "icontrol_username"))
        password = problems.collect_from(lambda: required_credential(values, "icontrol_password"))
        force_until = problems.collect_from(
            lambda: _parse_force_until(values["sync_force_until"] or "", datetime.now(UTC))
        )
        addresses = problems.collect_from(lambda: _parse_address_rules(values, hosts))
        targets = problems.collect_from(lambda: log_targets(values, addresses))
        secret = problems.collect_from(lambda: parse_cookie_secret(values))
        vcmp_hosts = problems.collect_from(lambda: _parse_vcmp_hosts(values["icontrol_vcmp_hostname"], hosts)) or ()
        attached = problems.collect_from(lambda: _parse_attachment(values, (*hosts, *vcmp_hosts)))
    return BigIpOptions(
        hosts=hosts,
        username=username,
        password=password,
        environment=environment,
        group_number=group_number,
        agent_host=host,
        ca_file=values["ca_file"] or "",
        verify_tls=values["verify_tls"],
        prefix=values["prefix"] or environment,
        ha_type=ha_type,
        sync_mode=SyncMode(values["sync_mode"]),
        sync_timeout_seconds=values["sync_timeout"],
        sync_force_until=force_until,
        connect_timeout_seconds=values["connect_timeout"],
        request_timeout_seconds=values["request_timeout"],
        commit_timeout_seconds=values["commit_timeout"],
        retry_seconds=values["retry_time"],
        full_read_interval_seconds=values["full_read_interval"],
        save_interval_seconds=values["save_interval"],
        connections_max=values["connections_max"],
        addresses=addresses,
        traffic_groups=tuple(values["traffic_groups"]),
        commands_max=values["commands_max"],
        move_nodes=values["move_nodes"],
        parent_ssl_profile=values["f5_parent_ssl_profile"],
        esd_dir=values["esd_dir"],
        esd_strict=values["esd_strict"],
        log_targets=targets,
        cookie_secret=secret,
        attachment=attached,
        vcmp_hosts=vcmp_hosts,
    )


def _parse_attachment(values: Mapping[str, Any], hosts: Sequence[str]) -> AttachmentOptions:
    synchronised = SyncMode(values["sync_mode"]) is SyncMode.SYNC
    return attachment.parse_attachment(values, hosts, synchronised=synchronised)


def _parse_force_until(text: str, now: datetime) -> datetime | None:
    """Parse the time of ``sync_force_until``; None if the text is empty. Raises :class:`ValueError` for a
    text without a time and zone, and for a time more than 24 hours ahead.

    A time that has passed is no error, because the agent may be restarted later with the same options.
    """
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or found - now > FORCED_SYNC_MAX:
        raise ValueError(f"sync_force_until: {text!r}: a time with its zone, at most 24 h ahead, is allowed")
    return found


def _parse_address_rules(values: Mapping[str, Any], hosts: Iterable[str]) -> AddressRules:
    try:
        denied = parsed_networks(text for text in values["denied_member_networks"] if text.strip())
    except ValueError as error:
        raise ValueError(f"denied_member_networks: {error}") from None
    own = management_addresses(hosts)
    return AddressRules(allow_loopback=values["allow_loopback_addresses"], denied_networks=denied, own_addresses=own)


def management_addresses(hosts: Iterable[str]) -> frozenset[Address]:
    """Return the devices' addresses, which no load balancer may use, from ``host:port``; host names and
    loopback addresses are left out.
    """
    return frozenset(address for address in map(_management_address, hosts) if address is not None)


def _management_address(host: str) -> Address | None:
    """Return the address in ``host:port``; None for a host name, or a loopback address, as emulators have."""
    try:
        address = parsed_address(host.rpartition(":")[0].strip("[]"))
    except ValueError:
        return None
    return None if address.is_loopback else address


def _parse_hosts(texts: Sequence[str], ha_type: HaType) -> tuple[str, ...]:
    hosts = tuple(_parse_host(text.strip()) for text in texts if text.strip())
    shown = repr(",".join(texts))
    if len(set(hosts)) != len(hosts):
        raise ValueError(f"icontrol_hostname: {shown}: a device is named twice")
    fits, allowed = {
        HaType.STANDALONE: (len(hosts) == 1, "exactly one"),
        HaType.PAIR: (len(hosts) in (1, 2), "one or two"),
        HaType.SCALEN: (2 <= len(hosts) <= DEVICES_MAX, f"two to {DEVICES_MAX}"),
    }[ha_type]
    if not fits:
        raise ValueError(f"icontrol_hostname: {shown}: f5_ha_type {ha_type} needs {allowed} host[:port]")
    return hosts


def _parse_vcmp_hosts(texts: Sequence[str], devices: Sequence[str]) -> tuple[str, ...]:
    name = "icontrol_vcmp_hostname"
    hosts = tuple(_parse_host(text.strip(), name) for text in texts if text.strip())
    shown = repr(",".join(texts))
    if len(hosts) > DEVICES_MAX or len(set(hosts)) != len(hosts) or set(hosts) & set(devices):
        raise ValueError(f"{name}: {shown}: at most {DEVICES_MAX} different hosts are allowed, and none of the devices")
    return hosts


def _parse_host(text: str, option: str = "icontrol_hostname") -> str:
    """Validate ``host`` or ``host:port`` and return it with a port, 443 by default; an IPv6 address is in
    brackets then. Raises :class:`ValueError` naming ``option``.
    """
    if _is_ipv6_address(text):
        return f"[{text}]:{DEFAULT_PORT}"
    head, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        head, port = text, str(DEFAULT_PORT)
    is_host = _is_ipv6_address(head[1:-1]) if head.startswith("[") else bool(head) and not set(head) & _NOT_IN_HOSTS
    if not is_host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError(f"{option}: {text!r}: host or host:port is allowed")
    return f"{head}:{port}"


def _is_ipv6_address(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
