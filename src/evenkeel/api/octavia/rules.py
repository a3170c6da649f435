"""What Octavia demands beyond types: rules over core values, so that creates and changes pass the same ones.

All raise :class:`Invalid` (400) or :class:`Conflict` (409) naming field and value.
"""

from collections.abc import Hashable, Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

from evenkeel.api.errors import unknown_input
from evenkeel.api.explain import unsupported
from evenkeel.api.features import UNBUILT_ATTRIBUTES
from evenkeel.core.errors import Conflict, Invalid
from evenkeel.core.model import POOL_PROTOCOLS_OF_LISTENER, HealthMonitor, Listener, Member, Pool, SessionPersistence

HTTP_MONITORS = ("HTTP", "HTTPS")
HTTP_ATTRIBUTES = ("http_method", "url_path", "expected_codes", "http_version", "domain_name")


def refuse_true(request: Any, *switches: str) -> None:
    """Switches of features that are not built must be off."""
    for name in switches:
        if getattr(request, name) is True:
            raise unsupported(name, UNBUILT_ATTRIBUTES[name])


@lru_cache(maxsize=4096)
def _normal_address(value: str) -> str | None:
    try:
        address = ip_address(value)
    except ValueError:
        return None
    return None if "%" in value else str(address)


def checked_address(field: str, value: str) -> str:
    """The address in its normal form."""
    normal = _normal_address(value)
    if normal is None:
        raise unknown_input(field, value, "Value should be an IPv4 or IPv6 address.")
    return normal


def member_address(field: str, value: str) -> str:
    """The address of a server: one that a connection can be made to."""
    normal = checked_address(field, value)
    address = ip_address(normal)
    if address.is_unspecified or address.is_multicast:
        raise unknown_input(field, value, "Value should be a unicast address.")
    return normal


_CIDR_RULE = "Value should be an IPv4 or IPv6 network as CIDR."


def checked_cidrs(cidrs: Iterable[str], vip_address: str) -> tuple[str, ...]:
    """The networks in their normal form, each once. All must be of the VIP's family, or nobody could connect."""
    found: dict[str, None] = {}
    for value in cidrs:
        try:
            network = ip_network(value, strict=False)
        except ValueError as error:
            raise unknown_input("allowed_cidrs", value, _CIDR_RULE) from error
        if "%" in value:
            raise unknown_input("allowed_cidrs", value, _CIDR_RULE)
        if network.version != (version := ip_address(vip_address).version):
            raise unknown_input("allowed_cidrs", value, f"Value should be IPv{version}, as VIP {vip_address} is.")
        found[str(network)] = None
    return tuple(found)


def check_persistence(persistence: SessionPersistence) -> None:
    """The application's cookie has a name; the load balancer's own is called as it likes."""
    if persistence.type == "APP_COOKIE" and persistence.cookie_name is None:
        raise Invalid(
            'Validation failure: Field "cookie_name" must be specified when using the "APP_COOKIE" session '
            "persistence type."
        )
    if persistence.type != "APP_COOKIE" and persistence.cookie_name is not None:
        raise Invalid(
            'Validation failure: Field "cookie_name" can only be specified with session persistence of type '
            f'"APP_COOKIE", not "{persistence.type}".'
        )


def check_pool(pool: Pool) -> None:
    """Session persistence must fit the protocol."""
    persistence = pool.session_persistence
    if persistence is None:
        return
    check_persistence(persistence)
    if persistence.type in ("HTTP_COOKIE", "APP_COOKIE") and pool.protocol != "HTTP":
        raise Invalid(
            f"Validation failure: session_persistence type {persistence.type} is only valid for pools of protocol "
            f"HTTP, not {pool.protocol}."
        )


def check_pair(listener_protocol: str, pool_protocol: str) -> None:
    """May a listener of the one protocol have a default pool of the other?"""
    allowed = POOL_PROTOCOLS_OF_LISTENER[listener_protocol]
    if pool_protocol not in allowed:
        raise Invalid(
            f"Validation failure: The pool protocol '{pool_protocol}' is invalid while the listener protocol is "
            f"'{listener_protocol}'. Allowed: {', '.join(sorted(allowed))}."
        )


def check_listener(listener: Listener, insert_headers: dict[str, str]) -> None:
    """Headers are inserted into HTTP only."""
    if insert_headers and listener.protocol != "HTTP":
        raise Invalid(
            f"Validation failure: insert_headers is only valid for listeners of protocol HTTP, not {listener.protocol}."
        )


def check_monitor(monitor: HealthMonitor) -> None:
    """Times, HTTP attributes and host header must fit together."""
    if monitor.timeout > monitor.delay:
        raise unknown_input(
            "timeout", monitor.timeout, f"Value should be lower or equal to delay, which is {monitor.delay}."
        )
    if monitor.type not in HTTP_MONITORS:
        for name in HTTP_ATTRIBUTES:
            if getattr(monitor, name) is not None:
                raise Invalid(f"{name} is not a valid option for health monitors of type {monitor.type}.")
        return
    if monitor.http_version not in (None, 1.0, 1.1):
        raise unknown_input("http_version", monitor.http_version, "Value should be one of: 1.0, 1.1.")
    if monitor.domain_name is not None and monitor.http_version is None:
        raise Invalid("Validation failure: 'http_version' must be specified when 'domain_name' is provided.")
    if monitor.domain_name is not None and monitor.http_version == 1.0:
        raise Invalid("http_version 1.0 is not a valid option for health monitors HTTP 1.1 domain name health check.")
    _check_codes(monitor.expected_codes or "")


def _check_codes(codes: str) -> None:
    low, dash, high = codes.partition("-")
    if dash and low > high:
        raise unknown_input("expected_codes", codes, "A range should go from the lower code to the higher.")


def check_listener_ports(listeners: Iterable[Listener]) -> None:
    """No two listeners of a load balancer on one port."""
    if port := _first_double(row.protocol_port for row in listeners):
        raise Conflict(f"Another Listener on this Load Balancer is already using protocol_port {port}.")


def check_members(members: Iterable[Member]) -> None:
    """No two members of a pool with the same address and port."""
    if double := _first_double((row.address, row.protocol_port) for row in members):
        raise Conflict(f"Another member on this pool is already using ip {double[0]} on protocol_port {double[1]}.")


def _first_double(values: Iterable[Any]) -> Any:
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
