"""Handler of the operators' API for the traffic of a load balancer over time."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import options_of
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.timestamps import timestamp
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.status.traffic import TrafficPoint

DECIMALS = 3


class PointView(Value):
    """One point of a series. Rates are averages per second, over the interval that ended then."""

    at: str
    connections: float
    """New connections per second."""
    active_connections: int
    bytes_in: float
    bytes_out: float
    request_errors: float
    members_online: int
    members: int


class SeriesView(Value):
    """A time series; unknown points are missing."""

    interval: float
    """Seconds between two points."""
    points: list[PointView]
    reason: str
    """Reason why there are no points; else empty."""


async def traffic(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/series: the points that this controller holds."""
    options_of(call, ())
    id_ = LoadBalancerId(object_id(call, "Load Balancer"))
    # Series are only in memory, where an unknown id looks like a load balancer without points.
    if not await services.operators.known_load_balancers([id_]):
        raise NotFound("Load Balancer", id_)
    series = services.traffic.series(id_)
    points = [_view(point) for point in series.points]
    return json_answer(SeriesView(interval=series.interval_seconds, points=points, reason=series.reason))


def _view(point: TrafficPoint) -> PointView:
    return PointView(
        at=timestamp(point.at),
        connections=round(point.connections, DECIMALS),
        active_connections=point.active_connections,
        bytes_in=round(point.bytes_in, DECIMALS),
        bytes_out=round(point.bytes_out, DECIMALS),
        request_errors=round(point.request_errors, DECIMALS),
        members_online=point.members_online,
        members=point.members,
    )
