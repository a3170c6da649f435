"""Ids of the children of load balancers and pools, which their values contain besides their own columns.

The query of the row reads them, too, in one column for each kind of children: the ids joined by commas, in order of
creation, L7 policies in the order of their positions. Children marked deleted are included: they exist until the device
has removed them. Of a pool's monitors the live one is last.
"""

from functools import cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, bindparam, select

from evenkeel.core.resources.model import LoadBalancer, Pool
from evenkeel.store.engine.variants import group_concat, join_values, mariadb_variant
from evenkeel.store.records import schema
from evenkeel.store.records.rows import L7POLICY, LISTENER, LOAD_BALANCER, POOL, Kind, load_balancer_of, pool_of

_PARENTS: dict[Kind, tuple[Column[Any], ...]] = {
    LOAD_BALANCER: (schema.listener.c.load_balancer_id, schema.pool.c.load_balancer_id),
    LISTENER: (schema.l7policy.c.listener_id,),
    L7POLICY: (schema.l7rule.c.l7policy_id,),
    POOL: (schema.listener.c.default_pool_id, schema.member.c.pool_id, schema.health_monitor.c.pool_id),
}


@cache
def whole_columns(kind: Kind) -> tuple[ColumnElement[Any], ...]:
    """The columns that :func:`build` needs to make values of the kind: its own, then the ids of children."""
    return (*kind.columns, *(_ids(kind, parent) for parent in _PARENTS.get(kind, ())))


def build(kind: Kind, row: Any) -> Any:
    """The value of a row of :func:`whole_columns`."""
    if kind is LOAD_BALANCER:
        return _load_balancer(row)
    if kind in (LISTENER, L7POLICY):
        *own, child_ids = row
        return kind.build(own, _split(child_ids))
    return _pool(row) if kind is POOL else kind.build(row)


def build_one(connection: Connection, kind: Kind, row: Any) -> Any:
    """The value of a row that begins with the kind's columns; one query if the kind has ids of children."""
    own = row[: len(kind.columns)]
    if kind not in _PARENTS:
        return kind.build(own)
    return build(kind, (*own, *connection.execute(_ids_of_one(kind), {"parent_id": row.id}).one()))


def _load_balancer(row: Any) -> LoadBalancer:
    *own, listener_ids, pool_ids = row
    return load_balancer_of(own, _split(listener_ids), _split(pool_ids))


def _pool(row: Any) -> Pool:
    *own, listener_ids, member_ids, monitor_ids = row
    return pool_of(own, _split(listener_ids), _split(member_ids), monitor_ids and _split(monitor_ids)[-1])


def _split(ids: str | None) -> tuple[str, ...]:
    return tuple(ids.split(",")) if ids else ()


def _ids(kind: Kind, parent: Column[Any]) -> ColumnElement[str]:
    table = parent.table
    order: list[ColumnElement[Any]] = [table.c.created_at, table.c.id]
    if table is schema.health_monitor:
        # Deleted monitors first, so that the live one is the last of the list.
        order.insert(0, table.c.deleted.desc())
    if table is schema.l7policy:
        order.insert(0, table.c.position)
    # the aggregate keeps the subquery's order; SQLite before 3.44 has no other way
    children = select(table.c.id).where(parent == kind.table.c.id).order_by(*order).correlate(kind.table).subquery()
    ids = select(join_values(children.c.id)).correlate(kind.table).scalar_subquery()
    # MariaDB ignores the order of a subquery, and its subqueries in FROM cannot refer to outer tables
    in_order = select(group_concat(table.c.id, *order)).where(parent == kind.table.c.id)
    return mariadb_variant(ids, mariadb=in_order.correlate(kind.table).scalar_subquery())


@cache
def _ids_of_one(kind: Kind) -> Select[Any]:
    ids: list[ColumnElement[Any]] = [_ids(kind, parent) for parent in _PARENTS[kind]]
    return select(*ids).select_from(kind.table).where(kind.table.c.id == bindparam("parent_id"))
