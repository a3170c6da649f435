"""Addresses of a load balancer in its route domain: ``10.0.0.1%7``. Pure."""

from msgspec.structs import replace

from evenkeel.core.model import Vip
from evenkeel.core.networks import COMMON_ROUTE_DOMAIN
from evenkeel.core.service import ServiceDefinition, ServiceMember


def route_domain_of(service: ServiceDefinition) -> int:
    """The number of the route domain of all its addresses."""
    return next((network.route_domain for network in service.networks), COMMON_ROUTE_DOMAIN)


def with_domain(address: str, route_domain: int) -> str:
    """The address as a device names it."""
    return address if route_domain == COMMON_ROUTE_DOMAIN else f"{address}%{route_domain}"


def in_route_domain(service: ServiceDefinition) -> ServiceDefinition:
    """The same with the addresses of VIPs, members and monitors in its route domain; they were checked before."""
    number = route_domain_of(service)
    if number == COMMON_ROUTE_DOMAIN:
        return service

    def vip(one: Vip) -> Vip:
        return replace(one, address=with_domain(one.address, number))

    def member(one: ServiceMember) -> ServiceMember:
        monitor = one.monitor_address
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
