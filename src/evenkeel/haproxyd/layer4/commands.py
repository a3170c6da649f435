"""Commands of a transaction, as the kernel's messages. Pure.

Numbers are of the kernel's ``nf_tables.h``. Data types of sets have nft's numbers, which the kernel only stores.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.layer4.base import BASE_CHAIN_HOOKS
from evenkeel.haproxyd.layer4.elements import (
    ELEMENT_SECONDS,
    SETS_FILLED_BY_PACKETS,
    SHARED_SETS,
    ElementData,
    ElementDataKind,
    ElementKey,
    FlowTarget,
    field_register_bytes,
    pack_target,
)
from evenkeel.haproxyd.layer4.netlink import (
    NetlinkMessage,
    bytes_attribute,
    nested_attribute,
    number32_attribute,
    number64_attribute,
    text_attribute,
)
from evenkeel.haproxyd.layer4.statements import ADDRESS_BYTES, Family, RuleStatements, jump_verdict, rule_text

_NEW_TABLE, _DELETE_TABLE, _NEW_CHAIN, _DELETE_CHAIN, _NEW_RULE, _DELETE_RULE = 0, 2, 3, 5, 6, 8
_NEW_SET, _DELETE_SET, _NEW_ELEMENTS, _DELETE_ELEMENTS, _NEW_OBJECT, _DELETE_OBJECT = 9, 11, 12, 14, 18, 20
_CREATE, _APPEND = 0x400, 0x800
_TABLE_ATTRIBUTE = 1
_INTERVAL, _MAP, _TIMEOUT, _DYNAMIC, _OBJECTS = 4, 8, 0x10, 0x20, 0x40
_VERDICT_TYPE = 0xFFFFFF00
_ACCEPT, _COUNTER, _INTERVAL_END, _DATA_VALUE, _ELEMENT = 1, 1, 1, 1, 1
_DATA_TYPES = {"verdict": 1, "addr4": 7, "addr6": 8, "inet_proto": 12, "inet_service": 13, "mark": 19}
_TYPE_BITS = 6
_USER_DATA = 0xE0
"""Type of the rule's digest among its user data; the command nft shows only the type of comments."""
DIGEST_BYTES = 8
ELEMENTS_BYTES_MAX = 48_000
"""Maximum size of the elements in one message: together they are one attribute, which may have 65,535 bytes."""
FILLED_ELEMENTS_MAX = 65_536
"""Maximum number of elements that rules can add to one set. Further clients are balanced without being bound to a
server.
"""


def rule_digest(rule: RuleStatements) -> bytes:
    """Return the digest, 8 bytes, that is stored with a rule in the kernel, by which the daemon recognizes
    the rule.
    """
    return hashlib.sha256(rule_text(rule).encode()).digest()[:DIGEST_BYTES]


class SetDeclaration(Value):
    """Declaration of a named nftables set of one listener or server.

    ``seconds``: how long a client stays in a set that rules fill, which never changes for a name; 0: the set
    holds ``networks``.
    """

    family: Family
    seconds: int = 0
    networks: tuple[str, ...] = ()


class TableCommand:
    """One command of an nftables transaction."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        """Yield the netlink messages that carry out the command on ``table``."""
        raise NotImplementedError

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True)
class _NamedObjectCommand(TableCommand):
    """A command about a named chain, set or counter. For a rule's command, ``name`` is the chain's."""

    name: str

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.name}"

    def payload(self, table: str) -> bytes:
        """Return the encoded attributes that name the table and the object."""
        return text_attribute(_TABLE_ATTRIBUTE, table) + text_attribute(2, self.name)


@dataclass(frozen=True)
class AddTable(TableCommand):
    """Create the table if it is not there."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _NEW_TABLE, _CREATE, text_attribute(_TABLE_ATTRIBUTE, table)


@dataclass(frozen=True)
class DeleteTable(TableCommand):
    """Remove the table with all its contents."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _DELETE_TABLE, 0, text_attribute(_TABLE_ATTRIBUTE, table)


@dataclass(frozen=True)
class AddChain(_NamedObjectCommand):
    """Create a chain, attached to its hook if it is a base chain."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        parts = [text_attribute(_TABLE_ATTRIBUTE, table), text_attribute(3, self.name)]
        if (hook := BASE_CHAIN_HOOKS.get(self.name)) is not None:
            parts.append(
                nested_attribute(
                    4, number32_attribute(1, hook.number), number32_attribute(2, hook.priority & 0xFFFFFFFF)
                )
            )
            parts += [number32_attribute(5, _ACCEPT), text_attribute(7, hook.kind)]
        yield _NEW_CHAIN, _CREATE, b"".join(parts)


