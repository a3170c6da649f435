"""Changes and deletes listeners, pools, members, monitors, policies and rules."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, delete, false, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.attributes import STORABLE_ATTRIBUTES
from evenkeel.core.resources.model import Child
from evenkeel.core.resources.protocol_pairs import check_protocol_pair
from evenkeel.core.tls.certificate_references import ChangedReferences, ListenerReferences
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.returning import UpdateReturning, update_returning
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import object_with_queried_child_ids
from evenkeel.store.records.rows import (
    HEALTH_MONITOR,
    KINDS,
    L7POLICY,
    L7RULE,
    LISTENER,
    LOAD_BALANCER,
    MEMBER,
    POOL,
    RATE_LIMIT_POLICY,
    RATE_LIMIT_RULE,
    Kind,
    columns_from_attributes,
)
from evenkeel.store.tenants.l7_positions import close_position_gap, move_policy
from evenkeel.store.tenants.restrict_delete import check_restricted_delete
from evenkeel.store.vips.vip_release import begin_vip_release
from evenkeel.store.writing.certificates import (
    changes_certificate_references,
    delete_certificate_uses,
    update_certificate_uses,
)
from evenkeel.store.writing.conflicts import pool_in_use_error
from evenkeel.store.writing.revision_lock import (
    MAX_CACHED_STATEMENTS,
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    immutable_error,
    mark_listener_pending,
    mark_listeners_pending,
    mark_policy_pending,
    mark_pool_pending,
    pending_status,
    read_target_row,
)
from evenkeel.store.writing.served_references import delete_served_references, references_to_keep
from evenkeel.store.writing.steps import check_changeable, mark_objects_deleted
from evenkeel.store.writing.tenant_writes import TenantWrites

ChildClass = type[Child]


def update_child(
    writes: TenantWrites,
    kind: ChildClass,
    child_id: str,
    changes: Mapping[str, Any],
    *,
    parent_id: str | None = None,
    certificates: Sequence[CheckedCertificate] = (),
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that changes attributes of a child; ``parent_id``: pool of a member, or policy of a
    rule; None: not checked.

    Raises :class:`Invalid` for an attribute that cannot be changed or a pool with an incompatible protocol,
    :class:`NotFound` for the child, or a pool of another load balancer, :class:`Conflict` for a child that
    cannot be changed now, :class:`ObjectLimitReached` for references.
    """
    target = WriteTarget(KINDS[kind], child_id, project_id, parent_id)
    check_changeable(changes, STORABLE_ATTRIBUTES[kind])
    values = columns_from_attributes(changes)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        if changes.get("default_pool_id") is not None:
            check_target_pool(connection, child_id, changes["default_pool_id"], locked)
        placed = _check_and_move_policy(connection, child_id, changes, locked) if target.kind is L7POLICY else {}
        kept = _served_reference_columns(connection, target, certificates)
        row = update_child_row(connection, target.kind, child_id, values | placed | kept, locked)
        _mark_parents_pending(connection, target.kind, row, locked)
        changed = object_with_queried_child_ids(connection, target.kind, row)
        if target.kind in (LISTENER, POOL) and changes_certificate_references(changes):
            update_certificate_uses(connection, writes.options, locked, changed, certificates)
            if target.kind is LISTENER and changed.served_container_refs:
                delete_served_references(connection, locked.project_id, [child_id])
        return build_change(connection, locked.row, (changed,))

    return run_transaction


