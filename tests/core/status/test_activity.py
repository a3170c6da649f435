"""Totals of what a controller did."""

from typing import Any

import pytest

from evenkeel.core.status.activity import ActivityPoint, ActivityTotals, ChangeTotals, RequestTotals, merge_points

BUCKETS = ((1.0, 2), (10.0, 4), (float("inf"), 5))


@pytest.mark.parametrize(("share", "seconds"), [(0.2, 0.5), (0.4, 1.0), (0.6, 5.5), (0.99, 10.0)])
def test_quantiles_are_interpolated(share: float, seconds: float) -> None:
    assert ChangeTotals(count=5, seconds=30.0, buckets=BUCKETS).quantile(share) == pytest.approx(seconds)


def test_nothing_has_no_quantile() -> None:
    assert ChangeTotals().quantile(0.5) is None


def test_requests_are_those_of_all_routes() -> None:
    routes = {("GET", f"/{n}"): RequestTotals(count=n, failed=1, seconds=0.5) for n in (1, 2)}
    totals = ActivityTotals(routes=routes, changes=ChangeTotals())
    assert totals.requests() == RequestTotals(count=3, failed=2, seconds=1.0)


def point(at: float, **values: Any) -> ActivityPoint:
    usual: dict[str, Any] = {
        "requests": 0.0,
        "failed_requests": 0.0,
        "request_seconds": None,
        "changes": 0,
        "time_to_active_seconds": None,
        "traffic": None,
    }
    return ActivityPoint(at=at, **usual | values)


def test_few_points_stay_as_they_are() -> None:
    points = (point(1.0), point(2.0))
    assert merge_points(points, 2) == points


def test_means_are_weighted_by_what_they_are_means_of() -> None:
    busy = point(1.0, requests=3.0, request_seconds=0.1, changes=1, time_to_active_seconds=2.0)
    idle = point(2.0, requests=1.0, request_seconds=0.5, changes=3, time_to_active_seconds=6.0)
    (found,) = merge_points((busy, idle), 1)
    assert (found.at, found.requests, found.changes, found.time_to_active_seconds) == (2.0, 2.0, 4, 5.0)
    assert found.request_seconds == pytest.approx(0.2)


def test_a_mean_of_nothing_is_unknown() -> None:
    (found,) = merge_points((point(1.0), point(2.0)), 1)
    assert (found.request_seconds, found.time_to_active_seconds, found.traffic) == (None, None, None)


@pytest.mark.parametrize("count", [1, 7, 360, 361, 1440])
def test_every_point_is_in_one_mean_and_the_last_ends_last(count: int) -> None:
    found = merge_points([point(float(at), changes=1) for at in range(count)], 360)
    assert len(found) <= 360
    assert sum(each.changes for each in found) == count
    assert found[-1].at == count - 1
