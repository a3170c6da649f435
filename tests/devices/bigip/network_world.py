"""Load balancers in tenants' networks, and devices that are attached to them."""

from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import (
    AddressUse,
    DeviceAddress,
    MemberHost,
    NetworkType,
    ServiceNetwork,
    ServiceSubnet,
)
from evenkeel.core.resources.model import Vip
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands
from tests.devices.services import PROJECT, member, pool, service

TRAFFIC_GROUP = "traffic-group-1"
ADJACENT = {
    "f5_global_routed_mode": "False",
    "f5_external_physical_mappings": "physnet:1.1:True, flatnet:1.2:False, elsewhere:9.9:True",
    "advertised_tunnel_types": "vxlan,gre",
    "f5_vtep_selfip_name": "vtep",
}
VTEP = "192.0.2.1"
NETWORK_KINDS = (
    "net/vlan",
    "net/tunnels/tunnel",
    "net/tunnels/vxlan",
    "net/tunnels/gre",
    "net/route-domain",
    "net/self",
    "net/route",
    "net/arp",
    "net/ndp",
    "ltm/snat-translation",
    "ltm/snatpool",
)


def hosts_of(rig: BigIpRig) -> list[str]:
    """The devices as the agent names them."""
    return [device.url.removeprefix("https://") for device in rig.emulator.devices.values()]


def subnet(
    number: int, devices: list[str], *, base: str = "", snat: int = 1, floating: bool = False, **changes: Any
) -> ServiceSubnet:
    """``sub-<number>``, 10.<number>.0.0/24, with an address for each device."""
    base = base or f"10.{number}.0"
    addresses = [
        DeviceAddress(use=AddressUse.SELF, owner=device, address=f"{base}.{last}")
        for last, device in enumerate(devices, 2)
    ]
    if floating:
        addresses.append(DeviceAddress(use=AddressUse.FLOATING, owner=TRAFFIC_GROUP, address=f"{base}.10"))
    addresses += [
        DeviceAddress(use=AddressUse.SNAT, owner=TRAFFIC_GROUP, address=f"{base}.{11 + index}", index=index)
        for index in range(snat)
    ]
    values: dict[str, Any] = {
        "id": f"sub-{number}",
        "cidr": f"{base}.0/24",
        "gateway_ip": f"{base}.1",
        "addresses": tuple(addresses),
    }
    return ServiceSubnet(**(values | changes))


def network(number: int, *subnets: ServiceSubnet, route_domain: int = 7, **changes: Any) -> ServiceNetwork:
    """``net-<number>``: VLAN ``100 + number``."""
    values: dict[str, Any] = {
        "id": f"net-{number}",
        "project_id": PROJECT,
        "network_type": NetworkType.VLAN,
        "common": False,
        "route_domain": route_domain,
        "physical_network": "physnet",
        "segmentation_id": 100 + number,
        "subnets": subnets,
    }
    return ServiceNetwork(**(values | changes))


def tunnel(
    number: int, *subnets: ServiceSubnet, kind: NetworkType = NetworkType.VXLAN, **changes: Any
) -> ServiceNetwork:
    """``net-<number>`` with VNI or key ``5000 + number``."""
    values: dict[str, Any] = {"physical_network": None, "segmentation_id": 5000 + number, "network_type": kind}
    return network(number, *subnets, **(values | changes))


def balancer(
    number: int, *networks: ServiceNetwork, base: str = "", members: tuple[str, ...] | None = None, **changes: Any
) -> ServiceDefinition:
    """A load balancer with its VIP and three members in the first network's subnet, or with other members."""
    first = networks[0].subnets[0]
    base = base or first.cidr.rpartition(".")[0]
    addresses = members if members is not None else tuple(f"{base}.{200 + place}" for place in range(3))
    found = tuple(replace(member(number, place), address=address) for place, address in enumerate(addresses, 1))
    return service(
        number,
        vip=Vip(address=f"{base}.{100 + number}", subnet_id=first.id, network_id=networks[0].id, port_id="p"),
        pools=(pool(number, members=found),),
        networks=networks,
        **changes,
    )


def host(address: str, number: int, vtep: str = "") -> MemberHost:
    return MemberHost(address=address, mac_address=f"fa:16:3e:00:00:{number:02x}", vtep=vtep)


async def with_vtep(rig: BigIpRig) -> None:
    """The operator made what tunnels need on the first device."""
    await make_vtep(rig.hands, VTEP)


async def make_vtep(hands: Hands, address: str) -> None:
    """The operator makes what tunnels need."""
    await hands.call("POST", "net/vlan", {"name": "underlay", "tag": 4000})
    await hands.call("POST", "net/self", {"name": "vtep", "address": f"{address}/24", "vlan": "/Common/underlay"})


async def there(rig: BigIpRig, partition: str = PARTITION) -> dict[str, dict[str, Any]]:
    """Objects of networks in the partition of the first device, by type and name."""
    return {
        f"{kind} {name}": {key: value for key, value in item.items() if key != "ifIndex"}  # another one each time
        for kind in NETWORK_KINDS
        for name, item in (await rig.hands.items(kind, partition)).items()
    }
