"""This module converts create requests to L7 policies and rules, without reading or writing the database."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from evenkeel.api.usecases import l7_requests
from evenkeel.api.usecases.attribute_values import values_to_create
from evenkeel.api.usecases.enhanced_services import rules_refused_error
from evenkeel.api.usecases.l7_rules import check_l7policy, check_l7rule, normalise_targets
from evenkeel.api.usecases.parents import NewId, ParentContext, check_project
from evenkeel.core.resources.model import L7Policy, L7Rule

PolicyConverter = Callable[[L7Policy], L7Policy]
"""Function that converts a requested L7 policy to the policy to store, for example without targets of other actions."""


class PolicyRows(NamedTuple):
    """A new policy with its rules."""

    policy: L7Policy
    rules: tuple[L7Rule, ...]


def policy_rows(
    body: l7_requests.L7PolicyParts,
    place: ParentContext,
    *,
    listener_id: str,
    redirect_pool_id: str | None,
    new_id: NewId,
    settle: PolicyConverter = normalise_targets,
) -> PolicyRows:
    """Convert a requested policy with its rules, at the requested position. ``redirect_pool_id``: pool to
    which it redirects; None: none. ``settle`` converts the requested policy to the one to store.

    Raises :class:`Invalid` for an attribute that is not allowed, another project than the load balancer's, or
    rules of a policy that stands for an enhanced service.
    """
    check_project(body, place)
    enhanced_service = body.name in place.enhanced_services
    if enhanced_service and body.rules:
        raise rules_refused_error(str(body.name))
    policy = settle(
        L7Policy(
            id=new_id(),
            listener_id=listener_id,
            load_balancer_id=place.load_balancer_id,
            project_id=place.project_id,
            action=body.action,
            redirect_pool_id=redirect_pool_id,
            enhanced_service=enhanced_service,
            **values_to_create(body, L7Policy, "action", "redirect_pool_id"),
        )
    )
    check_l7policy(policy)
    rules = tuple(rule_row(item, place, policy_id=policy.id, new_id=new_id) for item in body.rules or ())
    return PolicyRows(policy, rules)


def rule_row(body: l7_requests.L7RuleNew, place: ParentContext, *, policy_id: str, new_id: NewId) -> L7Rule:
    """Convert a create request to an L7 rule. Raises :class:`Invalid` for an attribute that is not allowed, or another
    project than the load balancer's.
    """
    check_project(body, place)
    rule = L7Rule(
        id=new_id(),
        l7policy_id=policy_id,
        load_balancer_id=place.load_balancer_id,
        project_id=place.project_id,
        key=body.key or None,
        **values_to_create(body, L7Rule, "key"),
    )
    check_l7rule(rule)
    return rule


def sort_by_position(made: Iterable[PolicyRows]) -> list[PolicyRows]:
    """Return the policies of one new listener sorted by their positions, numbered as if they had been added one after
    the other.
    """
    ordered: list[PolicyRows] = []
    for rows in made:
        # insert() appends if the position is beyond the end, as the default position is.
        ordered.insert(rows.policy.position - 1, rows)
    return [PolicyRows(replace(rows.policy, position=place), rows.rules) for place, rows in enumerate(ordered, start=1)]