@dataclass(frozen=True)
class DeleteChain(_NamedObjectCommand):
    """Remove an empty chain."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _DELETE_CHAIN, 0, text_attribute(_TABLE_ATTRIBUTE, table) + text_attribute(3, self.name)


@dataclass(frozen=True)
class FlushChain(_NamedObjectCommand):
    """Remove all rules of a chain."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _DELETE_RULE, 0, self.payload(table)


@dataclass(frozen=True)
class AddRule(_NamedObjectCommand):
    """Append a rule to a chain."""

    rule: RuleStatements

    def __str__(self) -> str:
        return f"rule of {self.name}: {rule_text(self.rule)}"

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        expressions = (each for statement in self.rule for each in statement.expressions())
        mark = rule_digest(self.rule)
        user_data = bytes_attribute(7, bytes([_USER_DATA, len(mark)]) + mark)
        yield _NEW_RULE, _CREATE | _APPEND, self.payload(table) + nested_attribute(4, *expressions) + user_data


@dataclass(frozen=True)
class AddCounter(_NamedObjectCommand):
    """Create a counter."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        zero = nested_attribute(4, number64_attribute(1, 0), number64_attribute(2, 0))
        yield _NEW_OBJECT, _CREATE, self.payload(table) + number32_attribute(3, _COUNTER) + zero


@dataclass(frozen=True)
class DeleteCounter(_NamedObjectCommand):
    """Remove a counter."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _DELETE_OBJECT, 0, self.payload(table) + number32_attribute(3, _COUNTER)


@dataclass(frozen=True)
class AddSharedSet(TableCommand):
    """Create a set or map that all partitions share, for one IP version."""

    name: str
    family: Family

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        fields, kind = SHARED_SETS[self.name]
        filled = self.name in SETS_FILLED_BY_PACKETS
        seconds = ELEMENT_SECONDS.get(self.name)
        yield _new_set_message(table, f"{self.name}{self.family}", self.family, fields, kind, seconds, filled=filled)


@dataclass(frozen=True)
class AddSet(_NamedObjectCommand):
    """Create an empty nftables set of addresses or networks that belongs to one listener or server."""

    declared: SetDeclaration

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _new_set_message(
            table, self.name, self.declared.family, ("addr",), "", self.declared.seconds, filled=True
        )


