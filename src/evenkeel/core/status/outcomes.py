"""Outcomes and observations that agents report about load balancers and their objects."""

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Wire
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.resources.statuses import OperatingStatus

# -- agent -> controllers: reports (answered too, so that the agent knows they were committed) --------------------


class Applied(Wire):
    """Outcome of one load balancer's revision on its devices. ``error`` empty: the devices hold ``revision``."""

    load_balancer_id: LoadBalancerId
    revision: int
    change_id: str = ""
    """Change id of the applied definition."""
    error: str = ""
    waiting: bool = False
    """True: the change was not attempted because of ``error`` (no device answers, for example); the load balancer stays
    PENDING, with the reason.
    """


class ObservedStatus(Wire):
    """The operating status of one object as seen on the devices. ``kind``: loadbalancer, listener, pool or
    member.
    """

    kind: str
    id: str
    status: OperatingStatus
    reason: str = ""
    """Reason why a load balancer is not ONLINE (human-readable); names the missing device."""


class ObservedStatistics(Wire):
    """Traffic totals of one listener, summed over the group's devices."""

    listener_id: str
    statistics: ListenerStatistics
