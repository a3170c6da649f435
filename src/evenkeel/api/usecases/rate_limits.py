"""Create and change rate limit policies and their rules."""

from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.usecases import rate_limit_requests as requests
from evenkeel.api.usecases.attribute_values import values_to_change, values_to_create
from evenkeel.api.usecases.parents import ParentContext, check_project
from evenkeel.api.usecases.writes import object_after_write, write_changes
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.devices.rate_limits import rate_limit_problems
from evenkeel.core.devices.service import rate_limit, rate_limits_by_listener
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import Listener, LoadBalancer, RateLimitPolicy, RateLimitRule

_POLICY_ATTRIBUTES_TO_CHECK = frozenset({"action", "enabled"})
_RULE_ATTRIBUTES_TO_CHECK = frozenset({"metric", "threshold", "interval", "urls"})


async def make_rate_limit_policy(
    services: Services, call: Call, wanted: requests.RateLimitPolicyNew
) -> RateLimitPolicy:
    """Create a rate limit policy, which has no rules yet; returns the stored policy. Raises :class:`NotFound`
    for the listener, :class:`Invalid`, :class:`Unsupported`, and :class:`Conflict` if the listener has the
    maximum number.
    """
    scope = call.caller.scope
    listener: Listener = await services.tenants.get(Listener, wanted.listener_id, project_id=scope)
    check_project(
        wanted, ParentContext(listener.load_balancer_id, listener.project_id, services.addresses, services.tls)
    )
    row = RateLimitPolicy(
        id=services.new_id(),
        listener_id=listener.id,
        load_balancer_id=listener.load_balancer_id,
        project_id=listener.project_id,
        action=wanted.action,
        **values_to_create(wanted, RateLimitPolicy, "action"),
    )
    served = await services.providers.find_served_object(LoadBalancer, row.load_balancer_id, scope)
    served.raise_first_problem(rate_limit_problems(served.table.rate_limits, listener.protocol, [rate_limit(row, ())]))
    accepted = await services.tenants.add_rate_limit_policy(row, project_id=scope)
    await services.change_accepted(accepted)
    made: RateLimitPolicy = await object_after_write(services, call, RateLimitPolicy, accepted, row.id)
    return made


async def change_rate_limit_policy(
    services: Services, call: Call, policy_id: str, body: requests.RateLimitPolicyChange
) -> RateLimitPolicy:
    """Change a rate limit policy; returns the stored policy. Raises :class:`NotFound`, :class:`Unsupported`,
    :class:`Conflict`.
    """
    changes = values_to_change(body, RateLimitPolicy)
    if changes.keys() & _POLICY_ATTRIBUTES_TO_CHECK:
        current: RateLimitPolicy = await services.tenants.get(RateLimitPolicy, policy_id, project_id=call.caller.scope)
        await _check_provider_supports(services, call, replace(current, **changes))
    row: RateLimitPolicy = await write_changes(services, call, RateLimitPolicy, policy_id, changes, None)
    return row


async def make_rate_limit_rule(
    services: Services, call: Call, policy: RateLimitPolicy, wanted: requests.RateLimitRuleNew
) -> RateLimitRule:
    """Add a rule to the policy; returns the stored rule. Raises :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict` if the policy has the maximum number of rules, :class:`NotFound` if the policy is
    gone.
    """
    check_project(wanted, ParentContext(policy.load_balancer_id, policy.project_id, services.addresses, services.tls))
    row = RateLimitRule(
        id=services.new_id(),
        rate_limit_policy_id=policy.id,
        load_balancer_id=policy.load_balancer_id,
        project_id=policy.project_id,
        metric=wanted.metric,
        threshold=wanted.threshold,
        **values_to_create(wanted, RateLimitRule, "metric", "threshold"),
    )
    _check_urls(row)
    await _check_provider_supports(services, call, policy, row)
    accepted = await services.tenants.add_rate_limit_rule(row, project_id=call.caller.scope)
    await services.change_accepted(accepted)
    made: RateLimitRule = await object_after_write(services, call, RateLimitRule, accepted, row.id, policy.id)
    return made


async def change_rate_limit_rule(
    services: Services, call: Call, policy_id: str, rule_id: str, body: requests.RateLimitRuleChange
) -> RateLimitRule:
    """Change a rule of the policy; returns the stored rule. Reads it first if the result has to be checked as
    a whole. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`.
    """
    scope = call.caller.scope
    changes = values_to_change(body, RateLimitRule)
    if changes.keys() & _RULE_ATTRIBUTES_TO_CHECK:
        current: RateLimitRule = await services.tenants.get(
            RateLimitRule, rule_id, parent_id=policy_id, project_id=scope
        )
        after = replace(current, **changes)
        _check_urls(after)
        # Written together, so that of two concurrent changes one is stored completely.
        changes |= {"metric": after.metric, "urls": after.urls}
        policy: RateLimitPolicy = await services.tenants.get(RateLimitPolicy, policy_id, project_id=scope)
        await _check_provider_supports(services, call, policy, after)
    row: RateLimitRule = await write_changes(services, call, RateLimitRule, rule_id, changes, policy_id)
    return row


def _check_urls(rule: RateLimitRule) -> None:
    if rule.metric == "REQUESTS_PER_URL" and not rule.urls:
        raise Invalid(
            "Validation failure: urls: none, with metric REQUESTS_PER_URL. Allowed: at least one path, such as /login."
        )


async def _check_provider_supports(
    services: Services, call: Call, policy: RateLimitPolicy, rule: RateLimitRule | None = None
) -> None:
    """Check the policy after the change, even if it is disabled, together with all rate limits of its
    listener, against the provider's capabilities. ``rule``: the new or changed rule; None: the policy
    changes. Raises :class:`Unsupported`, :class:`NotFound` for the policy.
    """
    served = await services.providers.find_served_object(LoadBalancer, policy.load_balancer_id, call.caller.scope)
    of_listener = ListQuery(filters={"listener_id": (policy.listener_id,)})
    there: tuple[RateLimitPolicy, ...] = (await services.tenants.list(RateLimitPolicy, of_listener)).items
    others = [each for each in there if each.id != policy.id]
    of_policies = ListQuery(filters={"rate_limit_policy_id": (policy.id, *(each.id for each in others))})
    stored: tuple[RateLimitRule, ...] = (await services.tenants.list(RateLimitRule, of_policies)).items
    live = tuple(each for each in stored if not each.deleted)
    rules = live if rule is None else (*(each for each in live if each.id != rule.id), rule)
    own = rate_limit(policy, [each for each in rules if each.rate_limit_policy_id == policy.id])
    served.raise_first_problem(rate_limit_problems(served.table.rate_limits, None, [own]))
    together = rate_limits_by_listener((*others, policy), rules).get(policy.listener_id, ())
    served.raise_first_problem(rate_limit_problems(served.table.rate_limits, None, together))
