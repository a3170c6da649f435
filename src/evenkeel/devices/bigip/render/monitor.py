"""Health monitors, with user text escaped in send strings. Pure.

======================  ============================================================================
Octavia                 BIG-IP
======================  ============================================================================
delay                   interval
max_retries_down        timeout = delay * max_retries_down + timeout: the time after which that many
                        probes in a row have failed. (The device's own rule of thumb, 3 * interval + 1,
                        is the same for three probes answered within a second.)
max_retries             timeUntilUp = delay * (max_retries - 1): after that many successful probes
timeout                 a BIG-IP has no time-out of a single probe; it is the last term of the sum above
type HTTP               where members use TLS, an https monitor: members would not answer plain HTTP
type TLS-HELLO          a tcp monitor that sends a ClientHello: see :mod:`.tls_hello`
type UDP-CONNECT        a udp monitor without an expected answer: down while the port is unreachable (ICMP)
type SCTP               none: a BIG-IP has no such monitor
monitor_address, _port  a monitor of its own for each destination, which its members refer to; an address alone
                        is checked at the member's port, since with an address a device needs a port. It
                        speaks neither the pool's TLS nor the PROXY protocol
pool of PROXY, PROXYV2  the check begins with such a header, which marks it as the device's own
======================  ============================================================================
"""

import hashlib
import re
from typing import Any
from urllib.parse import quote

from evenkeel.core.devices.service import ServiceDefinition, ServiceMember, ServiceMonitor, ServicePool
from evenkeel.core.resources.model import HTTP_CHECK_DEFAULTS
from evenkeel.devices.bigip.naming import BigIpNames, canonical_address, endpoint
from evenkeel.devices.bigip.objects import Key, WantedObject
from evenkeel.devices.bigip.render.proxy_protocol import SIGNATURE
from evenkeel.devices.bigip.render.server_ssl import server_ssl_path
from evenkeel.devices.bigip.render.tls_hello import EXPECTED_ANSWER, client_hello, encode_for_monitor_string
from evenkeel.devices.errors import Unrenderable

MONITOR_TYPES = {
    "HTTP": ("ltm/monitor/http", "/Common/http"),
    "HTTPS": ("ltm/monitor/https", "/Common/https"),
    "TCP": ("ltm/monitor/tcp", "/Common/tcp"),
    "TLS-HELLO": ("ltm/monitor/tcp", "/Common/tcp"),
    "UDP-CONNECT": ("ltm/monitor/udp", "/Common/udp"),
    "PING": ("ltm/monitor/gateway-icmp", "/Common/gateway_icmp"),
}
MEMBER_DESTINATION = "*:*"
"""Destination of a monitor that checks each member at the address and port where the member serves."""
_PROXY_HEADERS = {
    "PROXY": "PROXY UNKNOWN\\r\\n",
    "PROXYV2": encode_for_monitor_string(bytes.fromhex(f"{SIGNATURE}20000000")),  # version 2, command LOCAL
}
HTTP_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
SECONDS_MAX = 86_400
LINE_END = "\\r\\n"
"""Line end in the notation of the device's own monitors: a backslash and a letter, which the device turns into
bytes."""
_HOST_PATTERN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,253}[A-Za-z0-9])?")
# All other characters are percent-encoded: above all spaces, quotes, braces, angle brackets, line breaks and the
# backslash, with which a path could end the request line and inject headers.
_PATH_SAFE = "/%:?[]@!$&'()*+,;=-._~"


def monitor_objects(service: ServiceDefinition, pool: ServicePool, names: BigIpNames) -> list[WantedObject]:
    """Build the pool's monitor, and one for each other destination of its members; empty without a monitor
    that is admin up.

    Raises :class:`Unrenderable` for a monitor that a BIG-IP cannot implement.
    """
    monitor = active_monitor(pool)
    if monitor is None:
        return []
    elsewhere = {monitor_destination(member) for member in pool.members} - {MEMBER_DESTINATION}
    return [_monitor_object(service, pool, monitor, place, names) for place in (MEMBER_DESTINATION, *sorted(elsewhere))]


