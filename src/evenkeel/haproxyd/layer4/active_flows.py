"""Counts the flows of listeners in the kernel's connection table. Blocks.

The kernel walks the whole table for each count, and sends every flow of the protocol; so counts take at most a share of
one processor (:class:`FlowCountPace`), and are then older than an observation.
"""

import ipaddress
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping

from evenkeel.haproxyd.layer4.elements import VirtualService
from evenkeel.haproxyd.layer4.flows import protocol_selection
from evenkeel.haproxyd.layer4.netlink import CONNTRACK, NetfilterSocket
from evenkeel.haproxyd.layer4.statements import PROTOCOL_NUMBERS, Family

_GET_FLOWS = 1
_SOCKET_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
_ATTRIBUTE_OFFSETS = {4: (20, 4, 32, 48), 6: (32, 16, 56, 72)}
"""Offsets in a flow's attributes, in the kernel's usual order: those of the destination address, its size, and those of
the protocol and the destination port. Bytes, by IP version.
"""
PROCESSOR_SHARE_MAX = 0.02
"""Maximum share of one processor's time that counts of flows may take, from 0 to 1."""


def count_flows(netfilter: NetfilterSocket, services: Collection[VirtualService]) -> Mapping[VirtualService, int]:
    """Return the number of flows by service from the kernel's connection table; services without flows are
    left out. Raises :class:`OSError`.
    """
    wanted: dict[tuple[Family, str], dict[bytes, VirtualService]] = {}
    for service in services:
        address = ipaddress.ip_address(service.address)
        place = address.packed + struct.pack("!H", service.port)
        wanted.setdefault((address.version, service.protocol), {})[place] = service
    found: Counter[VirtualService] = Counter()
    for (family, protocol), by_place in wanted.items():
        for place, count in _count_by_destination(netfilter, family, protocol).items():
            if place in by_place:
                found[by_place[place]] += count
    return found


def _count_by_destination(netfilter: NetfilterSocket, family: Family, protocol: str) -> Counter[bytes]:
    """Return the number of flows of a protocol, by the packed address and port to which the client sends.
    Raises :class:`OSError`.
    """
    address_at, size, protocol_at, port_at = _ATTRIBUTE_OFFSETS[family]
    number = PROTOCOL_NUMBERS[protocol]
    found: Counter[bytes] = Counter()
    flows = netfilter.dump_contents(
        CONNTRACK, _GET_FLOWS, family=_SOCKET_FAMILIES[family], payload=protocol_selection(protocol)
    )
    for content in flows:
        # a kernel before 5.8 sends all protocols
        if content[protocol_at] == number:
            found[content[address_at : address_at + size] + content[port_at : port_at + 2]] += 1
    return found


class FlowCountPace:
    """Decides when flows may be counted again, so that counts take at most ``PROCESSOR_SHARE_MAX`` of one processor's
    time.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._next_at_seconds = float("-inf")

    def is_due(self) -> bool:
        """Whether a count may begin now."""
        return self._monotonic() >= self._next_at_seconds

    def record_duration(self, took_seconds: float) -> None:
        """Record that a count has just ended, after ``took_seconds`` of processor time."""
        self._next_at_seconds = self._monotonic() + took_seconds / PROCESSOR_SHARE_MAX
