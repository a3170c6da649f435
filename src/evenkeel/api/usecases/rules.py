"""This module has Octavia's rules between attributes, over core values, so that create and change requests
pass the same checks.

A failed check raises :class:`Invalid` (400) or :class:`Conflict` (409), whose text names the attributes or
values that are not allowed.
"""

from collections.abc import Hashable, Iterable, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from evenkeel.api.responses.errors import invalid_input
from evenkeel.api.usecases.tls_rules import (
    NO_UNUSED_ATTRIBUTES,
    UnusedTlsAttributes,
    check_listener_tls,
    check_pool_tls,
)
from evenkeel.core.devices.capabilities import TLS_INSERT_HEADERS
from evenkeel.core.kit.errors import Conflict, Invalid
from evenkeel.core.networking.addresses import ALLOWED_WORDS, AddressRules, canonical_address
from evenkeel.core.resources.model import (
    COOKIE_PERSISTENCE,
    DATAGRAM_PROTOCOLS,
    HTTP_CHECK_DEFAULTS,
    L7_PROTOCOLS,
    TLS_PROTOCOL,
    HealthMonitor,
    Listener,
    Member,
    Pool,
    SessionPersistence,
    port_space,
)

HTTP_MONITORS = ("HTTP", "HTTPS")


def checked_address(field: str, value: str) -> str:
    """Return the address in its canonical form. Raises :class:`Invalid`, naming ``field``, for a text that is no IP
    address.
    """
    normal = canonical_address(value)
    if normal is None:
        raise invalid_input(field, value, "Value should be IPv4 or IPv6 format.")
    return normal


def member_address(field: str, value: str, addresses: AddressRules) -> str:
    """Return the address of a member or monitor in canonical form. Raises :class:`Invalid`, naming ``field``,
    for a text that is no IP address, or an address that ``addresses`` forbids.
    """
    normal = checked_address(field, value)
    if problem := addresses.member_problem(normal):
        if field == "address":
            raise Invalid(f"{value} is not a valid option for member address: it should be {ALLOWED_WORDS}; {problem}.")
        raise _not_allowed_error(field, value, problem)
    return normal


def given_spelling_if_different(value: str | None, normal: str | None) -> str | None:
    """Return ``value``, an address as the request spells it, if it differs from its stored form ``normal``; else None.
    Clients compare it with what they sent.
    """
    return None if value == normal else value


def checked_vip_address(field: str, value: str, addresses: AddressRules) -> str:
    """Return a requested VIP in canonical form. Raises :class:`Invalid`, naming ``field``, for a text that is
    no IP address, or an address that ``addresses`` forbids.
    """
    normal = checked_address(field, value)
    if problem := addresses.vip_problem(normal):
        raise _not_allowed_error(field, value, problem)
    return normal


def _not_allowed_error(field: str, value: str, problem: str) -> Invalid:
    return invalid_input(field, value, f"Value should be {ALLOWED_WORDS}; {problem}.")


_CIDR_RULE = "Value should be IPv4 or IPv6 CIDR format."


def checked_cidrs(cidrs: Iterable[str], vip_address: str | None) -> tuple[str, ...]:
    """Return the networks in canonical form, without duplicates. All must be of the VIP's address family, else no
    client could connect; ``vip_address`` None: either family. Raises :class:`Invalid` for another family, or a text
    that is no network.
    """
    found: dict[str, None] = {}
    for value in cidrs:
        try:
            network = ip_network(value, strict=False)
        except ValueError as error:
            raise invalid_input("allowed_cidrs", value, _CIDR_RULE) from error
        # ip_network() accepts an IPv6 zone, which has no meaning on a device.
        if "%" in value:
            raise invalid_input("allowed_cidrs", value, _CIDR_RULE)
        if vip_address is not None and network.version != ip_address(vip_address).version:
            raise Invalid(
                f"Validation failure: CIDR {value} IP version incompatible with all VIPs ['{vip_address}'] IP version. "
                "(allowed_cidrs)"
            )
        found[str(network)] = None
    return tuple(found)


