"""The commands that bring the table from one content to another, as one transaction. Pure.

Order: elements that refer to chains go before the chains, chains before the sets that their rules use, and all come
back in the reverse order; otherwise the kernel refuses the whole transaction ("busy").
"""

from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

from evenkeel.haproxyd.layer4 import commands
from evenkeel.haproxyd.layer4.base import BASE_CHAIN_RULES, BIND_CHAIN, BIND_CHAIN_RULES
from evenkeel.haproxyd.layer4.commands import TableCommand
from evenkeel.haproxyd.layer4.elements import SHARED_SETS, ElementData, ElementKey, VirtualService, address_family
from evenkeel.haproxyd.layer4.ruleset import PartitionContent
from evenkeel.haproxyd.layer4.statements import FAMILIES

T = TypeVar("T")
ContentChanges = Collection[tuple[PartitionContent, PartitionContent]]


def replacement_commands(contents: Collection[PartitionContent]) -> Iterator[TableCommand]:
    """Yield the commands of a transaction that replaces the table by one with these contents,
    whatever it contains now.
    """
    # created first, because what is not there cannot be deleted
    yield from (commands.AddTable(), commands.DeleteTable(), commands.AddTable())
    yield from (commands.AddSharedSet(name, family) for name in SHARED_SETS for family in FAMILIES)
    yield from (commands.AddChain(name) for name in BASE_CHAIN_RULES)
    yield from (commands.AddRule(name, rule) for name, rules in BASE_CHAIN_RULES.items() for rule in rules)
    if any(content.binds_clients for content in contents):
        yield from _bind_chain_commands()
    yield from _addition_commands([(PartitionContent(), content) for content in contents])


def change_commands(steps: ContentChanges, *, others_bind: bool = False) -> Iterator[TableCommand]:
    """Yield the commands of a transaction that changes each partition's content from the first of its pair to
    the second; none if nothing differs.

    ``others_bind``: whether a partition that is not in ``steps`` binds clients to servers.
    """
    bound, binds = (others_bind or any(pair[place].binds_clients for pair in steps) for place in (0, 1))
    yield from _removal_commands(steps)
    if bound and not binds:
        yield from (commands.FlushChain(BIND_CHAIN), commands.DeleteChain(BIND_CHAIN))
    yield from _addition_commands(steps)
    if binds and not bound:
        yield from _bind_chain_commands()
    for name, elements in _group_by_map(_elements_for_ended_servers(steps)):
        yield commands.AddElements(name, tuple(dict.fromkeys(elements)))


def _bind_chain_commands() -> Iterator[TableCommand]:
    yield commands.AddChain(BIND_CHAIN)
    yield from (commands.AddRule(BIND_CHAIN, rule) for rule in BIND_CHAIN_RULES)


def _removal_commands(steps: ContentChanges) -> Iterator[TableCommand]:
    removed = (
        (name, key)
        for old, new in steps
        for (name, key), data in old.elements.items()
        if new.elements.get((name, key)) != data
    )
    for name, keys in _group_by_map(removed):
        yield commands.DeleteElements(name, tuple(keys))
    for old, new in steps:
        yield from (commands.FlushChain(name) for name, rules in old.chains.items() if new.chains.get(name) != rules)
    for old, new in steps:
        yield from (commands.DeleteChain(name) for name in old.chains if name not in new.chains)
        for name, declared in old.sets.items():
            if name not in new.sets:
                yield commands.DeleteSet(name)
            elif declared != new.sets[name]:
                yield commands.FlushSet(name)
        yield from (commands.DeleteCounter(name) for name in sorted(old.counters - new.counters))


def _addition_commands(steps: ContentChanges) -> Iterator[TableCommand]:
    for old, new in steps:
        yield from (commands.AddCounter(name) for name in sorted(new.counters - old.counters))
        for name, declared in new.sets.items():
            if name not in old.sets:
                yield commands.AddSet(name, declared)
            if declared.networks and declared != old.sets.get(name):
                yield commands.AddNetworks(name, declared.networks)
        yield from (commands.AddChain(name) for name in new.chains if name not in old.chains)
    for old, new in steps:
        for name, rules in new.chains.items():
            if old.chains.get(name) != rules:
                yield from (commands.AddRule(name, rule) for rule in rules)
    added: Iterable[tuple[str, tuple[ElementKey, ElementData]]] = (
        (name, (key, data))
        for old, new in steps
        for (name, key), data in new.elements.items()
        if old.elements.get((name, key)) != data
    )
    for name, elements in _group_by_map(added):
        yield commands.AddElements(name, tuple(elements))


def _elements_for_ended_servers(steps: ContentChanges) -> Iterator[tuple[str, tuple[ElementKey, ElementData]]]:
    """Yield (set, element) for servers whose flows end and that see clients' addresses, so that the kernel
    drops their late answers. Late answers of other servers come to this host, which does not use them.
    """
    for old, new in steps:
        for service, servers in old.flows.items():
            family = address_family(service.address)
            if (f"direct{family}", ElementKey(service=service)) in old.elements:
                for one in sorted(servers - new.flows.get(service, frozenset()), key=lambda one: one.text):
                    left = VirtualService(protocol=service.protocol, address=one.address, port=one.port)
                    yield f"gone{family}", (ElementKey(service=left), "")


def _group_by_map(elements: Iterable[tuple[str, T]]) -> Iterator[tuple[str, list[T]]]:
    """Group elements by the set or map that holds them, sorted by its name, because one command for all
    elements of a map costs least.
    """
    found: dict[str, list[T]] = {}
    for name, element in elements:
        found.setdefault(name, []).append(element)
    yield from sorted(found.items(), key=lambda pair: pair[0])
