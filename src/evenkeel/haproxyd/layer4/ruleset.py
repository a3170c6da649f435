"""The content of the daemon's nftables table: what one partition's load balancers contribute. Pure.

========  ==================================================================================================
object    what it is
========  ==================================================================================================
``vs-``   chain of a listener: allowed clients, limit of flows, and on to its pool
``pl-``   chain of a pool: bound clients first, then the choice of a server
``ep-``   chain of a server that binds clients: binds the client and translates to the server
``st-``   set of the clients that are bound to a server
``kp-``   chains that renew the bonds of clients, of a pool and of each of its servers
``al-``   set of a listener's allowed networks, one for each family
``in-``   counters of a listener: received, sent, and (``new-``) flows; ``out-``, ``new-``
``is-``   counter without traffic, whose name has the digest of the partition's content: what the kernel holds
========  ==================================================================================================

Each name contains the partition's, so tenants' objects never collide. What reaches the end of a listener's chain was
not translated, and is refused by the chain ``guard``.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import host_and_port
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.dealing import SLOTS, Span, seed_of, slot_spans, weight_spans

Family = int
FAMILIES: tuple[Family, ...] = (4, 6)
NFPROTO = {4: "ipv4", 6: "ipv6"}
IP = {4: "ip", 6: "ip6"}

STICKY_CLIENTS_MAX = 65_536
"""Clients that can be bound to one server; further ones are balanced without a bond."""
NAME_CHARS_MAX = 120

ServerKey = tuple[str, str]
"""Backend and server."""


class Service(Value):
    """An address and port at which a listener receives."""

    protocol: wire.DatagramProtocol
    address: str
    port: int


class FlowTarget(Value):
    """An address and port to which flows are translated."""

    address: str
    port: int


class SetDeclaration(Value):
    """A named set with its fixed elements. ``text``: its properties in nft's notation; a name always has the same."""

    text: str
    elements: tuple[str, ...] = ()


class Content(Value):
    """Objects of the table, by name. ``elements``: of the maps and sets that all partitions share, by map and key; the
    value is the data in nft's notation, empty in a set. ``flows``: servers whose flows may go on, by service."""

    counters: frozenset[str] = frozenset()
    sets: Mapping[str, SetDeclaration] = {}
    chains: Mapping[str, tuple[str, ...]] = {}
    elements: Mapping[tuple[str, str], str] = {}
    flows: Mapping[Service, frozenset[FlowTarget]] = {}


def content_of(
    partition: str, load_balancers: Iterable[wire.LoadBalancerConfig], down: frozenset[ServerKey] = frozenset()
) -> Content:
    """The objects of one partition. ``down``: servers that health checks found down."""
    made = _Made(partition)
    for one in sorted(load_balancers, key=lambda one: one.id):
        if one.datagram_listeners:
            made.add(one, down)
    return made.content()


def object_name(kind: str, *parts: str) -> str:
    """Name of an object in the table. ``:`` is not possible in nft's names, and ``/`` in none of the daemon's."""
    text = f"{kind}-{'/'.join(part.replace(':', '//') for part in parts)}"
    # nft and the kernel accept longer ones, but not as long as all parts together may be
    return text if len(text) <= NAME_CHARS_MAX else f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def listener_counters(partition: str, listener: str) -> tuple[str, str, str]:
    """Names of a listener's counters: received, sent, and new flows."""
    received, sent, flows = (object_name(kind, partition, listener) for kind in ("in", "out", "new"))
    return received, sent, flows


def family_of(address: str) -> Family:
    """Version of the address's protocol."""
    return ipaddress.ip_address(address).version


