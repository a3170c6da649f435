"""Adds listeners, pools, members and health monitors to a load balancer.

Each operation takes the load balancer's lock, updates the parents' statuses and inserts. Unique constraints
detect conflicts with other children of the load balancer (port, address, second monitor).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec.structs import replace
from sqlalchemy import Connection, false, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import Child, HealthMonitor, L7Policy, L7Rule, Listener, Member, NewPool, Pool
from evenkeel.core.resources.protocol_pairs import check_protocol_pair
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.records import schema
from evenkeel.store.records.rows import KINDS, LISTENER, LOAD_BALANCER, POOL, row_from_resource
from evenkeel.store.vips.vip_release import check_has_vip
from evenkeel.store.writing.certificates import add_certificate_uses
from evenkeel.store.writing.conflicts import (
    check_distinct_members,
    check_rule_count,
    second_default_pool_error,
)
from evenkeel.store.writing.revision_lock import (
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    immutable_error,
    mark_pool_pending,
    pending_status,
    read_target_row,
)
from evenkeel.store.writing.steps import with_pending_create_status
from evenkeel.store.writing.tenant_writes import TenantWrites

InPool = TypeVar("InPool", Member, HealthMonitor)


def add_listener(
    writes: TenantWrites,
    row: Listener,
    l7policies: Sequence[L7Policy] = (),
    l7rules: Sequence[L7Rule] = (),
    *,
    new_pools: Sequence[NewPool] = (),
    certificates: Sequence[CheckedCertificate] = (),
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that adds a listener with its policies, rules and new pools.

    Raises :class:`NotFound` for the load balancer, or a pool of another one; :class:`Conflict` for too many
    rules, equal members of a new pool, or a load balancer without a VIP; :class:`Invalid` for a pool with an
    incompatible protocol; :class:`QuotaReached`, :class:`ObjectLimitReached`; ``IntegrityError`` for a port
    that is in use or an id that exists.
    """
    target = WriteTarget(LOAD_BALANCER, row.load_balancer_id, project_id)
    for new in new_pools:
        check_distinct_members(new.members)
    for policy_id, count in Counter(rule.l7policy_id for rule in l7rules).items():
        check_rule_count(policy_id, count)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        check_has_vip(locked)
        # Under the lock, so that no pool is deleted between this check and the insert.
        _check_target_pools(connection, row, l7policies, new_pools, locked)
        parts = [part for new in new_pools for part in new.parts]
        writes.check_quota(connection, locked, row, *l7policies, *l7rules, *parts)
        listener = replace(
            with_pending_create_status(row, locked), l7policy_ids=tuple(policy.id for policy in l7policies)
        )
        insert_rows(connection, schema.listener, [row_from_resource(listener)])
        insert_rows(
            connection,
            schema.l7policy,
            [row_from_resource(with_pending_create_status(policy, locked)) for policy in l7policies],
        )
        insert_rows(
            connection, schema.l7rule, [row_from_resource(with_pending_create_status(rule, locked)) for rule in l7rules]
        )
        made = insert_pools(connection, [linked_default_pool(new, row) for new in new_pools], locked)
        add_certificate_uses(
            connection, writes.options, locked, (listener, *(new.pool for new in new_pools)), certificates
        )
        return build_change(connection, locked.row, (listener, *made))

    return run_transaction


