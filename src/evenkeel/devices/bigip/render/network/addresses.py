"""Addresses of a load balancer in their route domains: ``10.0.0.1%7``. Pure.

The project's own networks are in one route domain. Networks that projects share are in the common one, and so
are networks to which an operator has attached the devices, which are not in the definition.
"""

from collections.abc import Callable
from ipaddress import ip_address, ip_network

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceMember
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN, ServiceSubnet
from evenkeel.core.resources.model import Vip


def service_route_domain(service: ServiceDefinition) -> int:
    """Return the number of the route domain of the project's own networks; that of the common route domain if
    the load balancer is on no network of its project.
    """
    return next((each.route_domain for each in service.networks if not each.common), COMMON_ROUTE_DOMAIN)


def add_route_domain(address: str, route_domain: int) -> str:
    """Return the address in a device's notation: with its route domain, unless that is the common one."""
    return address if route_domain == COMMON_ROUTE_DOMAIN else f"{address}%{route_domain}"


def address_in_member_domain(service: ServiceDefinition, address: str) -> str:
    """Return the address, of any server, in the route domain in which a member with this address would be.

    ``service``: before or after :func:`place_in_route_domain`, which leaves its networks as they are.
    """
    number = service_route_domain(service)
    return (
        add_route_domain(address, number)
        if number != COMMON_ROUTE_DOMAIN and _own_route_domain_check(service)(address)
        else address
    )


def _own_subnets(service: ServiceDefinition) -> list[ServiceSubnet]:
    return [subnet for network in service.networks if not network.common for subnet in network.subnets]


def _own_route_domain_check(service: ServiceDefinition) -> Callable[[str], bool]:
    """Return the check whether a member's address is in the route domain of the project's own networks."""
    own = _own_subnets(service)
    inside = [ip_network(subnet.cidr) for subnet in own]
    shared = [ip_network(subnet.cidr) for network in service.networks if network.common for subnet in network.subnets]
    with_vip = service.vip is not None and service.vip.subnet_id in {subnet.id for subnet in own}

    def is_here(address: str) -> bool:
        found = ip_address(address)
        if any(found in each for each in inside):
            return True
        return with_vip and not any(found in each for each in shared)

    return is_here


def place_in_route_domain(service: ServiceDefinition) -> ServiceDefinition:
    """Return the definition with the (validated) addresses of VIPs, members and monitors in their route domains.

    A member is in the route domain of the subnet that has its address; a member of no subnet is in the VIP's.
    """
    number = service_route_domain(service)
    if number == COMMON_ROUTE_DOMAIN:
        return service
    here = {subnet.id for subnet in _own_subnets(service)}
    is_here = _own_route_domain_check(service)

    def vip(one: Vip) -> Vip:
        return replace(one, address=add_route_domain(one.address, number)) if one.subnet_id in here else one

    def member(one: ServiceMember) -> ServiceMember:
        monitor = one.monitor_address
        if not is_here(one.address):
            return one
        return replace(
            one,
            address=add_route_domain(one.address, number),
            monitor_address=None if monitor is None else add_route_domain(monitor, number),
        )

    return replace(
        service,
        vip=vip(service.vip),
        additional_vips=tuple(map(vip, service.additional_vips)),
        pools=tuple(replace(pool, members=tuple(map(member, pool.members))) for pool in service.pools),
    )