class _Made:
    """Collects the objects of one partition."""

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._counters: set[str] = set()
        self._sets: dict[str, SetDeclaration] = {}
        self._chains: dict[str, tuple[str, ...]] = {}
        self._elements: dict[tuple[str, str], str] = {}
        self._flows: dict[Service, frozenset[FlowTarget]] = {}

    def content(self) -> Content:
        if not self._chains:
            return Content()
        # The digest changes in the transaction that changes anything else: a daemon that starts reads it, and sees
        # whether the kernel holds what it should.
        sets = {name: (one.text, one.elements) for name, one in self._sets.items()}
        parts = (
            sorted(self._counters),
            sorted(sets.items()),
            sorted(self._chains.items()),
            sorted(self._elements.items()),
        )
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        mark = object_name("is", self._partition, digest)
        return Content(
            counters=frozenset((*self._counters, mark)),
            sets=self._sets,
            chains=self._chains,
            elements=self._elements,
            flows=self._flows,
        )

    def add(self, one: wire.LoadBalancerConfig, down: frozenset[ServerKey]) -> None:
        pools = {
            backend.name: _Pool(self._partition, backend, balance, down)
            for backend in one.backends
            if (balance := backend.datagrams) is not None
        }
        for listener in one.datagram_listeners:
            self._add_listener(listener, pools.get(listener.backend))
        used = {listener.backend for listener in one.datagram_listeners}
        for name in sorted(used & pools.keys()):
            self._sets |= pools[name].sets()
            self._chains |= pools[name].chains()

    def _name(self, kind: str, *parts: str) -> str:
        return object_name(kind, self._partition, *parts)

    def _add_listener(self, listener: wire.DatagramListener, pool: "_Pool | None") -> None:
        chain = self._name("vs", listener.name)
        received, sent, flows = listener_counters(self._partition, listener.name)
        self._counters.update((received, sent, flows))
        allowed = self._allowed(listener)
        rules = [f"{IP[family]} saddr != @{name} return" for family, name in allowed.items()]
        if listener.flows_max is not None:
            # This chain sees the first packet of a flow only, and is replaced only with the limit, so that the kernel's
            # list of flows stays.
            rules.append(f"ct count over {listener.flows_max} return")
        if pool is not None:
            rules.append(f"counter name {flows} goto {pool.chain}")
        self._chains[chain] = tuple(rules)
        for bind in listener.binds:
            address = str(ipaddress.ip_address(bind.address))
            family = family_of(address)
            key = f"{address} . {listener.protocol} . {bind.port}"
            self._elements[f"owned{family}", key] = ""
            self._elements[f"services{family}", key] = f"goto {chain}"
            self._elements[f"in{family}", key] = f'"{received}"'
            self._elements[f"out{family}", key] = f'"{sent}"'
            if pool is not None and pool.sticky:
                self._elements[f"refresh{family}", key] = f"goto {pool.renewals}"
            service = Service(protocol=listener.protocol, address=address, port=bind.port)
            self._flows[service] = pool.live_targets(family) if pool is not None else frozenset()

    def _allowed(self, listener: wire.DatagramListener) -> dict[Family, str]:
        """Names of the sets of allowed networks, by family; empty: all clients are allowed."""
        if not listener.allowed_cidrs:
            return {}
        networks = [ipaddress.ip_network(text, strict=False) for text in listener.allowed_cidrs]
        names: dict[Family, str] = {}
        for family in sorted({family_of(bind.address) for bind in listener.binds}):
            names[family] = name = self._name(f"al{family}", listener.name)
            # the kernel refuses networks that overlap
            found = _collapsed(network for network in networks if network.version == family)
            self._sets[name] = SetDeclaration(text=f"type ipv{family}_addr; flags interval;", elements=found)
        return names


