"""Conversion of L7 policies and rules to Octavia's views."""

from collections.abc import Iterable
from typing import Any

from evenkeel.api.common.views import IdRef
from evenkeel.api.octavia.attributes import view_function
from evenkeel.api.octavia.full_views import FullL7PolicyView
from evenkeel.api.octavia.views import L7PolicyView, L7RuleView
from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.resources.model import L7Policy, L7Rule

_policy = view_function(L7PolicyView)
_full_policy = view_function(FullL7PolicyView)
_rule = view_function(L7RuleView)


def _policy_attributes(row: L7Policy) -> dict[str, Any]:
    return {
        "tenant_id": row.project_id,
        "created_at": format_time(row.created_at),
        "updated_at": format_time_or_none(row.updated_at),
    }


def l7policy_view(row: L7Policy) -> L7PolicyView:
    """Convert an L7 policy to its view, with the ids of its rules."""
    return _policy(row, **_policy_attributes(row), rules=[IdRef(id=item) for item in row.rule_ids])


def full_l7policy_view(row: L7Policy, rules: Iterable[L7Rule]) -> FullL7PolicyView:
    """Convert an L7 policy to its view with rules in full."""
    return _full_policy(row, **_policy_attributes(row), rules=[l7rule_view(rule) for rule in rules])


def l7rule_view(row: L7Rule) -> L7RuleView:
    return _rule(
        row,
        tenant_id=row.project_id,
        created_at=format_time(row.created_at),
        updated_at=format_time_or_none(row.updated_at),
    )
