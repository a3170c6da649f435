"""Reads the daemon's table from the kernel: enough to see that it was changed, and counters. Blocks.

Names and numbers are of the kernel's ``nf_tables.h``.
"""

import struct
import sys
from collections.abc import Mapping

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.layer4.base import fixed_chain_rules
from evenkeel.haproxyd.layer4.commands import rule_digest
from evenkeel.haproxyd.layer4.elements import (
    CONFIGURED_SET_NAMES,
    SHARED_SET_NAMES,
    FlowTarget,
    pack_element_data,
    unpack_target,
)
from evenkeel.haproxyd.layer4.netlink import (
    NFTABLES,
    NetfilterSocket,
    bytes_attribute,
    decode_attributes,
    iterate_attributes,
)
from evenkeel.haproxyd.layer4.ruleset import PartitionContent
from evenkeel.haproxyd.layer4.statements import FAMILIES

_INET_FAMILY = 1
_GET_RULE, _GET_SET, _GET_ELEMENTS, _GET_GENERATION, _GET_OBJECT, _GET_CHAIN = 7, 10, 13, 16, 19, 4
_TABLE, _NAME = 1, 2
"""Attribute numbers of chains, rules, sets and objects; a chain's own name is attribute 3."""
_CHAIN_NAME, _RULE_USER_DATA = 3, 7
_ELEMENTS_ATTRIBUTE = 3
_ELEMENT_KEY, _ELEMENT_DATA, _ELEMENT_OBJECT = 1, 2, 9
_VALUE, _VERDICT, _VERDICT_CHAIN = 1, 2, 2
_OBJECT_TYPE, _OBJECT_DATA, _COUNTER = 3, 4, 1
_COUNTER_BYTES, _COUNTER_PACKETS = 1, 2
_BYTES_FROM_NAME_TO_DATA = 8 + 12 + 8
"""Size of what stands between a counter's name and its data: type, handle and number of users."""
_COUNTER_DATA_HEADER = struct.pack("=HHHH", 28, _OBJECT_DATA, 12, _COUNTER_BYTES)
_COUNTS_STRUCT = struct.Struct("!Q4xQ")
_GENERATION_ATTRIBUTE = 1
_USER_DATA_HEADER = 2
"""Size of the type and length that stand before a rule's mark in its user data."""


class TableOutline(Value):
    """Content of an nftables table, for comparison. ``rules``: digests of the rules by chain, empty for a
    rule without one; ``sets``, ``counters``: names; ``elements``: (key, data), as bytes, by name of the
    shared set or map.
    """

    rules: Mapping[str, tuple[bytes, ...]] = {}
    sets: frozenset[str] = frozenset()
    elements: Mapping[str, frozenset[tuple[bytes, bytes]]] = {}
    counters: frozenset[str] = frozenset()


def expected_outline(contents: Mapping[str, PartitionContent]) -> TableOutline:
    """Return the outline that the table must have with these contents by partition."""
    elements: dict[str, set[tuple[bytes, bytes]]] = {name: set() for name in CONFIGURED_SET_NAMES}
    fixed = fixed_chain_rules(binds_clients=any(content.binds_clients for content in contents.values()))
    rules = {name: tuple(map(rule_digest, each)) for name, each in fixed.items()}
    for content in contents.values():
        for (name, key), data in content.elements.items():
            elements[name].add((key.packed(), pack_element_data(data)))
        rules |= {name: tuple(map(rule_digest, each)) for name, each in content.chains.items()}
    return TableOutline(
        rules=rules,
        sets=frozenset((*SHARED_SET_NAMES, *(name for content in contents.values() for name in content.sets))),
        elements={name: frozenset(found) for name, found in elements.items()},
        counters=frozenset(name for content in contents.values() for name in content.counters),
    )


class CounterValue(Value):
    """Values of a named counter of nftables: numbers of packets and bytes."""

    packets: int = 0
    bytes: int = 0


def read_generation(netfilter: NetfilterSocket) -> int:
    """Read the kernel's generation, a number that changes with each transaction on any table of this network
    namespace. Raises :class:`OSError`.
    """
    found = netfilter.get(NFTABLES, _GET_GENERATION)
    return int.from_bytes(found[_GENERATION_ATTRIBUTE], "big")


