"""L7 policies and their rules: create and change."""

from evenkeel.api.answers import Answer
from evenkeel.api.context import Call, Services
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.resources import L7POLICIES, L7RULES, body_as, one
from evenkeel.api.octavia import l7_requests as octavia
from evenkeel.api.octavia.l7policies import change_l7policy, change_l7rule, make_l7policy, make_l7rule
from evenkeel.api.octavia.resources import object_id
from evenkeel.core.model import L7Policy


async def create(services: Services, call: Call, body: requests.V2L7PolicyNewBody) -> Answer:
    """201."""
    wanted = body.l7policy
    if wanted.action == "REDIRECT_TO_POOL" and wanted.redirect_pool_id is None:
        raise no_pool()
    return one(L7POLICIES, await make_l7policy(services, call, body_as(octavia.L7PolicyNew, wanted)), 201)


def no_pool() -> NeutronRefusal:
    """The error for a redirect policy without a pool."""
    return NeutronRefusal(
        409, "L7PolicyRedirectPoolIdMissing", "Redirect pool id is missing for L7 Policy with pool redirect action."
    )


async def change(services: Services, call: Call, body: change_requests.V2L7PolicyChangeBody) -> Answer:
    """200."""
    wanted, policy_id = body.l7policy, object_id(call, L7POLICIES.title)
    if wanted.action == "REDIRECT_TO_POOL" and not isinstance(wanted.redirect_pool_id, str):
        current: L7Policy = await services.tenants.get(L7Policy, policy_id, project_id=call.caller.scope)
        if wanted.redirect_pool_id is None or current.redirect_pool_id is None:
            raise no_pool()
    changes = body_as(octavia.L7PolicyChange, wanted)
    return one(L7POLICIES, await change_l7policy(services, call, policy_id, changes))


async def create_rule(services: Services, call: Call, body: requests.V2L7RuleNewBody) -> Answer:
    """201."""
    policy_id = object_id(call, L7POLICIES.title, "l7policy_id")
    policy: L7Policy = await services.tenants.get(L7Policy, policy_id, project_id=call.caller.scope)
    return one(L7RULES, await make_l7rule(services, call, policy, body_as(octavia.L7RuleNew, body.rule)), 201)


async def change_rule(services: Services, call: Call, body: change_requests.V2L7RuleChangeBody) -> Answer:
    """200."""
    policy_id, rule_id = object_id(call, L7POLICIES.title, "l7policy_id"), object_id(call, L7RULES.title)
    wanted = body_as(octavia.L7RuleChange, body.rule)
    return one(L7RULES, await change_l7rule(services, call, policy_id, rule_id, wanted))
