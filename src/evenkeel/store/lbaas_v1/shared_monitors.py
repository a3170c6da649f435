"""Shared health monitors of LBaaS v1: each may be associated with any number of pools.

A row of ``shared_monitor`` holds its attributes; a health monitor in a pool that names it is the association. Every
change, association and removal raises its revision first, which serializes them; load balancers are locked after it, in
the order of their ids.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Row, Update, and_, bindparam, delete, false, or_, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES
from evenkeel.core.resources.model import HealthMonitor, Pool
from evenkeel.core.resources.pool_rooted import MONITOR_ATTRIBUTES, SharedMonitor
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import object_with_queried_child_ids
from evenkeel.store.records.rows import HEALTH_MONITOR, LISTENER, POOL, Kind, columns_from_attributes, row_from_resource
from evenkeel.store.tenants.updates import update_child_row
from evenkeel.store.writing.changes import new_change_parameter
from evenkeel.store.writing.quota_check import check_quota, has_own_quotas
from evenkeel.store.writing.revision_lock import (
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    mark_pool_pending,
    pending_status,
    read_changes,
    revision_assignments,
)
from evenkeel.store.writing.revisions import store_revision_requesters
from evenkeel.store.writing.shared_monitor_lock import (
    association_conditions,
    check_monitor_pool_count,
    lock_shared_monitor,
    shared_monitor_copy,
)
from evenkeel.store.writing.steps import check_changeable, mark_objects_deleted, with_pending_create_status
from evenkeel.store.writing.tenant_writes import TenantWrites

_shared_monitor = schema.shared_monitor
_health_monitor = schema.health_monitor
_load_balancer = schema.load_balancer

SHARED_MONITOR_CHANGES = frozenset(
    {"admin_state_up", "delay", "timeout", "max_retries", "http_method", "url_path", "expected_codes"}
)
"""Attributes of a health monitor that an update may set: all but its type."""


def add_shared_monitor(writes: TenantWrites, row: SharedMonitor) -> Op[SharedMonitor]:
    """Return an operation that stores a shared monitor, not associated with a pool yet, and returns it as
    stored. Raises :class:`QuotaReached` for the project's quota of health monitors.
    """
    defaults = writes.options.default_quotas

    def run_transaction(connection: Connection) -> SharedMonitor:
        now, limited = connection.execute(_READ_TIME_AND_QUOTA, {"its_project_id": row.project_id}).one()
        check_quota(connection, row.project_id, {"healthmonitor": 1}, defaults=defaults, has_quota=bool(limited))
        stored = replace(row, created_at=now)
        insert_rows(
            connection,
            _shared_monitor,
            [{**{name: getattr(stored, name) for name in _STORED_ATTRIBUTES}, "revision": 1}],
        )
        return stored

    return run_transaction


def update_shared_monitor(
    writes: TenantWrites, monitor_id: str, changes: Mapping[str, Any], *, project_id: ProjectId | None
) -> Op[tuple[Change, ...]]:
    """Return an operation that changes a shared monitor and its copy in each pool, under the locks of all the
    pools' load balancers, and returns their changes. Raises :class:`NotFound`, and :class:`Invalid` for an
    attribute that cannot be changed.
    """
    check_changeable(changes, SHARED_MONITOR_CHANGES)
    deadline = writes.options.pending_deadline_seconds

    def run_transaction(connection: Connection) -> tuple[Change, ...]:
        lock_shared_monitor(connection, monitor_id, project_id, dict(changes))
        return _update_copies_in_pools(connection, monitor_id, dict(changes), deadline)

    return run_transaction


def delete_shared_monitor(connection: Connection, monitor_id: str, project_id: ProjectId | None) -> None:
    """Delete a shared monitor. Raises :class:`NotFound`, or :class:`Conflict` while it is associated with a pool."""
    lock_shared_monitor(connection, monitor_id, project_id)
    used = connection.scalar(select(_health_monitor.c.pool_id).where(*association_conditions(monitor_id)).limit(1))
    if used is not None:
        raise Conflict(f"Health Monitor {monitor_id} is still in use by pool {used}.", code="monitor_in_use")
    connection.execute(delete(_shared_monitor).where(_shared_monitor.c.id == monitor_id))


def associate_monitor(
    writes: TenantWrites, pool_id: str, monitor_id: str, *, new_id: str, project_id: ProjectId | None
) -> Op[Change]:
    """Return an operation that associates a shared monitor with a pool that has no monitor. ``new_id``: id of
    the monitor's copy in the pool.

    Raises :class:`NotFound` for the pool or the monitor, :class:`Conflict` if the pool has a monitor or is
    marked deleted, or as many pools share the monitor as may.
    """

    def run_transaction(connection: Connection) -> Change:
        # The shared monitor is locked before any load balancer, in every operation, so that none of them deadlock.
        held = lock_shared_monitor(connection, monitor_id, project_id)
        locked = _lock_and_mark_pool(writes, connection, pool_id, project_id)
        _check_has_no_monitor(connection, pool_id, monitor_id)
        row = _copy_into_pool(connection, held, new_id, pool_id, locked)
        return build_change(connection, locked.row, (row,))

    return run_transaction


def set_pool_monitor(
    writes: TenantWrites,
    pool_id: str,
    monitor_id: str | None,
    changes: Mapping[str, Any],
    *,
    new_id: str,
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that replaces the pool's monitor, and changes other attributes of the pool by
    ``changes``.

    ``monitor_id`` None: remove the monitor; ``new_id``: id of the new monitor's copy in the pool. Raises
    :class:`NotFound` for pool or monitor, :class:`Conflict` if as many pools share the monitor as may,
    :class:`Invalid` for an attribute that cannot be changed.
    """
    check_changeable(changes, CHANGEABLE_ATTRIBUTES[Pool])

    def run_transaction(connection: Connection) -> Change:
        held = None if monitor_id is None else lock_shared_monitor(connection, monitor_id, project_id)
        locked = _lock_and_mark_pool(writes, connection, pool_id, project_id)
        # First, because a pool can have one live monitor only.
        _remove_monitor_from_pool(connection, pool_id, locked)
        if held is not None:
            _copy_into_pool(connection, held, new_id, pool_id, locked)
        row = update_child_row(connection, POOL, pool_id, columns_from_attributes(changes), locked)
        return build_change(connection, locked.row, (object_with_queried_child_ids(connection, POOL, row),))

    return run_transaction