class _Pool:
    """One backend with its servers' shares."""

    def __init__(
        self, partition: str, backend: wire.Backend, balance: wire.DatagramBalance, down: frozenset[ServerKey]
    ) -> None:
        self._partition = partition
        self._backend = backend
        self._balance = balance
        self.chain = object_name("pl", partition, backend.name)
        self.renewals = object_name("kp", partition, backend.name)
        usable = [one for one in backend.servers if one.admin_up and (backend.name, one.name) not in down]
        primary = [one for one in usable if not one.backup]
        # as in HAProxy: backup servers serve, all together, while no other one does
        serving = primary if any(one.weight for one in primary) else [one for one in usable if one.backup]
        self._new = {one.name: one for one in serving if one.weight}
        """Servers that get new clients."""
        # a server of weight 0 keeps its flows and its bound clients
        drained = {one.name: one for one in usable if not one.weight}
        self._live = {**drained, **self._new}

    @property
    def sticky(self) -> bool:
        """Whether clients are bound to servers."""
        return self._balance.sticky_seconds > 0

    def live_targets(self, family: Family) -> frozenset[FlowTarget]:
        return frozenset(_target(one) for one in self._live.values() if family_of(one.address) == family)

    def sets(self) -> dict[str, SetDeclaration]:
        if not self.sticky:
            return {}
        return {
            self._known(one): SetDeclaration(
                text=f"type ipv{family_of(one.address)}_addr; size {STICKY_CLIENTS_MAX}; flags dynamic,timeout; "
                f"timeout {self._balance.sticky_seconds}s;"
            )
            for one in self._live.values()
        }

    def chains(self) -> dict[str, tuple[str, ...]]:
        if not self.sticky:
            return {self.chain: tuple(self._choices())}
        made = {self.chain: (*self._bonds(), *self._choices()), self.renewals: tuple(self._renewals())}
        for one in self._live.values():
            family = family_of(one.address)
            known = self._known(one)
            update = f"update @{known} {{ {self._client(family)} }}"
            made[self._name("ep", one)] = (f"{update} {self._translation(family)} {_place(one)}",)
            made[self._name("kp", one)] = (f"update @{known} {{ {self._client(family, 'ct original ')} }}",)
        return made

    def _known(self, server: wire.BackendServer) -> str:
        """Name of the set of the server's clients. It contains the set's properties, which the kernel cannot change:
        with others, rules refer to another set."""
        parts = (self._backend.name, server.name, f"{self._balance.sticky_seconds}s")
        return object_name(f"st{family_of(server.address)}", self._partition, *parts)

    def _name(self, kind: str, server: wire.BackendServer) -> str:
        return object_name(kind, self._partition, self._backend.name, server.name)

    def _bonds(self) -> Iterator[str]:
        for one in self._live.values():
            family = family_of(one.address)
            yield f"{self._client(family)} @{self._known(one)} goto {self._name('ep', one)}"

    def _renewals(self) -> Iterator[str]:
        for family in FAMILIES:
            found = [one for one in self._live.values() if family_of(one.address) == family]
            if found:
                parts = (f"{_target(one).address} . {one.port} : goto {self._name('kp', one)}" for one in found)
                yield f"{IP[family]} daddr . th dport vmap {{ {', '.join(parts)} }}"

    def _choices(self) -> Iterator[str]:
        """One rule for each family that has a server."""
        for family in FAMILIES:
            found = {name: one for name, one in self._new.items() if family_of(one.address) == family}
            if found:
                yield f"meta nfproto {NFPROTO[family]} {self._choice(family, found)}"

    def _choice(self, family: Family, servers: Mapping[str, wire.BackendServer]) -> str:
        selector, spans = self._selector(family, {name: one.weight for name, one in servers.items()})
        if self.sticky:
            parts = _map(spans, {name: f"goto {self._name('ep', one)}" for name, one in servers.items()})
            return f"{selector} vmap {{ {parts} }}"
        # nft takes address and port as a concatenation in maps, and in no other place
        parts = _map(spans, {name: f"{_target(one).address} . {one.port}" for name, one in servers.items()})
        return f"{self._translation(family)} {selector} map {{ {parts} }}"

    def _selector(self, family: Family, weights: Mapping[str, int]) -> tuple[str, Mapping[str, tuple[Span, ...]]]:
        if self._balance.choice == "weight":
            total, spans = weight_spans(weights)
            return f"numgen random mod {total}", spans
        # Port alone would be the same for many clients, address alone for all clients behind one translation.
        port = f" . {self._balance.protocol} sport" if self._balance.choice == "source_port" else ""
        seed = seed_of(self._backend.name)
        hashed = f"jhash {IP[family]} saddr{port} mod {SLOTS} seed {seed:#x}"
        return hashed, slot_spans(weights, self._backend.name)

    def _client(self, family: Family, prefix: str = "") -> str:
        mask = self._balance.sticky_netmask
        applies = bool(mask) and family_of(mask) == family
        return f"{prefix}{IP[family]} saddr" + (f" & {mask}" if applies else "")

    def _translation(self, family: Family) -> str:
        return f"meta l4proto {self._balance.protocol} dnat {IP[family]} to"


def _collapsed(networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> tuple[str, ...]:
    return tuple(str(network) for network in ipaddress.collapse_addresses(networks))  # type: ignore[type-var]


def _target(server: wire.BackendServer) -> FlowTarget:
    return FlowTarget(address=str(ipaddress.ip_address(server.address)), port=server.port)


def _place(server: wire.BackendServer) -> str:
    return host_and_port(_target(server).address, server.port)


def _map(spans: Mapping[str, tuple[Span, ...]], data: Mapping[str, str]) -> str:
    pairs = sorted((span, name) for name, found in spans.items() for span in found)
    return ", ".join(f"{_span(span)} : {data[name]}" for span, name in pairs)


def _span(span: Span) -> str:
    return f"{span[0]}" if span[0] == span[1] else f"{span[0]}-{span[1]}"
