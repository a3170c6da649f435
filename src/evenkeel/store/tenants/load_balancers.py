"""Changes and deletes load balancers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, delete, exists, false, select

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, Invalid
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.status.lifecycle import LifecycleEvent
from evenkeel.core.tls.certificate_references import ChangedReferences
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Op
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import object_with_queried_child_ids
from evenkeel.store.records.rows import LOAD_BALANCER, columns_from_attributes
from evenkeel.store.tenants.updates import change_certificate_references
from evenkeel.store.vips.port_changes import store_pending_change
from evenkeel.store.writing.events import record_event
from evenkeel.store.writing.operator_actions import record_operator_action_event
from evenkeel.store.writing.outbox import record_notifications
from evenkeel.store.writing.revision_lock import (
    PENDING_DELETE,
    LockedLoadBalancer,
    WriteKind,
    WriteTarget,
    build_change,
    read_target_row,
)
from evenkeel.store.writing.steps import CHILD_KINDS, check_changeable, mark_objects_deleted
from evenkeel.store.writing.tags import replace_tags
from evenkeel.store.writing.tenant_writes import TenantWrites

PORT_ATTRIBUTES = frozenset({"vip_qos_policy_id", "vip_sg_ids"})
"""Attributes of a load balancer that belong to its VIP's port at the network service."""

_load_balancer = schema.load_balancer


def update_load_balancer(
    writes: TenantWrites,
    load_balancer_id: LoadBalancerId,
    changes: Mapping[str, Any],
    *,
    project_id: ProjectId | None,
    tell_network: bool = False,
) -> Op[Change]:
    """Return an operation that changes attributes of the load balancer itself. ``tell_network``: the VIP's
    port has to be updated at the network service.

    Raises :class:`NotFound`; :class:`Invalid` for an unchangeable attribute; :class:`Conflict` for an
    attribute of the VIP's port of a load balancer that was made for a pool of LBaaS v1, and for one that
    cannot be changed now.
    """
    check_changeable(changes, CHANGEABLE_ATTRIBUTES[LoadBalancer])
    values = columns_from_attributes(changes)
    target = WriteTarget(LOAD_BALANCER, load_balancer_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target, WriteKind.ITSELF, values=values)
        if PORT_ATTRIBUTES & changes.keys() and locked.row.root_pool_id is not None:
            raise _immutable_vip_port_error(locked)
        if "tags" in changes:
            replace_tags(connection, locked.id, changes["tags"])
        if tell_network:
            store_pending_change(connection, locked.id, locked.revision, security_groups="vip_sg_ids" in changes)
        change = build_change(
            connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),)
        )
        return replace(change, tell_network=tell_network)

    return run_transaction


def resize_load_balancer(
    writes: TenantWrites,
    load_balancer_id: LoadBalancerId,
    *,
    flavor_id: str,
    enhanced_services: Sequence[str],
    listeners: Sequence[ChangedReferences],
    certificates: Sequence[CheckedCertificate],
    project_id: ProjectId | None,
) -> Op[Change]:
    """Return an operation that gives a load balancer another flavor, with the enhanced services that this
    flavor names, and changes references of its listeners.

    Raises :class:`NotFound`; :class:`Conflict` if a listener was changed meanwhile, or the load balancer
    cannot be changed now; :class:`ObjectLimitReached`; ``IntegrityError`` if the flavor was deleted.
    """
    values = columns_from_attributes({"flavor_id": flavor_id, "flavor_enhanced_services": enhanced_services})
    target = WriteTarget(LOAD_BALANCER, load_balancer_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target, WriteKind.ITSELF, values=values)
        for changed in listeners:
            change_certificate_references(connection, writes, locked, changed, certificates)
        return build_change(
            connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),)
        )

    return run_transaction


