"""The HAProxy driver's options, declared once, and the validated values made from them."""

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from yarl import URL

from evenkeel.config.esd.log_targets import LogTargets
from evenkeel.config.problems import Problems
from evenkeel.config.values import checked_values
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.esd.log_targets import OPTION, log_targets
from evenkeel.devices.options import https_client_options, required_credential

DEFAULT_PORT = 9443

OPTIONS = [
    cfg.ListOpt(
        "haproxyd_url", default=[], help="https://host:port of the daemon beside each HAProxy of the group; port 9443."
    ),
    cfg.StrOpt("haproxyd_username", default="", help="This agent's user on every daemon."),
    cfg.StrOpt("haproxyd_password", default="", secret=True, help="Its password."),
    cfg.StrOpt("haproxyd_password_file", help="File whose first line is the password; wins over haproxyd_password."),
    cfg.StrOpt(
        "ha_type",
        default=HaType.STANDALONE.value,
        choices=[HaType.STANDALONE.value, HaType.PAIR.value],
        help="Number of HAProxys.",
    ),
    cfg.StrOpt(
        "esd_dir",
        default="",
        help="Directory of the enhanced services that tenants may choose: *.json, reloaded within seconds. "
        "Empty: none.",
    ),
    OPTION,
    # a change may wait for another change's reload and its own
    *https_client_options(servers="daemons", request_timeout=60.0),
]


class HaproxyOptions(Value):
    """Validated settings of one device group, made from :data:`OPTIONS`."""

    hosts: tuple[str, ...]
    """Address ``host:port`` of every daemon."""
    username: str
    password: str
    environment: str
    group_number: int
    agent_host: str
    ca_file: str
    verify_tls: bool
    prefix: str
    ha_type: HaType
    esd_dir: str
    log_targets: LogTargets
    connect_timeout_seconds: float
    request_timeout_seconds: float

    @property
    def owner(self) -> str:
        """Return the owner's name that the daemon records for this device group's partitions."""
        return f"{self.environment}/{self.group_number}"


def parse_options(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> HaproxyOptions:
    """Validate the options. Raises :class:`ValueError` that names the wrong options, and never repeats a
    password.
    """
    values = checked_values(OPTIONS, options)
    ha_type = HaType(values["ha_type"])
    with Problems() as problems:
        hosts = problems.collect_from(lambda: _parse_hosts(values["haproxyd_url"], ha_type))
        username = problems.collect_from(lambda: _parse_username(values))
        password = problems.collect_from(lambda: required_credential(values, "haproxyd_password"))
        # the daemon applies its rules for members
        targets = problems.collect_from(lambda: log_targets(values))
    return HaproxyOptions(
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
        esd_dir=values["esd_dir"],
        log_targets=targets,
        connect_timeout_seconds=values["connect_timeout"],
        request_timeout_seconds=values["request_timeout"],
    )


def _parse_username(values: Mapping[str, Any]) -> str:
    username = required_credential(values, "haproxyd_username")
    # HTTP basic authentication separates name and password by ":" (RFC 7617, 2).
    if ":" in username:
        raise ValueError(f"haproxyd_username: {username!r}: ':' is not allowed in a user's name")
    return username


def _parse_hosts(texts: Sequence[str], ha_type: HaType) -> tuple[str, ...]:
    hosts = tuple(_parse_host(text.strip()) for text in texts if text.strip())
    shown = repr(",".join(texts))
    if len(set(hosts)) != len(hosts):
        raise ValueError(f"haproxyd_url: {shown}: a daemon is named twice")
    wanted = 1 if ha_type is HaType.STANDALONE else 2
    if len(hosts) != wanted:
        raise ValueError(f"haproxyd_url: {shown}: ha_type {ha_type} needs exactly {wanted} of https://host:port")
    return hosts


def _parse_host(text: str) -> str:
    """Return ``host:port`` of a URL, port 9443 by default.

    Raises :class:`ValueError` for anything but ``https://host`` or ``https://host:port``; the error does not
    show a user or password in the URL.
    """
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