def check_persistence(persistence: SessionPersistence) -> None:
    """Check that APP_COOKIE has a cookie name, and no other type has. Raises :class:`Invalid`."""
    if persistence.type == "APP_COOKIE" and persistence.cookie_name is None:
        raise Invalid(
            'Validation failure: Field "cookie_name" must be specified when using the "APP_COOKIE" session '
            "persistence type.",
            code="session_persistence",
        )
    if persistence.type != "APP_COOKIE" and persistence.cookie_name is not None:
        raise Invalid(
            'Validation failure: Field "cookie_name" can only be specified with session persistence of type '
            f'"APP_COOKIE". The type is "{persistence.type}".',
            code="session_persistence",
        )


def check_pool_rules(pool: Pool, *, any_cookies: bool = False) -> None:
    """Check a pool's session persistence against its protocol, and its TLS attributes. ``any_cookies``:
    persistence by cookies is accepted with every protocol and left to the provider, like in LBaaS. Raises
    :class:`Invalid`.
    """
    check_pool_tls(pool)
    persistence = pool.session_persistence
    if persistence is None:
        return
    check_persistence(persistence)
    _check_datagram_persistence(pool.protocol, persistence)
    if not any_cookies and persistence.type in COOKIE_PERSISTENCE and pool.protocol != "HTTP":
        about = f"Session persistence of type {persistence.type}"
        if pool.protocol not in DATAGRAM_PROTOCOLS:
            text = f"{about} is only valid for pools of protocol HTTP, not {pool.protocol}."
        elif persistence.cookie_name is not None:
            text = "Cookie names are not supported for UDP/SCTP pools. "
            text += f"{persistence.type} is for HTTP, not {pool.protocol}."
        else:
            text = f"{about} is not supported for UDP/SCTP protocol pools. The protocol is {pool.protocol}."
        raise Invalid(f"Validation failure: {text}", code="session_persistence")


def _check_datagram_persistence(protocol: str, persistence: SessionPersistence) -> None:
    """Check that only UDP and SCTP pools have persistence time-out and granularity, and that the granularity
    is a netmask. Raises :class:`Invalid`.
    """
    for name in ("persistence_timeout", "persistence_granularity"):
        if getattr(persistence, name) is not None and protocol not in DATAGRAM_PROTOCOLS:
            raise Invalid(
                "Validation failure: persistence_timeout and persistence_granularity is only for UDP and SCTP protocol "
                f"pools. {name} is given, and the protocol is {protocol}."
            )
    if persistence.persistence_granularity is not None and not _is_netmask(persistence.persistence_granularity):
        raise invalid_input(
            "persistence_granularity",
            persistence.persistence_granularity,
            "Value should be a netmask such as 255.255.255.0.",
        )


def _is_netmask(text: str) -> bool:
    try:
        mask = ip_address(text)
    except ValueError:
        return False
    zeros = ~int(mask) & ((1 << mask.max_prefixlen) - 1)
    # The zeros of a netmask are one block at its end, so the number that they form is one less than a power of two.
    return zeros & (zeros + 1) == 0


def check_listener(
    listener: Listener, insert_headers: dict[str, str], *, idle: UnusedTlsAttributes = NO_UNUSED_ATTRIBUTES
) -> None:
    """Check a listener's TLS attributes and inserted headers: headers need HTTP, and headers about client
    certificates TLS termination. ``idle``: TLS attributes that the listener may have without effect.
    Raises :class:`Invalid`.
    """
    check_listener_tls(listener, idle=idle)
    if insert_headers and listener.protocol not in L7_PROTOCOLS:
        allowed = " and ".join(sorted(L7_PROTOCOLS))
        raise Invalid(
            f"insert-headers is not a valid option for a {listener.protocol} protocol listener. Allowed: {allowed}."
        )
    about_tls = [name for name in insert_headers if name in TLS_INSERT_HEADERS]
    if about_tls and listener.protocol != TLS_PROTOCOL:
        raise Invalid(
            f"{about_tls} is not a valid option for {listener.protocol} protocol listener. insert_headers may have it "
            f"at {TLS_PROTOCOL} ones."
        )


DATAGRAM_MONITORS = ("UDP-CONNECT", "SCTP")
MONITORS_OF_POOL = {"UDP": ("UDP-CONNECT", "SCTP", "TCP", "HTTP"), "SCTP": ("SCTP", "UDP-CONNECT", "TCP", "HTTP")}
"""Allowed types of monitors by pool protocol, for protocols with a restriction."""
UDP_CONNECT_DELAY_MIN_SECONDS = 3


