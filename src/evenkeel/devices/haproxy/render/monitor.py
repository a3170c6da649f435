"""Health monitors as HAProxy's checks. Pure.

=========== ===================================================================================
Octavia     HAProxy
=========== ===================================================================================
HTTP        ``option httpchk`` with ``http-check send`` and ``expect``
HTTPS       the same over TLS (``check-ssl``); members' certificates are verified as configured in the pool, and not
            at all in a pool without TLS
TCP         a connection
TLS-HELLO   a TLS handshake, by ``check-ssl`` alone: ``ssl-hello-chk`` sends an SSLv3 hello, accepts any answer
PING        by the daemon: HAProxy's ``external-check`` would have to fork a ``ping`` program
UDP-CONNECT by the daemon: HAProxy has no UDP
SCTP        by the daemon: HAProxy has no SCTP
delay       ``inter``; ``timeout`` is ``timeout check``; for checks by the daemon at most 10 seconds
retries     ``max_retries`` is ``rise``, ``max_retries_down`` is ``fall``
=========== ===================================================================================
"""

import re
from typing import Literal

from evenkeel.core.devices.service import ServiceMonitor
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import bracket_ipv6
from evenkeel.core.resources.model import HTTP_CHECK_DEFAULTS
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.render.quoting import log_format_literal, percent_encode_path, quote_line
from evenkeel.haproxyd import wire

MONITOR_TYPES = frozenset({"HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING", "UDP-CONNECT", "SCTP"})
PROTOCOLS_CHECKED_BY_DAEMON: dict[str, Literal["icmp", "udp", "sctp"]] = {
    "PING": "icmp",
    "UDP-CONNECT": "udp",
    "SCTP": "sctp",
}
"""``{type of a health monitor: protocol}`` for checks that the daemon makes instead of HAProxy."""
HTTP_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
SECONDS_MAX = 86_400
RETRIES_MAX = 100
_HOST_PATTERN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,253}[A-Za-z0-9])?")


class HealthChecks(Value):
    """Health checks of one backend's servers: lines of the backend, and arguments of each ``server`` line; or
    ``ping``, if the daemon makes the checks.
    """

    lines: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    ping: wire.Ping | None = None


def render_checks(monitor: ServiceMonitor | None, vip_address: str, *, over_tls: bool = False) -> HealthChecks:
    """Render the health checks of a monitor; empty if the monitor is None or admin down. Raises
    :class:`Unrenderable` for a monitor that HAProxy cannot implement.

    ``over_tls``: traffic to members uses TLS, and so do checks of any type that HAProxy makes, unless a
    member has its own ``monitor_address`` or ``monitor_port``.
    """
    if monitor is None or not monitor.admin_state_up:
        return HealthChecks()
    if monitor.type not in MONITOR_TYPES:
        raise Unrenderable(f"health monitor {monitor.id}: type {monitor.type} is not possible on HAProxy")
    _check_number_ranges(monitor)
    if monitor.type in PROTOCOLS_CHECKED_BY_DAEMON:
        return HealthChecks(
            ping=wire.Ping(
                delay=monitor.delay,
                timeout=monitor.timeout,
                rise=monitor.max_retries,
                fall=monitor.max_retries_down,
                protocol=PROTOCOLS_CHECKED_BY_DAEMON[monitor.type],
            )
        )
    over_http = monitor.type in ("HTTP", "HTTPS")
    return HealthChecks(
        lines=(f"timeout check {monitor.timeout}s", *(_http_lines(monitor, vip_address) if over_http else ())),
        arguments=(*_timing_arguments(monitor), *_tls_arguments(monitor, over_tls=over_tls)),
    )


def _check_number_ranges(monitor: ServiceMonitor) -> None:
    limits = {
        "delay": SECONDS_MAX,
        "timeout": SECONDS_MAX,
        "max_retries": RETRIES_MAX,
        "max_retries_down": RETRIES_MAX,
    }
    for field, most in limits.items():
        if not 1 <= getattr(monitor, field) <= most:
            raise Unrenderable(
                f"health monitor {monitor.id}: {field} {getattr(monitor, field)}: 1 to {most} are possible"
            )