def delete_child(
    writes: TenantWrites,
    kind: ChildClass,
    child_id: str,
    *,
    parent_id: str | None = None,
    restrict: bool = False,
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that marks a child and its own children deleted; a listener's pool stays. Rows of a
    load balancer that was never placed are removed at once. With its last listener a load balancer made
    for a pool of LBaaS v1 begins to release its VIP. A repeated delete changes nothing.

    ``restrict``: refuse the delete of a listener with L7 policies and of a pool with a health monitor; L7
    policies that redirect to the pool become REJECT. Without it a pool to which an L7 policy redirects is
    refused. Raises :class:`NotFound`, :class:`Conflict` for a refused delete.
    """
    target = WriteTarget(KINDS[kind], child_id, project_id, parent_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.try_lock(connection, target)
        row = read_target_row(connection, target)
        # Marked deleted already: a repeated delete is answered with the object as it is.
        if locked is None:
            return repeated_delete_result(connection, target.kind, row)
        if restrict:
            check_restricted_delete(connection, target.kind, child_id, locked)
        # With "restrict" policies that redirect to the pool become REJECT instead, so they are no obstacle.
        elif target.kind is POOL:
            check_pool_unused(connection, child_id)
        _mark_parents_pending(connection, target.kind, row, locked, deleting=True)
        mark_objects_deleted(connection, target.kind, locked, target.kind.table.c.id == child_id)
        _delete_children(connection, target.kind, row, locked)
        if target.kind is LISTENER:
            begin_vip_release(connection, locked)
        gone = object_with_queried_child_ids(connection, target.kind, read_target_row(connection, target))
        if target.kind in (LISTENER, POOL):
            delete_certificate_uses(connection, gone)
        if not locked.placed:
            connection.execute(delete(target.kind.table).where(target.kind.table.c.id == child_id))
        return build_change(connection, locked.row, (gone,))

    return run_transaction


def _served_reference_columns(
    connection: Connection, target: WriteTarget, certificates: Sequence[CheckedCertificate]
) -> dict[str, Any]:
    """Return {column: value} with what devices have of a listener that is about to wait for a certificate;
    empty for other objects and listeners.
    """
    if target.kind is not LISTENER or not any(each.awaited for each in certificates):
        return {}
    before = object_with_queried_child_ids(connection, LISTENER, read_target_row(connection, target))
    return columns_from_attributes({"served_container_refs": references_to_keep(connection, before)})


def change_certificate_references(
    connection: Connection,
    writes: TenantWrites,
    locked: LockedLoadBalancer,
    changed: ChangedReferences,
    certificates: Sequence[CheckedCertificate],
) -> None:
    """Change the references of a listener; devices keep the former references until the listener's
    certificates are issued. Raises :class:`NotFound`, :class:`Conflict` if the listener was changed or
    marked deleted meanwhile, :class:`ObjectLimitReached` for too many references.
    """
    id_ = changed.listener_id
    before = object_with_queried_child_ids(
        connection, LISTENER, read_target_row(connection, WriteTarget(LISTENER, id_, None))
    )
    if ListenerReferences.of(before) != changed.before:
        raise Conflict(f"Listener {id_} was changed meanwhile: repeat the request.")
    served = references_to_keep(connection, before)
    values = columns_from_attributes(changed.after._asdict() | {"served_container_refs": served})
    after = object_with_queried_child_ids(
        connection, LISTENER, update_child_row(connection, LISTENER, id_, values, locked)
    )
    update_certificate_uses(connection, writes.options, locked, after, certificates)
    delete_served_references(connection, locked.project_id, [id_])


def check_target_pool(connection: Connection, listener_id: str, pool_id: str, locked: LockedLoadBalancer) -> None:
    """Check that the listener may send to the pool. Raises :class:`NotFound` for a pool that the load balancer does not
    have, :class:`Invalid` if the protocols do not match.
    """
    pool, listener = schema.pool, schema.listener
    row = connection.execute(
        select(listener.c.protocol, pool.c.protocol)
        .select_from(listener.join(pool, pool.c.load_balancer_id == listener.c.load_balancer_id))
        .where(
            listener.c.id == listener_id,
            pool.c.id == pool_id,
            pool.c.load_balancer_id == locked.id,
            pool.c.deleted == false(),
        )
    ).first()
    if row is None:
        raise NotFound(POOL.title, pool_id)
    check_protocol_pair(row[0], row[1])


def _check_and_move_policy(
    connection: Connection, policy_id: str, changes: Mapping[str, Any], locked: LockedLoadBalancer
) -> dict[str, Any]:
    """Check the pool to which an L7 policy redirects, and move the policy; return {"position": its new
    position} if ``changes`` has one, else an empty dictionary. Raises :class:`NotFound` and
    :class:`Invalid` for the pool, :class:`Conflict` if the policy is marked deleted.
    """
    table = schema.l7policy
    pool_id, wanted = changes.get("redirect_pool_id"), changes.get("position")
    if pool_id is None and wanted is None:
        return {}
    found = connection.execute(
        select(table.c.listener_id, table.c.position).where(table.c.id == policy_id, table.c.deleted == false())
    ).first()
    if found is None:
        raise immutable_error(L7POLICY, policy_id)
    if pool_id is not None:
        check_target_pool(connection, found.listener_id, pool_id, locked)
    return {} if wanted is None else {"position": move_policy(connection, found.listener_id, found.position, wanted)}


def check_pool_unused(connection: Connection, pool_id: str) -> None:
    """Check that no L7 policy redirects to the pool. Raises :class:`Conflict` if one does."""
    table = schema.l7policy
    user = connection.scalar(
        select(table.c.id).where(table.c.redirect_pool_id == pool_id, table.c.deleted == false()).limit(1)
    )
    if user is not None:
        raise pool_in_use_error(pool_id, user)


def update_child_row(
    connection: Connection, kind: Kind, child_id: str, values: dict[str, Any], locked: LockedLoadBalancer
) -> Any:
    """Set columns of a live child, mark it PENDING_UPDATE (a new one stays PENDING_CREATE), and return its
    row. Raises :class:`Conflict` if it was deleted before the lock was taken.
    """
    parameters = {f"new_{name}": value for name, value in values.items()}
    parameters |= {"child_id": child_id, "new_revision": locked.revision, "new_updated_at": locked.now}
    row = _update_child_statement(kind, tuple(sorted(values))).first_row(connection, parameters)
    if row is None:
        raise immutable_error(kind, child_id)
    return row


@lru_cache(maxsize=MAX_CACHED_STATEMENTS)
def _update_child_statement(kind: Kind, names: tuple[str, ...]) -> UpdateReturning:
    table = kind.table
    given = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in (*names, "revision", "updated_at")}
    is_it = table.c.id == bindparam("child_id")
    statement = update(table).where(is_it, table.c.deleted == false())
    return update_returning(
        statement.values(given | {"provisioning_status": pending_status(kind)}), *kind.columns, by=is_it
    )


def _mark_parents_pending(
    connection: Connection, kind: Kind, row: Any, locked: LockedLoadBalancer, *, deleting: bool = False
) -> None:
    if kind is POOL and not deleting:
        mark_listeners_pending(connection, row.id, locked)
    elif kind in (MEMBER, HEALTH_MONITOR):
        mark_pool_pending(connection, row.pool_id, locked)
    elif kind in (L7POLICY, RATE_LIMIT_POLICY):
        mark_listener_pending(connection, row.listener_id, locked)
    elif kind is L7RULE:
        mark_policy_pending(connection, L7POLICY, row.l7policy_id, locked)
    elif kind is RATE_LIMIT_RULE:
        mark_policy_pending(connection, RATE_LIMIT_POLICY, row.rate_limit_policy_id, locked)


def _delete_children(connection: Connection, kind: Kind, row: Any, locked: LockedLoadBalancer) -> None:
    if kind is POOL:
        mark_pool_children_deleted(connection, row.id, locked)
    elif kind is L7POLICY:
        mark_objects_deleted(connection, L7RULE, locked, L7RULE.table.c.l7policy_id == row.id)
        close_position_gap(connection, row.listener_id, row.position)
    elif kind is RATE_LIMIT_POLICY:
        mark_objects_deleted(
            connection, RATE_LIMIT_RULE, locked, RATE_LIMIT_RULE.table.c.rate_limit_policy_id == row.id
        )
    elif kind is LISTENER:
        for policy, rule, parent in (
            (L7POLICY, L7RULE, L7RULE.table.c.l7policy_id),
            (RATE_LIMIT_POLICY, RATE_LIMIT_RULE, RATE_LIMIT_RULE.table.c.rate_limit_policy_id),
        ):
            policies = select(policy.table.c.id).where(policy.table.c.listener_id == row.id)
            mark_objects_deleted(connection, rule, locked, parent.in_(policies))
            mark_objects_deleted(connection, policy, locked, policy.table.c.listener_id == row.id)


def mark_pool_children_deleted(connection: Connection, pool_id: str, locked: LockedLoadBalancer) -> None:
    """Mark a pool's members and monitor deleted, and remove the pool from listeners whose default pool it is."""
    for kind in (MEMBER, HEALTH_MONITOR):
        mark_objects_deleted(connection, kind, locked, kind.table.c.pool_id == pool_id)
    table = schema.listener
    connection.execute(
        update(table)
        .where(table.c.default_pool_id == pool_id, table.c.deleted == false())
        .values(
            default_pool_id=None,
            provisioning_status=pending_status(LISTENER),
            revision=locked.revision,
            updated_at=locked.now,
        )
    )


def repeated_delete_result(connection: Connection, kind: Kind, row: Any) -> Change:
    """Return the result of a repeated delete: a change with the object as it is."""
    root = read_target_row(connection, WriteTarget(LOAD_BALANCER, row.load_balancer_id, None))
    return build_change(connection, root, (object_with_queried_child_ids(connection, kind, row),))
