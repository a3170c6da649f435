"""Pools and members: load balancing and member state. Pure.

Weight 0 drains a member. Admin down puts a member into maintenance, and all members if the pool is admin down: clients
then receive 503 or are disconnected. Backup members are used, all together (``option allbackups``), only when no other
member is available.

A connection that a member refuses, or does not accept in time, is tried again with another member
(:func:`retry_lines`). No request is sent twice: HAProxy's default, ``retry-on conn-failure``, retries only while there
is no connection.

The API sets member time-outs on the listener, HAProxy on the backend: if several listeners use the pool, the backend
gets the longest, so that no connection ends earlier than configured.
"""

import ipaddress
from collections.abc import Collection, Mapping
from types import MappingProxyType

from evenkeel.config.esd.parts import Parts
from evenkeel.core.devices.service import ServiceListener, ServiceMember, ServicePool
from evenkeel.core.networking.addresses import bracket_ipv6
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.esd.selection import member_limit
from evenkeel.devices.haproxy.naming import object_name
from evenkeel.devices.haproxy.render.certificates import ReferencedFiles
from evenkeel.devices.haproxy.render.datagrams import (
    DATAGRAM_PROTOCOLS,
    ForwardedProtocols,
    datagram_balance,
    refuse_mixed_pool,
)
from evenkeel.devices.haproxy.render.listener import timeout_text
from evenkeel.devices.haproxy.render.modes import backend_name, pool_modes
from evenkeel.devices.haproxy.render.monitor import HealthChecks, render_checks
from evenkeel.devices.haproxy.render.persistence import (
    BALANCE_LINES,
    balance_lines,
    cookie_arguments,
    persistence_lines,
)
from evenkeel.devices.haproxy.render.reencryption import tls_server_arguments
from evenkeel.devices.haproxy.render.services.backends import (
    connection_limit_arguments,
    drain_seconds,
    queue_lines,
    tunnel_lines,
)
from evenkeel.haproxyd import wire

PROXY_ARGUMENTS = {"PROXY": ("send-proxy",), "PROXYV2": ("send-proxy-v2",)}
PROXY_WITH_TLS = {"PROXYV2": ("send-proxy-v2-ssl-cn",)}
"""Server arguments by pool protocol for clients that use TLS.

Version 2 of the PROXY protocol carries the TLS version, whether a client certificate was shown, and its CN.
"""
WEIGHT_MAX = 256  # HAProxy's own limit
CONNECTION_RETRIES = 3
# Has the API's default time-outs, for a pool that no listener uses yet.
_NO_LISTENER = ServiceListener(id="", protocol="TCP", protocol_port=1)


def build_backends(
    pool: ServicePool,
    listeners: Collection[ServiceListener],
    vip_address: str,
    certificates: ReferencedFiles,
    parts: Mapping[str, Parts] = MappingProxyType({}),
    forwarded: ForwardedProtocols = DATAGRAM_PROTOCOLS,
) -> tuple[wire.Backend, ...]:
    """Build the pool's backends, one for each mode of the listeners that use it, and add the certificate
    files that they name to ``certificates``. Raises :class:`Unrenderable` for values that HAProxy cannot
    implement.

    ``parts``: ``{listener id: parts of enhanced services}``. ``forwarded``: protocols that the kernel
    forwards.
    """
    modes = pool_modes(pool, listeners)
    refuse_mixed_pool(pool, listeners, forwarded)
    _refuse_duplicate_members(pool)
    chosen = [parts[listener.id] for listener in listeners if listener.id in parts]
    return tuple(
        _build_backend(
            pool, mode, backend_name(pool, mode, modes), listeners, vip_address, certificates, chosen, forwarded
        )
        for mode in modes
    )


def _build_backend(
    pool: ServicePool,
    mode: str,
    name: str,
    listeners: Collection[ServiceListener],
    vip_address: str,
    certificates: ReferencedFiles,
    parts: Collection[Parts],
    forwarded: ForwardedProtocols,
) -> wire.Backend:
    tls = tls_server_arguments(pool, mode, certificates)
    checks = render_checks(pool.monitor, vip_address, over_tls=bool(tls))
    limit = member_limit(parts) if pool.protocol not in forwarded else None
    connection = (*_proxy_arguments(pool, mode, listeners), *tls, *connection_limit_arguments(limit))
    return wire.Backend(
        name=name,
        lines=(
            f"mode {mode}",
            *(BALANCE_LINES["ROUND_ROBIN"] if pool.protocol in forwarded else balance_lines(pool, mode)),
            *_timeout_lines(listeners),
            *tunnel_lines(parts),
            *(queue_lines(name, mode, limit) if limit is not None else ()),
            *retry_lines(pool),
            *([] if pool.protocol in forwarded else persistence_lines(pool, mode)),
            *checks.lines,
            "option allbackups",
        ),
        servers=tuple(_build_server(pool, member, checks, connection) for member in pool.members),
        ping=checks.ping,
        datagrams=datagram_balance(pool, forwarded),
        drain_seconds=drain_seconds(parts),
    )


