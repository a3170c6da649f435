"""The ids of what is below load balancers and pools: what their values carry besides their own rows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection, Select, false, literal_column, select, union_all

from evenkeel.core.model import Pool
from evenkeel.store import schema
from evenkeel.store.rows import LOAD_BALANCER, POOL, Kind, load_balancer_of, pool_of

Ids = dict[str, tuple[list[str], ...]]
"""By object: one list for each part of its kind, in the order the children were made."""

_PARENTS: dict[str, tuple[Column[Any], ...]] = {
    LOAD_BALANCER.title: (schema.listener.c.load_balancer_id, schema.pool.c.load_balancer_id),
    POOL.title: (schema.listener.c.default_pool_id, schema.member.c.pool_id, schema.health_monitor.c.pool_id),
}


def build_all(connection: Connection, kind: Kind, rows: Sequence[Any]) -> list[Any]:
    """Values of rows that begin with the kind's columns; one more query if the kind carries ids of children."""
    if kind.title not in _PARENTS:
        return [kind.build(row) for row in rows]
    ids = _ids_below(connection, kind, [row[0] for row in rows])
    if kind is LOAD_BALANCER:
        return [load_balancer_of(row, *ids[row[0]]) for row in rows]
    return [_pool(row, *ids[row[0]]) for row in rows]


def build_one(connection: Connection, kind: Kind, row: Any) -> Any:
    """The value of one row that begins with the kind's columns."""
    return build_all(connection, kind, [row[: len(kind.columns)]])[0]


def _pool(row: Any, listener_ids: list[str], member_ids: list[str], monitor_ids: list[str]) -> Pool:
    return pool_of(row, listener_ids, member_ids, monitor_ids[-1] if monitor_ids else None)


def _ids_below(connection: Connection, kind: Kind, object_ids: list[str]) -> Ids:
    """Ids of children, those marked deleted included: they are there until the device has let go of them.

    Of a pool's monitors the live one is last.
    """
    parents = _PARENTS[kind.title]
    found: Ids = {id_: tuple([] for _ in parents) for id_ in object_ids}
    if not found:
        return found
    branches = [_branch(part, parent, object_ids) for part, parent in enumerate(parents)]
    union = union_all(*branches).order_by("part", literal_column("gone").desc(), "created_at", "id")
    for parent, id_, part, _, _ in connection.execute(union):
        found[parent][part].append(id_)
    return found


def _branch(part: int, parent: Column[Any], object_ids: list[str]) -> Select[Any]:
    table = parent.table
    gone = table.c.deleted if table is schema.health_monitor else false()
    return select(
        parent.label("parent"),
        table.c.id.label("id"),
        literal_column(str(part)).label("part"),
        gone.label("gone"),
        table.c.created_at.label("created_at"),
    ).where(parent.in_(object_ids))
