"""Comparison of two trees of a load balancer: the writes that lead from the stored one to a wanted one. Pure.

A store applies the steps in their order within one transaction. The order keeps each step valid: an object's
parent, and the pool to which it sends, exist as long as the object does, and no two live objects have the
same port, address or pool where only one may.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES, CONTENT_ATTRIBUTES
from evenkeel.core.resources.model import (
    Child,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)

ChildKind = type[Child]

FIXED_LOAD_BALANCER_ATTRIBUTES = (
    "project_id",
    "provider",
    "vip",
    "additional_vips",
    "vip_vnic_type",
    "zone_group_number",
    "flavor_enhanced_services",
    "data_path",
)
"""Attributes of a load balancer that no new state of its whole tree changes: other values are refused."""

_FIXED_ATTRIBUTES: dict[ChildKind, tuple[str, ...]] = {
    Pool: (),
    Member: ("pool_id", "address", "protocol_port"),
    HealthMonitor: ("pool_id",),
    Listener: ("protocol", "protocol_port"),
    L7Policy: ("listener_id",),
    L7Rule: ("l7policy_id",),
    RateLimitPolicy: ("listener_id",),
    RateLimitRule: ("rate_limit_policy_id",),
}
"""Attributes by which an object occupies what only one live object may have, such as a port, or belongs to its parent.

Kinds are in the order in which objects come: parents first, pools before the objects that send to them.
"""


class _ParentLink(NamedTuple):
    kind: ChildKind
    field: str
    """Attribute with the parent's id."""


_PARENTS_BY_KIND: dict[ChildKind, _ParentLink] = {
    L7Policy: _ParentLink(Listener, "listener_id"),
    L7Rule: _ParentLink(L7Policy, "l7policy_id"),
    RateLimitPolicy: _ParentLink(Listener, "listener_id"),
    RateLimitRule: _ParentLink(RateLimitPolicy, "rate_limit_policy_id"),
}
"""{kind: its parent's kind and the attribute with the parent's id}, for kinds whose parents may be removed for a
moment.
"""


class RemoveObjects(Value):
    """Step: mark live objects of one kind deleted."""

    kind: ChildKind
    ids: tuple[str, ...]


class InsertObjects(Value):
    """Step: store new objects of one kind."""

    kind: ChildKind
    rows: tuple[Child, ...]


class OverwriteObjects(Value):
    """Step: give stored objects of one kind the attributes of these rows; objects marked deleted are live
    again.
    """

    kind: ChildKind
    rows: tuple[Child, ...]


class MarkObjectsChanged(Value):
    """Step: mark objects of one kind as changed, because their children, or the pools to which they send,
    change.
    """

    kind: ChildKind
    ids: tuple[str, ...]


Step = RemoveObjects | InsertObjects | OverwriteObjects | MarkObjectsChanged


class TreeChanges(Value):
    """The difference between a stored and a wanted tree of one load balancer; false if they are equal."""

    load_balancer: Mapping[str, Any]
    """Changed attributes of the load balancer itself."""
    steps: tuple[Step, ...]
    """Changes of the load balancer's children, in an order in which each step is valid."""

    def __bool__(self) -> bool:
        """Whether the two trees differ."""
        return bool(self.load_balancer or self.steps)


def first_fixed_difference(stored: LoadBalancer, wanted: LoadBalancer) -> str | None:
    """Return the name of the first attribute in :data:`FIXED_LOAD_BALANCER_ATTRIBUTES` whose values differ; None if
    there is none.
    """
    return next(
        (name for name in FIXED_LOAD_BALANCER_ATTRIBUTES if getattr(stored, name) != getattr(wanted, name)), None
    )


def tree_changes(stored: LoadBalancerTree, wanted: LoadBalancerTree) -> TreeChanges:
    """Return the changes from the stored tree, which may have objects marked deleted, to the wanted tree,
    which has none. Of the load balancer itself only :data:`CHANGEABLE_ATTRIBUTES` are compared.
    """
    before, after = stored.load_balancer, wanted.load_balancer
    changed = sorted(
        name for name in CHANGEABLE_ATTRIBUTES[LoadBalancer] if getattr(before, name) != getattr(after, name)
    )
    return TreeChanges(
        load_balancer={name: getattr(after, name) for name in changed},
        steps=tuple(_change_steps(_compare_children(stored, wanted), wanted)),
    )


def children_of(tree: LoadBalancerTree) -> dict[ChildKind, tuple[Child, ...]]:
    """Return {kind: children of that kind in the tree}, parents first."""
    return {
        Pool: tree.pools,
        Member: tree.members,
        HealthMonitor: tree.health_monitors,
        Listener: tree.listeners,
        L7Policy: tree.l7policies,
        L7Rule: tree.l7rules,
        RateLimitPolicy: tree.rate_limit_policies,
        RateLimitRule: tree.rate_limit_rules,
    }


def all_children(tree: LoadBalancerTree) -> list[Child]:
    """Return the children of a tree in one list, parents first."""
    return [row for rows in children_of(tree).values() for row in rows]


