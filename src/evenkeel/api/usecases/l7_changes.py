"""This module converts change requests to the changes of L7 policies and rules, without reading or writing
the database.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from evenkeel.api.usecases import l7_requests
from evenkeel.api.usecases.attribute_values import values_to_change
from evenkeel.api.usecases.changes import Changes
from evenkeel.api.usecases.l7_rules import (
    KEYED,
    add_default_redirect_code,
    check_l7policy,
    check_l7rule,
    normalise_targets,
)
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import L7_TARGETS, L7Policy, L7Rule

Row = TypeVar("Row", L7Policy, L7Rule)

_ACTION_ATTRIBUTES = ("action", *L7_TARGETS.values(), "redirect_http_code")
_COMPARISON_ATTRIBUTES = ("type", "compare_type", "value", "key")
"""Attributes that depend on each other. They are written together, so that of two concurrent changes one is stored
completely.
"""


def policy_changes(body: l7_requests.L7PolicyChange, current: L7Policy) -> Changes:
    """Return the attributes of a policy to change; a target without an action implies its action, and
    attributes that depend on each other come together. Raises :class:`Invalid` if the changes name several
    targets, or the policy would be invalid after the change.
    """
    changes = values_to_change(body, L7Policy)
    if not changes.keys() & set(_ACTION_ATTRIBUTES):
        return changes
    changes.setdefault("action", _implied_action(changes) or current.action)
    after = normalise_targets(replace(current, **changes))
    if changes.get("redirect_http_code", after.redirect_http_code) is None:
        after = replace(after, redirect_http_code=None)  # shown as in the request; devices use the default
    return _changes_with_attributes(changes, _ACTION_ATTRIBUTES, after, check_l7policy)


def stored_changes(body: l7_requests.L7PolicyChange, current: L7Policy) -> Changes:
    """Return the attributes of a policy to change for LBaaS v2, where a target is stored whatever the action
    is, and only the request changes it. Raises :class:`Invalid` if the policy would be invalid after the
    change.
    """
    changes = values_to_change(body, L7Policy)
    if not changes.keys() & set(_ACTION_ATTRIBUTES):
        return changes
    return _changes_with_attributes(
        changes, _ACTION_ATTRIBUTES, add_default_redirect_code(replace(current, **changes)), check_l7policy
    )


def _implied_action(changes: Changes) -> Any:
    named = {name: action for action, name in L7_TARGETS.items() if changes.get(name) is not None}
    if len(named) > 1:
        raise Invalid(f"Invalid L7 Policy arguments: Cannot specify {' and '.join(named)} at the same time.")
    return next(iter(named.values()), None)


def rule_changes(body: l7_requests.L7RuleChange, current: L7Rule) -> Changes:
    """Return the attributes of a rule to change; those of the comparison come together, and ``key`` becomes
    None for a type without key. Raises :class:`Invalid` if the rule would be invalid after the change.
    """
    changes = values_to_change(body, L7Rule)
    if not changes.keys() & set(_COMPARISON_ATTRIBUTES):
        return changes
    if "key" in changes:
        changes["key"] = changes["key"] or None
    elif changes.get("type", current.type) not in KEYED:
        changes["key"] = None
    return _changes_with_attributes(changes, _COMPARISON_ATTRIBUTES, replace(current, **changes), check_l7rule)


def _changes_with_attributes(
    changes: Changes, names: Iterable[str], after: Row, check: Callable[[Row], None]
) -> Changes:
    check(after)
    return changes | {name: getattr(after, name) for name in names}
