"""Series of traffic: what a controller makes of totals that it reads at intervals."""

from typing import Any

import pytest

from evenkeel.controller.settings import TrafficSettings
from evenkeel.controller.traffic import BUSIEST_MAX, GAP, SETTLE_SECONDS, TrafficRecorder
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.status.traffic import GroupObservation, ListenerTraffic, TrafficPoint, TrafficReading, TrafficTotals
from tests.clock import HandClock

LB = LoadBalancerId("lb")
INTERVAL = 60.0


class World:
    """A database whose totals are set by hand, and a recorder."""

    def __init__(self, **settings: Any) -> None:
        self.clock = HandClock()
        self.report = 1
        self.watched = True
        self.reached_count = 0
        self.counted = 1
        self.totals: dict[str, dict[str, int]] = {LB: {}}
        self.listeners: dict[str, int] = {}
        """Connections of each listener of the load balancers."""
        usual: dict[str, Any] = {"interval_seconds": INTERVAL, "points": 4}
        self.recorder = TrafficRecorder(
            self,  # type: ignore[arg-type]
            self.clock,
            TrafficSettings(**usual | settings),
            wall=lambda: 1000.0 + self.clock.now,
        )

    async def read_traffic(self, *, limit: int) -> TrafficReading:
        group = ("dev", 1)
        return TrafficReading(
            groups=(
                GroupObservation(
                    group=group,
                    report=("s", self.report),
                    watched=self.watched,
                    reached_count=self.reached_count,
                ),
            ),
            load_balancers=tuple(
                TrafficTotals(
                    load_balancer_id=LoadBalancerId(id_),
                    group=group,
                    statistics=ListenerStatistics(**totals),
                    members_online=1,
                    members=2,
                    listeners=tuple(
                        ListenerTraffic(listener_id=each, statistics=ListenerStatistics(total_connections=total))
                        for each, total in self.listeners.items()
                    ),
                )
                for id_, totals in self.totals.items()
            ),
            counted=self.counted,
        )

    async def look(self, seconds: float = INTERVAL, **totals: int) -> None:
        """Reports arrived with these totals, if any; so much later it is read."""
        if totals:
            self.report += 1
            self.totals[LB] = totals
        self.clock.now += seconds
        await self.recorder.record_traffic()

    def points(self) -> tuple[TrafficPoint, ...]:
        return self.recorder.series(LB).points

    def connections(self) -> list[float]:
        return [point.connections for point in self.points()]


async def test_rates_are_differences_by_the_time_between() -> None:
    world = World()
    await world.look(total_connections=100, bytes_in=1000, bytes_out=50, request_errors=3, active_connections=9)
    assert world.points() == ()
    await world.look(total_connections=220, bytes_in=1600, bytes_out=50, request_errors=9, active_connections=7)
    (point,) = world.points()
    assert point == TrafficPoint(
        at=1000.0 + world.clock.now,
        connections=2.0,
        active_connections=7,
        bytes_in=10.0,
        bytes_out=0.0,
        request_errors=pytest.approx(0.1),
        members_online=1,
        members=2,
    )
    assert world.recorder.series(LB).reason == ""


async def test_several_listeners_have_series_of_their_own() -> None:
    world = World()
    world.listeners = {"http": 60, "https": 600}
    await world.look(total_connections=660)
    world.listeners = {"http": 120, "https": 600}
    await world.look(total_connections=720)
    found = {
        each.listener_id: [point.connections for point in each.points] for each in world.recorder.series(LB).listeners
    }
    assert found == {"http": [1.0], "https": [0.0]}
    world.listeners = {}
    await world.look(total_connections=720)
    assert world.recorder.series(LB).listeners == ()


async def test_listeners_beyond_the_most_have_no_series_of_their_own() -> None:
    world = World(load_balancers_max=1)
    world.listeners = {"http": 60, "https": 600}
    for _ in range(2):
        await world.look(total_connections=660)
    assert world.recorder.series(LB).listeners == () and world.points() != ()


