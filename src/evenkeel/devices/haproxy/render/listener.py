"""Renders listeners as frontends: addresses, allowed clients, time-outs, inserted headers. Pure.

Listeners that are admin down, or whose load balancer is, are left out by the caller. Time-outs are the API's
milliseconds; 0, "no time-out" in the API, becomes the longest time that HAProxy accepts.
``timeout_tcp_inspect`` has no line, because no line of a listener waits for content.
"""

from collections.abc import Iterable

from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.model import PROMETHEUS_PROTOCOL
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.headers import header_lines, header_removal_lines
from evenkeel.devices.haproxy.render.l7 import PolicyLines
from evenkeel.devices.haproxy.render.modes import listener_mode
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.devices.haproxy.render.services.lines import NO_SERVICES, ServiceLines
from evenkeel.devices.haproxy.render.termination import hsts_lines
from evenkeel.devices.listeners import allowed_networks
from evenkeel.haproxyd import wire

MILLISECONDS_MAX = 2_147_483_647
CONNECTIONS_MAX = 2_147_483_647
_NO_POLICIES = PolicyLines()


def build_frontend(
    listener: ServiceListener,
    backend: str | None,
    addresses: Iterable[str],
    policies: PolicyLines = _NO_POLICIES,
    *,
    bind_arguments: tuple[str, ...] = (),
    inserted: frozenset[str] = frozenset(),
    services: ServiceLines = NO_SERVICES,
    challenges: tuple[str, ...] = (),
) -> wire.Frontend:
    """Build the frontend of a listener. ``backend``: its default backend; None: clients receive 503 or are
    disconnected.

    ``inserted``: headers that clients must not forge (:mod:`.headers`). ``services``: additions of enhanced
    services. ``challenges``: lines that answer challenges of a certificate authority. Raises
    :class:`Unrenderable` for values that HAProxy does not accept.
    """
    timeout_text(listener, "timeout_tcp_inspect")  # raises Unrenderable if it is out of range
    return wire.Frontend(
        name=object_name("listener", listener.id),
        binds=listener_binds(listener, addresses),
        bind_arguments=bind_arguments,
        maxconn=connection_limit(listener),
        lines=(
            quote_line("mode", listener_mode(listener)),
            quote_line("timeout", "client", timeout_text(listener, "timeout_client_data")),
            *services.settings,
            # First, so that refused clients do not count in a service's limits of connections.
            *_allowed_cidr_lines(listener),
            *services.connection,
            *challenges,
            *hsts_lines(listener),
            # Before every rule that reads headers: a client's forged ones must not decide anything.
            *header_removal_lines(listener, inserted),
            *services.first,
            *policies.condition_lines,  # they evaluate the headers as received
            *header_lines(listener, inserted),
            *services.last,
            *policies.action_lines,
            *([quote_line("default_backend", backend)] if backend else []),
        ),
        metrics=listener.protocol == PROMETHEUS_PROTOCOL,
        access_log=services.access_log,
    )


def listener_binds(listener: ServiceListener, addresses: Iterable[str]) -> tuple[wire.Bind, ...]:
    """Return the addresses with the listener's port, in the same order. Raises :class:`Unrenderable` if the
    port is out of range.
    """
    if not 1 <= listener.protocol_port <= 65_535:
        raise Unrenderable(f"listener {listener.id}: protocol_port {listener.protocol_port}: 1 to 65535 are possible")
    return tuple(wire.Bind(address=address, port=listener.protocol_port) for address in addresses)


def timeout_text(listener: ServiceListener, field: str) -> str:
    """Return one of the listener's time-outs in HAProxy's notation (``<n>ms``), 0 as the longest possible.
    Raises :class:`Unrenderable` if the time-out is out of range.
    """
    milliseconds = int(getattr(listener, field))
    if not 0 <= milliseconds <= MILLISECONDS_MAX:
        raise Unrenderable(f"listener {listener.id}: {field} {milliseconds}: 0 to {MILLISECONDS_MAX} are possible")
    return f"{milliseconds or MILLISECONDS_MAX}ms"


def _allowed_cidr_lines(listener: ServiceListener) -> list[str]:
    """Return the line that refuses clients outside the allowed CIDRs before reading any data; empty if all
    are allowed.
    """
    if not listener.allowed_cidrs:
        return []
    return [f"tcp-request connection reject unless {{ src -f {_cidr_file(listener)} }}"]


def cidr_files(listener: ServiceListener) -> list[wire.File]:
    """Return the allowed CIDRs as an ACL file, so that they can change without a reload; empty if there are
    none. Raises :class:`Unrenderable` for a text that is no network.
    """
    if not listener.allowed_cidrs:
        return []
    networks = allowed_networks(listener)
    return [wire.File(name=_cidr_file(listener), kind="acl", content="".join(f"{each}\n" for each in networks))]


def _cidr_file(listener: ServiceListener) -> str:
    return auxiliary_name(object_name("listener", listener.id), "cidrs")


def connection_limit(listener: ServiceListener) -> int | None:
    """Return the listener's limit of connections, or of flows of datagrams; None: no limit. Raises
    :class:`Unrenderable` for 0, which HAProxy cannot implement, and for values out of range.
    """
    limit = listener.connection_limit
    if limit == -1:
        return None
    if not 1 <= limit <= CONNECTIONS_MAX:
        raise Unrenderable(f"listener {listener.id}: connection_limit {limit} is not possible; -1 means no limit")
    return limit
