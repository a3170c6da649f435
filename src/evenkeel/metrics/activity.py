"""Totals of this process, read from its Prometheus metrics."""

from collections import defaultdict
from collections.abc import Iterator

from prometheus_client import Counter, Histogram
from prometheus_client.samples import Sample

from evenkeel.core.status.activity import ActivityTotals, ChangeTotals, RequestTotals, RouteKey
from evenkeel.metrics.api import REQUEST_DURATION, REQUESTS
from evenkeel.metrics.controller import TIME_TO_ACTIVE

FAILED = 500


def activity_totals() -> ActivityTotals:
    """Return requests by method and route, and times to ACTIVE, since the process started. The cost grows
    with the number of requested routes, so callers cache the result for some seconds.
    """
    counts: dict[RouteKey, int] = defaultdict(int)
    failed: dict[RouteKey, int] = defaultdict(int)
    seconds: dict[RouteKey, float] = defaultdict(float)
    for sample in _metric_samples(REQUESTS, "_total"):
        place = sample.labels["method"], sample.labels["route"]
        counts[place] += int(sample.value)
        failed[place] += int(sample.value) if int(sample.labels["status"]) >= FAILED else 0
    for sample in _metric_samples(REQUEST_DURATION, "_sum"):
        seconds[sample.labels["method"], sample.labels["route"]] = sample.value
    routes = {
        place: RequestTotals(count=count, failed=failed[place], seconds=seconds[place])
        for place, count in counts.items()
    }
    return ActivityTotals(routes=routes, changes=_change_totals())


def _change_totals() -> ChangeTotals:
    buckets = tuple((float(each.labels["le"]), int(each.value)) for each in _metric_samples(TIME_TO_ACTIVE, "_bucket"))
    (total,) = _metric_samples(TIME_TO_ACTIVE, "_sum")
    # The bound of the last bucket is infinite, so it counts every change.
    return ChangeTotals(count=buckets[-1][1], seconds=total.value, buckets=buckets)


def _metric_samples(metric: Counter | Histogram, suffix: str) -> Iterator[Sample]:
    return (sample for family in metric.collect() for sample in family.samples if sample.name.endswith(suffix))
