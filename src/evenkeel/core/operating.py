"""Operating status without a look at the device; :mod:`evenkeel.core.health` says what a look makes of it.

A device confirmed a revision: what was never seen gets a first guess, and observation corrects it. Devices are out of
reach: what they show is not known, and nobody is told that it works.
"""

from collections.abc import Mapping

from evenkeel.core.statuses import OperatingStatus

S = OperatingStatus
_UNSEEN = frozenset({S.OFFLINE, S.NO_MONITOR})

KEPT_BELOW = frozenset({S.OFFLINE, S.NO_MONITOR})
"""What a child keeps when the status of its whole load balancer is set: it does not say that the child works."""
UNWATCHED: Mapping[OperatingStatus, OperatingStatus] = {S.ONLINE: S.DEGRADED}
"""A load balancer of whose devices nobody knows anything: it may well serve. What is not named stays."""
WATCHED_AGAIN: Mapping[OperatingStatus, OperatingStatus] = {S.DEGRADED: S.ONLINE}
"""The same when somebody looks again, for those that were changed by :data:`UNWATCHED`."""


def first_status(was: OperatingStatus, *, new: bool, enabled: bool, carries_traffic: bool) -> OperatingStatus:
    """Of a load balancer, listener or pool that its device confirms. ``new``: it never did before.

    ``carries_traffic``: the device does; else nothing on it is ONLINE until something has looked.
    """
    return S.ONLINE if carries_traffic and new and enabled and was is S.OFFLINE else was


def first_member_status(was: OperatingStatus, *, new: bool, enabled: bool, monitored: bool) -> OperatingStatus:
    """Of a member that its device confirms. ``monitored``: its pool has a health monitor, which will say."""
    if not new or was not in _UNSEEN:
        return was
    if not enabled:
        return S.OFFLINE
    return was if monitored else S.NO_MONITOR


def unobserved_status(*, enabled: bool) -> OperatingStatus:
    """Of a health monitor, L7 policy or L7 rule: it works as soon as its device has it."""
    return S.ONLINE if enabled else S.OFFLINE


def below(was: OperatingStatus, whole: OperatingStatus) -> OperatingStatus:
    """Of a listener, pool or member whose whole load balancer is set to a status."""
    return was if was in KEPT_BELOW else whole
