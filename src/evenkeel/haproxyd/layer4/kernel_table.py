"""Reads the daemon's table from the kernel: enough to see that it was changed, and counters. Blocks.

Names and numbers are of the kernel's ``nf_tables.h``.
"""

import struct
from collections import Counter
from collections.abc import Mapping

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.layer4.netlink import NFTABLES, Netfilter, all_attributes, attribute, attributes
from evenkeel.haproxyd.layer4.ruleset import FAMILIES, Content
from evenkeel.haproxyd.layer4.transaction import BASE, SHARED, base_rules

_INET = 1
_GET_RULE, _GET_SET, _GET_ELEMENTS, _GET_GENERATION, _GET_OBJECT, _GET_CHAIN = 7, 10, 13, 16, 19, 4
_TABLE, _NAME = 1, 2
"""Attributes of chains, rules, sets and objects; a chain's name is its attribute 3."""
_CHAIN_NAME, _RULE_HANDLE = 3, 3
_ELEMENTS = 3
_OBJECT_TYPE, _OBJECT_DATA, _COUNTER = 3, 4, 1
_COUNTER_BYTES, _COUNTER_PACKETS = 1, 2
_GENERATION = 1


class TableState(Value):
    """A comparable view of the table. ``rules``: handles of the rules by chain; ``sets``: names; ``elements``: number
    of elements of each shared set and map; ``counters``: names."""

    rules: Mapping[str, tuple[int, ...]] = {}
    sets: frozenset[str] = frozenset()
    elements: Mapping[str, int] = {}
    counters: frozenset[str] = frozenset()

    def outline(self) -> "Outline":
        """The part that can be compared with contents: names and numbers, without handles."""
        return Outline(
            rules={name: len(handles) for name, handles in self.rules.items()},
            sets=self.sets,
            elements=self.elements,
            counters=self.counters,
        )


class Outline(Value):
    """Names and numbers of the objects in the table."""

    rules: Mapping[str, int] = {}
    sets: frozenset[str] = frozenset()
    elements: Mapping[str, int] = {}
    counters: frozenset[str] = frozenset()


def outline_of(contents: Mapping[str, Content]) -> Outline:
    """The outline of a table with these contents."""
    elements: Counter[str] = Counter()
    for content in contents.values():
        elements.update(name for name, _ in content.elements)
    shared = [f"{name}{family}" for name in SHARED for family in FAMILIES]
    rules = {name: len(base_rules(name)) for name in BASE}
    for content in contents.values():
        rules |= {name: len(each) for name, each in content.chains.items()}
    return Outline(
        rules=rules,
        sets=frozenset((*shared, *(name for content in contents.values() for name in content.sets))),
        elements={name: elements[name] for name in shared},
        counters=frozenset(name for content in contents.values() for name in content.counters),
    )


class CounterValue(Value):
    """A named counter."""

    packets: int = 0
    bytes: int = 0


def generation(netfilter: Netfilter) -> int:
    """Number that grows with each transaction on any table of this network namespace. Raises :class:`OSError`."""
    found = netfilter.get(NFTABLES, _GET_GENERATION)
    return int.from_bytes(found[_GENERATION], "big")


def read_table(netfilter: Netfilter, table: str) -> TableState:
    """The state of the table; empty if there is none. Raises :class:`OSError`."""
    in_table = attribute(_TABLE, table.encode() + b"\0")
    rules: dict[str, list[int]] = {}
    for found in netfilter.dump(NFTABLES, _GET_CHAIN, family=_INET):
        if _text(found[_TABLE]) == table:
            rules[_text(found[_CHAIN_NAME])] = []
    if not rules:
        # The daemon's table always has chains; of a table that is not there, sets cannot be asked for.
        return TableState()
    for found in netfilter.dump(NFTABLES, _GET_RULE, family=_INET, payload=in_table):
        rules.setdefault(_text(found[_NAME]), []).append(int.from_bytes(found[_RULE_HANDLE], "big"))
    sets = [
        _text(found[_NAME])
        for found in netfilter.dump(NFTABLES, _GET_SET, family=_INET, payload=in_table)
        # the sets in rules have names of the kernel's own
        if not _text(found[_NAME]).startswith("__")
    ]
    shared = [name for name in (f"{each}{family}" for each in SHARED for family in FAMILIES) if name in sets]
    return TableState(
        rules={name: tuple(handles) for name, handles in rules.items()},
        sets=frozenset(sets),
        elements={name: _element_count(netfilter, table, name) for name in shared},
        counters=frozenset(read_counters(netfilter, table)),
    )


def read_counters(netfilter: Netfilter, table: str) -> dict[str, CounterValue]:
    """The named counters of the table; none if it is gone. Raises :class:`OSError`."""
    try:
        return _counters(netfilter, table)
    except FileNotFoundError:
        return {}


def _counters(netfilter: Netfilter, table: str) -> dict[str, CounterValue]:
    payload = attribute(_TABLE, table.encode() + b"\0") + attribute(_OBJECT_TYPE, struct.pack("!I", _COUNTER))
    counters: dict[str, CounterValue] = {}
    for found in netfilter.dump(NFTABLES, _GET_OBJECT, family=_INET, payload=payload):
        data = attributes(found[_OBJECT_DATA])
        counters[_text(found[_NAME])] = CounterValue(
            packets=int.from_bytes(data[_COUNTER_PACKETS], "big"), bytes=int.from_bytes(data[_COUNTER_BYTES], "big")
        )
    return counters


def _element_count(netfilter: Netfilter, table: str, name: str) -> int:
    payload = attribute(_TABLE, table.encode() + b"\0") + attribute(_NAME, name.encode() + b"\0")
    found = netfilter.dump(NFTABLES, _GET_ELEMENTS, family=_INET, payload=payload)
    return sum(len(list(_list_of(each))) for each in found)


def _list_of(found: Mapping[int, bytes]) -> list[bytes]:
    return [value for _, value in all_attributes(found.get(_ELEMENTS, b""))]


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="replace")
