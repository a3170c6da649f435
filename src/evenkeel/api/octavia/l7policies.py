"""Octavia L7 policies and their rules: create and change. For list, show and delete see :mod:`.resources`."""

from evenkeel.api.common.resources import object_id, one
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.resources import L7POLICIES, L7RULES
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import l7_requests
from evenkeel.api.usecases.l7policies import change_l7policy, change_l7rule, make_l7policy, make_l7rule
from evenkeel.core.resources.model import L7Policy


async def create(services: Services, call: Call, body: l7_requests.L7PolicyNewBody) -> Answer:
    """Handle POST /l7policies; answers 201."""
    return one(L7POLICIES, await make_l7policy(services, call, body.l7policy), 201)


async def change(services: Services, call: Call, body: l7_requests.L7PolicyChangeBody) -> Answer:
    """Handle PUT /l7policies/{id}."""
    return one(L7POLICIES, await change_l7policy(services, call, object_id(call, L7POLICIES.title), body.l7policy))


async def _policy(services: Services, call: Call) -> L7Policy:
    policy_id = object_id(call, L7POLICIES.title, "l7policy_id")
    policy: L7Policy = await services.tenants.get(L7Policy, policy_id, project_id=call.caller.scope)
    return policy


async def create_rule(services: Services, call: Call, body: l7_requests.L7RuleNewBody) -> Answer:
    """Handle POST /l7policies/{id}/rules; answers 201."""
    return one(L7RULES, await make_l7rule(services, call, await _policy(services, call), body.rule), 201)


async def change_rule(services: Services, call: Call, body: l7_requests.L7RuleChangeBody) -> Answer:
    """Handle PUT /l7policies/{id}/rules/{id}."""
    policy_id = object_id(call, L7POLICIES.title, "l7policy_id")
    return one(L7RULES, await change_l7rule(services, call, policy_id, object_id(call, L7RULES.title), body.rule))
