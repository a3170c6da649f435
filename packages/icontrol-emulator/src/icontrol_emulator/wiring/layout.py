"""The layout of a device's networks by its objects: links, addresses, routes, by route domain. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from icontrol_emulator.config.builtins import LOCAL_ONLY
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Obj, Target
from icontrol_emulator.config.names import is_address, is_v6, strip_domain
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.rules.network import SELF, interface_of
from icontrol_emulator.config.rules.pool import MEMBERS, member_endpoint
from icontrol_emulator.config.rules.virtual import ADDRESS, traffic_group_of
from icontrol_emulator.config.types.net import BRIDGING

VLAN, TUNNEL = "net/vlan", "net/tunnels/tunnel"
VXLAN, GRE = "vxlan", "gre"
DEFAULT_MTU = 1500
VXLAN_PORT = 4789
_OVERHEAD = {VXLAN: 50, GRE: 42}
"""Bytes that a tunnel adds to each packet."""


class Vlan(NamedTuple):
    path: str
    domain: str
    mtu: int
    ports: tuple[tuple[str, int], ...]
    """Interface, and the tag there; 0: none."""


class Tunnel(NamedTuple):
    path: str
    domain: str
    mtu: int
    kind: str
    key: int
    local: str
    underlay: str
    """The route domain of the local address."""
    port: int


Link = Vlan | Tunnel


class Place(NamedTuple):
    """An address of the device. `link` is empty for one that is in no network of a self IP."""

    link: str
    host: str
    bits: int
    moves: bool
    """Whether the other device takes it over."""


class Way(NamedTuple):
    network: str
    gateway: str
    link: str


class Neighbour(NamedTuple):
    link: str
    host: str
    hardware: str


class Service(NamedTuple):
    """A service of members whose packets belong to connections of the device, which has their clients' addresses."""

    link: str
    host: str
    port: int


@dataclass(slots=True)
class DomainLayout:
    places: list[Place] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    neighbours: list[Neighbour] = field(default_factory=list)
    forwards: set[str] = field(default_factory=set)
    """Links whose packets to others are forwarded."""
    services: list[Service] = field(default_factory=list)


@dataclass(slots=True)
class Layout:
    links: list[Link] = field(default_factory=list)
    tables: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)
    """Tunnel -> hardware address -> end points."""
    domains: dict[str, DomainLayout] = field(default_factory=dict)


def layout(engine: Engine, active_for: frozenset[str]) -> Layout:
    """With the addresses of the traffic groups that the device is active for, and those that are its own."""
    return _Reader(engine, active_for | {LOCAL_ONLY}).read()


