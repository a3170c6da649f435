"""Keeps the namespaces, links and addresses of one device equal to the layout of its objects."""

from __future__ import annotations

import hashlib
import itertools
import socket
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import structlog

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.names import is_v6
from icontrol_emulator.config.rules import domains
from icontrol_emulator.dataplane.networks import IP_BIND_ADDRESS_NO_PORT, Network
from icontrol_emulator.wiring.cables import Cable
from icontrol_emulator.wiring.frames import announcement
from icontrol_emulator.wiring.layout import DomainLayout, Layout, Link, Place, Tunnel, Vlan, layout
from icontrol_emulator.wiring.links import Tap, TunnelEnds, VlanSwitch
from icontrol_emulator.wiring.namespaces import Namespace

log = structlog.get_logger(__name__)

IP_TRANSPARENT, IPV6_TRANSPARENT = 19, 75
_RETURNS = 100
"""The routing table of packets that members send back to addresses of clients."""
_numbers = itertools.count(1)


class _Command(NamedTuple):
    """A command of `ip` with the one that undoes it, and the interface without which there is nothing to undo."""

    do: str
    undo: str
    interface: str = ""


@dataclass(slots=True, eq=False)
class RouteDomain:
    """A route domain's namespace, as the data plane sees it."""

    namespace: Namespace
    done: dict[str, _Command] = field(default_factory=dict)
    places: frozenset[tuple[Place, str]] = frozenset()
    """Addresses that move between devices, and the interfaces that have them."""
    forwards: frozenset[str] = frozenset()

    def make_socket(self, family: int, kind: int, number: int = 0) -> socket.socket:
        return self.namespace.make_socket(family, kind, number)

    def bind(self, sock: socket.socket, source: str | None) -> None:
        """Clients' own addresses are possible, too: packets to them come back at the `Service`."""
        if source is None:
            return
        six = sock.family == socket.AF_INET6
        level, option = (socket.IPPROTO_IPV6, IPV6_TRANSPARENT) if six else (socket.IPPROTO_IP, IP_TRANSPARENT)
        sock.setsockopt(level, option, 1)
        sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((source, 0))


@dataclass(slots=True)
class _Made:
    tap: Tap
    hardware: str


