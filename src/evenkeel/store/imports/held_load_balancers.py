"""Held load balancers: another system still serves them. Held load balancers are stored and own their
addresses, but no device has them, their VIPs' ports are left as that system has them, and only that system
changes them.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, delete, exists, false, select
from sqlalchemy import update as sql_update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.limits import check_limits
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.resources.tree_changes import all_children
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Op
from evenkeel.store.mirrors.mirror_writes import write_tree_differences
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import object_with_queried_child_ids
from evenkeel.store.records.rows import LOAD_BALANCER
from evenkeel.store.tenants.load_balancers import delete_locked_load_balancer
from evenkeel.store.vips.port_changes import make_port_due_for_binding, store_pending_change
from evenkeel.store.writing.conflicts import check_new_tree
from evenkeel.store.writing.conflicts import mirrored_error as mirrored_conflict
from evenkeel.store.writing.quota_check import count_new_objects
from evenkeel.store.writing.revision_lock import (
    PENDING_CREATE,
    PENDING_DELETE,
    PENDING_UPDATE,
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    immutable_error,
    raise_lock_failure,
    try_lock_load_balancer,
)
from evenkeel.store.writing.steps import CHILD_KINDS

_load_balancer, _vip_claim = schema.load_balancer, schema.vip_claim
_READ_LOAD_BALANCER = select(
    _load_balancer.c.id,
    _load_balancer.c.deleted,
    _load_balancer.c.mirrored,
    _load_balancer.c.held,
    _load_balancer.c.provider,
)


def update_held_load_balancer(
    options: StoreOptions, tree: LoadBalancerTree, certificates: Sequence[CheckedCertificate]
) -> Op[Change | None]:
    """Return an operation that makes a held load balancer (another system still serves it) equal to the tree,
    as one change, without touching its VIP's port; the operation returns None if nothing differs.

    Raises :class:`NotFound`; :class:`Conflict` if it is not held, mirrors another system's or is marked
    deleted, if the tree contradicts itself, or for an id of another object (:class:`MirrorConflict`);
    :class:`Invalid` for an attribute that never changes, :class:`ObjectLimitReached`.
    """
    check_new_tree(tree)
    root = tree.load_balancer
    check_limits(root.id, options.load_balancer_limits, {}, count_new_objects(all_children(tree)))

    def run_transaction(connection: Connection) -> Change | None:
        _check_is_held(_lock_existing_load_balancer(connection, root.id))
        return write_tree_differences(connection, options, tree, certificates, sets_port=False)

    return run_transaction


def set_load_balancer_held(options: StoreOptions, load_balancer_id: LoadBalancerId, held: bool) -> Op[Change | None]:
    """Return an operation that releases a load balancer which another system served until now (``held`` False), or
    holds it again; the operation returns None if it is so already. Raises :class:`NotFound`, and :class:`Conflict` for
    one that mirrors another system's or is being deleted.
    """
    # No device has a held load balancer, so its next release is like its first.
    status = PENDING_UPDATE if held else PENDING_CREATE
    values: dict[str, Any] = {"held": held, "applied_revision": 0, "provisioning_status": status}

    def run_transaction(connection: Connection) -> Change | None:
        if _lock_existing_load_balancer(connection, load_balancer_id).held == held:
            return None
        locked = _lock_and_raise_revision(connection, options, load_balancer_id, values)
        for kind in CHILD_KINDS:
            live = (kind.table.c.load_balancer_id == load_balancer_id, kind.table.c.deleted == false())
            marks = {"provisioning_status": status, "revision": locked.revision, "updated_at": locked.now}
            connection.execute(sql_update(kind.table).where(*live).values(marks))
        has_port = _has_network_port(connection, load_balancer_id)
        if has_port and held:
            store_pending_change(connection, load_balancer_id, locked.revision, security_groups=False, binding=True)
        elif has_port and locked.placed:
            make_port_due_for_binding(connection, load_balancer_id)
        change = build_change(
            connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),)
        )
        return replace(change, tell_network=has_port)

    return run_transaction


def discard_held_load_balancer(options: StoreOptions, load_balancer_id: LoadBalancerId) -> Op[Change]:
    """Return an operation that marks a held load balancer (another system still serves it) deleted, and leaves its
    VIP's port as it is. Raises :class:`NotFound`, and :class:`Conflict` if it is not held, or its port is not unbound
    yet.
    """
    marks = {"deleted": True, "live_key": load_balancer_id, "provisioning_status": PENDING_DELETE}

    def run_transaction(connection: Connection) -> Change:
        _check_is_held(_lock_existing_load_balancer(connection, load_balancer_id))
        pending = schema.vip_port_change
        if connection.scalar(select(exists().where(pending.c.load_balancer_id == load_balancer_id))):
            raise Conflict(f"The port of the VIP of load balancer {load_balancer_id} is not unbound yet: try again.")
        locked = _lock_and_raise_revision(connection, options, load_balancer_id, marks)
        # Without a claim nothing deletes the port with the load balancer.
        connection.execute(delete(_vip_claim).where(_vip_claim.c.held_by == load_balancer_id))
        return delete_locked_load_balancer(connection, locked, notifies=options.notifications)

    return run_transaction


def _lock_existing_load_balancer(connection: Connection, load_balancer_id: LoadBalancerId) -> Any:
    """Lock and return the load balancer's row. Raises :class:`NotFound`; :class:`Conflict` if it mirrors another
    system's load balancer, or is marked deleted.
    """
    row = connection.execute(
        _READ_LOAD_BALANCER.where(_load_balancer.c.id == load_balancer_id).with_for_update(key_share=True)
    ).first()
    if row is None:
        raise NotFound("Load Balancer", load_balancer_id)
    if row.mirrored:
        raise mirrored_conflict(load_balancer_id, row.provider)
    if row.deleted:
        raise immutable_error(LOAD_BALANCER, load_balancer_id)
    return row


def _check_is_held(row: Any) -> None:
    if not row.held:
        raise Conflict(f"Load balancer {row.id} is not held: it is its tenant's, who changes and deletes it.")


def _lock_and_raise_revision(
    connection: Connection, options: StoreOptions, load_balancer_id: LoadBalancerId, values: dict[str, Any]
) -> LockedLoadBalancer:
    target = WriteTarget(LOAD_BALANCER, load_balancer_id, None)
    deadline = options.pending_deadline_seconds
    return try_lock_load_balancer(connection, target, deadline_seconds=deadline, values=values) or raise_lock_failure(
        connection, target
    )


def _has_network_port(connection: Connection, load_balancer_id: LoadBalancerId) -> bool:
    """Whether the VIP has a port at the network service."""
    has = exists().where(_vip_claim.c.held_by == load_balancer_id, _vip_claim.c.port_id.is_not(None))
    return bool(connection.scalar(select(has)))
