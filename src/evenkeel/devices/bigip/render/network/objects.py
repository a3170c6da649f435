"""The objects by which one device is attached to the networks of a load balancer. Pure."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.networks import (
    COMMON_ROUTE_DOMAIN,
    TUNNELS,
    AddressUse,
    DeviceAddress,
    MemberHost,
    NetworkType,
    ServiceNetwork,
    ServiceSubnet,
)
from evenkeel.devices.bigip.attachment import AttachmentOptions
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, MarkedSubnet, canonical_address
from evenkeel.devices.bigip.objects import (
    ARP,
    FORWARDING_TABLE,
    NDP,
    ROUTE_DOMAIN,
    SELF_IP,
    SNAT_ADDRESS,
    SNAT_POOL,
    TUNNEL,
    VLAN,
    Key,
    RenderedObjects,
    WantedObject,
)
from evenkeel.devices.bigip.render.network.addresses import add_route_domain, service_route_domain
from evenkeel.devices.bigip.render.network.guests import guest_vlan_objects
from evenkeel.devices.errors import Unrenderable, render_problem

LOCAL_TRAFFIC_GROUP = "/Common/traffic-group-local-only"
EVERY_HOST = "ff:ff:ff:ff:ff:ff"
"""Name of the record in a forwarding table that lists the end points to which the device sends broadcasts."""
_SHARED_PROFILE = "tunnelprofile"
_DEFAULT_MTU = {VLAN: 1500, TUNNEL: 0}
_PROFILES: dict[NetworkType, tuple[str, str, dict[str, Any]]] = {
    NetworkType.VXLAN: ("net/tunnels/vxlan", "vxlan_ovs", {"floodingType": "multipoint", "port": 4789}),
    NetworkType.GRE: (
        "net/tunnels/gre",
        "gre_ovs",
        {"floodingType": "multipoint", "encapsulation": "transparent-ethernet-bridging"},
    ),
}
"""``{network type: type, name and attributes of the tunnel profile}``, as F5's agent had them."""


class DeviceAttachment(Value):
    """How one device of a group is attached to networks."""

    device: str
    options: AttachmentOptions
    vtep: str = ""
    """Address of the device's tunnel end point; empty: not known."""
    vtep_problem: str = ""
    guest: bool = False
    """Whether the device is the guest of a vCMP host, which assigns VLANs: these have no interfaces in the guest."""


def network_objects(service: ServiceDefinition, at: DeviceAttachment, names: BigIpNames) -> tuple[WantedObject, ...]:
    """Build the objects that attach this device to the load balancer's networks; empty for a load balancer
    that is deleted or has a problem or no networks.

    Raises :class:`Unrenderable` naming what the device lacks.
    """
    if service.deleted or service.problem or not service.networks:
        return ()
    return tuple(_NetworkRenderer(service, at, names).objects())


def add_network_objects(rendered: RenderedObjects, at: DeviceAttachment, names: BigIpNames) -> RenderedObjects:
    """Return the load balancer with the objects of its networks added, or without objects and with the
    problem that prevents them; never raises because of a definition.
    """
    if rendered.problem:
        return rendered
    try:
        return replace(rendered, networks=network_objects(rendered.service, at, names))
    except Exception as error:
        problem = render_problem(error, rendered.service.load_balancer_id)
        return replace(rendered, objects=(), problem=problem)


