"""Statements of rules: each in nft's notation, as ``nft list`` prints it, and as the kernel's expressions. Pure.

Numbers are of the kernel's ``nf_tables.h``. A rule belongs to one family of addresses, or to both if it reads none.
"""

import ipaddress
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from evenkeel.core.networking.addresses import host_and_port
from evenkeel.haproxyd.layer4.netlink import bytes_attribute, nested_attribute, number32_attribute, text_attribute

Family = int
FAMILIES: tuple[Family, ...] = (4, 6)
NFT_FAMILY_NAMES = {4: "ip", 6: "ip6"}
ADDRESS_BYTES = {4: 4, 6: 16}
_NFPROTO = {4: 2, 6: 10}
_FIRST_REGISTER = 8
"""The first of 16 registers of four bytes."""
_HASH_REGISTER = 18
"""First register of a hash's input: behind the longest key that contains a hash."""
_VERDICT_REGISTER = 0
_RANDOM_TYPE = 1
_EXPRESSION, _EXPRESSION_NAME, _EXPRESSION_DATA = 1, 1, 2
_NETWORK, _TRANSPORT = 1, 2
_DATA_VALUE, _DATA_VERDICT, _VERDICT_CODE, _VERDICT_CHAIN = 1, 2, 1, 2
_JUMP, _GOTO, _DROP = -3, -4, 0
PROTOCOL_NUMBERS = {"udp": 17, "sctp": 132, "tcp": 6}


class Statement(Protocol):
    """One condition or action of an nftables rule."""

    @property
    def text(self) -> str:
        """The statement in nft's notation."""
        ...

    def expressions(self) -> Iterator[bytes]:
        """Yield the kernel's expressions for the statement, encoded as netlink attributes."""
        ...


RuleStatements = tuple[Statement, ...]


def rule_text(rule: RuleStatements) -> str:
    """Return a rule in nft's notation; statements that nft does not print are left out."""
    return " ".join(each.text for each in rule if each.text)


# -- what keys are made of


