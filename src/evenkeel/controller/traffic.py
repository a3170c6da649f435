"""Series of load balancers' traffic, computed by every controller from the totals in the database.

The database holds the totals of reports to all controllers. So all controllers show the same, except for the
time before their start. A point is missing, not zero, if no agent observed the devices, if a total is lower
than before (a device restarted, or a listener was deleted), if a device of the group came back, whose
accumulated totals would look like current traffic, or after a time in which the controller could not read the
totals.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from heapq import heappush, heappushpop
from typing import Any

from msgspec.structs import astuple, replace

from evenkeel.controller.settings import TrafficSettings
from evenkeel.controller.traffic_rings import TrafficRings
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Clock, ReportStore
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.status.activity import TrafficSum
from evenkeel.core.status.traffic import (
    BusyLoadBalancer,
    GroupKey,
    GroupObservation,
    ListenerSeries,
    TrafficSample,
    TrafficSeries,
    TrafficTotals,
)

QUIET_SECONDS = 75.0
"""Time without a report after which an observer counts as silent, in addition to one interval between polls: an agent
reports at least every minute, even without changes.
"""
SETTLE_SECONDS = 30.0
"""Time without points after a device became reachable again, because the device's totals arrive in a later report."""
GAP = 2.0
"""Number of intervals between two polls above which the time between them is a gap."""
BUSIEST_MAX = 10
AT_ONCE = 500
"""Number of load balancers after which other tasks get their turn."""

OnPoll = Callable[[float, float, TrafficSum | None], None]
"""Called with the time of a poll, the seconds since the previous one, and the sum over all observed load balancers
(None: none was observed).
"""

COUNTERS = ("total_connections", "bytes_in", "bytes_out", "request_errors")


class _GroupState:
    """Whether a device group is observed, at the last poll, and the figures by which that is decided."""

    __slots__ = ("observed", "reached_count", "report", "reported_at", "unsettled_until")

    def __init__(self, seen: GroupObservation, now: float) -> None:
        self.report = seen.report
        self.reported_at = now
        self.reached_count = seen.reached_count
        self.unsettled_until = float("-inf")
        self.observed = seen.watched

    def record_observation(self, seen: GroupObservation, now: float, quiet_seconds: float) -> None:
        """Record an observation read at ``now`` (monotonic seconds). An observer without a new report for
        ``quiet_seconds`` counts as silent.
        """
        if seen.report != self.report:
            self.report, self.reported_at = seen.report, now
        if seen.reached_count != self.reached_count:
            self.reached_count, self.unsettled_until = seen.reached_count, now + SETTLE_SECONDS
        # By this process's clock: the database stores no time of a report.
        quiet = now - self.reported_at > quiet_seconds
        self.observed = seen.watched and not quiet and now >= self.unsettled_until


class _TrafficTotal:
    """Total traffic of several load balancers, and the busiest of them."""

    __slots__ = ("_count", "_most", "_sum")

    def __init__(self) -> None:
        self._count = 0
        self._most: list[tuple[float, int, BusyLoadBalancer]] = []
        self._sum: list[Any] = [0] * len(TrafficSample.__struct_fields__)

    def add(self, load_balancer_id: LoadBalancerId, traffic: TrafficSample) -> None:
        # The number decides between equals: samples cannot be compared.
        entry = (traffic.connections, self._count, BusyLoadBalancer(load_balancer_id, traffic))
        if len(self._most) < BUSIEST_MAX:
            heappush(self._most, entry)
        else:
            heappushpop(self._most, entry)
        self._count += 1
        self._sum = [total + each for total, each in zip(self._sum, astuple(traffic), strict=True)]

    def busiest(self) -> tuple[BusyLoadBalancer, ...]:
        """Return at most :data:`BUSIEST_MAX` load balancers with the most new connections, busiest first;
        idle ones are left out.
        """
        return tuple(each for connections, _, each in sorted(self._most, reverse=True) if connections)

    def value(self) -> TrafficSum | None:
        """Return the sum of the added samples; None if no sample was added."""
        if not self._count:
            return None
        return TrafficSum(load_balancers=self._count, traffic=TrafficSample(*self._sum))


