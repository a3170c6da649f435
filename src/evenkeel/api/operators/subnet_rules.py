"""Rules for new address pools: absent attributes are computed from the CIDR, and all are checked. Pure."""

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from msgspec.structs import replace

from evenkeel.api.operators.requests import SubnetNew
from evenkeel.api.responses.errors import invalid_input
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.addresses import parsed_address, parsed_range
from evenkeel.core.resources.model import Subnet

Address = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network


def subnet_from_body(body: SubnetNew, *, new_id: Callable[[], str]) -> Subnet:
    """Convert the request to the subnet to store. Raises :class:`Invalid` naming field and value."""
    network = _parse_network(body.cidr)
    gateway = _address_within("gateway_ip", body.gateway_ip, network)
    first, last = _first_and_last_host(network)
    start, end = _range_beside_gateway(gateway, first, last)
    start = _address_within("allocation_start", body.allocation_start, network) or start
    end = _address_within("allocation_end", body.allocation_end, network) or end
    if int(start) > int(end):
        raise invalid_input("allocation_end", end, f"Value should not be below allocation_start, which is {start}.")
    for field, address in (("allocation_start", start), ("allocation_end", end)):
        if not int(first) <= int(address) <= int(last):
            raise invalid_input(field, address, f"The range should be inside {first} to {last}.")
    if gateway is not None and int(start) <= int(gateway) <= int(end):
        raise invalid_input("gateway_ip", gateway, f"Value should be outside the allocation range {start} to {end}.")
    subnet_id = body.id or new_id()
    return Subnet(
        id=subnet_id,
        network_id=body.network_id or subnet_id,
        name=body.name or subnet_id,
        cidr=str(network),
        gateway_ip=None if gateway is None else str(gateway),
        allocation_start=str(start),
        allocation_end=str(end),
        project_id=None if body.project_id is None else ProjectId(body.project_id),
        **device_ranges(network, body.device_addresses or (), body.reserved or ()),
    )


def device_ranges(network: IpNetwork, devices: Iterable[str], reserved: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the attributes ``device_addresses`` and ``reserved``, which includes them, in canonical form.
    Raises :class:`Invalid` for a text that is no address or range of the network.
    """
    own = tuple(_parse_reserved("device_addresses", text, network) for text in devices)
    others = (_parse_reserved("reserved", text, network) for text in reserved)
    return {"device_addresses": own, "reserved": tuple(dict.fromkeys((*others, *own)))}


def set_device_addresses(subnet: Subnet, devices: Iterable[str]) -> Subnet:
    """Return the subnet with ``devices`` in place of its addresses for devices. Raises :class:`Invalid` for a
    text that is no address or range of the subnet.
    """
    others = [text for text in subnet.reserved if text not in subnet.device_addresses]
    return replace(subnet, **device_ranges(_parse_network(subnet.cidr), devices, others))


def _parse_network(cidr: str) -> IpNetwork:
    try:
        return ip_network(cidr)
    except ValueError as error:
        raise invalid_input("cidr", cidr, "Value should be a network like 10.0.0.0/24, host bits zero.") from error


def _address_within(field: str, value: str | None, network: IpNetwork) -> Address | None:
    if value is None:
        return None
    try:
        address = parsed_address(value)
    except ValueError as error:
        raise invalid_input(field, value, "Value should be an IPv4 or IPv6 address.") from error
    if address not in network:
        raise invalid_input(field, value, f"Value should be an address of {network}.")
    return address


def _parse_reserved(field: str, text: str, network: IpNetwork) -> str:
    """Return an address or range in canonical form. Raises :class:`Invalid` if it is none, or not inside the
    network.
    """
    try:
        found = parsed_range(text)
    except ValueError as error:
        allowed = "Value should be an IPv4 or IPv6 address, or two with a dash between them, the later one last."
        raise invalid_input(field, text, allowed) from error
    if found.first not in network or found.last not in network:
        raise invalid_input(field, text, f"Value should be inside {network}.")
    return str(found)


def _first_and_last_host(network: IpNetwork) -> tuple[Address, Address]:
    """Return the first and the last host address of a network: without the network's and, of IPv4, the
    broadcast address, unless it has only one or two addresses.
    """
    first, last = network[0], network[-1]
    # Networks of two addresses and of one reserve none (RFC 3021, RFC 6164).
    if network.prefixlen >= network.max_prefixlen - 1:
        return first, last
    return first + 1, (last - 1 if network.version == 4 else last)


def _range_beside_gateway(gateway: Address | None, first: Address, last: Address) -> tuple[Address, Address]:
    """Return the first and the last address of the larger range of hosts on one side of the gateway; all of
    them without a gateway. Raises :class:`Invalid` if there is no other address.
    """
    if gateway is None or not int(first) <= int(gateway) <= int(last):
        return first, last
    below, above = int(gateway) - int(first), int(last) - int(gateway)
    if above >= below and above:
        return gateway + 1, last
    if below:
        return first, gateway - 1
    raise invalid_input("gateway_ip", gateway, "There should be another address in the network.")
