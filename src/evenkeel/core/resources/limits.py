"""Maximum numbers of objects of one load balancer, in every project. Pure.

Quotas limit projects. These limits ensure that every accepted load balancer can be sent to its agent, rendered and
applied to a device as one change. With the defaults the largest load balancer, with every text as long as the API
allows, fits an answer (:data:`~evenkeel.core.protocol.messages.LARGEST_ANSWER_BYTES`).
"""

from collections.abc import Mapping

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value

PLURALS_OF_LIMITED_KINDS: dict[str, str] = {
    "listener": "listeners",
    "pool": "pools",
    "member": "members",
    "l7policy": "L7 policies",
    "l7rule": "L7 rules",
    "ratelimitpolicy": "rate limit policies",
    "ratelimitrule": "rate limit rules",
    "certificate": "certificates",
}
"""{limited kind of objects: its plural in texts}. A pool has at most one health monitor, and lists in listeners have
limits of their own.
"""


class LoadBalancerLimits(Value):
    """The maximum number of objects of each kind below one load balancer."""

    listener: int = 200
    pool: int = 500
    member: int = 10_000
    l7policy: int = 1_000
    l7rule: int = 2_000
    ratelimitpolicy: int = 500
    ratelimitrule: int = 1_000
    certificate: int = 1_500
    """Maximum number of references in all listeners and pools together: certificates, CA certificates and revocation
    lists.
    """


class ObjectLimitReached(Conflict):
    """The limits of one load balancer do not allow more objects of some kind."""

    code = "limit_met"


def limited_kinds_with_additions(wanted: Mapping[str, int]) -> tuple[str, ...]:
    """Return the limited kinds of which ``wanted`` ({kind: number}) adds objects, in the order of
    :data:`PLURALS_OF_LIMITED_KINDS`.
    """
    return tuple(kind for kind in PLURALS_OF_LIMITED_KINDS if wanted.get(kind, 0) > 0)


def check_limits(
    load_balancer_id: LoadBalancerId, limits: LoadBalancerLimits, used: Mapping[str, int], wanted: Mapping[str, int]
) -> None:
    """Check that ``used`` and ``wanted`` objects ({kind: number}) together exceed no limit of the load
    balancer. Raises :class:`ObjectLimitReached` for the first kind that does.

    A change that adds nothing is never refused, even where a limit was lowered below what exists.
    """
    for kind in limited_kinds_with_additions(wanted):
        there, more, limit = used.get(kind, 0), wanted[kind], getattr(limits, kind)
        if there + more > limit:
            raise ObjectLimitReached(
                f"Load balancer {load_balancer_id} may have at most {limit} {PLURALS_OF_LIMITED_KINDS[kind]}: "
                f"it has {there}, and {more} more were requested."
            )
