"""Ids of the children of load balancers and pools, which the values of these contain besides their own
columns.

The query of the row reads the ids, too, in one column for each kind of children: joined by commas, in order
of creation, L7 policies and what they name in the order of their positions. Children marked deleted are
included: they exist until the device has removed them. Of a pool's monitors the live one is last.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, bindparam, exists, select, true

from evenkeel.core.resources.model import L7Policy, L7Rule, LoadBalancer, Pool
from evenkeel.store.engine.variants import group_concat, join_values, mariadb_variant
from evenkeel.store.records import schema
from evenkeel.store.records.rows import (
    L7POLICY,
    LISTENER,
    LOAD_BALANCER,
    POOL,
    RATE_LIMIT_POLICY,
    Kind,
    load_balancer_from_row,
    pool_from_row,
)

_L7_POLICY_TABLE_COLUMNS = schema.l7policy.c


class _ChildLink(NamedTuple):
    """Relation from a kind of objects to ids: the column that refers to the object, and the column of the ids
    to read.
    """

    parent: Column[Any]
    ids: Column[Any]
    condition: ColumnElement[bool] | None = None


def _link_to_children(parent: Column[Any]) -> _ChildLink:
    return _ChildLink(parent, parent.table.c.id)


_CHILD_LINKS_BY_KIND: dict[Kind, tuple[_ChildLink, ...]] = {
    LOAD_BALANCER: (
        _link_to_children(schema.listener.c.load_balancer_id),
        _link_to_children(schema.pool.c.load_balancer_id),
    ),
    LISTENER: (
        _link_to_children(_L7_POLICY_TABLE_COLUMNS.listener_id),
        _link_to_children(schema.rate_limit_policy.c.listener_id),
    ),
    L7POLICY: (_link_to_children(schema.l7rule.c.l7policy_id),),
    RATE_LIMIT_POLICY: (_link_to_children(schema.rate_limit_rule.c.rate_limit_policy_id),),
    POOL: (
        _link_to_children(schema.listener.c.default_pool_id),
        _ChildLink(
            _L7_POLICY_TABLE_COLUMNS.redirect_pool_id,
            _L7_POLICY_TABLE_COLUMNS.listener_id,
            and_(
                _L7_POLICY_TABLE_COLUMNS.admin_state_up == true(),
                exists().where(schema.l7rule.c.l7policy_id == _L7_POLICY_TABLE_COLUMNS.id),
            ),
        ),
        _link_to_children(schema.member.c.pool_id),
        _link_to_children(schema.health_monitor.c.pool_id),
    ),
}


@cache
def columns_with_child_ids(kind: Kind) -> tuple[ColumnElement[Any], ...]:
    """Return the columns that :func:`object_with_child_ids` needs to make values of the kind: the kind's own, then
    the ids of children.
    """
    return (*kind.columns, *(_child_ids_expression(kind, link) for link in _CHILD_LINKS_BY_KIND.get(kind, ())))


def object_with_child_ids(kind: Kind, row: Any) -> Any:
    """Build the value of a row of :func:`columns_with_child_ids`."""
    if kind is LOAD_BALANCER:
        return _load_balancer_from_row(row)
    if kind is POOL:
        return _pool_from_row(row)
    own = len(kind.columns)
    return kind.build(row[:own], *map(_split_ids, row[own:]))


def object_with_queried_child_ids(connection: Connection, kind: Kind, row: Any) -> Any:
    """Build the value of a row that begins with the kind's columns; one query for the ids of children if the
    kind has any.
    """
    own = row[: len(kind.columns)]
    if kind not in _CHILD_LINKS_BY_KIND:
        return kind.build(own)
    return object_with_child_ids(kind, (*own, *connection.execute(_child_ids_query(kind), {"parent_id": row.id}).one()))


def listeners_by_policies(policies: Iterable[L7Policy], rules: Iterable[L7Rule]) -> dict[str, tuple[str, ...]]:
    """Return {pool id: ids of listeners that send to the pool by an enabled L7 policy with rules, in order of
    the policies' positions}; other pools are missing.

    :func:`columns_with_child_ids` reads the same for one pool.
    """
    with_rules = {rule.l7policy_id for rule in rules}
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for policy in sorted(policies, key=lambda row: row.position):
        if policy.redirect_pool_id is not None and policy.admin_state_up and policy.id in with_rules:
            found[policy.redirect_pool_id][policy.listener_id] = None
    return {pool_id: tuple(listeners) for pool_id, listeners in found.items()}


def _load_balancer_from_row(row: Any) -> LoadBalancer:
    *own, listener_ids, pool_ids = row
    return load_balancer_from_row(own, _split_ids(listener_ids), _split_ids(pool_ids))


def _pool_from_row(row: Any) -> Pool:
    *own, listener_ids, l7_listener_ids, member_ids, monitor_ids = row
    # a listener may have several policies that send to the pool
    by_policies = tuple(dict.fromkeys(_split_ids(l7_listener_ids)))
    return pool_from_row(
        own, _split_ids(listener_ids), by_policies, _split_ids(member_ids), monitor_ids and _split_ids(monitor_ids)[-1]
    )


def _split_ids(ids: str | None) -> tuple[str, ...]:
    return tuple(ids.split(",")) if ids else ()


def _child_ids_expression(kind: Kind, link: _ChildLink) -> ColumnElement[str]:
    table = link.parent.table
    belongs = link.parent == kind.table.c.id
    if link.condition is not None:
        belongs = and_(belongs, link.condition)
    order: list[ColumnElement[Any]] = [table.c.created_at, table.c.id]
    if table is schema.health_monitor:
        # Deleted monitors first, so that the live one is the last of the list.
        order.insert(0, table.c.deleted.desc())
    if table is schema.l7policy:
        order.insert(0, table.c.position)
    # the aggregate keeps the subquery's order; SQLite before 3.44 has no other way
    children = select(link.ids).where(belongs).order_by(*order).correlate(kind.table).subquery()
    ids = select(join_values(children.c[link.ids.name])).correlate(kind.table).scalar_subquery()
    # MariaDB ignores the order of a subquery, and its subqueries in FROM cannot refer to outer tables
    in_order = select(group_concat(link.ids, *order)).where(belongs)
    return mariadb_variant(ids, mariadb=in_order.correlate(kind.table).scalar_subquery())


@cache
def _child_ids_query(kind: Kind) -> Select[Any]:
    ids: list[ColumnElement[Any]] = [_child_ids_expression(kind, link) for link in _CHILD_LINKS_BY_KIND[kind]]
    return select(*ids).select_from(kind.table).where(kind.table.c.id == bindparam("parent_id"))
