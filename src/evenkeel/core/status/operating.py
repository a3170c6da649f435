"""Operating statuses that do not come from observing the device; :mod:`evenkeel.core.status.health` computes
the observed ones.

When a device confirms a revision, objects that were never observed get an initial status, which observation
corrects. While no device of a group is reached, its load balancers are OFFLINE; while no agent observes the
devices, ONLINE load balancers are DEGRADED.
"""

from collections.abc import Mapping

from evenkeel.core.resources.statuses import OperatingStatus

S = OperatingStatus
_STATUSES_WITHOUT_OBSERVATION = frozenset({S.OFFLINE, S.NO_MONITOR})

STATUSES_CHILDREN_KEEP = frozenset({S.OFFLINE, S.NO_MONITOR})
"""Statuses that a child keeps when the status of its whole load balancer is set: neither of them means that the child
works.
"""
STATUS_WHEN_UNOBSERVED: Mapping[OperatingStatus, OperatingStatus] = {S.ONLINE: S.DEGRADED}
"""New status of a load balancer whose devices are not observed: it may still serve. Other statuses stay."""
STATUS_WHEN_OBSERVED_AGAIN: Mapping[OperatingStatus, OperatingStatus] = {S.DEGRADED: S.ONLINE}
"""Reverse of :data:`STATUS_WHEN_UNOBSERVED`, for devices that are observed again."""


def status_after_confirmation(
    was: OperatingStatus, *, new: bool, enabled: bool, carries_traffic: bool
) -> OperatingStatus:
    """Return the operating status of a load balancer, listener or pool after its device confirmed it: ONLINE
    if it was OFFLINE, is ``enabled`` and was confirmed for the first time (``new``) by a device that
    carries traffic; else unchanged.
    """
    return S.ONLINE if carries_traffic and new and enabled and was is S.OFFLINE else was


def member_status_after_confirmation(
    was: OperatingStatus, *, new: bool, enabled: bool, monitored: bool
) -> OperatingStatus:
    """Return the operating status of a member after its device confirmed it. It changes only if the member
    was confirmed for the first time (``new``) and not observed before: to OFFLINE if it is not
    ``enabled``, else to NO_MONITOR unless its pool has a health monitor.
    """
    if not new or was not in _STATUSES_WITHOUT_OBSERVATION:
        return was
    if not enabled:
        return S.OFFLINE
    return was if monitored else S.NO_MONITOR


def unobserved_status(*, enabled: bool) -> OperatingStatus:
    """Return the operating status of an object without observed statuses (health monitor, L7 or rate limit
    policy or rule) that its device has: ONLINE if it is enabled, else OFFLINE.
    """
    return S.ONLINE if enabled else S.OFFLINE


def child_status_from_load_balancer(was: OperatingStatus, whole: OperatingStatus) -> OperatingStatus:
    """Return the operating status of a listener, pool or member after the status of its whole load balancer
    was set to ``whole``: that one, unless ``was`` is in :data:`STATUSES_CHILDREN_KEEP`.
    """
    return was if was in STATUSES_CHILDREN_KEEP else whole