@dataclass(frozen=True)
class PacketField:
    """A field of a packet, or of the flow to which the packet belongs."""

    text: str
    size: int
    """Size of the field in bytes."""
    name: str
    parameters: tuple[bytes, ...]

    @property
    def registers(self) -> int:
        """Number of four-byte registers that the field takes."""
        return -(-self.size // 4)

    def load(self, register: int) -> Iterator[bytes]:
        """Yield the expression that reads the field into registers, beginning at ``register``."""
        yield encode_expression(self.name, number32_attribute(1, register), *self.parameters)


def _payload_field(text: str, base: int, offset: int, size: int) -> PacketField:
    return PacketField(
        text, size, "payload", (number32_attribute(2, base), number32_attribute(3, offset), number32_attribute(4, size))
    )


def _flow_field(text: str, key: int, size: int, direction: int = 0) -> PacketField:
    return PacketField(text, size, "ct", (number32_attribute(2, key), bytes_attribute(3, bytes([direction]))))


def source_address(family: Family) -> PacketField:
    """Return the field with the packet's source address."""
    return _payload_field(f"{NFT_FAMILY_NAMES[family]} saddr", _NETWORK, {4: 12, 6: 8}[family], ADDRESS_BYTES[family])


def destination_address(family: Family) -> PacketField:
    """Return the field with the packet's destination address."""
    return _payload_field(f"{NFT_FAMILY_NAMES[family]} daddr", _NETWORK, {4: 16, 6: 24}[family], ADDRESS_BYTES[family])


def original_source_address(family: Family) -> PacketField:
    """Return the field with the source address of the flow's first packet: the client's."""
    return _flow_field(f"ct original {NFT_FAMILY_NAMES[family]} saddr", {4: 19, 6: 21}[family], ADDRESS_BYTES[family])


def original_destination_address(family: Family) -> PacketField:
    """Return the field with the destination address of the flow's first packet: the VIP."""
    return _flow_field(f"ct original {NFT_FAMILY_NAMES[family]} daddr", {4: 20, 6: 22}[family], ADDRESS_BYTES[family])


SOURCE_PORT = _payload_field("th sport", _TRANSPORT, 0, 2)
DESTINATION_PORT = _payload_field("th dport", _TRANSPORT, 2, 2)
ORIGINAL_PORT = _flow_field("ct original proto-dst", 12, 2)
REPLY_PORT = _flow_field("ct reply proto-src", 11, 2, 1)
"""Field with the source port of the flow's answers: the server's port."""
_ICMP_ERROR = _payload_field("icmp type, code", _TRANSPORT, 0, 2)
PACKET_PROTOCOL = PacketField("meta l4proto", 1, "meta", (number32_attribute(2, 16),))


@dataclass(frozen=True)
class RandomNumber:
    """Part of a key: a random number from ``offset`` up to ``offset + below - 1``."""

    below: int
    offset: int
    registers = 1

    @property
    def text(self) -> str:
        return f"numgen random mod {self.below} offset {self.offset}"

    def load(self, register: int) -> Iterator[bytes]:
        """Yield the expression that puts a random number into ``register``."""
        numbers = (register, self.below, _RANDOM_TYPE, self.offset)
        yield encode_expression(
            "numgen", *(number32_attribute(place, number) for place, number in enumerate(numbers, 1))
        )


@dataclass(frozen=True)
class HashedNumber:
    """Part of a key: a number from ``offset`` up to ``offset + below - 1`` that is the same for equal values of
    ``fields``.
    """

    fields: tuple[PacketField, ...]
    below: int
    seed: int
    offset: int
    registers = 1

    @property
    def text(self) -> str:
        return f"jhash {_join_texts(self.fields)} mod {self.below} seed {self.seed:#x} offset {self.offset}"

    def load(self, register: int) -> Iterator[bytes]:
        """Yield the expressions that hash the fields and put the number into ``register``."""
        yield from load_registers(self.fields, _HASH_REGISTER)
        length = 4 * sum(field.registers for field in self.fields)
        numbers = (_HASH_REGISTER, register, length, self.below, self.seed, self.offset, 0)
        yield encode_expression("hash", *(number32_attribute(place, number) for place, number in enumerate(numbers, 1)))


KeyPart = PacketField | RandomNumber | HashedNumber


def load_registers(parts: Sequence[KeyPart], register: int = _FIRST_REGISTER) -> Iterator[bytes]:
    """Yield the expressions that read the parts of a key into consecutive four-byte registers, beginning at
    ``register``.
    """
    for part in parts:
        yield from part.load(register)
        register += part.registers


def _join_texts(parts: Sequence[KeyPart]) -> str:
    return " . ".join(part.text for part in parts)


# -- conditions


@dataclass(frozen=True)
class IsOfFamily:
    """Condition: the packet is of this IP version. The statement's text is empty, because nft does not print
    the condition where an address of the same version follows.
    """

    family: Family
    text = ""

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression("meta", number32_attribute(1, _FIRST_REGISTER), number32_attribute(2, 15))
        yield _compare_first_register(bytes([_NFPROTO[self.family]]))


@dataclass(frozen=True)
class IsOfProtocol:
    """Condition: the packet is of this transport protocol."""

    protocol: str

    @property
    def text(self) -> str:
        return f"meta l4proto {self.protocol}"

    def expressions(self) -> Iterator[bytes]:
        yield from PACKET_PROTOCOL.load(_FIRST_REGISTER)
        yield _compare_first_register(bytes([PROTOCOL_NUMBERS[self.protocol]]))


@dataclass(frozen=True)
class FlowIsOfProtocol:
    """Condition: the packet's flow is of this transport protocol; for an ICMP error, the flow that the error
    reports on.
    """

    protocol: str

    @property
    def text(self) -> str:
        return f"ct protocol {self.protocol}"

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression("ct", number32_attribute(1, _FIRST_REGISTER), number32_attribute(2, 10))
        yield _compare_first_register(bytes([PROTOCOL_NUMBERS[self.protocol]]))


@dataclass(frozen=True)
class IsPortUnreachable:
    """Condition: the packet is the ICMP error "port unreachable"."""

    family: Family

    @property
    def text(self) -> str:
        name = {4: "icmp", 6: "icmpv6"}[self.family]
        return f"{name} type destination-unreachable {name} code port-unreachable"

    def expressions(self) -> Iterator[bytes]:
        yield from PACKET_PROTOCOL.load(_FIRST_REGISTER)
        yield _compare_first_register(bytes([{4: 1, 6: 58}[self.family]]))
        yield from _ICMP_ERROR.load(_FIRST_REGISTER)
        yield _compare_first_register({4: b"\3\3", 6: b"\1\4"}[self.family])


@dataclass(frozen=True)
class IsInDirection:
    """Condition: the packet goes in its flow's direction "original", from the client, or "reply", to the client."""

    direction: Literal["original", "reply"]

    @property
    def text(self) -> str:
        return f"ct direction {self.direction}"

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression("ct", number32_attribute(1, _FIRST_REGISTER), number32_attribute(2, 1))
        yield _compare_first_register(bytes([self.direction == "reply"]))


@dataclass(frozen=True)
class FlowHasBit:
    """Condition: any bit of the mask ``bit`` is set in the state (``key`` 0) or status (``key`` 2) of the
    packet's flow.
    """

    text: str
    key: int
    bit: int

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression("ct", number32_attribute(1, _FIRST_REGISTER), number32_attribute(2, self.key))
        mask, zero = struct.pack("=I", self.bit), bytes(4)
        yield _mask_register(_FIRST_REGISTER, mask)
        yield encode_expression(
            "cmp", number32_attribute(1, _FIRST_REGISTER), number32_attribute(2, 1), _encode_data_value(3, zero)
        )


FLOW_INVALID = FlowHasBit("ct state invalid", 0, 1)
FLOW_UNASSIGNED = FlowHasBit("ct state invalid,related,new", 0, 13)
FLOW_RELATED = FlowHasBit("ct state related", 0, 4)
FLOW_MASQUERADED = FlowHasBit("ct status snat", 2, 16)
FLOW_TRANSLATED = FlowHasBit("ct status dnat", 2, 32)


@dataclass(frozen=True)
class KeyInSet:
    """Condition: the key is in the set, or with ``inverted`` is not."""

    parts: tuple[KeyPart, ...]
    name: str
    inverted: bool = False
    mask: str = ""
    """Netmask that is applied to a key of one address before it is looked for; empty: the whole address is."""

    @property
    def text(self) -> str:
        # nft prints the operator where there is a mask
        masked = f" & {self.mask} ==" if self.mask else " !=" if self.inverted else ""
        return f"{_join_texts(self.parts)}{masked} @{self.name}"

    def expressions(self) -> Iterator[bytes]:
        yield from load_registers(self.parts)
        if self.mask:
            yield _mask_register(_FIRST_REGISTER, ipaddress.ip_address(self.mask).packed)
        flags = (number32_attribute(5, 1),) if self.inverted else ()
        yield encode_expression("lookup", text_attribute(1, self.name), number32_attribute(2, _FIRST_REGISTER), *flags)


@dataclass(frozen=True)
class HasMoreFlowsThan:
    """Condition: more than ``count`` flows that reached this rule exist in the connection table."""

    count: int

    @property
    def text(self) -> str:
        return f"ct count over {self.count}"

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression("connlimit", number32_attribute(1, self.count), number32_attribute(2, 1))


# -- actions


@dataclass(frozen=True)
class RuleVerdict:
    """Action: go on in another chain, or drop the packet."""

    text: str
    code: int
    chain: str = ""

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression(
            "immediate",
            number32_attribute(1, _VERDICT_REGISTER),
            nested_attribute(2, encode_verdict(self.code, self.chain)),
        )


DROP_PACKET = RuleVerdict("drop", _DROP)


def goto_chain(chain: str) -> RuleVerdict:
    """Return the action that goes on in another chain, without coming back."""
    return RuleVerdict(f"goto {chain}", _GOTO, chain)


def jump_verdict(chain: str) -> bytes:
    """Return the encoded verdict, for an element of a verdict map, that visits another chain and comes back
    unless that chain decides.
    """
    return encode_verdict(_JUMP, chain)


@dataclass(frozen=True)
class VisitChainByMap:
    """Action: visit the chain that a verdict map has for the key, if there is one, and come back unless that
    chain decides.
    """

    parts: tuple[KeyPart, ...]
    name: str

    @property
    def text(self) -> str:
        return f"{_join_texts(self.parts)} vmap @{self.name}"

    def expressions(self) -> Iterator[bytes]:
        yield from load_registers(self.parts)
        yield _lookup_expression(self.name, _VERDICT_REGISTER)


@dataclass(frozen=True)
class CountInCounter:
    """Action: count the packet in the named counter."""

    counter: str

    @property
    def text(self) -> str:
        return f'counter name "{self.counter}"'

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression("objref", number32_attribute(1, 1), text_attribute(2, self.counter))


@dataclass(frozen=True)
class CountByMap:
    """Action: count the packet in the counter that a map has for the key, if there is one."""

    parts: tuple[KeyPart, ...]
    name: str

    @property
    def text(self) -> str:
        return f"counter name {_join_texts(self.parts)} map @{self.name}"

    def expressions(self) -> Iterator[bytes]:
        yield from load_registers(self.parts)
        yield encode_expression("objref", number32_attribute(3, _FIRST_REGISTER), text_attribute(4, self.name))


@dataclass(frozen=True)
class AddKeyToSet:
    """Action: add the key to a set, or renew its time there. ``mask``: netmask that is applied to an address
    first; empty: none.
    """

    parts: tuple[KeyPart, ...]
    name: str
    mask: str = ""

    @property
    def text(self) -> str:
        masked = f" & {self.mask}" if self.mask else ""
        return f"update @{self.name} {{ {_join_texts(self.parts)}{masked} }}"

    def expressions(self) -> Iterator[bytes]:
        yield from load_registers(self.parts)
        if self.mask:
            yield _mask_register(_FIRST_REGISTER, ipaddress.ip_address(self.mask).packed)
        yield encode_expression(
            "dynset", text_attribute(1, self.name), number32_attribute(3, 1), number32_attribute(4, _FIRST_REGISTER)
        )


@dataclass(frozen=True)
class TranslateByMap:
    """Action: translate the destination to the address and port that a map has for the key; without one, the
    next rule follows.
    """

    family: Family
    parts: tuple[KeyPart, ...]
    name: str

    @property
    def text(self) -> str:
        return f"dnat {NFT_FAMILY_NAMES[self.family]} to {_join_texts(self.parts)} map @{self.name}"

    def expressions(self) -> Iterator[bytes]:
        yield from load_registers(self.parts)
        yield _lookup_expression(self.name, _FIRST_REGISTER)
        yield _nat_expression(self.family, _FIRST_REGISTER)


@dataclass(frozen=True)
class TranslateTo:
    """Action: translate the destination to one address and port."""

    address: str
    port: int

    @property
    def text(self) -> str:
        return f"dnat {NFT_FAMILY_NAMES[self._address_family]} to {host_and_port(self.address, self.port)}"

    @property
    def _address_family(self) -> Family:
        return ipaddress.ip_address(self.address).version

    def expressions(self) -> Iterator[bytes]:
        address, port = ipaddress.ip_address(self.address).packed, struct.pack("!H", self.port)
        for register, data in ((_FIRST_REGISTER, address), (_port_register(self._address_family), port)):
            yield encode_expression("immediate", number32_attribute(1, register), _encode_data_value(2, data))
        yield _nat_expression(self._address_family, _FIRST_REGISTER)


@dataclass(frozen=True)
class _FixedAction:
    """An action whose expression in the kernel is the same in all rules."""

    text: str
    name: str
    parameters: tuple[bytes, ...] = ()

    def expressions(self) -> Iterator[bytes]:
        yield encode_expression(self.name, *self.parameters)


MASQUERADE_SOURCE = _FixedAction("masquerade", "masq")
# the ICMP error "port unreachable", whichever family the packet is of
REJECT_PORT_UNREACHABLE = _FixedAction("reject", "reject", (number32_attribute(1, 2), bytes_attribute(2, b"\1")))
REJECT_WITH_TCP_RESET = _FixedAction("reject with tcp reset", "reject", (number32_attribute(1, 1),))


# -- encoding


def encode_expression(name: str, *parameters: bytes) -> bytes:
    """Encode one expression of a rule as a netlink attribute: the kernel's name for it, and its encoded
    parameters.
    """
    return nested_attribute(
        _EXPRESSION, text_attribute(_EXPRESSION_NAME, name), nested_attribute(_EXPRESSION_DATA, *parameters)
    )


def encode_verdict(code: int, chain: str = "") -> bytes:
    """Encode a verdict, with the chain that it leads to if there is one, as the data of an expression or
    element.
    """
    parts = [bytes_attribute(_VERDICT_CODE, struct.pack("!i", code))]
    parts += [text_attribute(_VERDICT_CHAIN, chain)] if chain else []
    return nested_attribute(_DATA_VERDICT, *parts)


def _encode_data_value(number: int, data: bytes) -> bytes:
    return nested_attribute(number, bytes_attribute(_DATA_VALUE, data))


def _compare_first_register(data: bytes) -> bytes:
    """Encode the condition that the first register equals the data."""
    return encode_expression(
        "cmp", number32_attribute(1, _FIRST_REGISTER), number32_attribute(2, 0), _encode_data_value(3, data)
    )


def _mask_register(register: int, mask: bytes) -> bytes:
    size = number32_attribute(3, len(mask))
    return encode_expression(
        "bitwise",
        number32_attribute(1, register),
        number32_attribute(2, register),
        size,
        _encode_data_value(4, mask),
        _encode_data_value(5, bytes(len(mask))),
    )


def _lookup_expression(name: str, register: int) -> bytes:
    return encode_expression(
        "lookup", text_attribute(1, name), number32_attribute(2, _FIRST_REGISTER), number32_attribute(3, register)
    )


def _port_register(family: Family) -> int:
    return _FIRST_REGISTER + ADDRESS_BYTES[family] // 4


def _nat_expression(family: Family, register: int) -> bytes:
    registers = (register, register, _port_register(family), _port_register(family))
    both = (number32_attribute(place, each) for place, each in enumerate(registers, 3))
    return encode_expression("nat", number32_attribute(1, 1), number32_attribute(2, _NFPROTO[family]), *both)
