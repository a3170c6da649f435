"""Vips and pools of LBaaS v1: a vip is a listener that adds a VIP to the load balancer created for its pool."""

from collections.abc import Mapping
from random import Random
from typing import Any, NoReturn

from msgspec.structs import replace
from sqlalchemy import Connection, bindparam, delete, false, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES
from evenkeel.core.resources.model import Listener, SessionPersistence, Vip
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.inserting import insert_into_tables, insert_rows
from evenkeel.store.networks.claims import set_claim_holder
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import object_with_queried_child_ids
from evenkeel.store.records.rows import (
    LISTENER,
    NO_NETWORK_ID,
    POOL,
    columns_from_attributes,
    row_from_resource,
    vip_columns,
)
from evenkeel.store.tenants.load_balancers import has_children, remove_unplaced_load_balancer
from evenkeel.store.tenants.updates import (
    check_pool_unused,
    check_target_pool,
    mark_pool_children_deleted,
    repeated_delete_result,
    update_child_row,
)
from evenkeel.store.vips.addresses import ALLOCATED_AMONG_CANDIDATES, address_rows
from evenkeel.store.vips.port_changes import store_pending_change
from evenkeel.store.vips.selection import candidate_addresses, choose_free_address
from evenkeel.store.writing.revision_lock import (
    PENDING_DELETE,
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    mark_listeners_pending,
    read_target_row,
)
from evenkeel.store.writing.steps import check_changeable, mark_objects_deleted, with_pending_create_status
from evenkeel.store.writing.tenant_writes import TenantWrites

_load_balancer = schema.load_balancer
_SET_VIP = (
    update(_load_balancer)
    .where(_load_balancer.c.id == bindparam("b_id"))
    .values({name: bindparam(name) for name in ("vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id")})
    .values(own_revision=bindparam("b_revision"))
)
_DELETE_LOAD_BALANCER = (
    update(_load_balancer)
    .where(_load_balancer.c.id == bindparam("b_id"))
    .values(deleted=True, live_key=bindparam("b_id"), provisioning_status=PENDING_DELETE, updated_at=db_now())
)