@dataclass(frozen=True)
class DeleteSet(_NamedObjectCommand):
    """Remove a set."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _DELETE_SET, 0, self.payload(table)


@dataclass(frozen=True)
class FlushSet(_NamedObjectCommand):
    """Remove all elements of a set."""

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        yield _DELETE_ELEMENTS, 0, self.payload(table)


@dataclass(frozen=True)
class AddNetworks(_NamedObjectCommand):
    """Add networks to a named set, merged where they overlap or adjoin."""

    networks: tuple[str, ...]

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        encoded = (each for span in network_spans(self.networks) for each in _span_elements(*span))
        yield from _element_messages(_NEW_ELEMENTS, _CREATE, table, self.name, encoded)


@dataclass(frozen=True)
class AddElements(_NamedObjectCommand):
    """Add elements to a shared set or map."""

    elements: tuple[tuple[ElementKey, ElementData], ...]

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        kind = SHARED_SETS[self.name[:-1]][1]
        encoded = (_encode_key(key.packed()) + _encode_data(kind, data) for key, data in self.elements)
        yield from _element_messages(_NEW_ELEMENTS, _CREATE, table, self.name, encoded)


@dataclass(frozen=True)
class DeleteElements(_NamedObjectCommand):
    """Remove elements from a shared set or map."""

    keys: tuple[ElementKey, ...]

    def messages(self, table: str) -> Iterator[NetlinkMessage]:
        encoded = (_encode_key(key.packed()) for key in self.keys)
        yield from _element_messages(_DELETE_ELEMENTS, 0, table, self.name, encoded)


# -- encoding


def _new_set_message(
    table: str,
    name: str,
    family: Family,
    fields: tuple[str, ...],
    kind: ElementDataKind,
    seconds: int | None = None,
    *,
    filled: bool = False,
) -> NetlinkMessage:
    """Return the message that creates a set, or a map of this ``kind``, with a key of ``fields``.

    ``seconds`` None: only the daemon changes the elements; 0: they are networks; more: the kernel removes an
    element after so long. ``filled``: rules may add elements, too, if ``seconds`` is more than 0.
    """
    key_type = 0
    for field in fields:
        key_type = key_type << _TYPE_BITS | _key_type(field, family)
    flags = _MAP if kind else 0
    parts = [text_attribute(_TABLE_ATTRIBUTE, table), text_attribute(2, name), number32_attribute(4, key_type)]
    parts.append(number32_attribute(5, sum(field_register_bytes(field, family) for field in fields)))
    match kind:
        case "verdict":
            parts.append(number32_attribute(6, _VERDICT_TYPE))
        case "counter":
            flags = _OBJECTS
            parts.append(number32_attribute(15, _COUNTER))
        case "target":
            data_type = _key_type("addr", family) << _TYPE_BITS | _DATA_TYPES["inet_service"]
            parts += [number32_attribute(6, data_type), number32_attribute(7, ADDRESS_BYTES[family] + 4)]
    if seconds:
        flags |= _TIMEOUT
        parts.append(number64_attribute(11, seconds * 1000))
        if filled:
            flags |= _DYNAMIC
            parts.append(nested_attribute(9, number32_attribute(1, FILLED_ELEMENTS_MAX)))
    elif seconds is not None:
        flags |= _INTERVAL
    # the id is needed only where rules of the same transaction refer to a set that has no name yet
    return _NEW_SET, _CREATE, b"".join((*parts, number32_attribute(3, flags), number32_attribute(10, 1)))


def _key_type(field: str, family: Family) -> int:
    return _DATA_TYPES[f"addr{family}" if field == "addr" else field]


def _encode_key(packed: bytes) -> bytes:
    return nested_attribute(1, bytes_attribute(_DATA_VALUE, packed))


def _encode_data(kind: ElementDataKind, data: ElementData) -> bytes:
    if kind == "verdict":
        return nested_attribute(2, jump_verdict(str(data)))
    if kind == "counter":
        return text_attribute(9, str(data))
    if isinstance(data, FlowTarget):
        return nested_attribute(2, bytes_attribute(_DATA_VALUE, pack_target(data)))
    return b""


def _element_messages(
    kind: int, flags: int, table: str, name: str, encoded: Iterable[bytes]
) -> Iterator[NetlinkMessage]:
    """Yield messages of this kind for the set or map ``name``, with all encoded elements, as few messages as
    possible.
    """
    head = text_attribute(_TABLE_ATTRIBUTE, table) + text_attribute(2, name)
    found: list[bytes] = []
    size = 0
    for each in encoded:
        element = nested_attribute(_ELEMENT, each)
        if size + len(element) > ELEMENTS_BYTES_MAX:
            yield kind, flags, head + nested_attribute(3, *found)
            found, size = [], 0
        found.append(element)
        size += len(element)
    if found:
        yield kind, flags, head + nested_attribute(3, *found)


def network_spans(networks: Iterable[str]) -> Iterator[tuple[bytes, bytes]]:
    """Merge networks of one IP version into disjoint spans, which the kernel requires, and yield each as
    (packed first address, packed address after the last); the second is empty if the span ends at the last
    address of the family.
    """
    found = [ipaddress.ip_network(each) for each in networks]
    spans: list[list[int]] = []
    for begin, count in sorted((int(each.network_address), each.num_addresses) for each in found):
        if spans and begin <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], begin + count)
        else:
            spans.append([begin, begin + count])
    size = found[0].max_prefixlen // 8 if found else 0
    for begin, end in spans:
        yield begin.to_bytes(size, "big"), b"" if end == 1 << size * 8 else end.to_bytes(size, "big")


def _span_elements(begin: bytes, end: bytes) -> Iterator[bytes]:
    yield _encode_key(begin)
    if end:
        yield _encode_key(end) + number32_attribute(3, _INTERVAL_END)
