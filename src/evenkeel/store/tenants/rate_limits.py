"""Adds rate limit policies and their rules."""

from sqlalchemy import Connection, false, func, select

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import (
    RATE_LIMIT_POLICIES_MAX,
    RATE_LIMIT_RULES_MAX,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.records import schema
from evenkeel.store.records.rows import LISTENER, RATE_LIMIT_POLICY, row_from_resource
from evenkeel.store.writing.conflicts import too_many_rate_limit_policies_error, too_many_rate_limit_rules_error
from evenkeel.store.writing.revision_lock import WriteTarget, build_change, mark_listener_pending, mark_policy_pending
from evenkeel.store.writing.steps import with_pending_create_status
from evenkeel.store.writing.tenant_writes import TenantWrites

_rate_limit_policy, _rate_limit_rule = schema.rate_limit_policy, schema.rate_limit_rule


def add_rate_limit_policy(writes: TenantWrites, row: RateLimitPolicy, *, project_id: ProjectId | None) -> Op[Change]:
    """Return an operation that adds a rate limit policy without rules. Raises :class:`NotFound` for the
    listener, :class:`Conflict` if it has the maximum number of policies, :class:`ObjectLimitReached`;
    ``IntegrityError`` for an id that exists.
    """
    target = WriteTarget(LISTENER, row.listener_id, project_id)
    there = select(func.count()).where(
        _rate_limit_policy.c.listener_id == row.listener_id, _rate_limit_policy.c.deleted == false()
    )

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        mark_listener_pending(connection, row.listener_id, locked)
        if int(connection.scalar(there) or 0) >= RATE_LIMIT_POLICIES_MAX:
            raise too_many_rate_limit_policies_error(row.listener_id)
        writes.check_quota(connection, locked, row)
        policy = with_pending_create_status(row, locked)
        insert_rows(connection, _rate_limit_policy, [row_from_resource(policy)])
        return build_change(connection, locked.row, (policy,))

    return run_transaction


def add_rate_limit_rule(writes: TenantWrites, row: RateLimitRule, *, project_id: ProjectId | None) -> Op[Change]:
    """Return an operation that adds a rule to a rate limit policy. Raises :class:`NotFound` for the policy,
    :class:`Conflict` if it has the maximum number of rules, :class:`ObjectLimitReached`; ``IntegrityError`` for an
    id that exists.
    """
    policy_id = row.rate_limit_policy_id
    target = WriteTarget(RATE_LIMIT_POLICY, policy_id, project_id)
    there = select(func.count()).where(
        _rate_limit_rule.c.rate_limit_policy_id == policy_id, _rate_limit_rule.c.deleted == false()
    )

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        mark_policy_pending(connection, RATE_LIMIT_POLICY, policy_id, locked)
        if int(connection.scalar(there) or 0) >= RATE_LIMIT_RULES_MAX:
            raise too_many_rate_limit_rules_error(policy_id)
        writes.check_quota(connection, locked, row)
        rule = with_pending_create_status(row, locked)
        insert_rows(connection, _rate_limit_rule, [row_from_resource(rule)])
        return build_change(connection, locked.row, (rule,))

    return run_transaction