def _lock_and_mark_pool(
    writes: TenantWrites, connection: Connection, pool_id: str, project_id: ProjectId | None
) -> LockedLoadBalancer:
    locked = writes.lock(connection, WriteTarget(POOL, pool_id, project_id))
    mark_pool_pending(connection, pool_id, locked)
    return locked


_STORED_ATTRIBUTES = ("id", "project_id", *MONITOR_ATTRIBUTES, "created_at", "updated_at")
_READ_TIME_AND_QUOTA = select(db_now().label("now"), has_own_quotas(bindparam("its_project_id")))


def _check_has_no_monitor(connection: Connection, pool_id: str, monitor_id: str) -> None:
    """Check that the pool has no monitor. Raises :class:`Conflict` if it has one."""
    statement = select(_health_monitor.c.id, _health_monitor.c.shared_monitor_id)
    has = connection.execute(
        statement.where(_health_monitor.c.pool_id == pool_id, _health_monitor.c.deleted == false())
    ).first()
    if has is None:
        return
    if monitor_id == has.shared_monitor_id:
        raise Conflict(
            f"Health Monitor {monitor_id} is already associated with pool {pool_id}.", code="association_exists"
        )
    other = has.shared_monitor_id or has.id
    raise Conflict(
        f"Pool {pool_id} has Health Monitor {other} already: a pool can have one. Disassociate it first.",
        code="monitor_exists",
    )


def _remove_monitor_from_pool(connection: Connection, pool_id: str, locked: LockedLoadBalancer) -> None:
    mark_objects_deleted(connection, HEALTH_MONITOR, locked, _health_monitor.c.pool_id == pool_id)
    if not locked.placed:  # no device has it
        connection.execute(delete(_health_monitor).where(_health_monitor.c.pool_id == pool_id))


def _copy_into_pool(
    connection: Connection, held: Row[Any], new_id: str, pool_id: str, locked: LockedLoadBalancer
) -> HealthMonitor:
    """Copy the shared monitor into the pool. Raises :class:`NotFound` if the pool is another project's,
    :class:`Conflict` if the monitor is in as many pools as allowed.
    """
    if held.project_id != locked.project_id:
        raise NotFound(HEALTH_MONITOR.title, held.id)
    check_monitor_pool_count(connection, held.id)
    row = with_pending_create_status(shared_monitor_copy(held, new_id, pool_id), locked)
    insert_rows(connection, _health_monitor, [row_from_resource(row)])
    return row


# -- changing all of them at once: a constant number of statements


def _update_copies_in_pools(
    connection: Connection, monitor_id: str, changes: dict[str, Any], deadline_seconds: float
) -> tuple[Change, ...]:
    roots = select(_health_monitor.c.load_balancer_id).where(*association_conditions(monitor_id))
    pools = select(_health_monitor.c.pool_id).where(*association_conditions(monitor_id))
    # in the order of their ids, as reports lock them
    owners = (
        select(_load_balancer.c.id)
        .where(_load_balancer.c.id.in_(roots), _load_balancer.c.deleted == false())
        .order_by(_load_balancer.c.id)
    )
    locked = list(connection.scalars(owners.with_for_update(key_share=True)))
    if not locked:
        return ()
    connection.execute(
        update(_load_balancer)
        .where(_load_balancer.c.id.in_(roots), _load_balancer.c.deleted == false())
        .ordered_values(*revision_assignments().items()),
        {"deadline_seconds": deadline_seconds, "new_change": new_change_parameter()},
    )
    store_revision_requesters(connection, and_(_load_balancer.c.id.in_(roots), _load_balancer.c.deleted == false()))
    connection.execute(
        _mark_pending_statement(HEALTH_MONITOR, *association_conditions(monitor_id)).values(
            changes | {"updated_at": db_now()}
        )
    )
    connection.execute(_mark_pending_statement(POOL, schema.pool.c.id.in_(pools)))
    policy = schema.l7policy
    senders = select(policy.c.listener_id).where(policy.c.redirect_pool_id.in_(pools), policy.c.deleted == false())
    listener = schema.listener
    sends = or_(listener.c.default_pool_id.in_(pools), listener.c.id.in_(senders))
    connection.execute(_mark_pending_statement(LISTENER, listener.c.load_balancer_id.in_(roots), sends))
    return read_changes(connection, and_(_load_balancer.c.id.in_(roots), _load_balancer.c.deleted == false()))


def _mark_pending_statement(kind: Kind, *conditions: ColumnElement[bool]) -> Update:
    table = kind.table
    revision = (
        select(_load_balancer.c.revision).where(_load_balancer.c.id == table.c.load_balancer_id).scalar_subquery()
    )
    return (
        update(table)
        .where(*conditions, table.c.deleted == false())
        .values(provisioning_status=pending_status(kind), revision=revision, updated_at=db_now())
    )