def retry_lines(pool: ServicePool) -> tuple[str, ...]:
    """Return lines by which HAProxy retries failed connections up to three times.

    Without session persistence every retry may choose another member. With it, only the last retry does: a
    member that is restarted within two seconds keeps its sessions.
    """
    every = "" if pool.session_persistence else " 1"
    return (f"retries {CONNECTION_RETRIES}", f"option redispatch{every}")


def _proxy_arguments(pool: ServicePool, mode: str, listeners: Collection[ServiceListener]) -> tuple[str, ...]:
    plain = PROXY_ARGUMENTS.get(pool.protocol, ())
    if mode == "http" and any(listener.protocol == TLS_PROTOCOL for listener in listeners):
        return PROXY_WITH_TLS.get(pool.protocol, plain)
    return plain


def _timeout_lines(listeners: Collection[ServiceListener]) -> list[str]:
    senders = tuple(listeners) or (_NO_LISTENER,)
    return [
        f"timeout {ours} {max((timeout_text(each, field) for each in senders), key=_duration_milliseconds)}"
        for ours, field in (("connect", "timeout_member_connect"), ("server", "timeout_member_data"))
    ]


def _duration_milliseconds(text: str) -> int:
    return int(text.removesuffix("ms"))


def _refuse_duplicate_members(pool: ServicePool) -> None:
    seen: set[tuple[str, int]] = set()
    for member in pool.members:
        place = (_checked_address(member, "address", member.address), member.protocol_port)
        if place in seen:
            raise Unrenderable(f"pool {pool.id}: two members at {place[0]} port {place[1]}")
        seen.add(place)


def _build_server(
    pool: ServicePool, member: ServiceMember, checks: HealthChecks, connection: tuple[str, ...]
) -> wire.BackendServer:
    """Build the ``server`` of a member; disabled if the pool or the member is admin down. ``connection``:
    arguments that set up each connection to a member. Raises :class:`Unrenderable` for a weight, address
    or port out of range.
    """
    if not 0 <= member.weight <= WEIGHT_MAX:
        raise Unrenderable(f"member {member.id}: weight {member.weight}: 0 to {WEIGHT_MAX} are possible")
    return wire.BackendServer(
        name=object_name("member", member.id),
        address=_checked_address(member, "address", member.address),
        port=_checked_port(member, "protocol_port", member.protocol_port),
        weight=member.weight,
        admin_up=pool.admin_state_up and member.admin_state_up,
        backup=member.backup,
        ping_address=_ping_address(member) if checks.ping is not None else None,
        ping_port=member.monitor_port if checks.ping is not None and checks.ping.protocol != "icmp" else None,
        arguments=(
            *connection,
            *cookie_arguments(pool, member),
            *(checks.arguments + _check_place_arguments(member) if checks.arguments else ()),
        ),
    )


def _check_place_arguments(member: ServiceMember) -> tuple[str, ...]:
    """Return arguments for address and port of health checks; empty where they are those of the traffic.
    Raises :class:`Unrenderable` for values that are no address or port.
    """
    address, port = member.monitor_address, member.monitor_port
    return (
        # without brackets HAProxy would take an IPv6 address's last group for a port
        *(("addr", bracket_ipv6(_checked_address(member, "monitor_address", address))) if address is not None else ()),
        *(("port", str(_checked_port(member, "monitor_port", port))) if port is not None else ()),
    )


def _ping_address(member: ServiceMember) -> str | None:
    """Return the address of the daemon's own health checks of a member; None if it is that of the traffic.
    Raises :class:`Unrenderable` for a text that is no IP address.
    """
    address = member.monitor_address
    return None if address is None else _checked_address(member, "monitor_address", address)


def _checked_address(member: ServiceMember, field: str, text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise Unrenderable(f"member {member.id}: {field} {text!r} is no IP address") from error


def _checked_port(member: ServiceMember, field: str, port: int) -> int:
    if not 1 <= port <= 65_535:
        raise Unrenderable(f"member {member.id}: {field} {port}: 1 to 65535 are possible")
    return port
