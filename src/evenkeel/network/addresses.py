"""Validation of a VIP's subnet and address against the available subnets. Pure."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from evenkeel.core.kit.errors import Invalid, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.addresses import parsed_address, parsed_range
from evenkeel.core.networking.vip_networks import ANYWHERE, VipNetworks
from evenkeel.core.resources.model import Subnet

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


SUBNETS_TRIED = 16
"""Number of subnets of a network that are tried for a free address."""


def choose_subnets(
    known_subnets: Iterable[Subnet],
    project_id: ProjectId | None,
    subnet_id: str | None,
    network_id: str | None,
    wanted_address: IPAddress | None,
    permitted: VipNetworks = ANYWHERE,
) -> list[Subnet]:
    """Return the subnets to allocate a VIP's address from, best first; at least one.

    The first is the requested subnet, or the network's first that fits, or the only one that contains
    ``wanted_address``. If any subnet of a network will do, the network's other subnets follow (16 in all), in case
    the first is full.

    ``project_id`` None: subnets of every project. ``permitted``: networks and subnets that a VIP may be on.
    Raises :class:`NotFound` for an id that the project cannot see, :class:`Invalid` if the subnet is not
    determined, is not on the given network, or is not permitted.
    """
    visible = [subnet for subnet in known_subnets if project_id is None or subnet.project_id in (None, project_id)]
    if subnet_id:
        subnet = _find_subnet(visible, subnet_id, network_id)
        return permitted.select_allowed([subnet], "vip_subnet_id", subnet_id)
    if network_id:
        return _network_subnets(visible, network_id, wanted_address, permitted)
    if wanted_address is None:
        raise Invalid("Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
    holding = [subnet for subnet in visible if wanted_address in ip_network(subnet.cidr)]
    if len(holding) == 1:
        return permitted.select_allowed(holding, "vip_address", str(wanted_address))
    which = "more than one subnet holds it" if holding else "no subnet holds it"
    raise Invalid(
        f"Invalid input for field/attribute vip_address. Value: '{wanted_address}'. {which}; "
        "VIP must contain one of: vip_network_id, vip_subnet_id."
    )


def _find_subnet(visible: list[Subnet], subnet_id: str, network_id: str | None) -> Subnet:
    for subnet in visible:
        if subnet.id == subnet_id:
            check_subnet_network(subnet, network_id)
            return subnet
    raise NotFound("Subnet", subnet_id)


def check_subnet_network(subnet: Subnet, network_id: str | None) -> None:
    """Raise :class:`Invalid` if the subnet is not on the given network; ``network_id`` None or empty: any
    network.
    """
    if network_id and network_id != subnet.network_id:
        raise Invalid(
            f"Invalid input for field/attribute vip_network_id. Value: '{network_id}'. "
            f"Subnet {subnet.id} is on network {subnet.network_id}."
        )


def _network_subnets(
    visible: list[Subnet], network_id: str, wanted_address: IPAddress | None, permitted: VipNetworks
) -> list[Subnet]:
    subnets = [subnet for subnet in visible if subnet.network_id == network_id]
    if not subnets:
        raise NotFound("Network", network_id)
    if wanted_address is not None:
        subnets = [subnet for subnet in subnets if wanted_address in ip_network(subnet.cidr)] or subnets
    subnets = permitted.select_allowed(subnets, "vip_network_id", network_id)
    if wanted_address is None:
        return subnets[:SUBNETS_TRIED]
    # If no subnet contains the address, the first one is returned: the check that follows names its CIDR in the
    # error.
    return [next((subnet for subnet in subnets if wanted_address in ip_network(subnet.cidr)), subnets[0])]


def prefer_unused_subnets(subnets: Sequence[Subnet], used: Iterable[Subnet]) -> list[Subnet]:
    """Return ``subnets`` without those in ``used``, on which other addresses of the same load balancer are.
    The first subnet, the preferred one, always stays.
    """
    others = {subnet.id for subnet in used}
    return [*subnets[:1], *(subnet for subnet in subnets[1:] if subnet.id not in others)]


def check_subnets(subnets: Sequence[Subnet]) -> None:
    """Check the subnets of all addresses of one load balancer. Raises :class:`Invalid`, with Octavia's texts,
    if two are the same or they are on different networks.
    """
    if len({subnet.id for subnet in subnets}) < len(subnets):
        raise duplicate_subnet()
    if len(networks := sorted({subnet.network_id for subnet in subnets})) > 1:
        raise Invalid(
            "Validation failure: additional_vips: All VIP subnets must belong to the same network. These are of "
            f"{', '.join(networks)}."
        )


def duplicate_subnet() -> Invalid:
    """Build the error for two addresses of one load balancer on one subnet."""
    return Invalid(
        "Validation failure: Duplicate VIP subnet(s) specified. Only one IP can be bound per subnet (additional_vips)."
    )


def parse_requested_address(address: str, field: str = "vip_address") -> IPAddress:
    """Parse an IP address from a request. Raises :class:`Invalid`, naming ``field``, if it is none."""
    try:
        return parsed_address(address)
    except ValueError as error:
        raise Invalid(
            f"Invalid input for field/attribute {field}. Value: '{address}'. Value should be IPv4 or IPv6 format."
        ) from error


def check_address(wanted_address: IPAddress, subnet: Subnet, field: str = "vip_address") -> None:
    """Raise :class:`Invalid`, naming ``field``, if a VIP of the subnet cannot have that address: it is
    outside the subnet, the gateway's, or reserved by the operator or by the IP standards.
    """
    network = ip_network(subnet.cidr)
    code = "address_not_usable"
    if wanted_address not in network:
        code = "address_outside"
        problem = f"is outside subnet {subnet.id}; allowed are addresses of {subnet.cidr}"
    elif subnet.gateway_ip and wanted_address == ip_address(subnet.gateway_ip):
        code = "gateway_address"
        problem = f"is the gateway of subnet {subnet.id}; allowed are other addresses of {subnet.cidr}"
    elif any(parsed_range(text).holds(wanted_address) for text in subnet.reserved):
        problem = f"is reserved by the operator in subnet {subnet.id}; allowed are other addresses of {subnet.cidr}"
    # Networks of two addresses and of one reserve none (RFC 3021, RFC 6164).
    elif network.prefixlen < network.max_prefixlen - 1 and wanted_address in reserved_addresses(network):
        problem = f"is reserved in subnet {subnet.id}; allowed are host addresses of {subnet.cidr}"
    else:
        return
    raise Invalid(
        f"Invalid input for field/attribute {field}. Value: '{wanted_address}'. The address {problem}.", code=code
    )


def check_range(wanted_address: IPAddress, subnet: Subnet, field: str) -> None:
    """Raise :class:`Invalid`, naming ``field``, for an address outside the subnet's allocation range, because
    it may belong to an existing host.
    """
    first, last = ip_address(subnet.allocation_start), ip_address(subnet.allocation_end)
    if int(first) <= int(wanted_address) <= int(last):
        return
    raise Invalid(
        f"Invalid input for field/attribute {field}. Value: '{wanted_address}'. The address is outside"
        f" the allocation range of subnet {subnet.id}; allowed are {first} to {last}.",
        code="address_not_usable",
    )


def reserved_addresses(network: IPNetwork) -> tuple[IPAddress, ...]:
    """Return the addresses of the network that no host may have: all-zeros, and for IPv4 the broadcast address."""
    if network.version == 4:
        return (network.network_address, network.broadcast_address)
    # The all-zeros address is the subnet-router anycast address (RFC 4291, 2.6.1); IPv6 has no broadcast.
    return (network.network_address,)
