"""What a controller did over time."""

from typing import Any

import pytest

from evenkeel.controller.activity import ActivityRecorder
from evenkeel.controller.settings import TrafficSettings
from evenkeel.controller.traffic import TrafficRecorder
from evenkeel.core.status.activity import ActivityTotals, ChangeTotals, RequestTotals
from evenkeel.metrics.activity import activity_totals
from evenkeel.metrics.api import count_request
from evenkeel.metrics.controller import TIME_TO_ACTIVE
from tests.controller.test_traffic import World


class Totals:
    """Totals that are set by hand."""

    def __init__(self) -> None:
        self.requests = RequestTotals()
        self.changes = ChangeTotals()

    def __call__(self) -> ActivityTotals:
        return ActivityTotals(routes={("GET", "/a"): self.requests}, changes=self.changes)


async def test_a_point_has_the_differences_and_the_sum_of_all_load_balancers() -> None:
    totals, world = Totals(), World()
    settings = TrafficSettings(interval_seconds=60.0, points=4)
    recorder = ActivityRecorder(settings, totals)
    reports: Any = world
    world.recorder = TrafficRecorder(reports, world.clock, settings, wall=lambda: 7.0, on_poll=recorder.record_poll)
    world.totals["other"] = {"total_connections": 0, "bytes_out": 0, "active_connections": 2}
    await world.look(total_connections=0)
    assert recorder.activity().points == () and "60 s ago" in recorder.activity().reason
    totals.requests = RequestTotals(count=120, failed=6, seconds=12.0)
    totals.changes = ChangeTotals(count=2, seconds=5.0)
    world.totals["other"] = {"total_connections": 60, "bytes_out": 600, "active_connections": 2}
    await world.look(total_connections=180)
    (point,) = recorder.activity().points
    assert (point.at, point.requests, point.failed_requests) == (7.0, 2.0, 0.1)
    assert (point.request_seconds, point.changes, point.time_to_active_seconds) == (0.1, 2, 2.5)
    assert point.traffic is not None and point.traffic.load_balancers == 2
    traffic = point.traffic.traffic
    assert (traffic.connections, traffic.bytes_out, traffic.active_connections) == (4.0, 10.0, 2)
    assert (traffic.members_online, traffic.members) == (2, 4)


async def test_an_interval_without_anything_has_no_means_and_no_traffic() -> None:
    totals, world = Totals(), World()
    settings = TrafficSettings(interval_seconds=60.0, points=4)
    recorder = ActivityRecorder(settings, totals)
    reports: Any = world
    world.recorder = TrafficRecorder(reports, world.clock, settings, on_poll=recorder.record_poll)
    world.watched = False
    for _ in range(7):
        await world.look()
    points = recorder.activity().points
    assert len(points) == 6
    assert (points[0].requests, points[0].request_seconds, points[0].time_to_active_seconds) == (0.0, None, None)
    assert points[0].traffic is None


def test_without_points_it_states_why() -> None:
    recorder = ActivityRecorder(TrafficSettings(points=0), Totals())
    assert "series.points is 0" in recorder.activity().reason


def test_totals_are_those_of_the_metrics() -> None:
    before = activity_totals()
    count_request("GET", "/of-this-test", 200, 0.5)
    count_request("GET", "/of-this-test", 503, 1.5)
    TIME_TO_ACTIVE.observe(3.0)
    now = activity_totals()
    assert now.routes["GET", "/of-this-test"] == RequestTotals(count=2, failed=1, seconds=2.0)
    assert now.requests().count == before.requests().count + 2
    assert now.changes.count == before.changes.count + 1
    assert now.changes.seconds == pytest.approx(before.changes.seconds + 3.0)


async def test_points_of_a_day_are_kept() -> None:
    recorder = ActivityRecorder(TrafficSettings(interval_seconds=3600.0, points=4), Totals())
    for hour in range(30):
        recorder.record_poll(hour * 3600.0, 3600.0, None)
    assert [point.at / 3600 for point in recorder.activity().points] == list(range(6, 30))