def check_monitor_fits_pool(pool_protocol: str, monitor_type: str) -> None:
    """Check that a pool of the protocol may have a monitor of the type. Raises :class:`Invalid`."""
    allowed = MONITORS_OF_POOL.get(pool_protocol)
    if allowed is not None and monitor_type not in allowed:
        raise Invalid(
            f"Validation failure: The associated pool protocol is {pool_protocol}, so only a {'/'.join(allowed)} "
            f"health monitor is supported, not {monitor_type}."
        )
    if allowed is None and monitor_type in DATAGRAM_MONITORS:
        raise Invalid(
            f"Validation failure: The {monitor_type} type is only supported for pools of type "
            f"{'/'.join(MONITORS_OF_POOL)}. The pool's is {pool_protocol}."
        )


def http_check_defaults(monitor_type: str) -> dict[str, Any]:
    """Return the HTTP attributes of a monitor with their defaults; each is None for a type other than HTTP
    and HTTPS.
    """
    return HTTP_CHECK_DEFAULTS if monitor_type in HTTP_MONITORS else dict.fromkeys(HTTP_CHECK_DEFAULTS)


def check_monitor(monitor: HealthMonitor) -> None:
    """Check a monitor's delay, HTTP attributes and host header for contradictions. The timeout may be longer
    than the delay: checks may overlap. Raises :class:`Invalid`.
    """
    if monitor.type == "UDP-CONNECT" and monitor.delay < UDP_CONNECT_DELAY_MIN_SECONDS:
        raise Invalid(
            f"Validation failure: The request delay value {monitor.delay} should be "
            f"{UDP_CONNECT_DELAY_MIN_SECONDS} or larger for UDP-CONNECT health monitor type."
        )
    if monitor.type not in HTTP_MONITORS:
        for name in HTTP_CHECK_DEFAULTS:
            if getattr(monitor, name) is not None:
                raise Invalid(f"{name} is not a valid option for health monitors of type {monitor.type}.")
    # As in Octavia, monitors of all types have these two; types that speak no HTTP do not use the version.
    if monitor.http_version not in (None, 1.0, 1.1):
        raise invalid_input("http_version", monitor.http_version, "Value should be one of: 1.0, 1.1.")
    if monitor.domain_name is not None and monitor.http_version is None:
        raise Invalid("Validation failure: 'http_version' must be specified when 'domain_name' is provided.")
    if monitor.domain_name is not None and monitor.http_version == 1.0:
        raise Invalid("http_version 1.0 is not a valid option for health monitors HTTP 1.1 domain name health check.")
    _check_expected_codes(monitor.expected_codes or "")


def _check_expected_codes(codes: str) -> None:
    low, dash, high = codes.partition("-")
    # Every code has three digits, so the texts have the order of the numbers.
    if dash and low > high:
        raise invalid_input("expected_codes", codes, "A range should go from the lower code to the higher.")


def check_listener_ports(listeners: Sequence[Listener]) -> None:
    """Check that no two listeners of a load balancer are on one port; TCP, UDP and SCTP have ports of their
    own. Raises :class:`Conflict`.
    """
    if double := _first_duplicate((port_space(row.protocol), row.protocol_port) for row in listeners):
        first = next(row for row in listeners if (port_space(row.protocol), row.protocol_port) == double)
        raise Conflict(
            f"Another Listener on this Load Balancer is already using protocol {first.protocol} and protocol_port "
            f"{first.protocol_port}",
            code="listener_port_taken",
        )


def check_members(members: Iterable[Member]) -> None:
    """Check that no two members of a pool have the same address and port. Raises :class:`Conflict`."""
    if double := _first_duplicate((row.address, row.protocol_port) for row in members):
        raise Conflict(
            f"Another member on this pool is already using ip {double[0]} on protocol_port {double[1]}.",
            code="member_exists",
        )


def check_members_unique(members: Iterable[Member]) -> None:
    """Check that no two members of a batch have the same address and port. Raises :class:`Invalid`."""
    if double := _first_duplicate((row.address, row.protocol_port) for row in members):
        raise Invalid(
            "Validation failure: Member must be updated only once in the same request. "
            f"Several have address {double[0]} and protocol_port {double[1]}.",
            code="member_exists",
        )


def _first_duplicate(values: Iterable[Any]) -> Any:
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
