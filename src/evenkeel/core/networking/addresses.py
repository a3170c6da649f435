"""Rules for addresses that a tenant may name: addresses to which a device connects (members, monitors) and at which it
listens (VIPs).

A device connects from inside the operator's network: services on its loopback or link-local addresses (operators' APIs,
its management, a cloud's metadata service) may trust it without authentication. So these addresses are refused, in
every notation. The APIs, the drivers and HAProxy's daemon all apply this rule, and none relies on another to have
applied it.

Pure; HAProxy's daemon adds the addresses of its own host.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from evenkeel.core.kit.values import Value

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

ALLOWED_WORDS = "a unicast address that is neither loopback nor link-local"

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""NAT64 prefixes (RFC 6052, RFC 8215): the IPv4 address is in the last 32 bits."""
_IPV4_COMPATIBLE = IPv6Network("::/96")
_UNICAST6 = (IPv6Network("2000::/3"), IPv6Network("fc00::/7"))
"""All routed IPv6 unicast addresses: global and unique local (RFC 4291, RFC 4193)."""
_THIS_NETWORK4 = IPv4Network("0.0.0.0/8")
"""Network 0.0.0.0/8: Linux connects its addresses to the own host."""
_RESERVED4 = IPv4Network("240.0.0.0/4")
"""Reserved IPv4 addresses, including the limited broadcast address (RFC 1112, RFC 919)."""


class AddressRules(Value):
    """Rules for the addresses that tenants name.

    ``allow_loopback``: for demonstrations and tests, whose servers are on the device's own host.
    ``denied_networks``: additional networks in which members and monitors are refused. ``own_addresses``: the
    known addresses of the device, refused for members, monitors and VIPs.
    """

    allow_loopback: bool = False
    denied_networks: tuple[Network, ...] = ()
    own_addresses: frozenset[Address] = frozenset()

    def member_problem(self, text: str) -> str:
        """Return why devices may not connect to this address (human-readable), also if it is no address;
        empty if they may.
        """
        return _member_problem(self, text)

    def vip_problem(self, text: str) -> str:
        """Return why devices may not listen at this address (human-readable), also if it is no address; empty
        if they may.
        """
        return _vip_problem(self, text)


STRICT = AddressRules()
"""Default rules: without additions or exceptions by an operator."""


def parsed_address(text: str) -> Address:
    """Parse an IP address. Raises :class:`ValueError` for another text, and for an IPv6 address with a zone,
    which has no meaning on another host.
    """
    if "%" in text:
        raise ValueError(f"{text[:64]!r} has a zone")
    return ip_address(text)


@lru_cache(maxsize=4096)
def canonical_address(text: str) -> str | None:
    """Return the canonical form of an address, in which equal addresses are equal texts; None for a text that is no
    address, or has a zone.
    """
    try:
        return str(parsed_address(text))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a host name or address is certainly this machine's loopback: ``localhost`` or a loopback
    address. Other names are not resolved.
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def bracket_ipv6(host: str) -> str:
    """Return an IPv6 address in brackets, so that a port can follow; a host name or IPv4 address unchanged.
    Every text with a colon counts as an IPv6 address.
    """
    return f"[{host}]" if ":" in host else host


def host_and_port(host: str, port: int) -> str:
    """Join host and port like in URLs: an IPv6 address in brackets."""
    return f"{bracket_ipv6(host)}:{port}"


class AddressRange(NamedTuple):
    """Addresses from the first to the last one, both included."""

    first: Address
    last: Address

    def holds(self, address: Address) -> bool:
        """Whether the address is in the range; False for the other IP version."""
        return address.version == self.first.version and int(self.first) <= int(address) <= int(self.last)

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@lru_cache(maxsize=1024)
def parsed_range(text: str) -> AddressRange:
    """Parse one address, or two addresses with a dash between them, as an inclusive range. Raises
    :class:`ValueError` for another text, for addresses of both IP versions, and for an end before the
    start.
    """
    start, dash, end = text.partition("-")
    first = parsed_address(start.strip())
    last = parsed_address(end.strip()) if dash else first
    if first.version != last.version or int(last) < int(first):
        raise ValueError(f"{text[:100]!r} does not go from an address to a later one")
    return AddressRange(first, last)


def parsed_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse the networks of an operator's list, in CIDR notation with host bits zero. Raises
    :class:`ValueError` naming an entry that is not a network.
    """
    return tuple(_parse_network(text.strip()) for text in texts)


def _parse_network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r}: a network like 10.0.0.0/8 or fd00::/8 is allowed, host bits zero") from None


@lru_cache(maxsize=8192)
def _member_problem(rules: AddressRules, text: str) -> str:
    if problem := _vip_problem(rules, text):
        return problem
    address = parsed_address(text)
    for each in (address, *_embedded_ipv4(address)):
        for network in rules.denied_networks:
            if each in network:
                return f"it is in {network}, which the operator has closed to members"
    return ""


@lru_cache(maxsize=8192)
def _vip_problem(rules: AddressRules, text: str) -> str:
    try:
        address = parsed_address(text)
    except ValueError:
        return "it is no IPv4 or IPv6 address"
    # Rules for IPv4 networks would not match this notation of an address.
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return "it is an IPv4 address in IPv6's form; write the IPv4 address"
    if kind := _unroutable_kind(address):
        return "" if rules.allow_loopback and address.is_loopback else f"it is {kind}"
    if rules.own_addresses & {address, *_embedded_ipv4(address)}:
        return "it is the device's own"
    for inner in _embedded_ipv4(address):
        if kind := _unroutable_kind(inner):
            return f"it holds {inner}, which is {kind}"
    return ""


def _unroutable_kind(address: Address) -> str:
    """Return the kind of an address that is not routed to a single host, such as multicast; empty for all others."""
    for name, is_it in (
        ("unspecified", address.is_unspecified),
        ("loopback", address.is_loopback),
        ("link-local", address.is_link_local),
        ("multicast", address.is_multicast),
    ):
        if is_it:
            return name
    return _reserved_ipv4_use(address) if isinstance(address, IPv4Address) else _reserved_ipv6_use(address)


def _reserved_ipv4_use(address: IPv4Address) -> str:
    if address in _THIS_NETWORK4:
        return "of this host's own network"
    return "broadcast or reserved" if address in _RESERVED4 else ""


def _reserved_ipv6_use(address: IPv6Address) -> str:
    # This network holds `::` and `::1`, too; the caller has recognized these two before.
    if address in _IPV4_COMPATIBLE:
        return "an IPv4-compatible address"
    return "" if any(address in network for network in (*_UNICAST6, *_NAT64)) else "reserved"


def _embedded_ipv4(address: Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that a translator (NAT64) or tunnel would derive from an address."""
    if isinstance(address, IPv4Address):
        return
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in network for network in _NAT64):
        yield IPv4Address(int(address) & 0xFFFFFFFF)
