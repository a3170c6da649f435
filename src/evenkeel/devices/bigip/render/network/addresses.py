"""Addresses of a load balancer in their route domains: ``10.0.0.1%7``. Pure.

All networks of a load balancer are in one route domain. Those to which an operator has attached the devices are in the
common one, and not in the definition.
"""

from ipaddress import ip_address, ip_network

from msgspec.structs import replace

from evenkeel.core.model import Vip
from evenkeel.core.networks import COMMON_ROUTE_DOMAIN
from evenkeel.core.service import ServiceDefinition, ServiceMember


def route_domain_of(service: ServiceDefinition) -> int:
    """The number of the route domain of its networks."""
    return next((network.route_domain for network in service.networks), COMMON_ROUTE_DOMAIN)


def with_domain(address: str, route_domain: int) -> str:
    """The address as a device names it."""
    return address if route_domain == COMMON_ROUTE_DOMAIN else f"{address}%{route_domain}"


def in_route_domain(service: ServiceDefinition) -> ServiceDefinition:
    """The same with the addresses of VIPs, members and monitors in their route domains; they were checked before.

    Members are where the VIP is; if that is in the common route domain, those in subnets of the definition's networks
    are there."""
    number = route_domain_of(service)
    if number == COMMON_ROUTE_DOMAIN:
        return service
    subnets = [subnet for network in service.networks for subnet in network.subnets]
    here = {subnet.id for subnet in subnets}
    with_vip = service.vip is not None and service.vip.subnet_id in here
    inside = [ip_network(subnet.cidr) for subnet in subnets]

    def vip(one: Vip) -> Vip:
        return replace(one, address=with_domain(one.address, number)) if one.subnet_id in here else one

    def member(one: ServiceMember) -> ServiceMember:
        monitor = one.monitor_address
        if not with_vip and not any(ip_address(one.address) in each for each in inside):
            return one
        return replace(
            one,
            address=with_domain(one.address, number),
            monitor_address=None if monitor is None else with_domain(monitor, number),
        )

    return replace(
        service,
        vip=vip(service.vip),
        additional_vips=tuple(map(vip, service.additional_vips)),
        pools=tuple(replace(pool, members=tuple(map(member, pool.members))) for pool in service.pools),
    )
