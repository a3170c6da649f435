"""Create and change L7 policies and their rules."""

from collections.abc import Callable

from msgspec.structs import asdict, replace

from evenkeel.api.common.references import ReferencingObjectChange
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.usecases import l7_requests
from evenkeel.api.usecases.chaining import check_new_members
from evenkeel.api.usecases.changes import Changes
from evenkeel.api.usecases.enhanced_services import check_rename, offered_services, rules_refused_error
from evenkeel.api.usecases.l7_build import PolicyConverter, PolicyRows, rule_row
from evenkeel.api.usecases.l7_changes import policy_changes, rule_changes
from evenkeel.api.usecases.l7_rules import normalise_targets
from evenkeel.api.usecases.listeners import check_device_can_apply_policy, new_policy
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.writes import object_after_write, write_changes
from evenkeel.core.devices.capabilities import l7rule_problems
from evenkeel.core.resources.model import L7Policy, L7Rule, Listener, LoadBalancer


async def make_l7policy(
    services: Services, call: Call, wanted: l7_requests.L7PolicyNew, settle: PolicyConverter = normalise_targets
) -> L7Policy:
    """Create an L7 policy with its rules and new pool; returns the stored policy. ``settle``: converts the
    requested policy to the one to store. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict`, :class:`QuotaReached`, :class:`KeyManagerUnavailable`.
    """
    scope = call.caller.scope
    listener: Listener = await services.tenants.get(Listener, wanted.listener_id, project_id=scope)
    served = await services.providers.find_served_object(LoadBalancer, listener.load_balancer_id, scope)
    offered = await offered_services(services, served.by.provider, served.table)
    place = ParentContext(
        listener.load_balancer_id, listener.project_id, services.addresses, services.tls, offered.names
    )
    rows, new_pool = new_policy(wanted, place, listener_id=listener.id, new_id=services.new_id, settle=settle)
    await check_device_can_apply_policy(services, served, rows, listener.protocol, new_pool)
    unchained = await check_new_members(services, served, () if new_pool is None else new_pool.members)
    users = [] if new_pool is None else [ReferencingObjectChange(new_pool.pool)]
    certificates = await services.references.read_and_check(users, served.by.project_id, served.table)
    accepted = await services.tenants.add_l7policy(
        rows.policy,
        rows.rules,
        new_pool=new_pool,
        certificates=certificates,
        project_id=scope,
        unchained=unchained,
    )
    await services.change_accepted(accepted)
    made: L7Policy = await object_after_write(services, call, L7Policy, accepted, rows.policy.id)
    return made


async def change_l7policy(
    services: Services,
    call: Call,
    policy_id: str,
    body: l7_requests.L7PolicyChange,
    changes_of: Callable[[l7_requests.L7PolicyChange, L7Policy], Changes] = policy_changes,
) -> L7Policy:
    """Change an L7 policy; returns the stored policy. ``changes_of``: returns the attributes to change, given
    body and current policy, which is read first. Raises :class:`NotFound`, :class:`Invalid`,
    :class:`Unsupported`, :class:`Conflict`.
    """
    current: L7Policy = await services.tenants.get(L7Policy, policy_id, project_id=call.caller.scope)
    changes = changes_of(body, current)
    if "name" in changes:
        served = await services.providers.find_served_object(LoadBalancer, current.load_balancer_id, call.caller.scope)
        check_rename(current, changes, (await offered_services(services, served.by.provider, served.table)).names)
    # A change of any target contains the action, too: they are written together.
    if "action" in changes and not current.enhanced_service:
        await _check_provider_supports(services, call, current, changes)
    row: L7Policy = await write_changes(services, call, L7Policy, policy_id, changes, None)
    return row


async def _check_provider_supports(services: Services, call: Call, current: L7Policy, changes: Changes) -> None:
    scope = call.caller.scope
    served = await services.providers.find_served_object(LoadBalancer, current.load_balancer_id, scope)
    listener: Listener = await services.tenants.get(Listener, current.listener_id, project_id=scope)
    await check_device_can_apply_policy(
        services, served, PolicyRows(replace(current, **changes), ()), listener.protocol
    )


async def make_l7rule(services: Services, call: Call, policy: L7Policy, wanted: l7_requests.L7RuleNew) -> L7Rule:
    """Add a rule to the policy; returns the stored rule. Raises :class:`Invalid`, also for a policy that
    stands for an enhanced service; :class:`Unsupported`, :class:`Conflict`, :class:`QuotaReached`,
    :class:`NotFound` if the policy is gone.
    """
    if policy.enhanced_service:
        raise rules_refused_error(policy.name)
    scope = call.caller.scope
    place = ParentContext(policy.load_balancer_id, policy.project_id, services.addresses, services.tls)
    row = rule_row(wanted, place, policy_id=policy.id, new_id=services.new_id)
    served = await services.providers.find_served_object(LoadBalancer, policy.load_balancer_id, scope)
    served.raise_first_problem(l7rule_problems(served.table, asdict(row)))
    accepted = await services.tenants.add_l7rule(row, project_id=scope)
    await services.change_accepted(accepted)
    made: L7Rule = await object_after_write(services, call, L7Rule, accepted, row.id, policy.id)
    return made


async def change_l7rule(
    services: Services, call: Call, policy_id: str, rule_id: str, body: l7_requests.L7RuleChange
) -> L7Rule:
    """Change a rule of the policy; returns the stored rule. Reads it first, because the result is checked as
    a whole. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`.
    """
    scope = call.caller.scope
    current: L7Rule = await services.tenants.get(L7Rule, rule_id, parent_id=policy_id, project_id=scope)
    changes = rule_changes(body, current)
    if changes.keys() & {"type", "compare_type", "key", "value"}:
        served = await services.providers.find_served_object(LoadBalancer, current.load_balancer_id, scope)
        served.raise_first_problem(l7rule_problems(served.table, {**asdict(current), **changes}))
    row: L7Rule = await write_changes(services, call, L7Rule, rule_id, changes, policy_id)
    return row
