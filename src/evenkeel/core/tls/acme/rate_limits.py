"""Rate limits of certificate authorities, as this process meets them; kept in memory, with times passed in.

An authority does not say which limit an order has met. That of a domain is no reason to keep other projects
from their certificates: only if orders of several projects are refused, and none accepted in between, no
orders are made for a while.
"""

from evenkeel.core.kit.ids import ProjectId

PROJECTS = 2
"""Number of projects whose orders have to be refused before no orders are made."""
HELD_SECONDS_MAX = 3600.0
"""Longest time without orders, in seconds; then one order is tried."""


class RateLimits:
    """Refusals of orders because of a rate limit, by authority, since the authority last accepted an order."""

    def __init__(self) -> None:
        self._until: dict[str, dict[ProjectId, float]] = {}

    def refused(self, authority: str, project_id: ProjectId, *, until: float, at: float) -> None:
        """Record that the authority refused an order of the project because of a rate limit, ``until`` a
        time, at most :data:`HELD_SECONDS_MAX` from ``at``. Times in seconds since the epoch.
        """
        refusals = self._until.setdefault(authority, {})
        refusals.pop(project_id, None)
        refusals[project_id] = min(until, at + HELD_SECONDS_MAX)
        while len(refusals) > PROJECTS:  # the latest ones
            del refusals[next(iter(refusals))]

    def accepted(self, authority: str) -> None:
        """Record that the authority accepted an order, which ends all its refusals."""
        self._until.pop(authority, None)

    def rate_limited_until(self, authority: str, *, at: float) -> float:
        """Return the time until which no order should be made at the authority; 0 if one may be made now.
        ``at``: the present time. Times in seconds since the epoch.
        """
        refusals = self._until.get(authority, {})
        until = min(refusals.values(), default=0.0) if len(refusals) == PROJECTS else 0.0
        return until if until > at else 0.0
