"""Conversion of rate limit policies and rules to Octavia's views."""

from typing import Any

from evenkeel.api.common.views import IdRef
from evenkeel.api.octavia.attributes import view_function
from evenkeel.api.octavia.views import RateLimitPolicyView, RateLimitRuleView
from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.resources.model import RateLimitPolicy, RateLimitRule

_policy = view_function(RateLimitPolicyView)
_rule = view_function(RateLimitRuleView)


def rate_limit_policy_view(row: RateLimitPolicy) -> RateLimitPolicyView:
    """Convert a rate limit policy to its view, with the ids of its rules."""
    return _policy(row, **_common_attributes(row), rules=[IdRef(id=item) for item in row.rule_ids])


def rate_limit_rule_view(row: RateLimitRule) -> RateLimitRuleView:
    return _rule(row, **_common_attributes(row))


def _common_attributes(row: RateLimitPolicy | RateLimitRule) -> dict[str, Any]:
    return {
        "tenant_id": row.project_id,
        "created_at": format_time(row.created_at),
        "updated_at": format_time_or_none(row.updated_at),
    }
