"""Addresses that count as the same client."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

IPV6_PREFIX = 64
"""Prefix length that identifies a client: one host can use any address of its /64 network."""

Network = IPv4Network | IPv6Network


def client_identity(address: str) -> str:
    """Return what identifies the client with this address: the IPv4 address, also of an IPv4-mapped one; the /64
    network of an IPv6 address; any other text unchanged.
    """
    found = _parse_address(address)
    if found is None:
        return address
    if isinstance(found, IPv6Address):
        return str(ip_network((int(found), IPV6_PREFIX), strict=False))
    return str(found)


def parse_networks(texts: Iterable[str], option: str) -> tuple[Network, ...]:
    """Parse addresses and networks of an option. Raises :class:`ValueError` naming option and value."""
    try:
        return tuple(ip_network(text.strip()) for text in texts)
    except ValueError as error:
        raise ValueError(
            f"{option}: {error}; allowed are addresses and networks, as 192.0.2.1 or 2001:db8::/64"
        ) from error


def is_in_networks(address: str, among: Iterable[Network]) -> bool:
    """Whether the address is in one of the networks; False for a text that is no IP address."""
    found = _parse_address(address)
    return found is not None and any(found in network for network in among)


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    try:
        # A link-local address carries a zone (fe80::1%eth0), which is a name of this host and no part of the client's
        # address.
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    # A socket for both families shows IPv4 clients as ::ffff:192.0.2.1, which no configured IPv4 network contains.
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
