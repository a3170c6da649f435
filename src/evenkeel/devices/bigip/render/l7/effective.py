"""Finds the L7 policies of a listener that can match, and the pools that requests can reach. Pure.

A policy that is disabled, has no enabled rule, or redirects to a pool that is disabled never matches, as in Octavia.
The first policy that matches decides.
"""

from collections.abc import Mapping

from evenkeel.core.devices.service import ServiceL7Policy, ServiceL7Rule, ServiceListener, ServicePool
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import L7_PROTOCOLS, L7_RULES_MAX
from evenkeel.devices.errors import Unrenderable


class EffectivePolicy(Value):
    """An L7 policy that can match, with its enabled rules. ``pool``: the pool that the policy redirects to;
    None for other actions.
    """

    policy: ServiceL7Policy
    rules: tuple[ServiceL7Rule, ...]
    pool: ServicePool | None = None


class Routing(Value):
    """L7 policies and pools by which a listener distributes requests or connections."""

    listener: ServiceListener
    named: tuple[ServicePool, ...] = ()
    """All pools that the listener names, enabled or not, so that enabling a pool does not replace profiles."""
    policies: tuple[EffectivePolicy, ...] = ()
    default: ServicePool | None = None
    """Pool for requests that no policy matches; None if there is none or it is disabled."""

    @property
    def pools(self) -> tuple[ServicePool, ...]:
        """Return every enabled pool that a request can reach, the default one first, without duplicates."""
        found = [self.default, *(each.pool for each in self.policies)]
        return tuple({pool.id: pool for pool in found if pool is not None}.values())

    @property
    def uses_tls(self) -> bool:
        """Whether any pool that the listener names uses TLS with its members."""
        return any(pool.tls_enabled for pool in self.named)


def effective_routing(listener: ServiceListener, pools: Mapping[str, ServicePool]) -> Routing:
    """Find the policies that can match, and the listener's pools. ``pools``: all pools by id.

    Raises :class:`Unrenderable` for policies at a listener without HTTP, and for too many rules in one
    policy.
    """
    if listener.l7policies and listener.protocol not in L7_PROTOCOLS:
        raise Unrenderable(f"listener {listener.id}: l7policies need protocol HTTP, not {listener.protocol}")
    up = {pool.id: pool for pool in pools.values() if pool.admin_state_up}
    found = []
    for policy in listener.l7policies:
        rules = tuple(rule for rule in policy.rules if rule.admin_state_up)
        if len(rules) > L7_RULES_MAX:
            raise Unrenderable(f"l7policy {policy.id}: {len(rules)} rules: at most {L7_RULES_MAX} are possible")
        pool = up.get(policy.redirect_pool_id or "")
        if policy.admin_state_up and rules and (policy.action != "REDIRECT_TO_POOL" or pool):
            redirected = pool if policy.action == "REDIRECT_TO_POOL" else None
            found.append(EffectivePolicy(policy=policy, rules=rules, pool=redirected))
    return Routing(
        listener=listener,
        named=_named_pools(listener, pools),
        policies=tuple(found),
        default=up.get(listener.default_pool_id or ""),
    )


def _named_pools(listener: ServiceListener, pools: Mapping[str, ServicePool]) -> tuple[ServicePool, ...]:
    named = (listener.default_pool_id, *(policy.redirect_pool_id for policy in listener.l7policies))
    return tuple(pools[name] for name in dict.fromkeys(named) if name is not None and name in pools)
