"""Refuses deletes while there are children, as in LBaaS v2 (Octavia deletes children, too)."""

from sqlalchemy import Connection, case, false, select, update

from evenkeel.store.records import schema
from evenkeel.store.records.rows import HEALTH_MONITOR, L7POLICY, LISTENER, POOL, Kind
from evenkeel.store.writing.conflicts import object_in_use_error
from evenkeel.store.writing.revision_lock import LockedLoadBalancer, mark_listeners_pending, pending_status

_l7policy = schema.l7policy


def check_restricted_delete(connection: Connection, kind: Kind, child_id: str, locked: LockedLoadBalancer) -> None:
    """Check that the object may be deleted by LBaaS v2; L7 policies that redirect to a pool to be deleted become
    REJECT.

    Raises :class:`Conflict` for a listener with L7 policies and for a pool with a health monitor.
    """
    if kind is LISTENER:
        _check_no_child(connection, kind, child_id, L7POLICY, "listener_id")
    elif kind is POOL:
        _check_no_child(connection, kind, child_id, HEALTH_MONITOR, "pool_id")
        mark_listeners_pending(connection, child_id, locked)
        connection.execute(
            update(_l7policy)
            .where(_l7policy.c.redirect_pool_id == child_id, _l7policy.c.deleted == false())
            .values(
                action=case((_l7policy.c.action == "REDIRECT_TO_POOL", "REJECT"), else_=_l7policy.c.action),
                redirect_pool_id=None,
                provisioning_status=pending_status(L7POLICY),
                revision=locked.revision,
                updated_at=locked.now,
            )
        )


def _check_no_child(connection: Connection, kind: Kind, child_id: str, below: Kind, parent: str) -> None:
    table = below.table
    statement = select(table.c.id).where(table.c[parent] == child_id, table.c.deleted == false()).limit(1)
    if (found := connection.scalar(statement)) is not None:
        raise object_in_use_error(kind.title, child_id, below.title, found)
