"""How the agent attaches a device to a tenant's networks, with ``f5_global_routed_mode = False``."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from evenkeel.core.networking.networks import (
    TUNNELS,
    AddressUse,
    MemberHost,
    NetworkType,
    ServiceNetwork,
    ServiceSubnet,
)
from tests.devices.bigip.f5_agent.requests import COMMON, Request, change, create, path_of, remove
from tests.devices.bigip.f5_agent.tenants import Generation, Tenant

VXLAN_PORT = 4789
_PROFILES = {
    NetworkType.VXLAN: {"floodingType": "multipoint", "port": VXLAN_PORT},
    NetworkType.GRE: {"floodingType": "multipoint", "encapsulation": "transparent-ethernet-bridging"},
}


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A device as the agent sees it."""

    name: str
    place: int = 0
    """Which of a subnet's self IPs it has."""
    vtep: str = ""
    interfaces: tuple[tuple[str, str], ...] = (("physnet", "1.1"), ("flatnet", "1.2"))
    """Interface by physical network."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """Where a load balancer's objects are. As it is: in global routed mode, with SNAT automap."""

    route_domain: int = 0
    link: str = ""
    """VLAN or tunnel on which its virtual servers listen; empty: on all."""
    snat_pool: str = ""

    def at(self, address: str) -> str:
        return f"{address}%{self.route_domain}" if self.route_domain else address


def profiles() -> Iterator[Request]:
    """At its start, on a device with the self IP ``f5_vtep_selfip_name``."""
    for kind, settings in _PROFILES.items():
        yield create(
            f"net/tunnels/{kind.value}", COMMON, f"{kind.value}_ovs", defaultsFrom=f"/{COMMON}/{kind.value}", **settings
        )


def link_of(network: ServiceNetwork, unit: Unit) -> str:
    """Name of the network's VLAN or tunnel."""
    if network.network_type in TUNNELS:
        return f"tunnel-{network.network_type.value}-{network.segmentation_id}"
    if network.network_type is NetworkType.FLAT:
        return f"flat-{dict(unit.interfaces)[str(network.physical_network)]}".replace(".", "-")
    return f"vlan-{network.segmentation_id}"


def domain_of(tenant: Tenant, network: ServiceNetwork) -> str:
    """Name of the route domain of a network."""
    if tenant.generation is Generation.NETWORK:
        return tenant.named(network.id)
    further = tenant.first_domain not in (0, network.route_domain)
    return f"{tenant.partition}_aux_{network.route_domain}" if further else tenant.partition


def route_domain(tenant: Tenant, name: str, number: int) -> Request:
    settings = {"id": number, "strict": "disabled", "parent": f"/{COMMON}/0"}
    return create("net/route-domain", tenant.partition, name, **settings)


def begin_domain(tenant: Tenant, network: ServiceNetwork) -> Request:
    """The route domain of a network, or of the tenant."""
    return route_domain(tenant, domain_of(tenant, network), network.route_domain)


def attach(
    tenant: Tenant, unit: Unit, network: ServiceNetwork, *, others: Iterable[ServiceNetwork] = ()
) -> Iterator[Request]:
    """A network, in its route domain. ``others``: networks that are in the route domain already."""
    yield from _link(tenant, unit, network)
    vlans = [*(f"/{tenant.partition}/{link_of(each, unit)}" for each in others), link_of(network, unit)]
    yield change("net/route-domain", tenant.partition, domain_of(tenant, network), vlans=vlans)
    for subnet in network.subnets:
        yield self_ip(tenant, unit, network, subnet)
    if tenant.generation is Generation.NETWORK:
        for subnet in network.subnets:
            yield _default_route(tenant, network, subnet)


def _link(tenant: Tenant, unit: Unit, network: ServiceNetwork) -> Iterator[Request]:
    name, kind = link_of(network, unit), network.network_type
    if kind in TUNNELS:
        yield create(
            "net/tunnels/tunnel",
            tenant.partition,
            name,
            profile=f"{kind.value}_ovs",
            key=network.segmentation_id,
            localAddress=unit.vtep,
            remoteAddress="0.0.0.0",
            description=network.id,
        )
        return
    tag = network.segmentation_id if kind is NetworkType.VLAN else 0
    yield create("net/vlan", tenant.partition, name, tag=tag, description=network.id)
    interface = {"name": dict(unit.interfaces)[str(network.physical_network)], "tagged" if tag else "untagged": True}
    yield Request("POST", path_of("net/vlan", tenant.partition, name, "interfaces"), interface)


def self_name(unit: Unit, subnet: ServiceSubnet) -> str:
    return f"local-{unit.name}-{subnet.id}"


def self_ip(tenant: Tenant, unit: Unit, network: ServiceNetwork, subnet: ServiceSubnet) -> Request:
    own = [each.address for each in subnet.addresses if each.use is AddressUse.SELF][unit.place]
    address = f"{own}%{network.route_domain}/{subnet.cidr.rpartition('/')[2]}"
    place = {"address": address, "vlan": link_of(network, unit), "floating": "disabled"}
    return create("net/self", tenant.partition, self_name(unit, subnet), **place)


def route_name(network: ServiceNetwork, subnet: ServiceSubnet) -> str:
    return f"IPv{6 if ':' in subnet.cidr else 4}_default_route_{network.route_domain}"


def _default_route(tenant: Tenant, network: ServiceNetwork, subnet: ServiceSubnet) -> Request:
    number = network.route_domain
    everything = f"::%{number}/0" if ":" in subnet.cidr else f"0.0.0.0%{number}/0"
    name = route_name(network, subnet)
    return create("net/route", tenant.partition, name, gw=f"{subnet.gateway_ip}%{number}", network=everything)


