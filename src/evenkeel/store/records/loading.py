"""Reads whole trees of load balancers with a constant number of queries."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, literal_column, select

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancerTree,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.records.child_ids import listeners_by_policies
from evenkeel.store.records.rows import (
    HEALTH_MONITOR,
    L7POLICY,
    L7RULE,
    LISTENER,
    LOAD_BALANCER,
    MEMBER,
    POOL,
    RATE_LIMIT_POLICY,
    RATE_LIMIT_RULE,
    Kind,
    health_monitor_from_row,
    l7policy_from_row,
    l7rule_from_row,
    listener_from_row,
    load_balancer_from_row,
    member_from_row,
    pool_from_row,
    rate_limit_policy_from_row,
    rate_limit_rule_from_row,
)
from evenkeel.store.records.status_rows import STATUS_ROWS

T = TypeVar("T")


class _ChildRows(NamedTuple):
    """Children of one load balancer as they are read; kinds that have children themselves are still rows."""

    listener_rows: list[Any]
    pool_rows: list[Any]
    members: list[Member]
    monitors: list[HealthMonitor]
    policy_rows: dict[str, Any]
    rules: list[L7Rule]
    limit_rows: dict[str, Any]
    limit_rules: list[RateLimitRule]


def load_trees(
    connection: Connection, load_balancer_ids: Sequence[LoadBalancerId], *, brief: bool = False
) -> dict[str, LoadBalancerTree]:
    """Return {id: tree} of those load balancers that exist, in the given order; seven queries, none without
    ids. Rows marked deleted are included: they have to be removed from the device. Children are in order
    of creation, L7 policies in the order of their positions.

    ``brief``: members and pools have only the attributes of :data:`STATUS_ROWS` (so pools have no ids of
    related objects); other objects have no tags and descriptions, which may have kilobytes each, but
    listeners have tags, because these choose enhanced services. The load balancers themselves are complete.
    They are read first, so a tree's revision is never newer than its content, even if the database gives no
    snapshot.
    """
    if not load_balancer_ids:
        return {}
    # Without repetitions, but in the caller's order.
    wanted = list(dict.fromkeys(load_balancer_ids))
    roots = {row[0]: row for row in connection.execute(_LOAD_BALANCERS_QUERY, {"wanted": wanted})}
    below = {id_: _ChildRows([], [], [], [], {}, [], {}, []) for id_ in roots}
    for row in _read_children(connection, LISTENER, wanted, brief):
        below[row.load_balancer_id].listener_rows.append(row)
    for row in _read_children(connection, POOL, wanted, brief):
        below[row.load_balancer_id].pool_rows.append(row)
    build_member = STATUS_ROWS[MEMBER].build if brief else member_from_row
    for row in _read_children(connection, MEMBER, wanted, brief):
        member = build_member(row)
        below[member.load_balancer_id].members.append(member)
    for row in _read_children(connection, HEALTH_MONITOR, wanted, brief):
        monitor = health_monitor_from_row(row)
        below[monitor.load_balancer_id].monitors.append(monitor)
    _add_policies(connection, wanted, below, brief)
    return {id_: _build_tree(roots[id_], below[id_], brief) for id_ in wanted if id_ in roots}


_LOAD_BALANCERS_QUERY = select(*LOAD_BALANCER.columns).where(is_in_bound_list(LOAD_BALANCER.table.c.id, "wanted"))


def _read_children(
    connection: Connection, kind: Kind, load_balancer_ids: list[LoadBalancerId], brief: bool
) -> Sequence[Any]:
    # at once: row by row would take twice the time
    return connection.execute(_children_query(kind, brief), {"wanted": load_balancer_ids}).fetchall()


@cache
def _children_query(kind: Kind, brief: bool) -> Select[Any]:
    table = kind.table
    owned = is_in_bound_list(table.c.load_balancer_id, "wanted")
    return select(*_selected_columns(kind, brief)).where(owned).order_by(table.c.created_at, table.c.id)


_BRIEF_READ_LITERALS = {"tags": "'[]'", "description": "''"}


def _selected_columns(kind: Kind, brief: bool) -> list[ColumnElement[Any]]:
    """Return the columns of a kind, in their order. ``brief``: only those of :data:`STATUS_ROWS`; for other
    kinds, constants in place of tags and descriptions (but listeners keep their tags, which choose
    enhanced services).
    """
    if brief and kind in STATUS_ROWS:
        return list(STATUS_ROWS[kind].columns)
    left_out = {
        name: text for name, text in _BRIEF_READ_LITERALS.items() if brief and (kind is not LISTENER or name != "tags")
    }
    return [
        literal_column(left_out[column.name]).label(column.name) if column.name in left_out else column
        for column in kind.columns
    ]


def _add_policies(
    connection: Connection, load_balancer_ids: list[LoadBalancerId], below: dict[str, _ChildRows], brief: bool
) -> None:
    """Read both kinds of policies into ``below``, each kind with its rules by one query: most load balancers
    have neither.
    """
    wanted = {"wanted": load_balancer_ids}
    for row in connection.execute(_policies_with_rules_query(brief), wanted).fetchall():
        into = below[row.load_balancer_id]
        _add_with_rule(row, _L7_POLICY_COLUMN_COUNT, into.policy_rows, into.rules, l7rule_from_row)
    for row in connection.execute(_limits_with_rules_query(brief), wanted).fetchall():
        into = below[row.load_balancer_id]
        _add_with_rule(row, _RATE_LIMIT_COLUMN_COUNT, into.limit_rows, into.limit_rules, rate_limit_rule_from_row)


def _add_with_rule(
    row: Any, policy_columns: int, policies: dict[str, Any], rules: list[T], rule_of: Callable[[Any], T]
) -> None:
    """Add a row of :func:`_with_rules_query`: a policy's columns, which each row of its rules repeats, and a rule's or
    none.
    """
    policy, rule = row[:policy_columns], row[policy_columns:]
    policies[policy[0]] = policy
    if rule[0] is not None:
        rules.append(rule_of(rule))


_L7_POLICY_COLUMN_COUNT = len(L7POLICY.columns)
_RATE_LIMIT_COLUMN_COUNT = len(RATE_LIMIT_POLICY.columns)


@cache
def _policies_with_rules_query(brief: bool) -> Select[Any]:
    return _with_rules_query(L7POLICY, L7RULE, "l7policy_id", brief, L7POLICY.table.c.position)


@cache
def _limits_with_rules_query(brief: bool) -> Select[Any]:
    return _with_rules_query(RATE_LIMIT_POLICY, RATE_LIMIT_RULE, "rate_limit_policy_id", brief)


def _with_rules_query(policy: Kind, rule: Kind, parent: str, brief: bool, *first: ColumnElement[Any]) -> Select[Any]:
    """Return a query for policies, each repeated for each of its rules; sorted by ``first``, then by creation.

    ``parent``: name of the rule's column with the id of its policy.
    """
    policies, rules = policy.table, rule.table
    of_rules = (column.label(f"rule_{column.name}") for column in _selected_columns(rule, brief))
    return (
        select(*_selected_columns(policy, brief), *of_rules)
        .select_from(policies.outerjoin(rules, rules.c[parent] == policies.c.id))
        .where(is_in_bound_list(policies.c.load_balancer_id, "wanted"))
        .order_by(*first, policies.c.created_at, policies.c.id, rules.c.created_at, rules.c.id)
    )


def _build_tree(root: Any, below: _ChildRows, brief: bool) -> LoadBalancerTree:
    policies, limits = _build_policies(below), _build_rate_limits(below)
    listeners = _build_listeners(below, policies, limits)
    build_pool = STATUS_ROWS[POOL].build
    pools = tuple(map(build_pool, below.pool_rows)) if brief else _build_pools(below, listeners, policies)
    return LoadBalancerTree(
        load_balancer=load_balancer_from_row(
            root, tuple(listener.id for listener in listeners), tuple(pool.id for pool in pools)
        ),
        listeners=listeners,
        pools=pools,
        members=tuple(below.members),
        health_monitors=tuple(below.monitors),
        l7policies=policies,
        l7rules=tuple(below.rules),
        rate_limit_policies=limits,
        rate_limit_rules=tuple(below.limit_rules),
    )


def _build_policies(below: _ChildRows) -> tuple[L7Policy, ...]:
    rules = _ids_by_parent("l7policy_id", below.rules)
    return tuple(l7policy_from_row(row, tuple(rules.get(id_, ()))) for id_, row in below.policy_rows.items())


def _build_rate_limits(below: _ChildRows) -> tuple[RateLimitPolicy, ...]:
    rules = _ids_by_parent("rate_limit_policy_id", below.limit_rules)
    return tuple(rate_limit_policy_from_row(row, tuple(rules.get(id_, ()))) for id_, row in below.limit_rows.items())


def _build_listeners(
    below: _ChildRows, policies: tuple[L7Policy, ...], limits: tuple[RateLimitPolicy, ...]
) -> tuple[Listener, ...]:
    own, of_limits = _ids_by_parent("listener_id", policies), _ids_by_parent("listener_id", limits)
    return tuple(
        listener_from_row(row, tuple(own.get(row.id, ())), tuple(of_limits.get(row.id, ())))
        for row in below.listener_rows
    )


def _build_pools(below: _ChildRows, senders: tuple[Listener, ...], policies: tuple[L7Policy, ...]) -> tuple[Pool, ...]:
    listeners = _ids_by_parent("default_pool_id", senders)
    by_policies = listeners_by_policies(policies, below.rules)
    members = _ids_by_parent("pool_id", below.members)
    # a live monitor hides the deleted one it replaced
    monitors = {monitor.pool_id: monitor.id for monitor in below.monitors if monitor.deleted}
    monitors |= {monitor.pool_id: monitor.id for monitor in below.monitors if not monitor.deleted}
    return tuple(
        pool_from_row(
            row,
            tuple(listeners.get(row.id, ())),
            by_policies.get(row.id, ()),
            tuple(members.get(row.id, ())),
            monitors.get(row.id),
        )
        for row in below.pool_rows
    )


def _ids_by_parent(parent: str, rows: Iterable[Any]) -> dict[str | None, list[str]]:
    """Return {parent's id: ids of the objects, in the order of ``rows``}; parents without objects are
    missing. ``parent``: attribute of the objects with the parent's id.
    """
    ids: dict[str | None, list[str]] = {}
    for row in rows:
        ids.setdefault(getattr(row, parent), []).append(row.id)
    return ids
