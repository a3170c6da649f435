"""Handler of the operators' API for the activity of this controller over time, and the traffic of
all load balancers.
"""

from collections.abc import Iterable

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import parse_number_within, query_options
from evenkeel.api.operators.series import DECIMALS, TrafficView, traffic_figures
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.timestamps import format_time
from evenkeel.core.kit.values import Value
from evenkeel.core.status.activity import Activity, ActivityPoint, ActivityTotals, merge_points
from evenkeel.core.status.traffic import BusyLoadBalancer

SECONDS_DECIMALS = 6
"""Decimals of shown seconds: requests may take less than a millisecond."""
HOURS = 6
"""Hours that a response covers unless the request names another number."""
HOURS_MAX = 24
POINTS_MAX = 360
"""Most points in a response; if there are more intervals, each point is the mean of several."""
ROUTES_MAX = 10
"""Most routes that are shown: the ones with the most requests."""


class RouteView(Value):
    """Requests to one route since the controller started. ``failed``: answered with a status of 500 or above."""

    method: str
    route: str
    count: int
    failed: int
    mean_seconds: float


class RequestsView(Value):
    """Requests that this controller answered since it started. ``mean_seconds``: mean time to answer; null
    without requests.
    """

    count: int
    failed: int
    """Number of requests answered with a status of 500 or above."""
    mean_seconds: float | None
    routes: list[RouteView]
    """The routes with the most requests."""


class TimeToActiveView(Value):
    """Time from the acceptance of a change to the report that devices have it, over reports that this
    controller processed; null without such reports.
    """

    count: int
    mean_seconds: float | None
    median_seconds: float | None
    """Median time in seconds, estimated like ``p95_seconds`` by interpolation in a histogram."""
    p95_seconds: float | None


class ActivityPointView(Value):
    """Activity in one interval. Requests, connections, bytes and request errors are averages per second."""

    at: str
    """End of the interval."""
    requests: float
    failed_requests: float
    request_seconds: float | None
    """Mean time to answer in seconds; null without requests."""
    changes: int
    """Number of changes that became ACTIVE in the interval."""
    time_to_active_seconds: float | None
    """Mean time to ACTIVE of the interval's changes, in seconds; null without changes."""
    load_balancers: int
    """Number of load balancers that were observed; the traffic figures of the point are sums over these."""
    connections: float | None
    """New connections per second; null, like the other traffic figures, if no load balancer was observed."""
    active_connections: int | None
    bytes_in: float | None
    bytes_out: float | None
    request_errors: float | None


class BusyLoadBalancerView(TrafficView):
    """Traffic of a load balancer in the last interval."""

    load_balancer_id: str


class ActivityView(Value):
    """Activity of this controller. Requests and times are of this controller only; traffic is of all load balancers
    with a series.
    """

    since: str
    """Time at which this controller started."""
    interval: float
    """Seconds between two polls; points of many hours are means of several."""
    requests: RequestsView
    time_to_active: TimeToActiveView
    points: list[ActivityPointView]
    busiest: list[BusyLoadBalancerView]
    """The load balancers with the most new connections in the last interval of their series, busiest first."""
    reason: str
    """Reason why there are no points; else empty."""


async def show_activity(services: Services, call: Call) -> Answer:
    """Handle GET /activity: show the activity of this controller in the last ``hours``, in at most ``points``
    points. A response for the default span is cached for a few seconds. Raises :class:`InvalidQuery` for bad
    numbers.
    """
    options = query_options(call, ("hours", "points"))
    if options:
        # Of another span than the usual one, which 20 dashboards would not ask for at once.
        hours = parse_number_within("hours", options.get("hours", str(HOURS)), 1, HOURS_MAX)
        return _activity_answer(
            services, hours, parse_number_within("points", options.get("points", str(POINTS_MAX)), 1, POINTS_MAX)
        )
    return await services.recent_activity.get(lambda: _default_activity_answer(services))


async def _default_activity_answer(services: Services) -> Answer:
    return _activity_answer(services, HOURS, POINTS_MAX)


def _activity_answer(services: Services, hours: int, points_max: int) -> Answer:
    return json_answer(
        {"activity": _activity_view(services.activity.activity(), services.traffic.busiest(), hours, points_max)}
    )


def _activity_view(known: Activity, busiest: Iterable[BusyLoadBalancer], hours: int, points_max: int) -> ActivityView:
    since = known.points[-1].at - hours * 3600 if known.points else 0.0
    return ActivityView(
        since=format_time(known.since),
        interval=known.interval_seconds,
        requests=_requests_view(known.totals),
        time_to_active=_time_to_active_view(known.totals),
        points=[
            _activity_point_view(point)
            for point in merge_points([each for each in known.points if each.at > since], points_max)
        ],
        busiest=[_busy_load_balancer_view(each) for each in busiest],
        reason=known.reason,
    )


def _busy_load_balancer_view(each: BusyLoadBalancer) -> BusyLoadBalancerView:
    return BusyLoadBalancerView(load_balancer_id=each.load_balancer_id, **traffic_figures(each.traffic))


def _requests_view(totals: ActivityTotals) -> RequestsView:
    every = totals.requests()
    most = sorted(totals.routes.items(), key=lambda item: (-item[1].count, item[0]))[:ROUTES_MAX]
    return RequestsView(
        count=every.count,
        failed=every.failed,
        mean_seconds=_mean_or_none(every.seconds, every.count),
        routes=[
            RouteView(
                method=method,
                route=route,
                count=each.count,
                failed=each.failed,
                mean_seconds=_mean_or_none(each.seconds, each.count) or 0.0,
            )
            for (method, route), each in most
        ],
    )


def _time_to_active_view(totals: ActivityTotals) -> TimeToActiveView:
    changes = totals.changes
    return TimeToActiveView(
        count=changes.count,
        mean_seconds=_mean_or_none(changes.seconds, changes.count),
        median_seconds=_round_or_none(changes.quantile(0.5)),
        p95_seconds=_round_or_none(changes.quantile(0.95)),
    )


def _activity_point_view(point: ActivityPoint) -> ActivityPointView:
    traffic = None if point.traffic is None else point.traffic.traffic
    return ActivityPointView(
        at=format_time(point.at),
        requests=round(point.requests, DECIMALS),
        failed_requests=round(point.failed_requests, DECIMALS),
        request_seconds=_round_or_none(point.request_seconds),
        changes=point.changes,
        time_to_active_seconds=_round_or_none(point.time_to_active_seconds),
        load_balancers=0 if point.traffic is None else point.traffic.load_balancers,
        connections=None if traffic is None else round(traffic.connections, DECIMALS),
        active_connections=None if traffic is None else traffic.active_connections,
        bytes_in=None if traffic is None else round(traffic.bytes_in, DECIMALS),
        bytes_out=None if traffic is None else round(traffic.bytes_out, DECIMALS),
        request_errors=None if traffic is None else round(traffic.request_errors, DECIMALS),
    )


def _mean_or_none(total: float, count: int) -> float | None:
    return round(total / count, SECONDS_DECIMALS) if count else None


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, SECONDS_DECIMALS)