class Wires:
    """The networks of one device."""

    def __init__(self, cables: Mapping[str, Cable]) -> None:
        self._id = uuid.uuid4().hex
        self._switch = VlanSwitch(cables)
        self._ends = TunnelEnds()
        self._domains: dict[str, RouteDomain] = {}
        self._links: dict[Link, _Made] = {}
        self._unbound: set[Tunnel] = set()

    def attach(self, engine: Engine) -> None:
        self._engine = engine

    # -- what the data plane asks

    def of(self, partition: str, address: str) -> Network:
        """OSError if there is no such route domain."""
        number = domains.domain_of(self._engine, partition, address)
        found = self._domains.get(number)
        if found is None:
            raise OSError(f"there is no route domain {number}")
        return found

    def check_crossing(self, near: Network, far: Network) -> None:
        """OSError if traffic of one route domain may not go to the other."""
        if near is far:
            return
        numbers = [number for number, each in self._domains.items() if each in (near, far)]
        found = [domains.with_id(self._engine, number) for number in numbers]
        one, other = (each for each in found if each is not None)
        related = other.key.path == one.props.get("parent") or one.key.path == other.props.get("parent")
        if not related or any(self._engine.props(each)["strict"] == "enabled" for each in (one, other)):
            raise OSError("strict isolation of route domains")

    # -- following the configuration

    def follow(self, active_for: frozenset[str]) -> None:
        wanted = layout(self._engine, active_for)
        for number in wanted.domains.keys() - self._domains.keys():
            self._domains[number] = _new_domain()
        self._ends.know(wanted.tables)
        self._unlink(set(self._links) - set(wanted.links))
        for link in wanted.links:
            if link not in self._links:
                self._link(link)
        for number, domain in wanted.domains.items():
            self._settle(self._domains[number], domain)
        for number in self._domains.keys() - wanted.domains.keys():
            self._domains.pop(number).namespace.close()
        self._bind_tunnels(wanted)

    def close(self) -> None:
        self._unlink(set(self._links))
        for domain in self._domains.values():
            domain.namespace.close()
        self._domains.clear()

    def _link(self, link: Link) -> None:
        number = next(_numbers)
        namespace = self._domains[link.domain].namespace
        sent = partial(self._switch.send, link) if isinstance(link, Vlan) else partial(self._ends.send, link)
        digest = hashlib.sha256(f"{self._id}{link.path}".encode()).digest()
        made = _Made(Tap(namespace, f"t{number}", sent), (b"\x02" + digest[:5]).hex(":"))
        self._links[link] = made
        namespace.ip([f"link set dev {made.tap.name} address {made.hardware} mtu {link.mtu} up"])
        if isinstance(link, Vlan):
            self._switch.connect(link, made.tap)
        else:
            self._unbound.add(link)

    def _unlink(self, links: set[Link]) -> None:
        for link in links:
            if isinstance(link, Vlan):
                self._switch.disconnect(link)
            else:
                self._ends.disconnect(link)
                self._unbound.discard(link)
            self._links.pop(link).tap.close()

    def _bind_tunnels(self, wanted: Layout) -> None:
        """After the addresses, one of which is the tunnels' own."""
        for tunnel in list(self._unbound):
            underlay = self._domains.get(tunnel.underlay)
            if underlay is None:
                continue
            try:
                self._ends.connect(tunnel, self._links[tunnel].tap, underlay.namespace)
            except OSError as error:
                log.info("tunnel has no end", tunnel=tunnel.path, local=tunnel.local, error=str(error))
                continue
            self._unbound.discard(tunnel)

    def _settle(self, domain: RouteDomain, wanted: DomainLayout) -> None:
        made = {link.path: each for link, each in self._links.items()}
        commands = {each.do: each for each in _commands(wanted, {path: each.tap.name for path, each in made.items()})}
        there = {"", "lo", *(each.tap.name for each in made.values())}
        old = [each for do, each in reversed(domain.done.items()) if do not in commands]
        gone = [each.undo for each in old if each.interface in there]
        new = [do for do in commands if do not in domain.done]
        problems = domain.namespace.ip([*gone, *new])
        if problems:
            log.info("commands of ip", problems=problems[:4])
        domain.done = commands
        forwards = frozenset(made[path].tap.name for path in wanted.forwards)
        for name in forwards ^ domain.forwards:
            for version in ("ipv4", "ipv6"):
                domain.namespace.set(f"{version}/conf/{name}/forwarding", str(int(name in forwards)))
        domain.forwards = forwards
        moving = (place for place in wanted.places if place.moves and place.link)
        places = frozenset((place, made[place.link].tap.name) for place in moving)
        for place, _ in places - domain.places:
            frame = announcement(place.host, made[place.link].hardware)
            if frame is not None:
                made[place.link].tap.announce(frame)
        domain.places = places


def _new_domain() -> RouteDomain:
    namespace = Namespace()
    for scope in ("all", "default"):
        namespace.set(f"ipv4/conf/{scope}/rp_filter", "0")
        namespace.set(f"ipv6/conf/{scope}/accept_ra", "0")
    everything = ("0.0.0.0/0", "::/0")
    namespace.ip([f"route add local {each} dev lo table {_RETURNS}" for each in everything])
    return RouteDomain(namespace)


def _commands(domain: DomainLayout, names: Mapping[str, str]) -> Iterator[_Command]:
    """The commands that are to run, in order."""
    for place in domain.places:
        interface = names.get(place.link, "lo")
        rest = f"{place.host}/{place.bits} dev {interface}"
        yield _Command(f"address add {rest}{' nodad' if is_v6(place.host) else ''}", f"address del {rest}", interface)
    for way in domain.ways:
        rest = f"{way.network} via {way.gateway} dev {names[way.link]}"
        yield _Command(f"route replace {rest}", f"route del {rest}", names[way.link])
    for one in domain.neighbours:
        rest = f"{one.host} lladdr {one.hardware} dev {names[one.link]}"
        yield _Command(f"neighbour replace {rest} nud permanent", f"neighbour del {rest}", names[one.link])
    for service in domain.services:
        for protocol in ("tcp", "udp"):
            rest = (f"from {service.host} iif {names[service.link]} ipproto {protocol} sport {service.port} lookup"
                    f" {_RETURNS} pref 50")  # fmt: skip
            yield _Command(f"rule add {rest}", f"rule del {rest}")
