"""The content of the daemon's nftables table: what one partition's load balancers contribute. Pure.

A listener is elements of the shared maps (:mod:`.elements`): the server of each number that a flow may draw,
and counters. Chains and sets of its own come with features that need them:

========  ==================================================================================================
object    what it is
========  ==================================================================================================
``vs-``   chain of a listener with allowed clients, a limit of flows, or bound clients
``pl-``   chain of a pool that binds clients: to the server of a bound client
``st-``   set of the clients that are bound to a server
``kp-``   chain of a server that binds the clients of its packets
``al-``   set of a listener's allowed networks, one for each family
``in-``   counters of a listener: received, sent, and (``new-``) flows; ``out-``, ``new-``
``is-``   counter without traffic, whose name has the digest of the partition's content: what the kernel holds
========  ==================================================================================================

Each name contains the partition's, or is a digest of a text that does, so that tenants' objects do not collide.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.commands import SetDeclaration
from evenkeel.haproxyd.layer4.elements import (
    ElementData,
    ElementKey,
    FlowTarget,
    VirtualService,
    address_family,
    element_data_text,
)
from evenkeel.haproxyd.layer4.statements import (
    FAMILIES,
    REJECT_PORT_UNREACHABLE,
    AddKeyToSet,
    CountInCounter,
    Family,
    HasMoreFlowsThan,
    IsOfFamily,
    KeyInSet,
    RuleStatements,
    TranslateTo,
    goto_chain,
    original_source_address,
    rule_text,
    source_address,
)
from evenkeel.haproxyd.layer4.weighted_numbers import assign_numbers

NAME_CHARS_MAX = 120

ServerKey = tuple[str, str]
"""Backend name and server name."""


class PartitionContent(Value):
    """Content of one partition in the daemon's nftables table.

    ``counters``: names; ``sets`` and ``chains``: by name; ``elements``: data of the elements of shared maps
    and sets, by (map, key); ``flows``: servers whose flows may go on, by service; ``clients``: allowed
    networks, for services that restrict clients; ``binds_clients``: whether a pool binds clients to servers.
    """

    counters: frozenset[str] = frozenset()
    sets: Mapping[str, SetDeclaration] = {}
    chains: Mapping[str, tuple[RuleStatements, ...]] = {}
    elements: Mapping[tuple[str, ElementKey], ElementData] = {}
    flows: Mapping[VirtualService, frozenset[FlowTarget]] = {}
    clients: Mapping[VirtualService, tuple[str, ...]] = {}
    binds_clients: bool = False


def partition_content(
    partition: str,
    load_balancers: Iterable[wire.LoadBalancerConfig],
    down: frozenset[ServerKey] = frozenset(),
    *,
    direct_return: bool = False,
) -> PartitionContent:
    """Return what a partition has in the nftables table; load balancers without datagram listeners add
    nothing.

    ``down``: servers that health checks found down; ``direct_return``: whether servers see the clients' addresses.
    """
    made = _ContentBuilder(partition, direct=direct_return)
    for one in sorted(load_balancers, key=lambda one: one.id):
        if one.datagram_listeners:
            made.add(one, down)
    return made.content()


def object_name(kind: str, *parts: str) -> str:
    """Return the name of an object in the nftables table: kind and parts, with ``:`` replaced, which nftables
    does not allow; a digest of them if the name would be over :data:`NAME_CHARS_MAX`.
    """
    text = f"{kind}-{'/'.join(part.replace(':', '//') for part in parts)}"
    # nft and the kernel accept longer ones, but not as long as all parts together may be
    return text if len(text) <= NAME_CHARS_MAX else f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def listener_service(listener: wire.DatagramListener, bind: wire.Bind) -> VirtualService:
    """Return the service (protocol, address, port) at one of a listener's addresses, in canonical notation."""
    return VirtualService(protocol=listener.protocol, address=str(ipaddress.ip_address(bind.address)), port=bind.port)


def listener_services(listener: wire.DatagramListener) -> Iterator[VirtualService]:
    """Yield the services at all addresses of a listener, in the order of its configuration."""
    return (listener_service(listener, bind) for bind in listener.binds)


def listener_counters(partition: str, listener: str) -> tuple[str, str, str]:
    """Return the names of a listener's counters: those of received and of sent bytes, and that of new flows."""
    received, sent, flows = (object_name(kind, partition, listener) for kind in ("in", "out", "new"))
    return received, sent, flows


