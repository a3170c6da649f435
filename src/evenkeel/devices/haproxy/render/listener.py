"""Listeners: where clients come in, who may, and what is told about them. Pure.

A listener that is admin down, or whose load balancer is, is left out. Times are the API's milliseconds; 0, which to
the API means "for ever", is the longest time that HAProxy counts.
"""

import ipaddress
from collections.abc import Iterable

from evenkeel.core.service import ServiceListener
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import beside, object_name
from evenkeel.devices.haproxy.render.l7 import PolicyLines
from evenkeel.devices.haproxy.render.modes import mode_of
from evenkeel.devices.haproxy.render.quoting import line
from evenkeel.haproxyd import wire

MILLISECONDS_MAX = 2_147_483_647
CONNECTIONS_MAX = 2_147_483_647
FORWARDED_FOR, FORWARDED_PORT, FORWARDED_PROTO = "X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"
_NO_POLICIES = PolicyLines()


def frontend(
    listener: ServiceListener, backend: str | None, addresses: Iterable[str], policies: PolicyLines = _NO_POLICIES
) -> wire.Frontend:
    """One listener that sends to ``backend`` what no policy decides on; without one, clients are answered 503 or
    disconnected."""
    if not 1 <= listener.protocol_port <= 65_535:
        raise Unrenderable(f"listener {listener.id}: protocol_port {listener.protocol_port}: 1 to 65535 are possible")
    return wire.Frontend(
        name=object_name("listener", listener.id),
        binds=tuple(wire.Bind(address=address, port=listener.protocol_port) for address in addresses),
        maxconn=_connection_limit(listener),
        lines=(
            line("mode", mode_of(listener)),
            line("timeout", "client", duration(listener, "timeout_client_data")),
            *_allowed(listener),
            *_inspection(listener),
            *policies.judging,  # they see the headers as they came
            *_headers(listener),
            *policies.sending,
            *([line("default_backend", backend)] if backend else []),
        ),
    )


def duration(listener: ServiceListener, field: str) -> str:
    """One of a listener's times."""
    milliseconds = int(getattr(listener, field))
    if not 0 <= milliseconds <= MILLISECONDS_MAX:
        raise Unrenderable(f"listener {listener.id}: {field} {milliseconds}: 0 to {MILLISECONDS_MAX} are possible")
    return f"{milliseconds or MILLISECONDS_MAX}ms"


def _allowed(listener: ServiceListener) -> list[str]:
    """Clients from elsewhere are refused before anything is read."""
    if not listener.allowed_cidrs:
        return []
    return [f"tcp-request connection reject unless {{ src -f {_cidr_file(listener)} }}"]


def cidr_files(listener: ServiceListener) -> list[wire.File]:
    """The networks whose clients may connect: a file of their own, so that they change without a reload."""
    if not listener.allowed_cidrs:
        return []
    networks = sorted({_network(listener, text) for text in listener.allowed_cidrs})
    return [wire.File(name=_cidr_file(listener), kind="acl", content="".join(f"{each}\n" for each in networks))]


def _cidr_file(listener: ServiceListener) -> str:
    return beside(object_name("listener", listener.id), "cidrs")


def _network(listener: ServiceListener, text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise Unrenderable(f"listener {listener.id}: allowed_cidrs: {text!r} is no network") from error


def _inspection(listener: ServiceListener) -> list[str]:
    if not listener.timeout_tcp_inspect:
        return []
    return [line("tcp-request", "inspect-delay", duration(listener, "timeout_tcp_inspect"))]


def _headers(listener: ServiceListener) -> list[str]:
    values = {FORWARDED_PORT: str(listener.protocol_port), FORWARDED_PROTO: "http"}
    wanted = _wanted_headers(listener)
    found = [line("option", "forwardfor")] if FORWARDED_FOR in wanted else []
    return found + [line("http-request", "set-header", name, value) for name, value in values.items() if name in wanted]


def _wanted_headers(listener: ServiceListener) -> set[str]:
    wanted = set()
    for name, switch in listener.insert_headers.items():
        if name not in (FORWARDED_FOR, FORWARDED_PORT, FORWARDED_PROTO) or switch.lower() not in ("true", "false"):
            raise Unrenderable(f"listener {listener.id}: insert_headers: {name}={switch} is not possible on HAProxy")
        if switch.lower() == "true":
            wanted.add(name)
    if wanted and mode_of(listener) != "http":
        raise Unrenderable(f"listener {listener.id}: insert_headers needs protocol HTTP, not {listener.protocol}")
    return wanted


def _connection_limit(listener: ServiceListener) -> int | None:
    limit = listener.connection_limit
    if limit == -1:
        return None
    if not 1 <= limit <= CONNECTIONS_MAX:
        raise Unrenderable(f"listener {listener.id}: connection_limit {limit} is not possible; -1 means no limit")
    return limit
