"""Load balancing algorithms and session persistence. Pure.

Stick tables are in the partition's ``peers`` section: they survive reloads, and a pair shares them.
"""

import re

from evenkeel.core.devices.service import ServiceMember, ServicePool
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.render.quoting import quote_argument, quote_line
from evenkeel.haproxyd.wire import PEERS_SECTION

BALANCE_LINES = {
    "ROUND_ROBIN": ("balance roundrobin",),
    "LEAST_CONNECTIONS": ("balance leastconn",),
    # Consistent hashing: adding or removing a member remaps few clients and needs no reload.
    "SOURCE_IP": ("balance source", "hash-type consistent"),
    "SOURCE_IP_PORT": ("balance hash src,concat(:,txn.source_port)", "hash-type consistent"),
}
SOURCE_PORT_LINES = {
    "http": "http-request set-var(txn.source_port) src_port",
    "tcp": "tcp-request content set-var(txn.source_port) src_port",
}
"""``{mode: line that stores the source port in a variable}``, because ``concat`` accepts variables only."""
DEFAULT_COOKIE = "SRV"
STICK_TABLE_ARGUMENTS = ("size", "100k", "expire", "1h", "peers", PEERS_SECTION)
"""Stick table: size in entries (the oldest are evicted), lifetime after the client's last connection, and sharing by
peers.
"""
APP_COOKIE_CHARACTERS_MAX = 64
_COOKIE_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,255}")


def balance_lines(pool: ServicePool, mode: str) -> tuple[str, ...]:
    """Return the lines that choose the member for a new client: ``balance``, and what the algorithm needs
    beside it. Raises :class:`Unrenderable` for an algorithm that HAProxy does not have.
    """
    if pool.lb_algorithm not in BALANCE_LINES:
        raise Unrenderable(f"pool {pool.id}: lb_algorithm {pool.lb_algorithm} is not possible on HAProxy")
    port = (SOURCE_PORT_LINES[mode],) if pool.lb_algorithm == "SOURCE_IP_PORT" else ()
    return (*BALANCE_LINES[pool.lb_algorithm], *port)


def persistence_lines(pool: ServicePool, mode: str) -> tuple[str, ...]:
    """Return the lines that choose the member for a returning client; empty without session persistence.
    Raises :class:`Unrenderable` for cookies in mode tcp, an unknown type, or an impossible cookie name.
    """
    wanted = pool.session_persistence
    if wanted is None:
        return ()
    if wanted.type == "SOURCE_IP":
        # A table of type ipv6 holds clients of both families, because HAProxy maps IPv4 addresses.
        return (quote_line("stick-table", "type", "ipv6", *STICK_TABLE_ARGUMENTS), "stick on src")
    if mode != "http":
        raise Unrenderable(f"pool {pool.id}: session_persistence {wanted.type} needs listeners of protocol HTTP only")
    if wanted.type == "HTTP_COOKIE":
        return (
            # `indirect` hides the cookie from members; `nocache` keeps caches from storing a response that sets it.
            quote_line(
                "cookie",
                _checked_cookie_name(pool, wanted.cookie_name or DEFAULT_COOKIE),
                "insert",
                "indirect",
                "nocache",
            ),
        )
    if wanted.type == "APP_COOKIE":
        name = quote_argument(_checked_cookie_name(pool, wanted.cookie_name or ""))
        return (
            quote_line("stick-table", "type", "string", "len", str(APP_COOKIE_CHARACTERS_MAX), *STICK_TABLE_ARGUMENTS),
            quote_line("stick", "store-response", f"res.cook({name})"),
            quote_line("stick", "match", f"req.cook({name})"),
        )
    raise Unrenderable(f"pool {pool.id}: session_persistence {wanted.type} is not possible on HAProxy")


def cookie_arguments(pool: ServicePool, member: ServiceMember) -> tuple[str, ...]:
    """Return the ``server`` arguments for the member's value in HAProxy's persistence cookie; empty unless
    the type is HTTP_COOKIE.
    """
    wanted = pool.session_persistence
    return ("cookie", member.id) if wanted is not None and wanted.type == "HTTP_COOKIE" else ()


def _checked_cookie_name(pool: ServicePool, name: str) -> str:
    if not _COOKIE_NAME.fullmatch(name):
        raise Unrenderable(f"pool {pool.id}: cookie_name {name!r} is no name of a cookie")
    return name