def add_vip(
    writes: TenantWrites,
    row: Listener,
    plan: VipPlan,
    persistence: SessionPersistence | None,
    random: Random,
    *,
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that adds a listener, and by the plan a VIP to the load balancer of its default
    pool.

    Raises :class:`NotFound` for the pool, :class:`Conflict` if the pool has a vip already or the subnet has
    no free address, :class:`Invalid` if the subnet's allocation range is empty, :class:`QuotaReached`,
    :class:`ObjectLimitReached`, :class:`NetworkUnavailable` if the VIP's port is being deleted;
    ``IntegrityError`` for an address, port or id that is taken.
    """
    target = WriteTarget(POOL, row.default_pool_id or "", project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        # Read under the lock: of two vips that are added to a pool at once, the second is refused.
        if locked.row.vip_network_id != NO_NETWORK_ID:
            _raise_pool_has_vip(connection, target.id, locked)
        writes.check_quota(connection, locked, row)
        bound = _store_vip_of_plan(connection, plan, locked, random)
        # before the listener exists, so that it need not be updated
        update_child_row(
            connection, POOL, target.id, columns_from_attributes({"session_persistence": persistence}), locked
        )
        listener = with_pending_create_status(row, locked)
        insert_rows(connection, schema.listener, [row_from_resource(listener)])
        return replace(build_change(connection, locked.row, (listener,)), tell_network=bound)

    return run_transaction


def update_vip(
    writes: TenantWrites,
    listener_id: str,
    changes: Mapping[str, Any],
    persistence: SessionPersistence | None,
    *,
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that changes the listener and its pool's session persistence (None: none) in one
    revision. Raises :class:`NotFound` for the listener or a new pool, :class:`Invalid` for an attribute
    that cannot be changed, :class:`Conflict` if one of them is marked deleted.
    """
    check_changeable(changes, CHANGEABLE_ATTRIBUTES[Listener])
    target = WriteTarget(LISTENER, listener_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target)
        if changes.get("default_pool_id") is not None:
            check_target_pool(connection, listener_id, changes["default_pool_id"], locked)
        row = update_child_row(connection, LISTENER, listener_id, columns_from_attributes(changes), locked)
        if row.default_pool_id is not None:
            values = columns_from_attributes({"session_persistence": persistence})
            update_child_row(connection, POOL, row.default_pool_id, values, locked)
            mark_listeners_pending(connection, row.default_pool_id, locked)
        return build_change(connection, locked.row, (object_with_queried_child_ids(connection, LISTENER, row),))

    return run_transaction


def delete_v1_pool(writes: TenantWrites, pool_id: str, *, project_id: ProjectId | None) -> Op[Change]:
    """Return an operation that marks a pool deleted, and with its last pool the load balancer that was
    created for it; a repeated delete changes nothing. Raises :class:`NotFound`, and :class:`Conflict`
    while a listener or an L7 policy sends to the pool.
    """
    target = WriteTarget(POOL, pool_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.try_lock(connection, target)
        if locked is None:
            return repeated_delete_result(connection, POOL, read_target_row(connection, target))
        _check_pool_without_vip(connection, pool_id)
        check_pool_unused(connection, pool_id)
        mark_objects_deleted(connection, POOL, locked, schema.pool.c.id == pool_id)
        mark_pool_children_deleted(connection, pool_id, locked)
        return _delete_load_balancer_if_empty(connection, pool_id, locked, notifies=writes.options.notifications)

    return run_transaction


def _store_vip_of_plan(connection: Connection, plan: VipPlan, locked: LockedLoadBalancer, random: Random) -> bool:
    """Allocate the VIP; return whether the port must be bound now, and not by the placement. Raises
    :class:`Conflict` if no address is free, :class:`NetworkUnavailable` if the port is being deleted,
    ``IntegrityError`` for an address that is taken.
    """
    vip = _allocate_vip(connection, plan, random)
    insert_into_tables(connection, [address_rows(locked.id, (vip,))])
    connection.execute(_SET_VIP, vip_columns(locked.id, vip) | {"b_id": locked.id, "b_revision": locked.revision})
    if plan.claim is not None:
        set_claim_holder(connection, plan.claim, plan.port_id, by=locked.id)
        if locked.placed:
            store_pending_change(connection, locked.id, locked.revision, security_groups=False, binding=True)
            return True
    return False


def _allocate_vip(connection: Connection, plan: VipPlan, random: Random) -> Vip:
    some = candidate_addresses(plan, random) if plan.address is None else []
    asked = {"network_id": plan.network_id, "some": some}
    held = frozenset(connection.scalars(ALLOCATED_AMONG_CANDIDATES, asked)) if some else frozenset()
    address = plan.address or choose_free_address(connection, plan, some, held, random)
    return Vip(address=address, subnet_id=plan.subnet_id, network_id=plan.network_id, port_id=plan.port_id)


def _raise_pool_has_vip(connection: Connection, pool_id: str, locked: LockedLoadBalancer) -> NoReturn:
    listener = schema.listener
    vip_id = connection.scalar(select(listener.c.id).where(listener.c.load_balancer_id == locked.id).limit(1))
    if locked.row.vip_leaving_revision is not None:
        reason = f"has vip {vip_id}, which its device has not released yet"
    elif vip_id is None or locked.row.root_pool_id is None:
        reason = f"is of load balancer {locked.id}, which has the VIP {locked.row.vip_address} already"
    else:
        reason = f"has vip {vip_id} already"
    raise Conflict(f"Pool {pool_id} {reason}.", code="vip_exists")


def _check_pool_without_vip(connection: Connection, pool_id: str) -> None:
    listener = schema.listener
    vip_id = connection.scalar(
        select(listener.c.id).where(listener.c.default_pool_id == pool_id, listener.c.deleted == false()).limit(1)
    )
    if vip_id is not None:
        raise Conflict(f"Pool {pool_id} is still in use by vip {vip_id}.", code="pool_has_vip")


def _delete_load_balancer_if_empty(
    connection: Connection, pool_id: str, locked: LockedLoadBalancer, *, notifies: bool
) -> Change:
    """Return the change of a pool that was marked deleted; mark the load balancer that was created for it
    deleted, too, if nothing else is left in it. Rows that no device has are removed at once. ``notifies``:
    write the event to the outbox of notifications.
    """
    pool = object_with_queried_child_ids(
        connection, POOL, read_target_row(connection, WriteTarget(POOL, pool_id, None))
    )
    if locked.row.root_pool_id is not None and not has_children(connection, locked.id):
        # Marked also if it goes at once: a row is removed only after it was marked deleted.
        connection.execute(_DELETE_LOAD_BALANCER, {"b_id": locked.id})
        if not locked.placed:
            # No device has it, so no report will confirm the removal.
            remove_unplaced_load_balancer(connection, locked, notifies=notifies)
    elif not locked.placed:
        connection.execute(delete(schema.pool).where(schema.pool.c.id == pool_id))
    return build_change(connection, locked.row, (pool,))
