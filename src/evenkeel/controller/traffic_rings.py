"""Series of many load balancers or listeners in little memory: a ring of bytes for each, with common slots.

A slot takes :data:`BYTES_PER_POINT` bytes. A ring has one slot more than points are kept: the one that is being
written. So another thread may read a ring at any time: it copies the ring, and then drops slots that may have been
overwritten meanwhile.
"""

import struct
from typing import NamedTuple

from evenkeel.core.status.traffic import TrafficPoint, TrafficSample

_SLOT_STRUCT = struct.Struct("<fffffHH")
BYTES_PER_POINT = _SLOT_STRUCT.size
_MISSING_VALUE = float("nan")
_EMPTY_SLOT = _SLOT_STRUCT.pack(_MISSING_VALUE, 0, 0, 0, 0, 0, 0)
_MEMBERS_MAX = 0xFFFF


class PublishedSlots(NamedTuple):
    """Snapshot for readers: the numbers of completed slots, from ``oldest``, and the times at which they ended."""

    oldest: int
    times: tuple[float, ...]

    @property
    def end(self) -> int:
        """Number of the slot that is written next."""
        return self.oldest + len(self.times)


class TrafficRings:
    """Time series of traffic: the last ``points`` samples of each load balancer or listener, by id. One thread writes
    a slot: it calls :meth:`begin_slot`, then :meth:`write_sample` for each id with a sample, then :meth:`publish_slot`.
    """

    def __init__(self, points: int) -> None:
        """``points``: number of samples kept per load balancer or listener, at least 1."""
        self._slots = points + 1
        self._points = points
        self._rings: dict[str, bytearray] = {}
        self._published = PublishedSlots(0, ())

    def __len__(self) -> int:
        return len(self._rings)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._rings

    def begin_slot(self, kept: frozenset[str]) -> None:
        """Begin the next slot, without samples, and drop the rings of ids that are not in ``kept``."""
        for gone in self._rings.keys() - kept:
            del self._rings[gone]
        offset = self._slot_offset(self._published.end)
        for ring in self._rings.values():
            # The slot still holds its sample of one turn ago; a load balancer without a new one must show a gap.
            ring[offset : offset + BYTES_PER_POINT] = _EMPTY_SLOT

    def add_ring(self, id_: str) -> None:
        """Add an empty ring for the load balancer or listener, unless it has one."""
        if id_ not in self._rings:
            self._rings[id_] = bytearray(_EMPTY_SLOT * self._slots)

    def write_sample(self, id_: str, traffic: TrafficSample) -> None:
        """Store a sample of the load balancer or listener, which must have a ring, in the current slot; slots
        without a sample are gaps. Rates are stored with single precision, numbers of members up to 65,535.
        """
        _SLOT_STRUCT.pack_into(
            self._rings[id_],
            self._slot_offset(self._published.end),
            traffic.connections,
            traffic.active_connections,
            traffic.bytes_in,
            traffic.bytes_out,
            traffic.request_errors,
            min(traffic.members_online, _MEMBERS_MAX),
            min(traffic.members, _MEMBERS_MAX),
        )

    def publish_slot(self, at: float) -> None:
        """End the current slot, so that it may be read. ``at``: seconds since the epoch."""
        oldest, times = self._published
        times = (*times, at)
        surplus = max(0, len(times) - self._points)
        # One assignment of an immutable value: readers in other threads see the old state or the new one.
        self._published = PublishedSlots(oldest + surplus, times[surplus:])

    def points(self, id_: str) -> tuple[TrafficPoint, ...]:
        """Return the points of the load balancer or listener, oldest first; slots without a sample are left
        out, and an unknown id has none. Any thread may call it.
        """
        published = self._published
        ring = self._rings.get(id_)
        if ring is None:
            return ()
        copied = bytes(ring)
        # read again after the copy: slots that the writer began meanwhile may be copied half written
        intact = self._published.end - self._points
        numbered = enumerate(published.times, published.oldest)
        slots = (
            (at, _SLOT_STRUCT.unpack_from(copied, self._slot_offset(number)))
            for number, at in numbered
            if number >= intact
        )
        return tuple(_point_from_slot(at, *slot) for at, slot in slots if slot[0] == slot[0])  # NaN is not itself

    def _slot_offset(self, number: int) -> int:
        return number % self._slots * BYTES_PER_POINT


def _point_from_slot(
    at: float,
    connections: float,
    active_connections: float,
    bytes_in: float,
    bytes_out: float,
    request_errors: float,
    members_online: int,
    members: int,
) -> TrafficPoint:
    return TrafficPoint(
        at=at,
        connections=connections,
        active_connections=round(active_connections),
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        request_errors=request_errors,
        members_online=members_online,
        members=members,
    )
