"""Traffic of load balancers over time. Device drivers count, agents report totals, and the database keeps the
newest ones (:class:`ListenerStatistics`). A controller reads them at intervals and keeps the differences
in memory for some hours; the differences are not stored.
"""

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import ListenerStatistics

GroupKey = tuple[str, int]
"""Key of a device group: (environment, number)."""


class GroupObservation(Value):
    """Whether a device group is observed now, by the row of its common shard."""

    group: GroupKey
    report: tuple[str, int]
    """Session and number of the newest status report: if both are unchanged, no report arrived."""
    watched: bool
    """True if the session of the observing agent is live, and a device of the group is reachable."""
    reached_count: int
    """Number of times that devices of the group became reachable again: totals are sums over the reachable devices."""


class ListenerTraffic(Value):
    """Traffic totals of one listener, as agents reported them."""

    listener_id: str
    statistics: ListenerStatistics


class TrafficTotals(Value):
    """Reported traffic totals of one load balancer, summed over its listeners."""

    load_balancer_id: LoadBalancerId
    group: GroupKey
    statistics: ListenerStatistics
    members_online: int | None
    """Number of members that take new connections: ONLINE, or without a health monitor; None: no agent observes the
    device group.
    """
    members: int
    listeners: tuple[ListenerTraffic, ...] = ()
    """Totals of each listener if there are several; empty: the only listener has the totals of the load balancer."""


class TrafficReading(Value):
    """The newest traffic totals of the oldest load balancers that have any, and which device groups are
    observed.
    """

    groups: tuple[GroupObservation, ...]
    load_balancers: tuple[TrafficTotals, ...]
    counted: int
    """Number of load balancers with totals, also of those not in ``load_balancers``; counted once a minute where there
    are many.
    """


class TrafficSample(Value):
    """The traffic of one load balancer between two observations: average rates per second of connections,
    bytes and errors. ``members_online``: of ``members``, those that take new connections.
    """

    connections: float
    """New connections per second."""
    active_connections: int
    """Open connections at the end of the interval."""
    bytes_in: float
    bytes_out: float
    request_errors: float
    members_online: int
    members: int


class BusyLoadBalancer(Value):
    """A load balancer's traffic between the last two observations."""

    load_balancer_id: LoadBalancerId
    traffic: TrafficSample


class TrafficPoint(TrafficSample):
    """A traffic sample with its time."""

    at: float
    """End of the interval, in seconds since the epoch."""


class ListenerSeries(Value):
    """Traffic of one listener over time: the points that this process holds, oldest first; members are not
    counted (0).
    """

    listener_id: str
    points: tuple[TrafficPoint, ...] = ()


class TrafficSeries(Value):
    """Traffic of one load balancer over time: the points that this process holds, oldest first."""

    interval_seconds: float
    points: tuple[TrafficPoint, ...] = ()
    reason: str = ""
    """Reason why there are no points (human-readable)."""
    listeners: tuple[ListenerSeries, ...] = ()
    """Points of each listener if there are several, as far as this process holds them."""