def host(tenant: Tenant, unit: Unit, network: ServiceNetwork, known: MemberHost) -> Iterator[Request]:
    """Where a host is in a tunnel's network, as layer 2 population told, with ``f5_populate_static_arp = True``."""
    table = path_of("net/fdb/tunnel", tenant.partition, link_of(network, unit), "records")
    yield Request("POST", table, {"name": known.mac_address, "endpoint": known.vtep})
    neighbour = {"ipAddress": f"{known.address}%{network.route_domain}", "macAddress": known.mac_address}
    yield create("net/arp", tenant.partition, known.mac_address, **neighbour)


# -- SNAT


def snat_addresses(subnet: ServiceSubnet) -> list[str]:
    return [each.address for each in subnet.addresses if each.use is AddressUse.SNAT]


def tenants_snat(tenant: Tenant, network: ServiceNetwork, before: Iterable[str] = ()) -> Iterator[Request]:
    """Until 9.6, ``f5_snat_addresses_per_subnet`` above 0: addresses of each subnet, in the tenant's pool. ``before``:
    names of those that the pool has.
    """
    members = [f"/{tenant.partition}/{name}" for name in before]
    for subnet in network.subnets:
        for index, address in enumerate(snat_addresses(subnet)):
            name = tenant.ha.value.format(subnet.id, index)
            body = {"address": f"{address}%{network.route_domain}", "trafficGroup": tenant.traffic_group}
            yield create("ltm/snat-translation", tenant.partition, name, **body)
            path = f"/{tenant.partition}/{name}"
            if members:
                yield change("ltm/snatpool", tenant.partition, tenant.partition, members=[*members, path])
            else:
                yield create("ltm/snatpool", tenant.partition, tenant.partition, members=[path])
            members.append(path)


def balancers_snat(tenant: Tenant, load_balancer_id: str, network: ServiceNetwork) -> Iterator[Request]:
    """From 9.8 on: a pool for each load balancer, of addresses, for which the device makes objects."""
    members = [f"{address}%{network.route_domain}" for subnet in network.subnets for address in snat_addresses(subnet)]
    yield create("ltm/snatpool", tenant.partition, tenant.named(load_balancer_id), members=members)


def large_snat(
    tenant: Tenant, unit: Unit, load_balancer_id: str, network: ServiceNetwork, own: ServiceNetwork
) -> Iterator[Request]:
    """Late in 9.10, for most flavors: a network for the source addresses alone, ``snat-<load balancer>``, in the route
    domain of the load balancer's own network.
    """
    yield from balancers_snat(tenant, load_balancer_id, network)
    yield from _link(tenant, unit, network)
    vlans = [f"/{tenant.partition}/{link_of(own, unit)}", link_of(network, unit)]
    yield change("net/route-domain", tenant.partition, domain_of(tenant, own), vlans=vlans)
    for subnet in network.subnets:
        yield self_ip(tenant, unit, network, subnet)


def attachment(tenant: Tenant, unit: Unit, network: ServiceNetwork, load_balancer_id: str) -> Attachment:
    """That of a load balancer whose VIP is in the network."""
    place: dict[str, Any] = {"route_domain": network.route_domain, "link": link_of(network, unit)}
    if not any(map(snat_addresses, network.subnets)):
        return Attachment(**place)
    pool = tenant.partition if tenant.generation is Generation.TENANT else tenant.named(load_balancer_id)
    return Attachment(**place, snat_pool=pool)


# -- deletion


def detach(tenant: Tenant, unit: Unit, network: ServiceNetwork, *, last: bool = True) -> Iterator[Request]:
    """After the last load balancer in the network. ``last``: no other network is in the route domain."""
    if tenant.generation is Generation.NETWORK:
        for subnet in network.subnets:
            yield remove("net/route", tenant.partition, route_name(network, subnet))
    for subnet in network.subnets:
        yield remove("net/self", tenant.partition, self_name(unit, subnet))
    kind = "net/tunnels/tunnel" if network.network_type in TUNNELS else "net/vlan"
    if tenant.generation is Generation.NETWORK:
        yield remove("net/route-domain", tenant.partition, domain_of(tenant, network))
        yield remove(kind, tenant.partition, link_of(network, unit))
    else:
        yield remove(kind, tenant.partition, link_of(network, unit))
        if last:
            yield remove("net/route-domain", tenant.partition, domain_of(tenant, network))


def without_balancers_snat(tenant: Tenant, load_balancer_id: str, network: ServiceNetwork) -> Iterator[Request]:
    """A load balancer's pool, and what the device made for its addresses."""
    addresses = [address for subnet in network.subnets for address in snat_addresses(subnet)]
    if addresses:
        yield remove("ltm/snatpool", tenant.partition, tenant.named(load_balancer_id))
    for address in addresses:
        yield remove("ltm/snat-translation", tenant.partition, f"{address}%{network.route_domain}")


def without_tenants_snat(tenant: Tenant, networks: Iterable[ServiceNetwork]) -> Iterator[Request]:
    names = [
        tenant.ha.value.format(subnet.id, index)
        for network in networks
        for subnet in network.subnets
        for index, _ in enumerate(snat_addresses(subnet))
    ]
    if names:
        yield remove("ltm/snatpool", tenant.partition, tenant.partition)
    for name in names:
        yield remove("ltm/snat-translation", tenant.partition, name)
