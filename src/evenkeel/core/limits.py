"""How much one load balancer may hold, whoever owns it. Pure.

Unlike quotas, which share out what there is among projects, these bounds are so that every load balancer that was
accepted can be sent to its agent, rendered and put on a device as one change. The largest one of the defaults, every
text in it as long as the API lets it be, fits an answer (:data:`~evenkeel.core.messages.LARGEST_ANSWER_BYTES`).
"""

from collections.abc import Mapping

from evenkeel.core.errors import Conflict
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.values import Value

CALLED: dict[str, str] = {
    "listener": "listeners",
    "pool": "pools",
    "member": "members",
    "l7policy": "L7 policies",
    "l7rule": "L7 rules",
}
"""Each kind that is bounded; a pool has one health monitor at most, and what listeners list is bounded by itself."""


class LoadBalancerLimits(Value):
    """The most of each kind below one load balancer."""

    listener: int = 200
    pool: int = 500
    member: int = 10_000
    l7policy: int = 1_000
    l7rule: int = 2_000


class LimitMet(Conflict):
    """A load balancer may not hold more of something."""

    code = "limit_met"


def growing(wanted: Mapping[str, int]) -> tuple[str, ...]:
    """The bounded kinds of which there are to be more, in their order."""
    return tuple(kind for kind in CALLED if wanted.get(kind, 0) > 0)


def check_limits(
    load_balancer_id: LoadBalancerId, limits: LoadBalancerLimits, used: Mapping[str, int], wanted: Mapping[str, int]
) -> None:
    """Raises :class:`LimitMet` unless there is room for as many more of each kind as are wanted. What takes nothing is
    never refused, also where a limit was lowered below what is there."""
    for kind in growing(wanted):
        there, more, limit = used.get(kind, 0), wanted[kind], getattr(limits, kind)
        if there + more > limit:
            raise LimitMet(
                f"Load balancer {load_balancer_id} may have at most {limit} {CALLED[kind]}: it has {there}, and {more} "
                "more were asked for."
            )
