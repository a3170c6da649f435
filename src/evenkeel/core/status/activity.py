"""Activity of one controller: totals since it started, and points over time.

Requests and times to ACTIVE are this controller's own: other controllers answer other requests and process other
reports. Traffic is that of all load balancers with a series, which every controller computes from the same totals in
the database.
"""

from collections.abc import Mapping

from evenkeel.core.kit.values import Value
from evenkeel.core.status.traffic import TrafficSample

RouteKey = tuple[str, str]
"""Key of a route: HTTP method and path template."""


class RequestTotals(Value):
    """Requests answered since the process started."""

    count: int = 0
    failed: int = 0
    """Number of requests answered with a status of 500 or above."""
    seconds: float = 0.0
    """Sum of the times to answer the requests."""


class ChangeTotals(Value):
    """Changes that devices have, according to the reports that this process processed since it started."""

    count: int = 0
    seconds: float = 0.0
    """Sum of the changes' times to ACTIVE."""
    buckets: tuple[tuple[float, int], ...] = ()
    """Pairs (upper bound in seconds, number of changes that took at most that long); ascending, the last bound is
    infinite.
    """

    def quantile(self, share: float) -> float | None:
        """Time within which ``share`` (0 to 1) of the changes became ACTIVE, interpolated within its bucket like in
        Prometheus; None without changes. Beyond the last finite bound it is that bound.
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
    """Totals since the process started."""

    routes: Mapping[RouteKey, RequestTotals]
    changes: ChangeTotals

    def requests(self) -> RequestTotals:
        """Return the sum over all routes."""
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
    """Activity between two observations."""

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


class Activity(Value):
    """Totals, and the stored points, oldest first."""

    since: float
    """Time at which the process began to count, in seconds since the epoch."""
    interval_seconds: float
    totals: ActivityTotals
    points: tuple[ActivityPoint, ...] = ()
    reason: str = ""
    """Reason why there are no points (human-readable)."""
