"""What F5's agent documents of networks on a device, as data: objects by type and path, with the attributes that count.

A *place* is a subnet of a network on a device, in the folder and the route domain where it belongs."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Any, NamedTuple

Objects = Mapping[str, Mapping[str, Any]]
"""Attributes by ``type path``."""

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "net/vlan": ("tag", "mtu", "interfaces"),
    "net/tunnels/tunnel": ("profile", "key", "localAddress", "remoteAddress", "mtu"),
    "net/tunnels/vxlan": ("defaultsFrom", "floodingType", "port"),
    "net/tunnels/gre": ("defaultsFrom", "floodingType", "encapsulation"),
    "net/fdb/tunnel": ("records",),
    "net/route-domain": ("id", "strict", "parent", "vlans"),
    "net/self": ("address", "vlan", "trafficGroup"),
    "net/route": ("network", "gw"),
    "net/arp": ("ipAddress", "macAddress"),
    "ltm/snat-translation": ("address", "trafficGroup"),
    "ltm/snatpool": ("members",),
    "ltm/virtual-address": ("address", "trafficGroup"),
    "ltm/virtual": ("destination", "sourceAddressTranslation", "ipForward", "vlans"),
}
"""Those that are compared, by type."""
LOCAL, FLOATING = "/Common/traffic-group-local-only", "/Common/traffic-group-1"
PROFILES = {
    "vxlan": {"defaultsFrom": "/Common/vxlan", "floodingType": "multipoint", "port": 4789},
    "gre": {
        "defaultsFrom": "/Common/gre",
        "floodingType": "multipoint",
        "encapsulation": "transparent-ethernet-bridging",
    },
}


class Member(NamedTuple):
    """A server whose port Neutron has."""

    address: str
    mac_address: str
    end_point: str


class Place(NamedTuple):
    """A subnet on one device, with the addresses that Neutron's ports have."""

    folder: str
    number: int
    kind: str
    segment: int | None
    mtu: int
    subnet_id: str
    cidr: str
    device: str
    """As its self IP's name has it."""
    self_ip: str
    snat: str = ""
    gateway: str = ""
    """The floating self IP; empty: with SNAT."""
    end_point: str = ""
    """At which the device's tunnels end."""
    members: tuple[Member, ...] = ()

    def at(self, address: str) -> str:
        """The address in its route domain."""
        return f"{address}%{self.number}" if self.number else address

    @property
    def link(self) -> str:
        """The path of its VLAN or tunnel."""
        if self.kind == "flat":
            return f"/{self.folder}/flat-1.2"
        return f"/{self.folder}/{'vlan' if self.kind == 'vlan' else f'tunnel-{self.kind}'}-{self.segment}"

    @property
    def snat_path(self) -> str:
        """Of its SNAT address."""
        return f"/{self.folder}/snat-traffic-group-1-{self.subnet_id}_0"


def place_objects(place: Place) -> Objects:
    """A subnet's own objects, with its VLAN or tunnel."""
    length = ip_network(place.cidr).prefixlen
    on_link = {"vlan": place.link}
    objects = dict(_tunnel(place) if place.kind in PROFILES else _vlan(place))
    objects[f"net/self /{place.folder}/local-{place.device}-{place.subnet_id}"] = {
        **on_link,
        "address": f"{place.at(place.self_ip)}/{length}",
        "trafficGroup": LOCAL,
    }
    if place.snat:
        objects[f"ltm/snat-translation {place.snat_path}"] = {
            "address": place.at(place.snat),
            "trafficGroup": FLOATING,
        }
    if place.gateway:
        gateway = {"address": f"{place.at(place.gateway)}/{length}", "trafficGroup": FLOATING}
        objects[f"net/self /{place.folder}/gw-{place.subnet_id}"] = {**on_link, **gateway}
        objects |= _forwarder(place)
    return objects


def _vlan(place: Place) -> Objects:
    port = {"name": "1.2", "untagged": True} if place.kind == "flat" else {"name": "1.1", "tagged": True}
    tag = {"tag": place.segment} if place.kind == "vlan" else {}
    return {f"net/vlan {place.link}": {**tag, "mtu": place.mtu, "interfaces": [port]}}


def _tunnel(place: Place) -> Objects:
    profile = f"/{place.folder}/{place.kind}_ovs"
    records = [{"name": one.mac_address, "endpoint": one.end_point} for one in place.members]
    everybody = {"name": "ff:ff:ff:ff:ff:ff", "endpoints": sorted(one.end_point for one in place.members)}
    arp = {
        f"net/arp /{place.folder}/arp-{one.address}-{place.number}": {
            "ipAddress": place.at(one.address),
            "macAddress": one.mac_address,
        }
        for one in place.members
    }
    return {
        f"net/tunnels/{place.kind} {profile}": PROFILES[place.kind],
        f"net/tunnels/tunnel {place.link}": {
            "profile": profile,
            "key": place.segment,
            "localAddress": place.end_point,
            "remoteAddress": "any",
            "mtu": place.mtu,
        },
        f"net/fdb/tunnel {place.link}": {"records": sorted([*records, everybody], key=lambda one: str(one["name"]))},
        **arp,
    }


def _forwarder(place: Place) -> Objects:
    """What members send to anybody is passed on."""
    name = f"gw-{place.number}" if place.number else "0.0.0.0"
    return {
        f"ltm/virtual /{place.folder}/gw-{place.subnet_id}": {
            "ipForward": True,
            "sourceAddressTranslation": {"type": "none"},
            "vlans": [place.link],
        },
        f"ltm/virtual-address /{place.folder}/{name}": {"address": place.at("any"), "trafficGroup": FLOATING},
    }


def tenant_objects(folder: str, number: int, links: Iterable[str], snats: Iterable[str], gateway: str = "") -> Objects:
    """What a tenant has once: its route domain, its SNAT pool, its default route (by ``gateway``)."""
    objects: dict[str, Mapping[str, Any]] = {}
    if number:
        objects[f"net/route-domain /{folder}/{folder}_{number}"] = {
            "id": number,
            "strict": "disabled",
            "parent": "/Common/0",
            "vlans": sorted(links),
        }
    if found := sorted(snats):
        objects[f"ltm/snatpool /{folder}/{folder}"] = {"members": found}
    if gateway:
        objects[f"net/route /{folder}/default-{number}"] = default_route(number, gateway)
    return objects


def default_route(number: int, gateway: str) -> Mapping[str, str]:
    """Of a route domain."""
    suffix = f"%{number}" if number else ""
    return {"network": f"default{suffix}", "gw": f"{gateway}{suffix}"}