def active_monitor(pool: ServicePool) -> ServiceMonitor | None:
    """Return the pool's health monitor; None if it has none or the monitor is admin down."""
    return pool.monitor if pool.monitor is not None and pool.monitor.admin_state_up else None


def monitor_destination(member: ServiceMember) -> str:
    """Return address and port at which the member is checked, as a monitor's ``destination``; ``*`` for what
    is the member's own. Raises :class:`Unrenderable` if ``monitor_address`` is no IP address.
    """
    if member.monitor_address is None:
        return endpoint("*", member.monitor_port or "*")
    try:
        address = canonical_address(member.monitor_address)
    except ValueError as error:
        what = f"member {member.id}: monitor_address {member.monitor_address!r}"
        raise Unrenderable(f"{what} is no IP address") from error
    return endpoint(address, member.monitor_port or member.protocol_port)


def _monitor_object(
    service: ServiceDefinition, pool: ServicePool, monitor: ServiceMonitor, place: str, names: BigIpNames
) -> WantedObject:
    if monitor.type not in MONITOR_TYPES:
        raise Unrenderable(f"health monitor {monitor.id}: type {monitor.type} is not possible on a BIG-IP")
    kind = "HTTPS" if _becomes_https(pool, monitor, place) else monitor.type
    path, parent = MONITOR_TYPES[kind]
    header = _proxy_header(pool, monitor, kind) if place == MEMBER_DESTINATION else ""
    return WantedObject(
        key=Key(type=path, name=monitor_name(pool, monitor, place, names)),
        owner=service.load_balancer_id,
        attributes={
            "defaultsFrom": parent,
            "destination": place,
            **monitor_times(monitor),
            **_send_and_receive(monitor, kind, header),
            **({"sslProfile": server_ssl_path(service, pool, names)} if kind == "HTTPS" else {}),
            "description": names.marked_description("monitor", service.load_balancer_id, monitor.id),
        },
        immutables=frozenset({"defaultsFrom", "destination"}),
    )


def monitor_name(pool: ServicePool, monitor: ServiceMonitor, place: str, names: BigIpNames) -> str:
    """Return the name of the monitor that checks at ``place``. The name changes when TLS on the pool changes the
    monitor's type, because monitors of all types share one namespace.
    """
    if place != MEMBER_DESTINATION:
        return names.auxiliary_object_name(f"monitor-{hashlib.sha256(place.encode()).hexdigest()[:12]}", monitor.id)
    return (
        names.auxiliary_object_name("https", monitor.id)
        if _becomes_https(pool, monitor, place)
        else names.object_name(monitor.id)
    )


def _becomes_https(pool: ServicePool, monitor: ServiceMonitor, place: str) -> bool:
    return monitor.type == "HTTP" and pool.tls_enabled and place == MEMBER_DESTINATION


def _proxy_header(pool: ServicePool, monitor: ServiceMonitor, kind: str) -> str:
    """Return a PROXY header without addresses, with which the monitor's send string begins; empty if the
    pool's protocol needs none. Raises :class:`Unrenderable` for an https monitor, which cannot send one.
    """
    if pool.protocol not in _PROXY_HEADERS:
        return ""
    if kind == "HTTPS":
        raise Unrenderable(
            f"health monitor {monitor.id}: type {monitor.type} is not possible over TLS with members of protocol "
            f"{pool.protocol}: a BIG-IP's https monitor cannot send the header before TLS"
        )
    return _PROXY_HEADERS[pool.protocol]


def _send_and_receive(monitor: ServiceMonitor, kind: str, header: str) -> dict[str, Any]:
    """Return the attributes for the text that the monitor sends and the answer that it expects; empty for
    kinds without text. Raises :class:`Unrenderable` for an impossible method, path, domain name or status
    code.
    """
    if kind in ("HTTP", "HTTPS"):
        return {"send": header + send_string(monitor), "recv": recv_pattern(monitor)}
    if kind == "TLS-HELLO":
        return {"send": header + encode_for_monitor_string(client_hello()), "recv": EXPECTED_ANSWER}
    return {"send": header} if kind == "TCP" else {}