class TrafficRecorder:
    """Reads totals of load balancers' traffic at intervals, and keeps the differences as rates per second.
    ``wall`` returns seconds since the epoch.
    """

    def __init__(
        self,
        reports: ReportStore,
        clock: Clock,
        settings: TrafficSettings,
        wall: Callable[[], float] = time.time,
        on_poll: OnPoll = lambda at, seconds, traffic: None,
    ) -> None:
        """``on_poll`` is called after every poll with its time, the seconds since the previous poll, and the
        sum of all traffic (None: no load balancer was observed).
        """
        self._reports = reports
        self._clock = clock
        self._settings = settings
        self._wall = wall
        self._on_poll = on_poll
        self._rings = TrafficRings(max(1, settings.points))
        self._groups: dict[GroupKey, _GroupState] = {}
        self._before: dict[str, ListenerStatistics] = {}
        """Totals at the last poll of the load balancers, and of listeners, that were observed then."""
        self._listener_rings = TrafficRings(max(1, settings.points))
        self._listeners: dict[LoadBalancerId, tuple[str, ...]] = {}
        """Listeners with a series of their own, of load balancers with several."""
        self._looked_at = float("-inf")
        self._left_out = 0
        self._busiest: tuple[BusyLoadBalancer, ...] = ()

    @property
    def interval_seconds(self) -> float:
        """Seconds between two polls."""
        return self._settings.interval_seconds

    def series(self, load_balancer_id: LoadBalancerId) -> TrafficSeries:
        """Return the traffic series of a load balancer and its listeners, with the reason if it has no
        points. Any thread may call it.
        """
        interval = self._settings.interval_seconds
        if not self._settings.points:
            return TrafficSeries(
                interval_seconds=interval, reason="this controller keeps no series: series.points is 0"
            )
        points = self._rings.points(load_balancer_id)
        reason = "" if points else self._reason_without_points(load_balancer_id)
        listeners = tuple(
            ListenerSeries(listener_id=id_, points=self._listener_rings.points(id_))
            for id_ in self._listeners.get(load_balancer_id, ())
        )
        return TrafficSeries(interval_seconds=interval, points=points, reason=reason, listeners=listeners)

    def busiest(self) -> tuple[BusyLoadBalancer, ...]:
        """Return the load balancers with the most new connections in the last interval, at most
        :data:`BUSIEST_MAX`, busiest first; empty if the last poll is more than :data:`GAP` intervals ago.
        Any thread may call it.
        """
        # Between two polls; later they would be shown as of now while the database does not answer.
        recent = self._clock.monotonic() - self._looked_at <= self._settings.interval_seconds * GAP
        return self._busiest if recent else ()

    def _reason_without_points(self, load_balancer_id: LoadBalancerId) -> str:
        if load_balancer_id not in self._rings and self._left_out:
            most = self._settings.load_balancers_max
            return f"this controller keeps series of the {most} oldest load balancers: series.load_balancers_max"
        return f"no two reports yet since this controller began; they are compared every {self.interval_seconds:g} s"

    async def record_traffic(self) -> None:
        """Read the totals, and record the traffic since the last poll. After a gap of more than :data:`GAP`
        intervals, only the totals are kept. Raises :class:`StoreUnavailable`.
        """
        reading = await self._reports.read_traffic(limit=self._settings.load_balancers_max)
        now, at = self._clock.monotonic(), self._wall()
        seconds, self._looked_at = now - self._looked_at, now
        # After an outage a difference would spread the traffic of many intervals over one.
        if seconds > self._settings.interval_seconds * GAP:
            self._before.clear()
        self._left_out = reading.counted - len(reading.load_balancers)
        self._record_group_observations(reading.groups, now)
        written = await self._write_samples(reading.load_balancers, seconds)
        self._rings.publish_slot(at)
        self._listener_rings.publish_slot(at)
        self._busiest = written.busiest()
        self._on_poll(at, seconds, written.value())

    def _record_group_observations(self, seen: Iterable[GroupObservation], now: float) -> None:
        known, self._groups = self._groups, {}
        for each in seen:
            # A group seen for the first time has the full time to report.
            group = known.get(each.group) or _GroupState(each, now)
            group.record_observation(each, now, self._settings.interval_seconds + QUIET_SECONDS)
            self._groups[each.group] = group

    async def _write_samples(self, found: tuple[TrafficTotals, ...], seconds: float) -> "_TrafficTotal":
        """Write samples for all observed load balancers and listeners, for an interval of ``seconds``;
        returns the sum of the load balancers.
        """
        written = _TrafficTotal()
        before, self._before = self._before, {}
        self._rings.begin_slot(frozenset(totals.load_balancer_id for totals in found))
        self._listeners = _chosen_listeners(found, self._settings.load_balancers_max)
        self._listener_rings.begin_slot(frozenset(id_ for ids in self._listeners.values() for id_ in ids))
        for number, totals in enumerate(found):
            if number % AT_ONCE == 0:
                # Thousands of load balancers are computed without any I/O; keepalives must be answered meanwhile.
                await asyncio.sleep(0)
            id_ = totals.load_balancer_id
            self._rings.add_ring(id_)
            group = self._groups.get(totals.group)
            if group is None or not group.observed:
                continue
            self._before[id_] = totals.statistics
            self._write_listeners(totals, before, seconds)
            traffic = None if (last := before.get(id_)) is None else _traffic_rates(totals, last, seconds)
            if traffic is not None:
                self._rings.write_sample(id_, traffic)
                written.add(id_, traffic)
        return written

    def _write_listeners(self, totals: TrafficTotals, before: Mapping[str, ListenerStatistics], seconds: float) -> None:
        """Write samples for the listeners of one load balancer that have a series of their own. ``before``:
        totals at the previous poll, by id.
        """
        chosen = self._listeners.get(totals.load_balancer_id)
        for one in totals.listeners if chosen else ():
            self._before[one.listener_id] = one.statistics
            self._listener_rings.add_ring(one.listener_id)
            if (last := before.get(one.listener_id)) is None:
                continue
            of_one = replace(totals, statistics=one.statistics, members_online=0, members=0)
            if (traffic := _traffic_rates(of_one, last, seconds)) is not None:
                self._listener_rings.write_sample(one.listener_id, traffic)


