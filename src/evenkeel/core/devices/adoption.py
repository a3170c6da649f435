"""Adoption of networks: another program attached devices to them, and a tenant's shard takes them over with its
partition. Pure.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.values import Value, Wire
from evenkeel.core.networking.attachment import DeviceAddressPort, WantedAddress
from evenkeel.core.networking.networks import AddressUse, DeviceAddress, ServiceNetwork, ServiceSubnet

ADDRESSES_MAX = 1000
"""Maximum number of addresses that one adoption takes over."""
SEVERAL_ROUTE_DOMAINS = -1
"""Value in place of a route domain's number if a partition has several. Controllers that support one number only refuse
it, as out of range.
"""


class FoundAddress(Wire):
    """An address of a subnet that another program gave to the devices."""

    subnet_id: str
    use: AddressUse
    owner: str
    """The device or traffic group that has the address."""
    address: str
    """The IP address without a route domain."""
    name: str
    """Name of the object on the devices, and of its port at the network service if it has a port."""
    index: int = 0

    @property
    def wanted(self) -> WantedAddress:
        """Key under which the address is allocated: (use, owner, index)."""
        return self.use, self.owner, self.index


class ListenerIrules(Wire):
    """Paths of the iRules that an operator attached to one listener's virtual servers, in their order."""

    listener_id: str
    irules: tuple[str, ...]


class FoundNetworks(Value):
    """Network objects that another program made on the devices for a tenant's partition."""

    route_domain: int
    """Number of the route domain that all networks are in; :data:`COMMON_ROUTE_DOMAIN`, or
    :data:`SEVERAL_ROUTE_DOMAINS` if ``route_domains`` has the numbers.
    """
    addresses: tuple[FoundAddress, ...] = ()
    route_domains: Mapping[str, int] = {}
    """{network id: number of its route domain on the devices}, if there are several."""


class AdoptedNetworks(Value):
    """The networks, addresses and ports that a shard takes over, or would take over."""

    route_domain: int
    """Number of the route domain of all networks, or :data:`SEVERAL_ROUTE_DOMAINS`."""
    addresses: tuple[FoundAddress, ...] = ()
    """Found addresses that are taken over; addresses of subnets that the network service does not manage are
    left out.
    """
    route_domains: Mapping[str, int] = {}
    """{network id: number of its route domain} for the shard's networks, if ``route_domain`` is
    :data:`SEVERAL_ROUTE_DOMAINS`.
    """
    ports: tuple[DeviceAddressPort, ...] = ()
    """Ports at the network service that belong to the shard from now on."""


def services_after_adoption(
    services: Iterable[ServiceDefinition], adoption: AdoptedNetworks
) -> tuple[ServiceDefinition, ...]:
    """Return the service definitions as they will be after the adoption of the networks: with the adopted
    numbers of route domains and the adopted addresses. Networks that projects share stay as they are.
    """
    taken: dict[str, dict[WantedAddress, FoundAddress]] = {}
    for each in adoption.addresses:
        taken.setdefault(each.subnet_id, {})[each.wanted] = each

    def subnet(one: ServiceSubnet) -> ServiceSubnet:
        return replace(
            one,
            addresses=tuple(_adopted_or_same_address(address, taken.get(one.id, {})) for address in one.addresses),
        )

    def network(one: ServiceNetwork) -> ServiceNetwork:
        if one.common:
            return one
        number = adoption.route_domain
        if number == SEVERAL_ROUTE_DOMAINS:
            number = adoption.route_domains.get(one.id, one.route_domain)
        return replace(one, route_domain=number, subnets=tuple(map(subnet, one.subnets)))

    return tuple(replace(service, networks=tuple(map(network, service.networks))) for service in services)


def services_with_irules(
    services: Iterable[ServiceDefinition], found: Iterable[ListenerIrules]
) -> tuple[ServiceDefinition, ...]:
    """Return the service definitions as they will be after these iRules were stored with their listeners;
    other listeners stay as they are.
    """
    kept = {one.listener_id: one.irules for one in found}
    return tuple(
        replace(
            service,
            listeners=tuple(
                replace(one, operator_irules=kept.get(one.id, one.operator_irules)) for one in service.listeners
            ),
        )
        for service in services
    )


def _adopted_or_same_address(address: DeviceAddress, taken: Mapping[WantedAddress, FoundAddress]) -> DeviceAddress:
    found = taken.get((address.use, address.owner, address.index))
    return address if found is None else replace(address, address=found.address)
