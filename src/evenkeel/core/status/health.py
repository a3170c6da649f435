"""Operating statuses of members, pools, listeners and load balancers. Pure, and the same for every device type.

The rules are those by which Octavia's health manager merges what its amphorae report:

- a member is OFFLINE when forced down, ERROR when its monitor fails, DRAINING at weight 0, NO_MONITOR without a health
  monitor, else ONLINE;
- a pool that no listener uses, or that is admin down, is OFFLINE; an empty one is ONLINE; one without any member
  that takes new connections is ERROR; one with a failed member is DEGRADED;
- a listener is ONLINE while it accepts connections, whatever its pool does, and DEGRADED at its connection limit;
- a load balancer is OFFLINE when admin down, else it has the worst status of its pools and listeners in use.
"""

from collections.abc import Iterable

from evenkeel.core.resources.statuses import OperatingStatus

S = OperatingStatus
_STATUSES_TAKING_TRAFFIC = frozenset({S.ONLINE, S.NO_MONITOR})


def member_status(*, enabled: bool, draining: bool, monitored: bool, up: bool) -> OperatingStatus:
    """Compute the operating status of a member. ``draining``: its weight is 0; ``monitored``: its pool has a
    health monitor; ``up``: its last checks succeeded, ignored unless ``monitored``.
    """
    if not enabled:
        return S.OFFLINE
    if monitored and not up:
        return S.ERROR
    if draining:
        return S.DRAINING
    return S.ONLINE if monitored else S.NO_MONITOR


def pool_status(members: Iterable[OperatingStatus], *, in_use: bool = True) -> OperatingStatus:
    """Compute the operating status of a pool from the statuses of its members. ``in_use``: the pool is
    enabled, and a listener sends to it.
    """
    statuses = tuple(members)
    if not in_use:
        return S.OFFLINE
    if statuses and not _STATUSES_TAKING_TRAFFIC & set(statuses):
        return S.ERROR
    return S.DEGRADED if S.ERROR in statuses else S.ONLINE


def listener_status(*, enabled: bool, connections: int = 0, connection_limit: int = 0) -> OperatingStatus:
    """Compute the operating status of a listener. ``connections``: number open now; ``connection_limit`` 0 or
    less: no limit.
    """
    if not enabled:
        return S.OFFLINE
    return S.DEGRADED if 0 < connection_limit <= connections else S.ONLINE


def load_balancer_status(parts: Iterable[OperatingStatus], *, enabled: bool = True) -> OperatingStatus:
    """Compute the operating status of a load balancer from the statuses of its listeners and pools: the worst
    of ERROR, DEGRADED and ONLINE; other statuses do not count.
    """
    if not enabled:
        return S.OFFLINE
    statuses = set(parts)
    return next((status for status in (S.ERROR, S.DEGRADED) if status in statuses), S.ONLINE)
