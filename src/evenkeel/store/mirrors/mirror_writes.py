"""Writes of mirrored load balancers: a whole tree is compared with the stored one under a lock, and the differences are
stored as one revision.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, select

from evenkeel.core.control.mirrors import BEING_DELETED, ID_TAKEN, MirrorConflict, MirroredSourceState
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.limits import check_limits
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.resources.tree_changes import (
    TreeChanges,
    all_children,
    children_of,
    first_fixed_difference,
    tree_changes,
)
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Op
from evenkeel.store.mirrors.source_states import lock_source_state, store_removed_source_state, store_source_state
from evenkeel.store.mirrors.steps import apply_tree_changes, remove_deleted_children
from evenkeel.store.mirrors.vip_ports import (
    is_port_created_by_controller,
    make_port_deletion_due,
    plan_with_created_port,
)
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import object_with_queried_child_ids
from evenkeel.store.records.loading import load_trees
from evenkeel.store.records.rows import LOAD_BALANCER, columns_from_attributes
from evenkeel.store.tenants.create import create_load_balancer
from evenkeel.store.tenants.load_balancers import PORT_ATTRIBUTES, delete_locked_load_balancer
from evenkeel.store.vips.port_changes import store_pending_change
from evenkeel.store.writing.conflicts import check_new_tree
from evenkeel.store.writing.quota_check import count_new_objects
from evenkeel.store.writing.revision_lock import (
    PENDING_DELETE,
    LockedLoadBalancer,
    WriteTarget,
    build_change,
    raise_lock_failure,
    try_lock_load_balancer,
)
from evenkeel.store.writing.tags import replace_tags
from evenkeel.store.writing.taken_ids import check_ids_free

_load_balancer = schema.load_balancer
_LOCK_LOAD_BALANCER = select(_load_balancer.c.id, _load_balancer.c.deleted, _load_balancer.c.mirrored)


def put_mirrored_load_balancer(
    options: StoreOptions,
    tree: LoadBalancerTree,
    plan: VipPlan,
    mark: MirroredSourceState,
    random: Random,
    certificates: Sequence[CheckedCertificate],
) -> Op[Change | None]:
    """Return an operation that stores the tree and its mark: it creates the load balancer by the plan of its
    VIP, or writes the differences as one revision; it returns None if there are none.

    Raises :class:`MirrorConflict` if the stored snapshot is newer, the load balancer is being deleted, or an
    id is another object's; :class:`NotFound`, :class:`Conflict` and :class:`Invalid` for a tree that
    contradicts itself; :class:`Invalid` for an attribute that never changes; :class:`ObjectLimitReached`;
    :class:`NetworkUnavailable` if its port is being deleted.
    """
    check_new_tree(tree)
    root = tree.load_balancer
    children = all_children(tree)
    check_limits(root.id, options.load_balancer_limits, {}, count_new_objects(children))

    def run_transaction(connection: Connection) -> Change | None:
        # Before the load balancer, in the order of all writes of mirrors.
        was = lock_source_state(connection, root.id, mark)
        there = _lock_mirrored_load_balancer(connection, root.id)
        if was is not None:
            store_source_state(connection, root.id, mark, was)
        if not there:
            check_ids_free(connection, [root.id, *(row.id for row in children)])
            made = plan_with_created_port(connection, root.id, plan)
            return create_load_balancer(options, tree, made, random, certificates, mirrored=True)(connection)
        anew = was is not None and mark.change not in (None, was.change_key)
        return write_tree_differences(connection, options, tree, certificates, raises_revision=anew)

    return run_transaction


def remove_mirrored_load_balancer(
    options: StoreOptions, load_balancer_id: LoadBalancerId, provider: str, snapshot: float
) -> Op[Change | None]:
    """Return an operation that marks a mirrored load balancer deleted, with all its children; the operation
    returns None if there is none (then only the VIP's port, if any, becomes due to be deleted), or it is
    marked deleted already. Raises :class:`MirrorConflict` if the stored snapshot is newer, or the load
    balancer is another provider's or no mirror.
    """
    target = WriteTarget(LOAD_BALANCER, load_balancer_id, None)
    marks = {"deleted": True, "live_key": load_balancer_id, "provisioning_status": PENDING_DELETE}
    mark = MirroredSourceState(provider=provider, snapshot=snapshot, digest="")

    def run_transaction(connection: Connection) -> Change | None:
        lock_source_state(connection, load_balancer_id, mark)
        row = _read_load_balancer_row(connection, load_balancer_id)
        if row is not None and not row.mirrored:
            raise _not_mirrored_error(load_balancer_id)
        store_removed_source_state(connection, load_balancer_id, snapshot)
        # Never put, or gone for good: nothing but the VIP's port can be left of it.
        if row is None:
            make_port_deletion_due(connection, load_balancer_id)
        if row is None or row.deleted:
            return None
        deadline = options.pending_deadline_seconds
        locked = try_lock_load_balancer(connection, target, deadline_seconds=deadline, values=marks)
        if locked is None:
            return None
        return delete_locked_load_balancer(connection, locked, notifies=options.notifications)

    return run_transaction


def write_tree_differences(
    connection: Connection,
    options: StoreOptions,
    tree: LoadBalancerTree,
    certificates: Sequence[CheckedCertificate],
    *,
    raises_revision: bool = False,
    sets_port: bool = True,
) -> Change | None:
    """Write the differences between the tree and the stored, locked load balancer; return None if there are
    none. ``raises_revision``: raise its revision also without differences. ``sets_port``: set changed
    options at the VIP's port if that was created here.

    Raises :class:`Invalid` for an attribute that never changes, :class:`MirrorConflict` for an id of another
    object, :class:`ObjectLimitReached` and :class:`Conflict` for references.
    """
    root = tree.load_balancer
    stored = load_trees(connection, [root.id])[root.id]
    if (name := first_fixed_difference(stored.load_balancer, root)) is not None:
        raise Invalid(f"{name}: cannot be changed: load balancer {root.id} exists with another one.")
    changes = tree_changes(stored, tree)
    if not (changes or raises_revision):
        return None
    check_ids_free(connection, _added_object_ids(stored, tree))
    locked = _write_tree_changes(connection, options, changes, stored, certificates)
    change = build_change(
        connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),)
    )
    return replace(change, tell_network=sets_port and _store_port_change(connection, changes, locked))


def _write_tree_changes(
    connection: Connection,
    options: StoreOptions,
    changes: TreeChanges,
    stored: LoadBalancerTree,
    certificates: Sequence[CheckedCertificate],
) -> LockedLoadBalancer:
    root = stored.load_balancer
    target = WriteTarget(LOAD_BALANCER, root.id, None)
    deadline, values = options.pending_deadline_seconds, columns_from_attributes(changes.load_balancer)
    locked = try_lock_load_balancer(
        connection, target, deadline_seconds=deadline, values=values, changes_root=bool(changes.load_balancer)
    )
    if locked is None:
        raise_lock_failure(connection, target)
    if "tags" in changes.load_balancer:
        replace_tags(connection, locked.id, changes.load_balancer["tags"])
    apply_tree_changes(connection, options, changes.steps, stored, locked, certificates)
    # No device holds anything of it, so no report will ever remove these rows.
    if not locked.placed:
        remove_deleted_children(connection, locked)
    return locked


def _store_port_change(connection: Connection, changes: TreeChanges, locked: LockedLoadBalancer) -> bool:
    """Store changed options of the VIP's port as pending if the port was created here; return whether any are pending.

    A port that the other system created is changed by that system.
    """
    changed = PORT_ATTRIBUTES & changes.load_balancer.keys()
    if not changed or not is_port_created_by_controller(connection, locked.id):
        return False
    store_pending_change(connection, locked.id, locked.revision, security_groups="vip_sg_ids" in changed)
    return True


def _lock_mirrored_load_balancer(connection: Connection, load_balancer_id: LoadBalancerId) -> bool:
    """Lock the load balancer, so that no report removes rows meanwhile; False if it does not exist.

    Raises :class:`MirrorConflict` if it is not a mirror or is being deleted.
    """
    row = _read_load_balancer_row(connection, load_balancer_id)
    if row is None:
        return False
    if not row.mirrored:
        raise _not_mirrored_error(load_balancer_id)
    if row.deleted:
        raise MirrorConflict(
            f"Load balancer {load_balancer_id} is being deleted: its devices have not confirmed that yet.",
            code=BEING_DELETED,
        )
    return True


def _read_load_balancer_row(connection: Connection, load_balancer_id: LoadBalancerId) -> Any:
    statement = _LOCK_LOAD_BALANCER.where(_load_balancer.c.id == load_balancer_id).with_for_update(key_share=True)
    return connection.execute(statement).first()


def _not_mirrored_error(load_balancer_id: LoadBalancerId) -> MirrorConflict:
    return MirrorConflict(
        f"Load balancer {load_balancer_id} exists and mirrors no other system's load balancer.", code=ID_TAKEN
    )


def _added_object_ids(stored: LoadBalancerTree, tree: LoadBalancerTree) -> list[str]:
    before = children_of(stored)
    return [
        row.id
        for kind, rows in children_of(tree).items()
        for row in rows
        if row.id not in {known.id for known in before[kind]}
    ]