def add_pool(
    writes: TenantWrites,
    row: Pool,
    members: Sequence[Member],
    monitor: HealthMonitor | None,
    *,
    listener_id: str | None,
    certificates: Sequence[CheckedCertificate] = (),
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that adds a pool with its members and monitor, as default pool of the listener if
    one is named; ``row.load_balancer_id`` may be empty then.

    Raises :class:`NotFound` for the load balancer or listener; :class:`Conflict` if the listener has a
    default pool already, or two members are equal; :class:`Invalid` for an incompatible protocol;
    :class:`QuotaReached`, :class:`ObjectLimitReached`; ``IntegrityError`` for an id that exists.
    """
    check_distinct_members(members)
    target = (
        WriteTarget(LOAD_BALANCER, row.load_balancer_id, project_id)
        if listener_id is None
        else WriteTarget(LISTENER, listener_id, project_id)
    )

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        writes.check_quota(connection, locked, row, *members, *(() if monitor is None else (monitor,)))
        if listener_id is not None:
            if row.load_balancer_id not in ("", locked.id):
                raise NotFound(LISTENER.title, listener_id)
            check_protocol_pair(_set_default_pool(connection, listener_id, row.id, locked), row.protocol)
        new = NewPool(pool=row, members=tuple(members), monitor=monitor)
        if listener_id is not None:
            new = replace(new, pool=replace(row, listener_ids=(listener_id,)))
        made = tuple(insert_pools(connection, [new], locked))
        add_certificate_uses(connection, writes.options, locked, (new.pool,), certificates)
        return build_change(connection, locked.row, made)

    return run_transaction


def add_members(writes: TenantWrites, rows: Sequence[Member], *, project_id: ProjectId | None) -> Op[Change]:
    """Return an operation that adds members to one pool, that of the first: all of them or none. Raises
    :class:`NotFound` for the pool, :class:`Conflict` for equal members or a pool that is marked deleted,
    :class:`QuotaReached`, :class:`ObjectLimitReached`; ``IntegrityError`` for a member that is in the pool
    already.
    """
    check_distinct_members(rows)
    return lambda connection: _add_to_pool(writes, connection, rows, project_id)


def add_health_monitor(writes: TenantWrites, row: HealthMonitor, *, project_id: ProjectId | None) -> Op[Change]:
    """Return an operation that adds a health monitor to its pool. Raises :class:`NotFound` for the pool,
    :class:`Conflict` if it is marked deleted, :class:`QuotaReached`, :class:`ObjectLimitReached`; ``IntegrityError`` if
    the pool has a monitor.
    """
    return lambda connection: _add_to_pool(writes, connection, (row,), project_id)


def _add_to_pool(
    writes: TenantWrites, connection: Connection, rows: Sequence[InPool], project_id: ProjectId | None
) -> Change:
    """Add objects of one kind (members, or a health monitor) to one pool. Raises :class:`NotFound` for the
    pool, :class:`Conflict` if it is marked deleted, :class:`QuotaReached`, :class:`ObjectLimitReached`.
    """
    pool_id, kind = rows[0].pool_id, KINDS[type(rows[0])]
    locked = writes.lock(connection, WriteTarget(POOL, pool_id, project_id))
    mark_pool_pending(connection, pool_id, locked)
    writes.check_quota(connection, locked, *rows)
    stored = tuple(with_pending_create_status(row, locked) for row in rows)
    insert_rows(connection, kind.table, [row_from_resource(row) for row in stored])
    return build_change(connection, locked.row, stored)


def linked_default_pool(new: NewPool, listener: Listener) -> NewPool:
    """Return the new pool, linked to the listener if it is the listener's default pool."""
    if listener.default_pool_id != new.pool.id:
        return new
    return replace(new, pool=replace(new.pool, listener_ids=(listener.id,)))


def insert_pools(connection: Connection, new_pools: Sequence[NewPool], locked: LockedLoadBalancer) -> list[Child]:
    """Store new pools with their members and monitors, one statement for each table with rows; return them as
    stored: pools, members, monitors.
    """
    members = [
        with_pending_create_status(replace(row, pool_id=new.pool.id), locked)
        for new in new_pools
        for row in new.members
    ]
    monitors = [
        with_pending_create_status(replace(new.monitor, pool_id=new.pool.id), locked)
        for new in new_pools
        if new.monitor is not None
    ]
    pools = [
        replace(
            with_pending_create_status(new.pool, locked),
            member_ids=tuple(row.id for row in new.members),
            health_monitor_id=None if new.monitor is None else new.monitor.id,
        )
        for new in new_pools
    ]
    insert_rows(connection, schema.pool, [row_from_resource(row) for row in pools])
    insert_rows(connection, schema.member, [row_from_resource(row) for row in members])
    insert_rows(connection, schema.health_monitor, [row_from_resource(row) for row in monitors])
    return [*pools, *members, *monitors]


def _check_target_pools(
    connection: Connection,
    row: Listener,
    policies: Sequence[L7Policy],
    new_pools: Sequence[NewPool],
    locked: LockedLoadBalancer,
) -> None:
    """Check the pools that a new listener uses, by at most one query.

    Raises :class:`NotFound` for a pool of another load balancer, :class:`Invalid` for a pool with an incompatible
    protocol.
    """
    protocols = {new.pool.id: new.pool.protocol for new in new_pools}
    wanted = [pool_id for pool_id in (row.default_pool_id, *(each.redirect_pool_id for each in policies)) if pool_id]
    protocols |= _pool_protocols(connection, [pool_id for pool_id in wanted if pool_id not in protocols], locked)
    for pool_id in wanted:
        if pool_id not in protocols:
            raise NotFound(POOL.title, pool_id)
        check_protocol_pair(row.protocol, protocols[pool_id])


def _pool_protocols(connection: Connection, pool_ids: list[str], locked: LockedLoadBalancer) -> dict[str, Any]:
    if not pool_ids:
        return {}
    table = schema.pool
    statement = select(table.c.id, table.c.protocol).where(
        is_in_list(table.c.id, pool_ids), table.c.load_balancer_id == locked.id, table.c.deleted == false()
    )
    return {found.id: found.protocol for found in connection.execute(statement)}


def _set_default_pool(connection: Connection, listener_id: str, pool_id: str, locked: LockedLoadBalancer) -> str:
    """Make the pool the listener's default pool; return the listener's protocol. Raises :class:`Conflict` if
    the listener has a default pool, or is marked deleted.
    """
    table = schema.listener
    statement = (
        update(table)
        # The condition is the check: of two pools that are added at once, one finds the listener taken.
        .where(table.c.id == listener_id, table.c.default_pool_id.is_(None), table.c.deleted == false())
        .values(
            default_pool_id=pool_id,
            provisioning_status=pending_status(LISTENER),
            revision=locked.revision,
            updated_at=locked.now,
        )
    )
    row = update_returning(statement, table.c.protocol, by=table.c.id == listener_id).first_row(connection)
    if row is None:
        raise _no_default_pool_error(connection, listener_id)
    return str(row.protocol)


def _no_default_pool_error(connection: Connection, listener_id: str) -> Conflict:
    row = read_target_row(connection, WriteTarget(LISTENER, listener_id, None))
    return immutable_error(LISTENER, listener_id) if row.deleted else second_default_pool_error()