def monitor_times(monitor: ServiceMonitor) -> dict[str, int]:
    """Return interval, timeout and timeUntilUp of a BIG-IP's monitor, in seconds. Raises
    :class:`Unrenderable` if one exceeds a day.
    """
    interval = max(1, monitor.delay)
    found = {
        "interval": interval,
        "timeout": interval * max(1, monitor.max_retries_down) + max(1, monitor.timeout),
        "timeUntilUp": interval * (max(1, monitor.max_retries) - 1),
    }
    if max(found.values()) > SECONDS_MAX:
        raise Unrenderable(
            f"health monitor {monitor.id}: delay {monitor.delay} s with its retries is over {SECONDS_MAX} s"
        )
    return found


def send_string(monitor: ServiceMonitor) -> str:
    """Build the request that an HTTP monitor sends; user text cannot add lines to it. Raises
    :class:`Unrenderable` for an impossible method, path or domain name.
    """
    method = monitor.http_method or HTTP_CHECK_DEFAULTS["http_method"]
    if method not in HTTP_METHODS:
        raise Unrenderable(f"health monitor {monitor.id}: http_method {method!r} is not possible")
    version = "1.1" if monitor.http_version == 1.1 or monitor.domain_name else "1.0"
    path = quote(monitor.url_path or HTTP_CHECK_DEFAULTS["url_path"], safe=_PATH_SAFE)
    if not path.startswith("/"):
        raise Unrenderable(f"health monitor {monitor.id}: url_path {monitor.url_path!r} must begin with '/'")
    lines = [f"{method} {path} HTTP/{version}"]
    if version == "1.1":
        lines += [f"Host: {_domain_name(monitor)}", "Connection: close"]
    return LINE_END.join([*lines, "", ""])


def _domain_name(monitor: ServiceMonitor) -> str:
    if monitor.domain_name and not _HOST_PATTERN.fullmatch(monitor.domain_name):
        raise Unrenderable(f"health monitor {monitor.id}: domain_name {monitor.domain_name!r} is no host name")
    return monitor.domain_name or ""


def recv_pattern(monitor: ServiceMonitor) -> str:
    """Build the regular expression for a status line with one of the expected codes. Raises as
    :func:`expected_codes`.
    """
    return rf"HTTP/1\.[01] ({'|'.join(_status_code_patterns(expected_codes(monitor)))})"


def expected_codes(monitor: ServiceMonitor) -> tuple[int, ...]:
    """Parse ``200``, ``200,202`` or ``200-204``, by default the API's, into sorted numbers. Raises
    :class:`Unrenderable` for another form, or if all ranges are empty.
    """
    text = monitor.expected_codes or HTTP_CHECK_DEFAULTS["expected_codes"]
    codes: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*([1-5][0-9]{2})\s*(?:-\s*([1-5][0-9]{2})\s*)?", part)
        if found is None:
            raise Unrenderable(f"health monitor {monitor.id}: expected_codes {text!r} is no code, list or range")
        codes.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    if not codes:
        raise Unrenderable(f"health monitor {monitor.id}: expected_codes {text!r} is an empty range")
    return tuple(sorted(codes))


def _status_code_patterns(codes: tuple[int, ...]) -> list[str]:
    """Return the codes as alternatives of a regular expression, complete hundreds and tens combined."""
    left, found = set(codes), []
    for size, pattern in ((100, "{}[0-9][0-9]"), (10, "{}[0-9]")):
        for start in sorted({code // size for code in left}):
            block = set(range(start * size, (start + 1) * size))
            if block <= left:
                found.append(pattern.format(start))
                left -= block
    return found + [str(code) for code in sorted(left)]