def _chosen_listeners(found: Iterable[TrafficTotals], listeners_max: int) -> dict[LoadBalancerId, tuple[str, ...]]:
    """Return {load balancer: its listeners with a series of their own}: of load balancers with several listeners, in
    the given order, all listeners or none, at most ``listeners_max`` in total.
    """
    chosen: dict[LoadBalancerId, tuple[str, ...]] = {}
    left = listeners_max
    for totals in found:
        if totals.listeners and len(totals.listeners) <= left:
            chosen[totals.load_balancer_id] = tuple(one.listener_id for one in totals.listeners)
            left -= len(totals.listeners)
    return chosen


def _traffic_rates(totals: TrafficTotals, before: ListenerStatistics, seconds: float) -> TrafficSample | None:
    """Return the rates per second between two totals that are ``seconds`` apart; None if a total decreased,
    or if no agent observes the load balancer.
    """
    now = totals.statistics
    grown = [getattr(now, name) - getattr(before, name) for name in COUNTERS]
    # Counters start at zero after a restart of the device; a negative rate would be nonsense.
    if min(grown) < 0 or totals.members_online is None:
        return None
    connections, bytes_in, bytes_out, request_errors = (each / seconds for each in grown)
    return TrafficSample(
        connections=connections,
        active_connections=now.active_connections,
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        request_errors=request_errors,
        members_online=totals.members_online,
        members=totals.members,
    )
