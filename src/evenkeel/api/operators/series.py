"""Handler of the operators' API for the traffic of a load balancer over time."""

from typing import Any

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.timestamps import format_time
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.status.traffic import TrafficPoint, TrafficSample

DECIMALS = 3
LISTENER_FIGURES = ("connections", "active_connections", "bytes_in", "bytes_out", "request_errors")


class TrafficView(Value):
    """Traffic of a load balancer in one interval. ``connections`` (new ones), bytes and errors are averages
    per second; active connections and members are numbers at its end.
    """

    connections: float
    """New connections per second."""
    active_connections: int
    bytes_in: float
    bytes_out: float
    request_errors: float
    members_online: int
    members: int


class PointView(TrafficView):
    """One point of a series: the traffic of the interval that ended at ``at``."""

    at: str


class ListenerPointView(Value):
    """The traffic of one listener in the interval that ended at ``at``. ``connections`` (new ones), bytes and
    errors are averages per second.
    """

    at: str
    connections: float
    """New connections per second."""
    active_connections: int
    bytes_in: float
    bytes_out: float
    request_errors: float


class ListenerSeriesView(Value):
    """The time series of one listener; unknown points are missing."""

    listener_id: str
    points: list[ListenerPointView]


class SeriesView(Value):
    """The time series of a load balancer's traffic; unknown points are missing."""

    interval: float
    """Seconds between two points."""
    points: list[PointView]
    reason: str
    """Reason why there are no points; else empty."""
    listeners: list[ListenerSeriesView]
    """Series of each listener, if the load balancer has several; a single listener's series is that of the load
    balancer.
    """


async def show_traffic(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/series: show the points that this controller holds. Raises
    :class:`NotFound`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    id_ = LoadBalancerId(object_id(call, "Load Balancer"))
    # Series are only in memory, where an unknown id looks like a load balancer without points.
    if not await services.operators.filter_known_load_balancers([id_]):
        raise NotFound("Load Balancer", id_)
    series = services.traffic.series(id_)
    points = [_point_view(point) for point in series.points]
    listeners = [
        ListenerSeriesView(listener_id=one.listener_id, points=[_listener_point_view(point) for point in one.points])
        for one in series.listeners
    ]
    return json_answer(
        SeriesView(interval=series.interval_seconds, points=points, reason=series.reason, listeners=listeners)
    )


def _point_view(point: TrafficPoint) -> PointView:
    return PointView(at=format_time(point.at), **traffic_figures(point))


def _listener_point_view(point: TrafficPoint) -> ListenerPointView:
    figures = traffic_figures(point)
    return ListenerPointView(at=format_time(point.at), **{name: figures[name] for name in LISTENER_FIGURES})


def traffic_figures(sample: TrafficSample) -> dict[str, Any]:
    """Return the attributes of a :class:`TrafficView` from a sample, with rates rounded to :data:`DECIMALS`
    decimals.
    """
    return {
        "connections": round(sample.connections, DECIMALS),
        "active_connections": sample.active_connections,
        "bytes_in": round(sample.bytes_in, DECIMALS),
        "bytes_out": round(sample.bytes_out, DECIMALS),
        "request_errors": round(sample.request_errors, DECIMALS),
        "members_online": sample.members_online,
        "members": sample.members,
    }
