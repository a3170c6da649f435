"""Sets and maps of the table that all partitions share: their keys and data, in nft's notation and as bytes.
Pure.

There is one of each for IPv4 and one for IPv6. What differs between load balancers is data of these maps, and
not rules: the kernel finds an element, adds it and removes it at the same cost among a hundred thousand, but
examines every rule that can be reached when one rule changes.
"""

import ipaddress
import struct
from collections.abc import Mapping
from typing import Literal

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import host_and_port
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.statements import ADDRESS_BYTES, FAMILIES, PROTOCOL_NUMBERS, Family

ElementDataKind = Literal["", "verdict", "counter", "target"]
SERVICE_KEY_FIELDS = ("addr", "inet_proto", "inet_service")
SHARED_SETS: dict[str, tuple[tuple[str, ...], ElementDataKind]] = {
    # every service: what is not translated is refused
    "owned": (SERVICE_KEY_FIELDS, ""),
    # services whose members see the clients' addresses
    "direct": (SERVICE_KEY_FIELDS, ""),
    # services whose first packets pass a chain of their own
    "services": (SERVICE_KEY_FIELDS, "verdict"),
    "in": (SERVICE_KEY_FIELDS, "counter"),
    "out": (SERVICE_KEY_FIELDS, "counter"),
    "new": (SERVICE_KEY_FIELDS, "counter"),
    # the server of each number
    "slots": ((*SERVICE_KEY_FIELDS, "mark"), "target"),
    # chains that bind clients, by service and server
    "bonds": ((*SERVICE_KEY_FIELDS, "addr", "inet_service"), "verdict"),
    # servers to which the kernel has translated connections or associations
    "servers": (SERVICE_KEY_FIELDS, ""),
    # servers that have just refused a client's datagram
    "refused": (("addr", "inet_service"), ""),
    # servers that have left
    "gone": (SERVICE_KEY_FIELDS, ""),
}
"""Sets and maps that all partitions share: the fields of the key and the kind of the data, by name."""
ELEMENT_SECONDS: Mapping[str, int] = {"servers": 30 * 86_400, "gone": 180, "refused": 3}
"""Time after which the kernel itself removes an element, by set. A connection lives for 5 days without a packet, and
each new one renews its server's time; late answers come within seconds; a host that refuses sends an error each second.
"""
SETS_FILLED_BY_PACKETS = frozenset({"servers", "refused"})
"""Sets to which rules add elements when packets pass."""
SHARED_SET_NAMES = tuple(f"{name}{family}" for name in SHARED_SETS for family in FAMILIES)
CONFIGURED_SET_NAMES = tuple(
    f"{name}{family}" for name in SHARED_SETS if name not in ELEMENT_SECONDS for family in FAMILIES
)
"""Shared sets and maps whose elements come only from the partitions' load balancers."""


class VirtualService(Value):
    """Protocol, address and port at which a listener receives packets."""

    protocol: wire.DatagramProtocol
    address: str
    port: int


class FlowTarget(Value):
    """Address and port of a server to which flows are translated."""

    address: str
    port: int

    @property
    def text(self) -> str:
        """Address and port, as in ``192.0.2.1:53`` or ``[2001:db8::1]:53``."""
        return host_and_port(self.address, self.port)


class ElementKey(Value):
    """Key of an element in a shared set or map: a service, and for some maps also the number that a flow
    draws, or a server.
    """

    service: VirtualService
    number: int | None = None
    server: FlowTarget | None = None

    @property
    def text(self) -> str:
        """The key in nft's notation."""
        one = self.service
        more = "" if self.number is None else f" . {self.number:#010x}"
        more += "" if self.server is None else f" . {self.server.address} . {self.server.port}"
        return f"{one.address} . {one.protocol} . {one.port}{more}"

    def packed(self) -> bytes:
        """Return the key as bytes, as it stands in the kernel's registers."""
        one = self.service
        data = pack_address(one.address) + bytes([PROTOCOL_NUMBERS[one.protocol], 0, 0, 0]) + _pack_port(one.port)
        if self.number is not None:
            data += struct.pack("=I", self.number)
        return data if self.server is None else data + pack_target(self.server)


ElementData = str | FlowTarget
"""Data of an element: the name of a chain or counter, empty in a set; or a server."""


def element_data_text(data: ElementData) -> str:
    """Return an element's data as text: the name of a chain or counter as it is, or a server's address and
    port in nft's notation; empty for an element of a set.
    """
    if isinstance(data, FlowTarget):
        return f"{data.address} . {data.port}"
    return data


def pack_element_data(data: ElementData) -> bytes:
    """Return an element's data as bytes: a chain's or counter's name, or a server's address and port; empty
    for an element of a set.
    """
    return data.encode() if isinstance(data, str) else pack_target(data)


def pack_address(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


def pack_target(target: FlowTarget) -> bytes:
    """Return the address and port of a server as bytes, as they stand in consecutive registers of the kernel."""
    return pack_address(target.address) + _pack_port(target.port)


def unpack_target(data: bytes) -> FlowTarget:
    """Parse a server's address and port from bytes, as they stand in consecutive registers of the kernel."""
    address, port = data[:-4], data[-4:-2]
    return FlowTarget(address=str(ipaddress.ip_address(address)), port=int.from_bytes(port, "big"))


def address_family(address: str) -> Family:
    """Return the IP version of the address, 4 or 6. Raises :class:`ValueError` if it is no IP address."""
    return ipaddress.ip_address(address).version


def field_register_bytes(field: str, family: Family) -> int:
    """Return the number of bytes that a field of a key takes in the kernel's registers. ``field``: a name as
    in :data:`SHARED_SETS`.
    """
    return ADDRESS_BYTES[family] if field == "addr" else 4


def _pack_port(port: int) -> bytes:
    return struct.pack("!Hxx", port)