async def test_only_the_newest_are_kept() -> None:
    world = World()
    for total in range(0, 600, 60):
        await world.look(total_connections=total * (total // 60))
    assert world.connections() == [11.0, 13.0, 15.0, 17.0]


async def test_a_total_that_goes_back_gives_no_rate() -> None:
    world = World()
    for total in (600, 1200, 60, 180):
        await world.look(total_connections=total)
    assert world.connections() == [10.0, 2.0]
    assert len({point.at for point in world.points()}) == 2


async def test_a_quiet_group_has_zeros_and_one_that_nobody_observes_has_no_points() -> None:
    world = World()
    await world.look(total_connections=600)
    for _ in range(2):  # nothing changed, so the next report comes after a minute
        await world.look()
    assert world.connections() == [0.0, 0.0]
    await world.look()
    await world.look(total_connections=60_000)
    assert world.connections() == [0.0, 0.0], "what happened meanwhile is not traffic of one interval"
    await world.look(total_connections=60_600)
    assert world.connections()[-1] == 10.0


async def test_without_an_observer_points_are_missing() -> None:
    world = World()
    await world.look(total_connections=60)
    world.watched = False
    await world.look(total_connections=60)
    world.watched = True
    await world.look(total_connections=120_000)
    await world.look(total_connections=120_060)
    assert world.connections() == [1.0]


async def test_the_totals_of_a_device_that_came_back_are_no_traffic() -> None:
    world = World(interval_seconds=SETTLE_SECONDS / 2)
    half = SETTLE_SECONDS / 2
    await world.look(half, total_connections=1000)
    world.reached_count += 1
    await world.look(half, total_connections=1000)
    await world.look(half, total_connections=90_000)  # the report comes a little later
    await world.look(half, total_connections=90_015)
    await world.look(half, total_connections=90_030)
    assert world.connections() == [1.0]


async def test_a_controller_that_was_suspended_has_a_gap() -> None:
    world = World()
    await world.look(total_connections=60)
    await world.look(10 * INTERVAL, total_connections=60_000)
    await world.look(total_connections=60_060)
    assert world.connections() == [1.0]


async def test_one_that_is_gone_is_forgotten() -> None:
    world = World()
    await world.look(total_connections=60)
    await world.look(total_connections=120)
    world.totals = {"other": {}}
    await world.recorder.record_traffic()
    series = world.recorder.series(LB)
    assert series.points == () and "no two reports yet" in series.reason


async def test_above_the_limit_the_reason_reports_it() -> None:
    world = World(load_balancers_max=1)
    world.counted = 5
    await world.look(total_connections=60)
    assert "no two reports yet" in world.recorder.series(LB).reason
    assert "the 1 oldest load balancers" in world.recorder.series(LoadBalancerId("other")).reason


def test_without_points_nothing_is_kept() -> None:
    assert "series.points is 0" in World(points=0).recorder.series(LB).reason


async def test_the_busiest_are_those_with_the_most_new_connections_last_time() -> None:
    world = World()
    world.totals = {f"lb-{number}": {} for number in range(BUSIEST_MAX + 5)}
    await world.recorder.record_traffic()
    world.totals = {id_: {"total_connections": 60 * at} for at, id_ in enumerate(world.totals)}
    world.clock.now += INTERVAL
    await world.recorder.record_traffic()
    found = world.recorder.busiest()
    assert [each.load_balancer_id for each in found] == [f"lb-{BUSIEST_MAX + 4 - at}" for at in range(BUSIEST_MAX)]
    assert found[0].traffic.connections == BUSIEST_MAX + 4
    world.clock.now += INTERVAL
    await world.recorder.record_traffic()
    assert world.recorder.busiest() == ()


async def test_the_busiest_are_unknown_while_the_database_does_not_answer() -> None:
    world = World()
    await world.recorder.record_traffic()
    world.totals = {id_: {"total_connections": 60} for id_ in world.totals}
    world.clock.now += INTERVAL
    await world.recorder.record_traffic()
    assert world.recorder.busiest() != ()
    world.clock.now += INTERVAL * GAP + 1
    assert world.recorder.busiest() == ()
