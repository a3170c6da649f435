"""The ids of what is below load balancers and pools: what their values carry besides their own rows."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Column, CompoundSelect, Connection, Select, false, literal_column, select, union_all

from evenkeel.core.model import Pool
from evenkeel.store import schema
from evenkeel.store.among import among_given
from evenkeel.store.rows import LOAD_BALANCER, POOL, Kind, load_balancer_of, pool_of

_NONE: Sequence[str] = ()
_PARENTS: dict[Kind, tuple[Column[Any], ...]] = {
    LOAD_BALANCER: (schema.listener.c.load_balancer_id, schema.pool.c.load_balancer_id),
    POOL: (schema.listener.c.default_pool_id, schema.member.c.pool_id, schema.health_monitor.c.pool_id),
}


def build_all(connection: Connection, kind: Kind, rows: Sequence[Any]) -> list[Any]:
    """Values of rows that begin with the kind's columns; one more query if the kind carries ids of children."""
    if kind not in _PARENTS:
        return [kind.build(row) for row in rows]
    ids = _ids_below(connection, kind, [row[0] for row in rows])
    if kind is LOAD_BALANCER:
        return [load_balancer_of(row, *below) for row, below in zip(rows, ids, strict=True)]
    return [_pool(row, *below) for row, below in zip(rows, ids, strict=True)]


def build_one(connection: Connection, kind: Kind, row: Any) -> Any:
    """The value of one row that begins with the kind's columns."""
    return build_all(connection, kind, [row[: len(kind.columns)]])[0]


def _pool(row: Any, listener_ids: Sequence[str], member_ids: Sequence[str], monitor_ids: Sequence[str]) -> Pool:
    return pool_of(row, listener_ids, member_ids, monitor_ids[-1] if monitor_ids else None)


def _ids_below(connection: Connection, kind: Kind, object_ids: list[str]) -> list[list[Sequence[str]]]:
    """For each object a list of ids for each part of its kind, in the order the children were made.

    Those marked deleted are included: they are there until the device has let go of them. Of a pool's monitors the
    live one is last.
    """
    if not object_ids:
        return []
    found: list[dict[str, list[str]]] = [{} for _ in _PARENTS[kind]]
    for parent, id_, part, _, _ in connection.execute(_below(kind), {"parents": object_ids}):
        found[part].setdefault(parent, []).append(id_)
    return [[part.get(id_, _NONE) for part in found] for id_ in object_ids]


@cache
def _below(kind: Kind) -> CompoundSelect[Any]:
    branches = [_branch(part, parent) for part, parent in enumerate(_PARENTS[kind])]
    return union_all(*branches).order_by("part", literal_column("gone").desc(), "created_at", "id")


def _branch(part: int, parent: Column[Any]) -> Select[Any]:
    table = parent.table
    gone = table.c.deleted if table is schema.health_monitor else false()
    return select(
        parent.label("parent"),
        table.c.id.label("id"),
        literal_column(str(part)).label("part"),
        gone.label("gone"),
        table.c.created_at.label("created_at"),
    ).where(among_given(parent, "parents"))
