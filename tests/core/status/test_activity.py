"""Totals of what a controller did."""

import pytest

from evenkeel.core.status.activity import ActivityTotals, ChangeTotals, RequestTotals

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
