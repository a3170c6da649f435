"""What another program attached devices to, and a tenant's shard takes over with its partition. Pure."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from evenkeel.core.attachment import TakenAddress, WantedAddress
from evenkeel.core.networks import AddressUse, DeviceAddress, ServiceNetwork, ServiceSubnet
from evenkeel.core.service import ServiceDefinition
from evenkeel.core.values import Value, Wire

ADDRESSES_MAX = 1000
"""In one adoption."""


class FoundAddress(Wire):
    """An address of a subnet that another program gave to the devices."""

    subnet_id: str
    use: AddressUse
    owner: str
    """The device or traffic group that has it here."""
    address: str
    """Without a route domain."""
    name: str
    """Of the object on the devices, and of its port at the network service if it has one."""
    index: int = 0

    @property
    def wanted(self) -> WantedAddress:
        """What it is taken for."""
        return self.use, self.owner, self.index


class FoundNetworks(Value):
    """What the devices have in a tenant's partition that another program made."""

    route_domain: int
    """Its number; :data:`COMMON_ROUTE_DOMAIN`: everything is there."""
    addresses: tuple[FoundAddress, ...] = ()


class TakenNetworks(Value):
    """What a shard takes over, or would."""

    route_domain: int
    addresses: tuple[FoundAddress, ...] = ()
    """Of those found, without those that are not the network service's to give."""
    ports: tuple[TakenAddress, ...] = ()
    """Ports at the network service that are theirs from now on."""


def as_adopted(services: Iterable[ServiceDefinition], adoption: TakenNetworks) -> tuple[ServiceDefinition, ...]:
    """The definitions as they will be after the adoption."""
    taken: dict[str, dict[WantedAddress, FoundAddress]] = {}
    for each in adoption.addresses:
        taken.setdefault(each.subnet_id, {})[each.wanted] = each

    def subnet(one: ServiceSubnet) -> ServiceSubnet:
        return replace(one, addresses=tuple(_moved(address, taken.get(one.id, {})) for address in one.addresses))

    def network(one: ServiceNetwork) -> ServiceNetwork:
        if one.common:
            return one
        return replace(one, route_domain=adoption.route_domain, subnets=tuple(map(subnet, one.subnets)))

    return tuple(replace(service, networks=tuple(map(network, service.networks))) for service in services)


def _moved(address: DeviceAddress, taken: Mapping[WantedAddress, FoundAddress]) -> DeviceAddress:
    found = taken.get((address.use, address.owner, address.index))
    return address if found is None else replace(address, address=found.address)
