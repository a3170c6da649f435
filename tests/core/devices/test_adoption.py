"""Definitions as they are after an adoption."""

from evenkeel.core.devices.adoption import SEVERAL_ROUTE_DOMAINS, AdoptedNetworks, FoundAddress, services_after_adoption
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import AddressUse, DeviceAddress, NetworkType, ServiceNetwork, ServiceSubnet
from tests.devices.services import service


def network(number: int, *, common: bool = False) -> ServiceNetwork:
    addresses = (
        DeviceAddress(use=AddressUse.SELF, owner="d1", address=f"10.{number}.0.2"),
        DeviceAddress(use=AddressUse.SNAT, owner="g", address=f"10.{number}.0.3"),
        DeviceAddress(use=AddressUse.SNAT, owner="g", address=f"10.{number}.0.4", index=1),
    )
    subnet = ServiceSubnet(id=f"sub-{number}", cidr=f"10.{number}.0.0/24", addresses=addresses)
    return ServiceNetwork(
        id=f"net-{number}",
        project_id="p",
        network_type=NetworkType.VLAN,
        common=common,
        route_domain=0 if common else 1,
        subnets=(subnet,),
    )


def found(number: int, address: str, index: int) -> FoundAddress:
    return FoundAddress(
        subnet_id=f"sub-{number}", use=AddressUse.SNAT, owner="g", index=index, address=address, name="x"
    )


def addresses(definition: ServiceDefinition) -> list[list[str]]:
    return [[one.address for one in net.subnets[0].addresses] for net in definition.networks]


def test_only_what_was_found_is_another_one() -> None:
    before = service(networks=(network(1), network(2), network(3, common=True)))
    adoption = AdoptedNetworks(route_domain=7, addresses=(found(1, "10.1.0.99", 1), found(3, "10.3.0.99", 0)))
    (after,) = services_after_adoption([before], adoption)
    assert [net.route_domain for net in after.networks] == [7, 7, 0]
    assert addresses(after) == [
        ["10.1.0.2", "10.1.0.3", "10.1.0.99"],
        ["10.2.0.2", "10.2.0.3", "10.2.0.4"],
        ["10.3.0.2", "10.3.0.3", "10.3.0.4"],
    ]
    assert services_after_adoption([after], adoption) == (after,)


def test_each_network_gets_its_own_number_where_there_are_several() -> None:
    before = service(networks=(network(1), network(2), network(3, common=True), network(4)))
    adoption = AdoptedNetworks(
        route_domain=SEVERAL_ROUTE_DOMAINS, route_domains={"net-1": 101, "net-2": 102, "net-3": 9}
    )
    (after,) = services_after_adoption([before], adoption)
    assert [net.route_domain for net in after.networks] == [101, 102, 0, 1]