def _timing_arguments(monitor: ServiceMonitor) -> tuple[str, ...]:
    return (
        "check",
        "inter",
        f"{monitor.delay}s",
        "rise",
        f"{monitor.max_retries}",
        "fall",
        f"{monitor.max_retries_down}",
    )


def _tls_arguments(monitor: ServiceMonitor, *, over_tls: bool) -> tuple[str, ...]:
    always = monitor.type in ("HTTPS", "TLS-HELLO")
    if not always and not over_tls:
        return ()
    name = ("check-sni", _monitor_domain(monitor)) if monitor.domain_name else ()
    return (
        *(("check-ssl",) if always else ()),
        # where traffic to members uses TLS, checks verify the member's certificate as traffic does
        *(() if over_tls else ("verify", "none")),
        # HAProxy's checks do not speak HTTP/2 over TLS (:mod:`.reencryption`).
        *(("check-alpn", "http/1.1") if over_tls and monitor.type in ("HTTP", "HTTPS") else ()),
        *name,
    )


def _http_lines(monitor: ServiceMonitor, vip_address: str) -> tuple[str, ...]:
    method = monitor.http_method or HTTP_CHECK_DEFAULTS["http_method"]
    if method not in HTTP_METHODS:
        raise Unrenderable(f"health monitor {monitor.id}: http_method {method!r} is not possible")
    uri = percent_encode_path(monitor.url_path or HTTP_CHECK_DEFAULTS["url_path"])
    if not uri.startswith("/"):
        raise Unrenderable(f"health monitor {monitor.id}: url_path {monitor.url_path!r} must begin with '/'")
    version = (
        ("ver", "HTTP/1.1", "hdr", "Host", log_format_literal(_host_header_of_check(monitor, vip_address)))
        if _uses_http_1_1(monitor)
        else ()
    )
    return (
        quote_line("option", "httpchk"),
        quote_line("http-check", "send", "meth", method, "uri", uri, *version),
        quote_line("http-check", "expect", "status", expected_codes(monitor)),
    )


def _uses_http_1_1(monitor: ServiceMonitor) -> bool:
    return monitor.http_version == 1.1 or bool(monitor.domain_name)


def _host_header_of_check(monitor: ServiceMonitor, vip_address: str) -> str:
    """Return the Host header of a check, which HTTP/1.1 requires: the monitor's domain name, else the VIP
    address, with brackets if it is IPv6. Raises :class:`Unrenderable` for a domain name that is no host
    name.
    """
    if monitor.domain_name:
        return _monitor_domain(monitor)
    return bracket_ipv6(vip_address)


def _monitor_domain(monitor: ServiceMonitor) -> str:
    name = monitor.domain_name or ""
    if not _HOST_PATTERN.fullmatch(name):
        raise Unrenderable(f"health monitor {monitor.id}: domain_name {name!r} is no host name")
    return name


def expected_codes(monitor: ServiceMonitor) -> str:
    """Return the monitor's expected status codes in HAProxy's form (``200``, ``200,202`` or ``200-204``),
    without spaces.

    Raises :class:`Unrenderable` for another form, or a range that ends before it begins.
    """
    text = monitor.expected_codes or HTTP_CHECK_DEFAULTS["expected_codes"]
    found = []
    for part in text.split(","):
        code = re.fullmatch(r"\s*([1-5][0-9]{2})\s*(?:-\s*([1-5][0-9]{2})\s*)?", part, re.ASCII)
        if code is None or (code[2] or code[1]) < code[1]:
            raise Unrenderable(f"health monitor {monitor.id}: expected_codes {text!r} is no code, list or range")
        found.append(f"{code[1]}-{code[2]}" if code[2] else code[1])
    return ",".join(found)
