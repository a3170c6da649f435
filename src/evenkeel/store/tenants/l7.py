"""Adds L7 policies and L7 rules to a load balancer."""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlalchemy import Connection, false, func, select

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import L7_RULES_MAX, L7Policy, L7Rule, NewPool
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.records import schema
from evenkeel.store.records.rows import L7POLICY, LISTENER, row_from_resource
from evenkeel.store.tenants.children import insert_pools
from evenkeel.store.tenants.l7_positions import make_room_at_position
from evenkeel.store.tenants.updates import check_target_pool
from evenkeel.store.writing.certificates import add_certificate_uses
from evenkeel.store.writing.conflicts import check_distinct_members, check_rule_count, too_many_rules_error
from evenkeel.store.writing.revision_lock import (
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    mark_listener_pending,
    mark_policy_pending,
)
from evenkeel.store.writing.steps import with_pending_create_status
from evenkeel.store.writing.tenant_writes import TenantWrites

_l7rule = schema.l7rule


def add_l7policy(
    writes: TenantWrites,
    row: L7Policy,
    rules: Sequence[L7Rule],
    *,
    new_pool: NewPool | None = None,
    certificates: Sequence[CheckedCertificate] = (),
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that adds an L7 policy at its position, with its rules and, if ``new_pool`` is
    given, the pool to which it redirects.

    Raises :class:`NotFound` for the listener, or the pool to which it redirects; :class:`Conflict` for too
    many rules, or equal members of the new pool; :class:`Invalid` for a pool with an incompatible protocol;
    :class:`QuotaReached`, :class:`ObjectLimitReached`; ``IntegrityError`` for an id that exists.
    """
    check_rule_count(row.id, len(rules))
    target = WriteTarget(LISTENER, row.listener_id, project_id)
    new_pools = [] if new_pool is None else [new_pool]
    for new in new_pools:
        check_distinct_members(new.members)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        mark_listener_pending(connection, row.listener_id, locked)
        writes.check_quota(connection, locked, row, *rules, *(part for new in new_pools for part in new.parts))
        # Before the check of the redirect, whose pool may be the new one.
        made = insert_pools(connection, new_pools, locked)
        add_certificate_uses(connection, writes.options, locked, [new.pool for new in new_pools], certificates)
        if row.redirect_pool_id is not None:
            check_target_pool(connection, row.listener_id, row.redirect_pool_id, locked)
        policy, stored = _policy_as_stored(connection, row, rules, locked)
        insert_rows(connection, schema.l7policy, [row_from_resource(policy)])
        insert_rows(connection, _l7rule, [row_from_resource(rule) for rule in stored])
        return build_change(connection, locked.row, (policy, *stored, *made))

    return run_transaction


def add_l7rule(writes: TenantWrites, row: L7Rule, *, project_id: ProjectId | None) -> Op[Change]:
    """Return an operation that adds a rule to an L7 policy. Raises :class:`NotFound` for the policy,
    :class:`Conflict` if it has the maximum number of rules, :class:`QuotaReached`, :class:`ObjectLimitReached`;
    ``IntegrityError`` for an id that exists.
    """
    target = WriteTarget(L7POLICY, row.l7policy_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        mark_policy_pending(connection, L7POLICY, row.l7policy_id, locked)
        _check_rule_limit(connection, row.l7policy_id)
        writes.check_quota(connection, locked, row)
        rule = with_pending_create_status(row, locked)
        insert_rows(connection, _l7rule, [row_from_resource(rule)])
        return build_change(connection, locked.row, (rule,))

    return run_transaction


def _policy_as_stored(
    connection: Connection, row: L7Policy, rules: Sequence[L7Rule], locked: LockedLoadBalancer
) -> tuple[L7Policy, list[L7Rule]]:
    """Return the L7 policy and its rules as they are first stored; later policies of the listener are moved
    up.
    """
    stored = [with_pending_create_status(replace(rule, l7policy_id=row.id), locked) for rule in rules]
    position = make_room_at_position(connection, row.listener_id, row.position)
    policy = replace(
        with_pending_create_status(row, locked), position=position, rule_ids=tuple(sorted(rule.id for rule in stored))
    )
    return policy, stored


def _check_rule_limit(connection: Connection, policy_id: str) -> None:
    statement = select(func.count()).where(_l7rule.c.l7policy_id == policy_id, _l7rule.c.deleted == false())
    if int(connection.scalar(statement) or 0) >= L7_RULES_MAX:
        raise too_many_rules_error(policy_id)
