"""Routes of L7 policies and rules."""

from evenkeel.api.common.linking import wrapped
from evenkeel.api.http.routing import Operation
from evenkeel.api.octavia import l7policies, views
from evenkeel.api.octavia.resources import L7POLICIES, L7RULES
from evenkeel.api.octavia.route_parts import OPTION_ERRORS, reading, removing
from evenkeel.api.policy.names import octavia
from evenkeel.api.usecases import l7_requests

_RULES = "/l7policies/{l7policy_id}/rules"

L7_ROUTES = (
    *reading(L7POLICIES, views.L7PolicyView, "/l7policies"),
    removing(L7POLICIES, "/l7policies"),
    Operation(
        method="POST",
        path="/l7policies",
        handle=l7policies.create,
        summary="Create an L7 policy, with its rules if given",
        rule=octavia("l7policy", "post"),
        body=l7_requests.L7PolicyNewBody,
        answer=wrapped("l7policy", views.L7PolicyView),
        status=201,
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path="/l7policies/{id}",
        handle=l7policies.change,
        summary="Change an L7 policy",
        rule=octavia("l7policy", "put"),
        body=l7_requests.L7PolicyChangeBody,
        answer=wrapped("l7policy", views.L7PolicyView),
        errors=OPTION_ERRORS,
    ),
    *reading(L7RULES, views.L7RuleView, _RULES, "l7policy_id"),
    removing(L7RULES, _RULES, "l7policy_id"),
    Operation(
        method="POST",
        path=_RULES,
        handle=l7policies.create_rule,
        summary="Add a rule to an L7 policy",
        rule=octavia("l7rule", "post"),
        body=l7_requests.L7RuleNewBody,
        answer=wrapped("rule", views.L7RuleView),
        status=201,
        errors=OPTION_ERRORS,
    ),
    Operation(
        method="PUT",
        path=f"{_RULES}/{{id}}",
        handle=l7policies.change_rule,
        summary="Change an L7 rule",
        rule=octavia("l7rule", "put"),
        body=l7_requests.L7RuleChangeBody,
        answer=wrapped("rule", views.L7RuleView),
        errors=OPTION_ERRORS,
    ),
)
