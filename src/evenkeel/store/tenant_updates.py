"""Changing and deleting listeners, pools, members and monitors."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, delete, false, select, update

from evenkeel.core.control import Change
from evenkeel.core.errors import NotFound
from evenkeel.core.model import HealthMonitor, Listener, Member, Pool
from evenkeel.store import schema
from evenkeel.store.part import Part
from evenkeel.store.returning import UpdateReturning, returning
from evenkeel.store.rows import HEALTH_MONITOR, KINDS, LISTENER, LOAD_BALANCER, MEMBER, POOL, Kind, columns_of
from evenkeel.store.tenant_conflicts import check_protocols
from evenkeel.store.tenant_ids import build_one
from evenkeel.store.tenant_lock import (
    SHAPES,
    Locked,
    Target,
    change_of,
    immutable,
    lock,
    pending,
    read_any,
    touch_listeners,
    touch_pool,
    try_lock,
)
from evenkeel.store.tenant_steps import check_changes, mark_deleted

ChildClass = type[Listener] | type[Pool] | type[Member] | type[HealthMonitor]

CHANGES: dict[Kind, frozenset[str]] = {
    LISTENER: frozenset(
        {
            "name",
            "description",
            "admin_state_up",
            "tags",
            "connection_limit",
            "default_pool_id",
            "insert_headers",
            "timeout_client_data",
            "timeout_member_connect",
            "timeout_member_data",
            "timeout_tcp_inspect",
        }
    ),
    POOL: frozenset({"name", "description", "admin_state_up", "tags", "lb_algorithm", "session_persistence"}),
    MEMBER: frozenset({"name", "admin_state_up", "tags", "weight", "backup", "monitor_address", "monitor_port"}),
    HEALTH_MONITOR: frozenset(
        {
            "name",
            "admin_state_up",
            "tags",
            "delay",
            "timeout",
            "max_retries",
            "max_retries_down",
            "http_method",
            "url_path",
            "expected_codes",
            "http_version",
            "domain_name",
        }
    ),
}
"""What an update may set, by kind (Octavia API reference); the rest is fixed when the object is made."""


class TenantUpdates(Part):
    """The part of :class:`evenkeel.core.ports.TenantStore` that changes and deletes children."""

    async def update_child(
        self,
        kind: ChildClass,
        child_id: str,
        changes: Mapping[str, Any],
        *,
        parent_id: str | None = None,
        project_id: str | None,
    ) -> Change:
        """Change attributes of a child; ``parent_id`` is the pool of a member.

        Raises :class:`Invalid` for an attribute that cannot be changed or a default pool of the wrong protocol,
        :class:`NotFound` for a default pool that is not of this load balancer.
        """
        target = Target(KINDS[kind], child_id, project_id, parent_id)
        check_changes(changes, CHANGES[target.kind])
        values = columns_of(changes)
        deadline = self._options.pending_deadline_seconds

        def op(connection: Connection) -> Change:
            locked = lock(connection, target, deadline_seconds=deadline)
            if changes.get("default_pool_id") is not None:
                _check_default_pool(connection, child_id, changes["default_pool_id"], locked)
            row = _update(connection, target.kind, child_id, values, locked)
            _touch_parents(connection, target.kind, row, locked)
            return change_of(connection, locked.row, (build_one(connection, target.kind, row),))

        return await self._db.write(op)

    async def delete_child(
        self, kind: ChildClass, child_id: str, *, parent_id: str | None = None, project_id: str | None
    ) -> Change:
        """Mark a child (and what is below it) deleted. Repeating it is harmless.

        A listener leaves its pool behind. Rows of a load balancer that was never placed go at once.
        """
        target = Target(KINDS[kind], child_id, project_id, parent_id)
        deadline = self._options.pending_deadline_seconds

        def op(connection: Connection) -> Change:
            locked = try_lock(connection, target, deadline_seconds=deadline)
            row = read_any(connection, target)
            if locked is None:
                return _as_it_is(connection, target.kind, row)
            _touch_parents(connection, target.kind, row, locked, going=True)
            mark_deleted(connection, target.kind, locked, target.kind.table.c.id == child_id)
            if target.kind is POOL:
                _empty_pool(connection, child_id, locked)
            gone = build_one(connection, target.kind, read_any(connection, target))
            if not locked.placed:
                connection.execute(delete(target.kind.table).where(target.kind.table.c.id == child_id))
            return change_of(connection, locked.row, (gone,))

        return await self._db.write(op)


def _check_default_pool(connection: Connection, listener_id: str, pool_id: str, locked: Locked) -> None:
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
    check_protocols(row[0], row[1])


def _update(connection: Connection, kind: Kind, child_id: str, values: dict[str, Any], locked: Locked) -> Any:
    parameters = {f"new_{name}": value for name, value in values.items()}
    parameters |= {"child_id": child_id, "new_revision": locked.revision, "new_updated_at": locked.now}
    row = _update_statement(kind, tuple(sorted(values))).first(connection, parameters)
    if row is None:
        raise immutable(kind, child_id)
    return row


@lru_cache(maxsize=SHAPES)
def _update_statement(kind: Kind, names: tuple[str, ...]) -> UpdateReturning:
    table = kind.table
    given = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in (*names, "revision", "updated_at")}
    is_it = table.c.id == bindparam("child_id")
    statement = update(table).where(is_it, table.c.deleted == false())
    return returning(statement.values(given | {"provisioning_status": pending(kind)}), *kind.columns, by=is_it)


def _touch_parents(connection: Connection, kind: Kind, row: Any, locked: Locked, *, going: bool = False) -> None:
    if kind is POOL and not going:
        touch_listeners(connection, row.id, locked)
    elif kind in (MEMBER, HEALTH_MONITOR):
        touch_pool(connection, row.pool_id, locked)


def _empty_pool(connection: Connection, pool_id: str, locked: Locked) -> None:
    """What is in a pool goes with it, and listeners send to it no more."""
    for kind in (MEMBER, HEALTH_MONITOR):
        mark_deleted(connection, kind, locked, kind.table.c.pool_id == pool_id)
    table = schema.listener
    connection.execute(
        update(table)
        .where(table.c.default_pool_id == pool_id, table.c.deleted == false())
        .values(default_pool_id=None, provisioning_status=pending(LISTENER), revision=locked.revision)
    )


def _as_it_is(connection: Connection, kind: Kind, row: Any) -> Change:
    """Deleted before: nothing changes."""
    root = read_any(connection, Target(LOAD_BALANCER, row.load_balancer_id, None))
    return change_of(connection, root, (build_one(connection, kind, row),))