class _ComparedObjects(Value):
    """The stored and wanted objects of one kind, grouped by what has to be done with them."""

    gone: tuple[Child, ...]
    """Live stored objects that are not in the wanted tree."""
    new: tuple[Child, ...]
    changed: tuple[Child, ...]
    """Wanted state of stored objects that differ or are marked deleted."""
    moved: frozenset[str]
    """Ids of changed live objects whose place is another, or whose parent is removed for a moment."""

    @property
    def differing(self) -> tuple[Child, ...]:
        """All objects that have to be removed, inserted or overwritten; removed ones in their stored state."""
        return (*self.gone, *self.new, *self.changed)


def _compare_children(stored: LoadBalancerTree, wanted: LoadBalancerTree) -> dict[ChildKind, _ComparedObjects]:
    found: dict[ChildKind, _ComparedObjects] = {}
    before = children_of(stored)
    for kind, rows in children_of(wanted).items():
        parent = _PARENTS_BY_KIND.get(kind)
        # Parents come first, so those that move are known.
        removed = frozenset() if parent is None else found[parent.kind].moved
        orphaned = {row.id for row in before[kind] if parent is not None and getattr(row, parent.field) in removed}
        found[kind] = _compared_kind(kind, before[kind], rows, orphaned)
    return found


def _compared_kind(
    kind: ChildKind, stored: Iterable[Child], wanted: Iterable[Child], orphaned: Collection[str]
) -> _ComparedObjects:
    known = {row.id: row for row in stored}
    by_id = {row.id: row for row in wanted}
    kept = [(known[id_], row) for id_, row in by_id.items() if id_ in known]
    moved = frozenset(
        row.id
        for was, row in kept
        if not was.deleted and (row.id in orphaned or _has_difference(_FIXED_ATTRIBUTES[kind], was, row))
    )
    return _ComparedObjects(
        gone=tuple(row for id_, row in known.items() if id_ not in by_id and not row.deleted),
        new=tuple(row for id_, row in by_id.items() if id_ not in known),
        changed=tuple(
            row
            for was, row in kept
            if row.id in moved or was.deleted or _has_difference(CONTENT_ATTRIBUTES[kind], was, row)
        ),
        moved=moved,
    )


def _has_difference(names: Iterable[str], one: Child, other: Child) -> bool:
    return any(getattr(one, name) != getattr(other, name) for name in names)


def _change_steps(compared: Mapping[ChildKind, _ComparedObjects], wanted: LoadBalancerTree) -> Iterator[Step]:
    # Children before parents. Objects that move are removed first, so that their places are free for each other.
    for kind in reversed(_FIXED_ATTRIBUTES):
        if kind is not Pool:
            yield from _removal_steps(kind, chain((row.id for row in compared[kind].gone), compared[kind].moved))
    for kind in _FIXED_ATTRIBUTES:
        if rows := compared[kind].new:
            yield InsertObjects(kind=kind, rows=rows)
        if rows := compared[kind].changed:
            yield OverwriteObjects(kind=kind, rows=rows)
    # Last, because listeners and policies sent to these pools until they were overwritten.
    yield from _removal_steps(Pool, (row.id for row in compared[Pool].gone))
    yield from _steps_for_unchanged_parents(compared, wanted)


def _removal_steps(kind: ChildKind, ids: Iterable[str]) -> Iterator[Step]:
    if found := tuple(sorted(ids)):
        yield RemoveObjects(kind=kind, ids=found)


def _steps_for_unchanged_parents(
    compared: Mapping[ChildKind, _ComparedObjects], wanted: LoadBalancerTree
) -> Iterator[Step]:
    """Yield steps that touch the parents of changed objects, for parents that do not change themselves."""
    written = {row.id for each in compared.values() for row in (*each.new, *each.changed)}
    pools = {row.pool_id for kind in (Member, HealthMonitor) for row in compared[kind].differing}  # type: ignore[union-attr]
    policies = {row.l7policy_id for row in compared[L7Rule].differing}  # type: ignore[union-attr]
    listeners = {row.listener_id for row in compared[L7Policy].differing}  # type: ignore[union-attr]
    listeners |= {row.listener_id for row in wanted.l7policies if row.id in policies}
    limits = {row.rate_limit_policy_id for row in compared[RateLimitRule].differing}  # type: ignore[union-attr]
    listeners |= {row.listener_id for row in compared[RateLimitPolicy].differing}  # type: ignore[union-attr]
    listeners |= {row.listener_id for row in wanted.rate_limit_policies if row.id in limits}
    changed_pools = pools | {row.id for row in compared[Pool].differing}
    listeners |= {row.id for row in wanted.listeners if row.default_pool_id in changed_pools}
    listeners |= {row.listener_id for row in wanted.l7policies if row.redirect_pool_id in changed_pools}
    ids: dict[ChildKind, set[str]] = {
        Pool: pools,
        Listener: listeners,
        L7Policy: policies,
        RateLimitPolicy: limits,
    }
    for kind, touched in ids.items():
        there = {row.id for row in children_of(wanted)[kind]}
        if found := tuple(sorted((touched & there) - written)):
            yield MarkObjectsChanged(kind=kind, ids=found)
