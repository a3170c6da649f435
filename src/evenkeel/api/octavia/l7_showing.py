"""From L7 policies and rules to what Octavia shows of them."""

from collections.abc import Iterable
from typing import Any

from evenkeel.api.octavia.full_views import FullL7PolicyView
from evenkeel.api.octavia.views import IdRef, L7PolicyView, L7RuleView
from evenkeel.api.timestamps import timestamp, timestamp_or_none
from evenkeel.core.model import L7Policy, L7Rule


def _policy_attributes(row: L7Policy) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "provisioning_status": row.provisioning_status,
        "operating_status": row.operating_status,
        "admin_state_up": row.admin_state_up,
        "project_id": row.project_id,
        "tenant_id": row.project_id,
        "action": row.action,
        "listener_id": row.listener_id,
        "redirect_pool_id": row.redirect_pool_id,
        "redirect_url": row.redirect_url,
        "redirect_prefix": row.redirect_prefix,
        "redirect_http_code": row.redirect_http_code,
        "position": row.position,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp_or_none(row.updated_at),
        "tags": row.tags,
    }


def l7policy_view(row: L7Policy) -> L7PolicyView:
    """An L7 policy, with the ids of its rules."""
    return L7PolicyView(**_policy_attributes(row), rules=[IdRef(id=item) for item in row.rule_ids])


def full_l7policy_view(row: L7Policy, rules: Iterable[L7Rule]) -> FullL7PolicyView:
    """An L7 policy with its rules in full."""
    return FullL7PolicyView(**_policy_attributes(row), rules=[l7rule_view(rule) for rule in rules])


def l7rule_view(row: L7Rule) -> L7RuleView:
    """An L7 rule."""
    return L7RuleView(
        id=row.id,
        type=row.type,
        compare_type=row.compare_type,
        key=row.key,
        value=row.value,
        invert=row.invert,
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        admin_state_up=row.admin_state_up,
        created_at=timestamp(row.created_at),
        updated_at=timestamp_or_none(row.updated_at),
        project_id=row.project_id,
        tenant_id=row.project_id,
        tags=row.tags,
    )
