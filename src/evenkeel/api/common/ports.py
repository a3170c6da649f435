"""The API's ports to the controller: notifications of accepted writes, and time series in the controller's memory."""

from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.protocol.inquiries import Inquiry
from evenkeel.core.status.activity import Activity, ActivityTotals, ChangeTotals
from evenkeel.core.status.traffic import BusyLoadBalancer, TrafficSeries


class ChangeSink(Protocol):
    """Port for notifications of accepted writes, after their commit.

    What a notification causes (placing a load balancer, a hint that wakes the agent) may be lost: the database is the
    truth, and the scheduler finds what was missed. So an implementation must not raise if a service is unavailable; if
    it does, the request still succeeds.
    """

    async def change_accepted(self, change: Change) -> None:
        """Place the load balancer, or hint the agent that serves it that there is work."""
        ...

    async def failover_requested(self, change: Change) -> None:
        """Move the load balancer to another agent of its device group; if there is none, hint its agent to apply it
        again.
        """
        ...

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        """Send an operator's inquiry to the agent, which writes its answer into the database. Raises
        :class:`~evenkeel.core.kit.errors.BusUnavailable`.
        """
        ...

    async def request_full_resync(self, owners: Sequence[ShardOwner]) -> None:
        """Make the agents of these shards start a complete pass: compare every load balancer with the
        devices. The request may be lost.
        """
        ...


class TrafficSource(Protocol):
    """Port to load balancers' traffic over time."""

    def series(self, load_balancer_id: LoadBalancerId) -> TrafficSeries:
        """Return the series of one load balancer; without points for an unknown id. Any thread may call it."""
        ...

    def busiest(self) -> tuple[BusyLoadBalancer, ...]:
        """Return the ten load balancers with the most new connections in the last interval, busiest first. Any thread
        may call it.
        """
        ...


class NoTraffic:
    """A traffic source without series."""

    def series(self, load_balancer_id: LoadBalancerId) -> TrafficSeries:
        """Return a series without points."""
        return TrafficSeries(interval_seconds=0.0, reason="this process keeps no series")

    def busiest(self) -> tuple[BusyLoadBalancer, ...]:
        """Return an empty tuple."""
        return ()


class ActivitySource(Protocol):
    """Port to this process's activity over time."""

    def activity(self) -> Activity:
        """Return totals since the process started, and points over time. Any thread may call it."""
        ...


class NoActivity:
    """An activity source that counts nothing."""

    def activity(self) -> Activity:
        """Return an activity with empty totals and without points."""
        totals = ActivityTotals(routes={}, changes=ChangeTotals())
        return Activity(since=0.0, interval_seconds=0.0, totals=totals, reason="this process keeps no series")
