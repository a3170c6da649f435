"""The lock of a shared health monitor of LBaaS v1, and its copy in the health monitor of a pool."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, false, func, select, update

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import HealthMonitor
from evenkeel.core.resources.pool_rooted import MONITOR_ATTRIBUTES, POOLS_OF_MONITOR_MAX
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.records import schema
from evenkeel.store.records.rows import HEALTH_MONITOR

_shared_monitor = schema.shared_monitor
_health_monitor = schema.health_monitor


def lock_shared_monitor(
    connection: Connection, monitor_id: str, project_id: ProjectId | None, changes: dict[str, Any] | None = None
) -> Row[Any]:
    """Lock a shared monitor by raising its revision, set ``changes`` if there are any, and return its row.
    ``project_id`` None: any project. Raises :class:`NotFound`.
    """
    is_it = [_shared_monitor.c.id == storable_text(monitor_id)]
    if project_id is not None:
        is_it.append(_shared_monitor.c.project_id == storable_text(project_id))
    values = (changes or {}) | {"revision": _shared_monitor.c.revision + 1}
    statement = update(_shared_monitor).where(*is_it).values(values | ({"updated_at": db_now()} if changes else {}))
    row: Row[Any] | None = update_returning(statement, *_shared_monitor.c, by=is_it[0]).first_row(connection)
    if row is None:
        raise NotFound(HEALTH_MONITOR.title, monitor_id)
    return row


def association_conditions(monitor_id: str) -> tuple[ColumnElement[bool], ...]:
    """Return SQL conditions on ``health_monitor``: the row is live, and copies the attributes of the shared monitor."""
    return (_health_monitor.c.shared_monitor_id == monitor_id, _health_monitor.c.deleted == false())


def resolve_shared_monitor(connection: Connection, row: HealthMonitor, project_id: ProjectId) -> HealthMonitor:
    """Return the health monitor of a new pool; one that names a shared monitor gets its attributes, and the
    shared one is locked. Raises :class:`NotFound` if the project has no such shared monitor,
    :class:`Conflict` if as many pools share it as may.
    """
    if row.shared_monitor_id is None:
        return row
    # Locked before it is copied: a change of the shared monitor goes to all copies that exist then.
    held = lock_shared_monitor(connection, row.shared_monitor_id, project_id)
    check_monitor_pool_count(connection, held.id)
    return shared_monitor_copy(held, row.id, row.pool_id)


def check_monitor_pool_count(connection: Connection, monitor_id: str) -> None:
    """Check that one more pool may share the monitor. Raises :class:`Conflict` at the limit."""
    used = (
        connection.scalar(select(func.count()).select_from(_health_monitor).where(*association_conditions(monitor_id)))
        or 0
    )
    if used >= POOLS_OF_MONITOR_MAX:
        raise Conflict(f"Health Monitor {monitor_id} is associated with {used} pools; that is as many as may share it.")


def shared_monitor_copy(held: Row[Any], new_id: str, pool_id: str) -> HealthMonitor:
    """Return a health monitor for the pool with the attributes of the locked shared monitor. ``held``: its row."""
    copied = {name: held._mapping[name] for name in MONITOR_ATTRIBUTES}
    return HealthMonitor(
        id=new_id,
        pool_id=pool_id,
        load_balancer_id=LoadBalancerId(""),
        project_id=ProjectId(""),
        shared_monitor_id=held.id,
        **copied,
    )