def fail_over_load_balancer(
    writes: TenantWrites, load_balancer_id: LoadBalancerId, *, project_id: ProjectId | None
) -> Op[Change]:
    """Return an operation that raises the load balancer's revision and changes no attribute, so that devices
    get the load balancer again, and records the operator's act. Raises :class:`NotFound`,
    :class:`Conflict` if it is marked deleted or held, or cannot be changed now.
    """
    target = WriteTarget(LOAD_BALANCER, load_balancer_id, project_id)

    def run_transaction(connection: Connection) -> Change:
        locked = writes.lock(connection, target, WriteKind.LEAVING, mirrored_too=True)
        change = build_change(
            connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),)
        )
        record_operator_action_event(
            connection,
            kind="load_balancer_failover",
            done=f"a failover of load balancer {name_and_id(locked.row.name, load_balancer_id)} was requested",
            environment=change.environment,
            load_balancer_id=load_balancer_id,
        )
        return change

    return run_transaction


def delete_load_balancer(
    writes: TenantWrites, load_balancer_id: LoadBalancerId, *, cascade: bool, project_id: ProjectId | None
) -> Op[Change]:
    """Return an operation that marks a load balancer and, with ``cascade``, its children deleted; one that
    was never placed is removed at once. A repeated delete changes nothing.

    Raises :class:`NotFound`; :class:`Invalid` if it has children, without ``cascade``; :class:`Conflict` for
    one that is held, mirrors another system's, or cannot be deleted now.
    """
    target = WriteTarget(LOAD_BALANCER, load_balancer_id, project_id)
    marks = {"deleted": True, "live_key": load_balancer_id, "provisioning_status": PENDING_DELETE}

    def run_transaction(connection: Connection) -> Change:
        # The marks are set by the locking statement itself; a refusal below rolls them back.
        locked = writes.try_lock(connection, target, WriteKind.LEAVING, values=marks)
        if locked is None:
            row = read_target_row(connection, target)
            return build_change(connection, row, (object_with_queried_child_ids(connection, LOAD_BALANCER, row),))
        if not cascade and has_children(connection, load_balancer_id):
            raise Invalid(
                f"Validation failure: Cannot delete Load Balancer {load_balancer_id} - it has children",
                code="has_children",
            )
        return delete_locked_load_balancer(connection, locked, notifies=writes.options.notifications, children=cascade)

    return run_transaction


def _immutable_vip_port_error(locked: LockedLoadBalancer) -> Conflict:
    names = " and ".join(sorted(PORT_ATTRIBUTES))
    return Conflict(
        f"{names} of Load Balancer {locked.id} cannot be changed: it was made for pool {locked.row.root_pool_id} of"
        " LBaaS v1, whose vips bring ports of their own."
    )


def has_children(connection: Connection, load_balancer_id: LoadBalancerId) -> bool:
    """Whether the load balancer has listeners or pools that are not marked deleted. One query."""
    below = [
        exists().where(table.c.load_balancer_id == load_balancer_id, table.c.deleted == false())
        for table in (schema.listener, schema.pool)
    ]
    return bool(connection.scalar(select(below[0] | below[1])))


def delete_locked_load_balancer(
    connection: Connection, locked: LockedLoadBalancer, *, notifies: bool, children: bool = True
) -> Change:
    """Delete a load balancer whose row is locked and marked: mark its children, too, or remove all rows at
    once if it was never placed. ``children`` False: it has none. ``notifies``: write the event of a
    removal to the outbox of notifications.
    """
    if not locked.placed:
        return remove_unplaced_load_balancer(connection, locked, notifies=notifies)
    if children:
        for kind in CHILD_KINDS:
            mark_objects_deleted(connection, kind, locked, kind.table.c.load_balancer_id == locked.id)
    return build_change(connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),))


def remove_unplaced_load_balancer(connection: Connection, locked: LockedLoadBalancer, *, notifies: bool) -> Change:
    """Remove the rows of a load balancer that was never placed, and of its children, because no device has
    them; record an event. ``notifies``: write the event to the outbox of notifications, too.
    """
    # Built before the rows go, because it reads the ids of the children.
    change = build_change(
        connection, locked.row, (object_with_queried_child_ids(connection, LOAD_BALANCER, locked.row),)
    )
    if notifies:
        record_notifications(connection, {LifecycleEvent.DELETE: [locked.id]})
    connection.execute(delete(_load_balancer).where(_load_balancer.c.id == locked.id))
    record_event(
        connection,
        kind="load_balancer_deleted",
        text=f"load balancer {name_and_id(locked.row.name, locked.id)} was deleted before it was placed",
        environment=change.environment,
        load_balancer_id=locked.id,
    )
    return change