class _Reader:
    def __init__(self, engine: Engine, groups: frozenset[str]) -> None:
        self._engine = engine
        self._groups = groups
        self._found = Layout()
        self._subnets: dict[str, list[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str]]] = {}

    def read(self) -> Layout:
        joined: dict[str, str] = {}
        for domain in self._engine.store.top(domains.DOMAIN):
            number = str(domain.props["id"])
            self._found.domains[number] = DomainLayout()
            joined |= dict.fromkeys(domains.members(self._engine, domain), number)
        self._found.links = [*self._vlans(joined), *self._tunnels(joined)]
        self._self_ips(joined)
        self._addresses()
        self._add_routes()
        self._neighbours()
        self._forwards()
        self._services()
        return self._found

    def _top(self, type_path: str) -> Iterator[tuple[Obj, dict[str, Any]]]:
        for obj in self._engine.store.top(type_path):
            yield obj, self._engine.props(obj)

    def _route_domain_of(self, obj: Obj, address: str) -> str:
        return domains.domain_of(self._engine, obj.partition, address)

    def _vlans(self, joined: Mapping[str, str]) -> Iterator[Vlan]:
        for obj, props in self._top(VLAN):
            ports = self._engine.store.children(f"{VLAN}/interfaces", obj.key.path)
            tag = int(props.get("tag", 0))
            places = tuple((port.name, 0 if port.props.get("untagged") else tag) for port in ports)
            mtu = int(props.get("mtu") or DEFAULT_MTU)
            yield Vlan(obj.key.path, joined.get(obj.key.path, "0"), mtu, places)

    def _tunnels(self, joined: Mapping[str, str]) -> Iterator[Tunnel]:
        for obj, props in self._top(TUNNEL):
            profile = self._engine.store.find(Target("tunnel-profile", str(props.get("profile"))))
            kind = profile.key.type.rpartition("/")[2] if profile is not None else ""
            local = str(props.get("localAddress", ""))
            if profile is None or kind not in _OVERHEAD or not is_address(strip_domain(local)):
                continue
            settings = self._engine.props(profile)
            if kind == GRE and settings.get("encapsulation") != BRIDGING:
                continue
            yield Tunnel(
                obj.key.path, joined.get(obj.key.path, "0"), int(props.get("mtu") or DEFAULT_MTU - _OVERHEAD[kind]),
                kind, int(props.get("key", 0)), strip_domain(local), self._route_domain_of(obj, local),
                int(settings.get("port") or VXLAN_PORT),
            )  # fmt: skip
            self._found.tables[obj.key.path] = dict(self._records(obj.key.path))

    def _records(self, tunnel: str) -> Iterator[tuple[str, frozenset[str]]]:
        for record in self._engine.store.children("net/fdb/tunnel/records", tunnel):
            several = record.props.get("endpoints") or []
            ends = [record.props.get("endpoint"), *(several if isinstance(several, list) else [several])]
            yield record.name.lower(), frozenset(strip_domain(str(end)) for end in ends if end)

    def _self_ips(self, joined: Mapping[str, str]) -> None:
        own = sorted(self._top(SELF), key=lambda each: each[1].get("trafficGroup") != LOCAL_ONLY)
        for obj, props in own:
            found = interface_of(str(props["address"]))
            link, number = str(props["vlan"]), self._route_domain_of(obj, str(props["address"]))
            if found is None or joined.get(link) != number:
                continue
            self._subnets.setdefault(number, []).append((found.network, link))
            group = str(props.get("trafficGroup"))
            if group in self._groups:
                bits = found.network.prefixlen
                self._found.domains[number].places.append(Place(link, str(found.ip), bits, group != LOCAL_ONLY))

    def _link_of(self, number: str, host: str) -> str:
        """The link whose network has the address."""
        address = ipaddress.ip_address(host)
        return next((link for network, link in self._subnets.get(number, ()) if address in network), "")

    def _add(self, obj: Obj, address: str, group: str) -> None:
        host, number = strip_domain(address), self._route_domain_of(obj, address)
        found = self._found.domains.get(number)
        if (
            found is None
            or group not in self._groups
            or not is_address(host)
            or ipaddress.ip_address(host) == _ANY[is_v6(host)]
        ):
            return
        place = Place(self._link_of(number, host), host, 128 if is_v6(host) else 32, group != LOCAL_ONLY)
        if all(place.host != other.host for other in found.places):
            found.places.append(place)

    def _addresses(self) -> None:
        for obj, props in self._top(ADDRESS):
            if props.get("enabled") != "no" and props.get("arp") != "disabled":
                self._add(obj, str(props.get("address", obj.name)), traffic_group_of(self._engine.store, obj))
        for obj, props in self._top("ltm/snat-translation"):
            if not props.get("disabled") and props.get("arp") != "disabled":
                self._add(obj, str(props["address"]), str(props.get("trafficGroup") or "/Common/traffic-group-1"))

    def _add_routes(self) -> None:
        for obj, props in self._top("net/route"):
            gateway, network = str(props.get("gw") or ""), str(props["network"])
            number = self._route_domain_of(obj, network if "%" in network else gateway)
            link = self._link_of(number, strip_domain(gateway)) if is_address(strip_domain(gateway)) else ""
            if link and number in self._found.domains:
                to = (
                    strip_domain(network.partition("/")[0]) + network[network.index("/") :]
                    if "/" in network
                    else "default"
                )
                self._found.domains[number].ways.append(Way(to, strip_domain(gateway), link))

    def _neighbours(self) -> None:
        for obj, props in (*self._top("net/arp"), *self._top("net/ndp")):
            address = str(props["ipAddress"])
            number, host = self._route_domain_of(obj, address), strip_domain(address)
            link = self._link_of(number, host)
            if link and number in self._found.domains:
                self._found.domains[number].neighbours.append(Neighbour(link, host, str(props["macAddress"])))

    def _forwards(self) -> None:
        numbers = {link.path: link.domain for link in self._found.links}
        for _, props in self._top("ltm/virtual"):
            if props.get("ipForward") and not props.get("disabled") and props.get("vlansEnabled"):
                for path in props.get("vlans") or ():
                    if path in numbers:
                        self._found.domains[numbers[path]].forwards.add(path)

    def _services(self) -> None:
        """Services of the pools whose virtual servers do not translate the clients' addresses."""
        for _, props in self._top("ltm/virtual"):
            translation = props.get("sourceAddressTranslation")
            kind = translation.get("type", "none") if isinstance(translation, Mapping) else "none"
            if kind != "none" or not props.get("pool"):
                continue
            for member in self._engine.store.children(MEMBERS, str(props["pool"])):
                address = str(member.props["address"])
                number, host = self._route_domain_of(member, address), strip_domain(address)
                link = self._link_of(number, host)
                if link:
                    self._found.domains[number].services.append(Service(link, host, member_endpoint(member).port))


_ANY = (ipaddress.ip_address("0.0.0.0"), ipaddress.ip_address("::"))  # noqa: S104
