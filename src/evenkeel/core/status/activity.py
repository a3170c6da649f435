"""Activity of one controller: totals since it started, and points over time.

Requests and times to ACTIVE are this controller's own: other controllers answer other requests and process other
reports. Traffic is that of all load balancers with a series, which every controller computes from the same totals in
the database.
"""

from collections.abc import Mapping, Sequence

from evenkeel.core.kit.values import Value
from evenkeel.core.status.traffic import TrafficSample

RouteKey = tuple[str, str]
"""Key of a route: HTTP method and path template."""


class RequestTotals(Value):
    """Requests answered by this controller since it started: number, failures and times."""

    count: int = 0
    failed: int = 0
    """Number of requests answered with a status of 500 or above."""
    seconds: float = 0.0
    """Sum of the times to answer the requests."""


class ChangeTotals(Value):
    """Changes that devices have, according to the reports that this controller processed since it started:
    number and times to ACTIVE.
    """

    count: int = 0
    seconds: float = 0.0
    """Sum of the changes' times to ACTIVE."""
    buckets: tuple[tuple[float, int], ...] = ()
    """Pairs (upper bound in seconds, number of changes that took at most that long); ascending, the last bound is
    infinite.
    """

    def quantile(self, share: float) -> float | None:
        """Return the time in seconds within which ``share`` (0 to 1) of the changes became ACTIVE,
        interpolated within its bucket like in Prometheus; None without changes. Beyond the last finite
        bound it is that bound.
        """
        if not self.count:
            return None
        wanted = share * self.count
        lower, below = 0.0, 0
        for bound, at_most in self.buckets:
            if at_most >= wanted:
                if bound == float("inf"):
                    return lower
                return lower + (bound - lower) * (wanted - below) / max(1, at_most - below)
            lower, below = bound, at_most
        return lower


class ActivityTotals(Value):
    """Requests and changes that became ACTIVE since the controller started."""

    routes: Mapping[RouteKey, RequestTotals]
    changes: ChangeTotals

    def requests(self) -> RequestTotals:
        """Return the sum of the requests of all routes."""
        every = self.routes.values()
        return RequestTotals(
            count=sum(each.count for each in every),
            failed=sum(each.failed for each in every),
            seconds=sum(each.seconds for each in every),
        )


class TrafficSum(Value):
    """The traffic of several load balancers between two observations."""

    load_balancers: int
    """Number of load balancers observed; the sum leaves the others out."""
    traffic: TrafficSample


class ActivityPoint(Value):
    """Activity of a controller between two readings of its totals."""

    at: float
    """End of the interval, in seconds since the epoch."""
    requests: float
    """Rate of requests per second."""
    failed_requests: float
    """Requests per second that were answered with a status of 500 or above."""
    request_seconds: float | None
    """Mean time to answer in seconds; None without requests."""
    changes: int
    time_to_active_seconds: float | None
    """Mean time to ACTIVE of the changes, in seconds; None without changes."""
    traffic: TrafficSum | None
    """Traffic of all observed load balancers; None if none was observed."""


def merge_points(points: Sequence[ActivityPoint], most: int) -> tuple[ActivityPoint, ...]:
    """Return at most ``most`` points: these if they are not more, else one for equally many successive points
    (the first may stand for fewer), so that a new point changes the last one only. Rates and times are
    means; changes are summed.
    """
    size = max(1, -(-len(points) // most))
    if size == 1:
        return tuple(points)
    # From the end, so that a new point changes the last mean only.
    begins = range(len(points) % size - size if len(points) % size else 0, len(points), size)
    return tuple(_mean_activity_point(points[max(0, begin) : begin + size]) for begin in begins)


def _mean_activity_point(points: Sequence[ActivityPoint]) -> ActivityPoint:
    count = len(points)
    requests = sum(point.requests for point in points)
    changes = sum(point.changes for point in points)
    times = sum((point.request_seconds or 0.0) * point.requests for point in points)
    waits = sum((point.time_to_active_seconds or 0.0) * point.changes for point in points)
    return ActivityPoint(
        at=points[-1].at,
        requests=requests / count,
        failed_requests=sum(point.failed_requests for point in points) / count,
        request_seconds=times / requests if requests else None,
        changes=changes,
        time_to_active_seconds=waits / changes if changes else None,
        traffic=_mean_traffic([point.traffic for point in points if point.traffic is not None]),
    )


def _mean_traffic(sums: Sequence[TrafficSum]) -> TrafficSum | None:
    if not sums:
        return None
    count = len(sums)
    every = [each.traffic for each in sums]
    return TrafficSum(
        load_balancers=max(each.load_balancers for each in sums),
        traffic=TrafficSample(
            connections=sum(each.connections for each in every) / count,
            active_connections=round(sum(each.active_connections for each in every) / count),
            bytes_in=sum(each.bytes_in for each in every) / count,
            bytes_out=sum(each.bytes_out for each in every) / count,
            request_errors=sum(each.request_errors for each in every) / count,
            members_online=every[-1].members_online,
            members=every[-1].members,
        ),
    )


class Activity(Value):
    """Totals of one controller since it started, and the stored points, oldest first."""

    since: float
    """Time at which the process began to count, in seconds since the epoch."""
    interval_seconds: float
    totals: ActivityTotals
    points: tuple[ActivityPoint, ...] = ()
    reason: str = ""
    """Reason why there are no points (human-readable)."""