class _ContentBuilder:
    """Collects what the load balancers of one partition need in the nftables table."""

    def __init__(self, partition: str, *, direct: bool) -> None:
        self._partition = partition
        self._direct = direct
        self._counters: set[str] = set()
        self._sets: dict[str, SetDeclaration] = {}
        self._chains: dict[str, tuple[RuleStatements, ...]] = {}
        self._elements: dict[tuple[str, ElementKey], ElementData] = {}
        self._flows: dict[VirtualService, frozenset[FlowTarget]] = {}
        self._clients: dict[VirtualService, tuple[str, ...]] = {}

    def content(self) -> PartitionContent:
        if not self._counters:
            return PartitionContent()
        mark = object_name("is", self._partition, self._content_digest())
        return PartitionContent(
            counters=frozenset((*self._counters, mark)),
            sets=self._sets,
            chains=self._chains,
            elements=self._elements,
            flows=self._flows,
            clients=self._clients,
            binds_clients=any(name.startswith("bonds") for name, _ in self._elements),
        )

    def _content_digest(self) -> str:
        """Return a digest of all objects, 32 hexadecimal digits. As part of a counter's name it changes in
        the same transaction as any object, so that a daemon that starts sees whether the kernel holds what
        it should.
        """
        parts = (
            sorted(self._counters),
            sorted((name, repr(declared)) for name, declared in self._sets.items()),
            sorted((name, [rule_text(rule) for rule in rules]) for name, rules in self._chains.items()),
            sorted((name, key.text, element_data_text(data)) for (name, key), data in self._elements.items()),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def add(self, load_balancer: wire.LoadBalancerConfig, down: frozenset[ServerKey]) -> None:
        pools = {
            backend.name: _DatagramPool(self._partition, backend, balance, down)
            for backend in load_balancer.backends
            if (balance := backend.datagrams) is not None
        }
        for listener in load_balancer.datagram_listeners:
            self._add_listener(listener, pools.get(listener.backend))
        used = {listener.backend for listener in load_balancer.datagram_listeners}
        for name in sorted(used & pools.keys()):
            self._sets |= pools[name].sets()
            self._chains |= pools[name].chains()

    def _name(self, kind: str, *parts: str) -> str:
        return object_name(kind, self._partition, *parts)

    def _add_listener(self, listener: wire.DatagramListener, pool: "_DatagramPool | None") -> None:
        received, sent, flows = listener_counters(self._partition, listener.name)
        self._counters.update((received, sent, flows))
        allowed = self._allowed_networks_sets(listener)
        chain = self._add_chain(listener, pool, flows, allowed)
        for bind in listener.binds:
            family, service = address_family(bind.address), listener_service(listener, bind)
            key = ElementKey(service=service)
            data = {"owned": "", "in": received, "out": sent}
            data |= {"direct": ""} if self._direct else {}
            data |= {"new": flows} if pool is not None and not pool.binds_clients else {}
            self._elements |= {(f"{name}{family}", key): each for name, each in data.items()}
            if chain:
                self._elements[f"services{family}", key] = chain
            if pool is not None:
                self._elements |= pool.elements(service, family)
            if family in allowed:
                self._clients[service] = self._sets[allowed[family]].networks
            self._flows[service] = pool.live_targets(family) if pool is not None else frozenset()

    def _add_chain(
        self, listener: wire.DatagramListener, pool: "_DatagramPool | None", flows: str, allowed: Mapping[Family, str]
    ) -> str:
        """Add the listener's chain, which only the first packet of a flow passes, and return its name; empty
        if the listener needs none. ``flows``: name of the counter of flows; ``allowed``: names of the sets
        of allowed networks.
        """
        rules: list[RuleStatements] = [
            (IsOfFamily(family), KeyInSet((source_address(family),), name, inverted=True), REJECT_PORT_UNREACHABLE)
            for family, name in allowed.items()
        ]
        if listener.flows_max is not None:
            # The rule is replaced only with the limit, and not with servers, so that the kernel's list of flows stays.
            rules.append((HasMoreFlowsThan(listener.flows_max), REJECT_PORT_UNREACHABLE))
        if pool is not None and pool.binds_clients:
            # clients that are bound do not come back from there to where other flows are counted
            rules.append((CountInCounter(flows), goto_chain(pool.chain)))
        if not rules:
            return ""
        chain = self._name("vs", listener.name)
        self._chains[chain] = tuple(rules)
        return chain

    def _allowed_networks_sets(self, listener: wire.DatagramListener) -> dict[Family, str]:
        """Add the sets of the listener's allowed networks, and return ``{IP version: name}``; empty: all
        clients are allowed.
        """
        if not listener.allowed_cidrs:
            return {}
        networks = [ipaddress.ip_network(text, strict=False) for text in listener.allowed_cidrs]
        names: dict[Family, str] = {}
        for family in sorted({address_family(bind.address) for bind in listener.binds}):
            names[family] = name = self._name(f"al{family}", listener.name)
            # the kernel refuses networks that overlap
            found = _collapse_networks(network for network in networks if network.version == family)
            self._sets[name] = SetDeclaration(family=family, networks=found)
        return names


class _DatagramPool:
    """One backend for datagrams: its servers that get new flows, and those that only keep theirs."""

    def __init__(
        self, partition: str, backend: wire.Backend, balance: wire.DatagramBalance, down: frozenset[ServerKey]
    ) -> None:
        self._partition = partition
        self._backend = backend
        self._balance = balance
        self.chain = object_name("pl", partition, backend.name)
        usable = [one for one in backend.servers if one.admin_up and (backend.name, one.name) not in down]
        primary = [one for one in usable if not one.backup]
        # as in HAProxy: backup servers serve, all together, while no other one does
        serving = primary if any(one.weight for one in primary) else [one for one in usable if one.backup]
        self._new = {one.name: one for one in serving if one.weight}
        """Servers that get new clients, by name."""
        # a server of weight 0 keeps its flows and its bound clients
        drained = {one.name: one for one in usable if not one.weight}
        self._live = {**drained, **self._new}
        self._numbers = {family: self._server_numbers(family) for family in FAMILIES}

    @property
    def binds_clients(self) -> bool:
        """Whether clients are bound to servers."""
        return self._balance.sticky_seconds > 0

    def live_targets(self, family: Family) -> frozenset[FlowTarget]:
        """Return the servers of an IP version whose flows may go on: those that get new flows, and those of
        weight 0.
        """
        return frozenset(server_target(one) for one in self._live_servers(family))

    def elements(self, service: VirtualService, family: Family) -> dict[tuple[str, ElementKey], ElementData]:
        """Return the elements of one service in the shared maps: the server of each number, and, for bound
        clients, the chain of each server.
        """
        made: dict[tuple[str, ElementKey], ElementData] = {
            (f"slots{family}", ElementKey(service=service, number=number)): server_target(self._new[name])
            for number, name in self._numbers[family].items()
        }
        if self.binds_clients:
            for server in self._live_servers(family):
                made[f"bonds{family}", ElementKey(service=service, server=server_target(server))] = self._name(
                    "kp", server
                )
        return made

    def sets(self) -> dict[str, SetDeclaration]:
        """Return ``{name: declaration}`` of the sets of clients that are bound to each server; empty unless
        clients are bound.
        """
        if not self.binds_clients:
            return {}
        return {
            self._client_set_name(one): SetDeclaration(
                family=address_family(one.address), seconds=self._balance.sticky_seconds
            )
            for one in self._live.values()
        }

    def chains(self) -> dict[str, tuple[RuleStatements, ...]]:
        """Return ``{name: rules}`` of the chain that sends bound clients to their server, and of each
        server's chain that binds clients; empty unless clients are bound.
        """
        if not self.binds_clients:
            return {}
        made: dict[str, tuple[RuleStatements, ...]] = {self.chain: tuple(self._client_binding_rules())}
        for one in self._live.values():
            family = address_family(one.address)
            client = AddKeyToSet(
                (original_source_address(family),), self._client_set_name(one), mask=self._family_mask(family)
            )
            made[self._name("kp", one)] = ((IsOfFamily(family), client),)
        return made

    def _server_numbers(self, family: Family) -> dict[int, str]:
        weights = {name: one.weight for name, one in self._new.items() if address_family(one.address) == family}
        return assign_numbers(self._balance.choice, weights, self._backend.name)

    def _live_servers(self, family: Family) -> list[wire.BackendServer]:
        return [one for one in self._live.values() if address_family(one.address) == family]

    def _client_set_name(self, server: wire.BackendServer) -> str:
        """Return the name of the set of clients that are bound to the server. The name contains the set's
        time-out, which the kernel cannot change: with another one, rules refer to another set.
        """
        parts = (self._backend.name, server.name, f"{self._balance.sticky_seconds}s")
        return object_name(f"st{address_family(server.address)}", self._partition, *parts)

    def _name(self, kind: str, server: wire.BackendServer) -> str:
        return object_name(kind, self._partition, self._backend.name, server.name)

    def _client_binding_rules(self) -> Iterator[RuleStatements]:
        for one in self._live.values():
            family = address_family(one.address)
            known = KeyInSet((source_address(family),), self._client_set_name(one), mask=self._family_mask(family))
            target = server_target(one)
            yield IsOfFamily(family), known, TranslateTo(target.address, target.port)

    def _family_mask(self, family: Family) -> str:
        mask = self._balance.sticky_netmask
        return mask if mask and address_family(mask) == family else ""


def _collapse_networks(networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> tuple[str, ...]:
    return tuple(str(network) for network in ipaddress.collapse_addresses(networks))  # type: ignore[type-var]


def server_target(server: wire.BackendServer) -> FlowTarget:
    """Return the address and port of a server, the address in canonical notation."""
    return FlowTarget(address=str(ipaddress.ip_address(server.address)), port=server.port)
