"""The agent's own view of its session: until when the agent may write to devices.

The lease is measured on the agent's monotonic clock from *before* the keepalive was sent, so it ends earlier
here than in the database while both clocks run at the same rate. If they do not, or a write takes longer than
expected, the guard on the device (epoch and session of the owner, checked at each write) still refuses the
writes of a former owner.
"""

from evenkeel.core.kit.values import Value


class Lease(Value):
    """An agent's session as last confirmed by a controller. ``asked_at_seconds``: time at which the keepalive
    was sent, on the holder's monotonic clock; the lease ends ``ttl_seconds`` later.
    """

    asked_at_seconds: float
    ttl_seconds: float

    def remaining_seconds(self, now_seconds: float) -> float:
        """Return the seconds from ``now_seconds`` (monotonic) until the lease ends; never negative."""
        return max(0.0, self.asked_at_seconds + self.ttl_seconds - now_seconds)

    def allows(self, now_seconds: float, needed_seconds: float) -> bool:
        """Whether work that takes up to ``needed_seconds`` may be started at ``now_seconds`` (monotonic),
        because it ends before the lease.
        """
        return self.remaining_seconds(now_seconds) >= needed_seconds


def later_lease(lease: Lease | None, other: Lease) -> Lease:
    """Return the lease that ends later, ``other`` if both end at the same time or ``lease`` is None. Answers
    to keepalives may arrive out of order.
    """
    if lease is None:
        return other
    ends = lease.asked_at_seconds + lease.ttl_seconds
    return other if other.asked_at_seconds + other.ttl_seconds >= ends else lease