class _NetworkRenderer:
    """Renders the network objects of one load balancer, or of one shared network, for one device.

    Objects of a shared network are in /Common, and their marks name the network, which owns them; objects in a tenant's
    partition belong to no single load balancer.
    """

    def __init__(self, service: ServiceDefinition, at: DeviceAttachment, names: BigIpNames) -> None:
        self._service = service
        self._at = at
        self._names = names
        self._partition = names.folder_name(service.project_id)
        self._number = service_route_domain(service)
        self._owner = service.load_balancer_id if service.project_id == COMMON_PROJECT else LoadBalancerId("")
        self._snat: list[str] = []
        self._external = {each.id for network in service.networks if network.external for each in network.subnets}

    def objects(self) -> Iterator[WantedObject]:
        links = []
        for network in self._service.networks:
            if network.common and not self._owner:
                # The objects of a shared network belong to the common shard; only its SNAT addresses are in the
                # tenant's pool.
                self._snat += [_common_snat(subnet.id, each) for subnet in network.subnets for each in subnet.addresses]
                continue
            link, made = self._build_link(network)
            links.append(self._partition_path(link))
            yield from made
            for subnet in network.subnets:
                yield from self._subnet_objects(subnet, self._partition_path(link))
        if self._number:
            yield self._route_domain(links)
        # Only now, because `_subnet_objects` has collected the addresses.
        if self._snat and not self._owner:
            yield self._wanted_object(
                Key(type=SNAT_POOL, name=self._partition), {"members": sorted(self._snat)}, "snatpool"
            )

    def _partition_path(self, name: str) -> str:
        return f"/{self._partition}/{name}"

    def _wanted_object(
        self, key: Key, attributes: dict[str, Any], kind: str, object_id: str = "", *immutables: str
    ) -> WantedObject:
        # The tunnels of all networks have one profile, so its mark names no network.
        owner = LoadBalancerId("") if kind == _SHARED_PROFILE else self._owner
        mark = self._names.marked_description(f"net-{kind}", owner, object_id)
        return WantedObject(
            key=key,
            owner=self._service.load_balancer_id,
            attributes={**attributes, "description": mark},
            immutables=frozenset(immutables),
        )

    # -- segments

    def _build_link(self, network: ServiceNetwork) -> tuple[str, list[WantedObject]]:
        """Build the VLAN or tunnel of the network; returns its name and its objects."""
        return self._build_tunnel(network) if network.network_type in TUNNELS else self._build_vlan(network)

    def _build_vlan(self, network: ServiceNetwork) -> tuple[str, list[WantedObject]]:
        if self._at.guest:
            return guest_vlan_objects(network, self._at.device, self._vlan_object)
        physical = network.physical_network or ""
        interface = self._at.options.interface(physical, self._at.device)
        if interface is None:
            raise Unrenderable(
                f"network {network.id}: physical network {physical!r} is not in f5_external_physical_mappings of device"
                f" {self._at.device}"
            )
        tagged = network.network_type is NetworkType.VLAN
        if tagged and not interface.tagged:
            raise Unrenderable(
                f"network {network.id}: VLAN {network.segmentation_id} needs an interface with tags;"
                f" {interface.name} of device {self._at.device} has none (f5_external_physical_mappings)"
            )
        name = f"vlan-{network.segmentation_id}" if tagged else f"flat-{interface.name}"
        attributes = {
            **({"tag": network.segmentation_id} if tagged else {}),
            "interfaces": [{"name": interface.name, "tagged" if tagged else "untagged": True}],
            "mtu": network.mtu or _DEFAULT_MTU[VLAN],
        }
        return name, [self._vlan_object(name, attributes, network)]

    def _vlan_object(self, name: str, attributes: dict[str, Any], network: ServiceNetwork) -> WantedObject:
        return self._wanted_object(Key(type=VLAN, name=name), attributes, "vlan", network.id)

    def _build_tunnel(self, network: ServiceNetwork) -> tuple[str, list[WantedObject]]:
        if not self._at.vtep:
            reason = self._at.vtep_problem or f"device {self._at.device} has no tunnel end point"
            raise Unrenderable(f"network {network.id}: {reason}")
        profile_type, profile, settings = _PROFILES[network.network_type]
        parent = f"/{COMMON}/{profile_type.rpartition('/')[2]}"
        name = f"tunnel-{network.network_type.value}-{network.segmentation_id}"
        attributes = {
            "profile": self._partition_path(profile),
            "key": network.segmentation_id,
            "localAddress": self._at.vtep,
            "remoteAddress": "any6" if ":" in self._at.vtep else "any",
            "mtu": network.mtu or _DEFAULT_MTU[TUNNEL],
        }
        return name, [
            self._wanted_object(
                Key(type=profile_type, name=profile), {"defaultsFrom": parent, **settings}, _SHARED_PROFILE
            ),
            self._wanted_object(
                Key(type=TUNNEL, name=name), attributes, "tunnel", network.id, "profile", "key", "localAddress"
            ),
            WantedObject(
                key=Key(type=FORWARDING_TABLE, name=name),
                owner=self._service.load_balancer_id,
                attributes={"records": list(_forwarding_records(network, self._at.vtep))},
            ),
        ]

    def _route_domain(self, links: list[str]) -> WantedObject:
        key = Key(type=ROUTE_DOMAIN, name=f"{self._partition}_{self._number}")
        attributes = {
            "id": self._number,
            "strict": "enabled" if self._at.options.strict else "disabled",
            # routes of the common route domain are used where this one has none
            "parent": "none" if self._at.options.strict else f"/{COMMON}/{COMMON_ROUTE_DOMAIN}",
            "vlans": sorted(links),
        }
        return self._wanted_object(key, attributes, "routedomain", "", "id")

    # -- subnets

    def _subnet_objects(self, subnet: ServiceSubnet, link: str) -> Iterator[WantedObject]:
        for address in subnet.addresses:
            if address.use is AddressUse.SELF and address.owner == self._at.device:
                name = f"local-{address.owner.translate(_NAMEABLE)}-{subnet.id}"
                yield self._self_ip(name, subnet, address, link, LOCAL_TRAFFIC_GROUP)
            elif address.use is AddressUse.FLOATING:
                yield self._self_ip(f"gw-{subnet.id}", subnet, address, link, f"/{COMMON}/{address.owner}")
            elif address.use is AddressUse.SNAT:
                name = _snat_name(subnet.id, address)
                self._snat.append(self._partition_path(name))
                attributes = {
                    "address": add_route_domain(address.address, self._number),
                    "trafficGroup": f"/{COMMON}/{address.owner}",
                }
                yield self._wanted_object(Key(type=SNAT_ADDRESS, name=name), attributes, "snat", subnet.id, "address")
        for host in subnet.hosts:
            yield self._neighbour_entry(subnet, host)

    def _neighbour_entry(self, subnet: ServiceSubnet, host: MemberHost) -> WantedObject:
        """Build the static ARP or NDP entry of a member's host.

        The name has no ``%``: some releases neither find nor remove an entry whose name has one.
        """
        address = canonical_address(host.address)
        kind, word = (NDP, "ndp") if ":" in address else (ARP, "arp")
        key = Key(type=kind, name=f"{word}-{address.translate(_NAMEABLE)}-{self._number}")
        attributes = {"ipAddress": add_route_domain(address, self._number), "macAddress": host.mac_address}
        return self._wanted_object(key, attributes, word, subnet.id, "ipAddress")

    def _self_ip(
        self, name: str, subnet: ServiceSubnet, address: DeviceAddress, link: str, traffic_group: str
    ) -> WantedObject:
        length = ip_network(subnet.cidr).prefixlen
        attributes = {
            "address": f"{add_route_domain(address.address, self._number)}/{length}",
            "vlan": link,
            "trafficGroup": traffic_group,
            # Tenants' hosts reach no service of the device itself.
            "allowService": "none",
        }
        leads_out = subnet.id in self._external and self._at.options.external_gateway
        mark = MarkedSubnet(subnet.id, subnet.gateway_ip or "", external=leads_out).text()
        return self._wanted_object(Key(type=SELF_IP, name=name), attributes, "self", mark, "address", "vlan")


def _snat_name(subnet_id: str, address: DeviceAddress) -> str:
    return f"snat-{address.owner}-{subnet_id}_{address.index}"


def _common_snat(subnet_id: str, address: DeviceAddress) -> str:
    """Return the path of a SNAT address in /Common, which projects share."""
    return f"/{COMMON}/{_snat_name(subnet_id, address)}"


_NAMEABLE = str.maketrans({":": "-", "[": "", "]": ""})


def _forwarding_records(network: ServiceNetwork, own: str) -> Iterator[dict[str, Any]]:
    """Yield the records of the tunnel's forwarding table: the end point for each host's MAC address, and
    first one record by which broadcasts go to all end points. Nothing without other end points.

    ``own``: this device's own end point, which is left out.
    """
    hosts = [host for subnet in network.subnets for host in subnet.hosts if host.vtep and host.vtep != own]
    ends = sorted({*(host.vtep for host in hosts), *network.vteps} - {own})
    if ends:
        yield {"name": EVERY_HOST, "endpoints": ends}
    for mac, vtep in sorted({host.mac_address: host.vtep for host in hosts}.items()):
        yield {"name": mac, "endpoint": vtep}