def read_table_outline(netfilter: NetfilterSocket, table: str) -> TableOutline:
    """Read the outline of the kernel's table; empty if there is no such table. Raises :class:`OSError`."""
    in_table = bytes_attribute(_TABLE, table.encode() + b"\0")
    rules: dict[str, list[bytes]] = {}
    for found in netfilter.dump(NFTABLES, _GET_CHAIN, family=_INET_FAMILY):
        if _decode_text(found[_TABLE]) == table:
            rules[_decode_text(found[_CHAIN_NAME])] = []
    if not rules:
        # The daemon's table always has chains; of a table that is not there, sets cannot be asked for.
        return TableOutline()
    for found in netfilter.dump(NFTABLES, _GET_RULE, family=_INET_FAMILY, payload=in_table):
        rules.setdefault(_decode_text(found[_NAME]), []).append(_stored_rule_digest(found))
    sets = [
        _decode_text(found[_NAME])
        for found in netfilter.dump(NFTABLES, _GET_SET, family=_INET_FAMILY, payload=in_table)
    ]
    return TableOutline(
        rules={name: tuple(marks) for name, marks in rules.items()},
        sets=frozenset(sets),
        elements={name: _read_elements(netfilter, table, name) for name in CONFIGURED_SET_NAMES if name in sets},
        counters=frozenset(read_counters(netfilter, table)),
    )


def read_counters(netfilter: NetfilterSocket, table: str) -> dict[str, CounterValue]:
    """Read the named counters of the table, ``{name: values}``; empty if the table is gone. Raises
    :class:`OSError`.
    """
    try:
        return _read_counters(netfilter, table)
    except FileNotFoundError:
        return {}


def read_refusing_servers(netfilter: NetfilterSocket, table: str) -> frozenset[FlowTarget]:
    """Read which servers refused a client's datagram in the last seconds; empty without a table. Raises
    :class:`OSError`.
    """
    try:
        keys = [key for family in FAMILIES for key, _ in _read_elements(netfilter, table, f"refused{family}")]
    except FileNotFoundError:
        return frozenset()
    return frozenset(unpack_target(key) for key in keys)


def _read_counters(netfilter: NetfilterSocket, table: str) -> dict[str, CounterValue]:
    in_table = bytes_attribute(_TABLE, table.encode() + b"\0")
    payload = in_table + bytes_attribute(_OBJECT_TYPE, struct.pack("!I", _COUNTER))
    found = netfilter.dump_contents(NFTABLES, _GET_OBJECT, family=_INET_FAMILY, payload=payload)
    return dict(decode_counter(content, len(in_table)) for content in found)


def decode_counter(content: bytes, name_at: int) -> tuple[str, CounterValue]:
    """Return the name and values of a counter from the kernel's answer. ``name_at``: offset of the name's
    attribute in ``content``.
    """
    # Fifteen thousand of them are read every few seconds: in the usual order of attributes, without a search.
    length = int.from_bytes(content[name_at : name_at + 2], sys.byteorder)
    data_at = name_at + length + (-length % 4) + _BYTES_FROM_NAME_TO_DATA
    if content[data_at : data_at + 8] == _COUNTER_DATA_HEADER:
        count, packets = _COUNTS_STRUCT.unpack_from(content, data_at + 8)
        return content[name_at + 4 : name_at + length - 1].decode(), CounterValue(packets=packets, bytes=count)
    attributes_of = decode_attributes(content)
    data = decode_attributes(attributes_of[_OBJECT_DATA])
    return _decode_text(attributes_of[_NAME]), CounterValue(
        packets=int.from_bytes(data[_COUNTER_PACKETS], "big"), bytes=int.from_bytes(data[_COUNTER_BYTES], "big")
    )


def _read_elements(netfilter: NetfilterSocket, table: str, name: str) -> frozenset[tuple[bytes, bytes]]:
    payload = bytes_attribute(_TABLE, table.encode() + b"\0") + bytes_attribute(_NAME, name.encode() + b"\0")
    found = netfilter.dump(NFTABLES, _GET_ELEMENTS, family=_INET_FAMILY, payload=payload)
    return frozenset(_parse_element(each) for part in found for each in _list_items(part))


def _parse_element(content: bytes) -> tuple[bytes, bytes]:
    """Return the key and data of an element as bytes; the data are a chain's name in a verdict map, a
    counter's in a counter map, and empty in a set.
    """
    parts = decode_attributes(content)
    key = decode_attributes(parts[_ELEMENT_KEY])[_VALUE]
    if _ELEMENT_OBJECT in parts:
        return key, parts[_ELEMENT_OBJECT].rstrip(b"\0")
    data = decode_attributes(parts.get(_ELEMENT_DATA, b""))
    if _VERDICT in data:
        return key, decode_attributes(data[_VERDICT]).get(_VERDICT_CHAIN, b"").rstrip(b"\0")
    return key, data.get(_VALUE, b"")


def _stored_rule_digest(rule: Mapping[int, bytes]) -> bytes:
    return rule.get(_RULE_USER_DATA, b"")[_USER_DATA_HEADER:]


def _list_items(attributes: Mapping[int, bytes]) -> list[bytes]:
    return [value for _, value in iterate_attributes(attributes.get(_ELEMENTS_ATTRIBUTE, b""))]


def _decode_text(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="replace")
