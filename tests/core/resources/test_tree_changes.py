"""Steps between any two trees, applied one by one to a model of the database that refuses what the database would."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.resources.attributes import CONTENT_ATTRIBUTES
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    Vip,
)
from evenkeel.core.resources.tree_changes import (
    InsertObjects,
    MarkObjectsChanged,
    OverwriteObjects,
    RemoveObjects,
    children_of,
    first_fixed_difference,
    tree_changes,
)

ROOT = LoadBalancer(
    id="lb",  # type: ignore[arg-type]
    project_id="p",  # type: ignore[arg-type]
    vip=Vip(address="10.0.0.1", subnet_id="s", network_id="n", port_id="q"),
    provider="dev",
)
OWNED: dict[str, Any] = {"load_balancer_id": "lb", "project_id": "p"}
POOLS, LISTENERS, POLICIES = ("g1", "g2", "g3"), ("l1", "l2", "l3"), ("y1", "y2", "y3")
FEW = st.sampled_from(("", "a", "b"))
# made once: Hypothesis examines each new strategy before it draws from it, which takes longer than the draw
SOME_POOLS, SOME_LISTENERS, SOME_POLICIES = (st.sets(st.sampled_from(ids)) for ids in (POOLS, LISTENERS, POLICIES))
PORTS, PLACES = st.permutations((80, 81, 82)), st.permutations((1, 2, 3, 4))
UP_TO_TWO, UP_TO_THREE, UP_TO_FOUR = (st.integers(0, most) for most in (2, 3, 4))
ONE_OR_TWO, ONE_TO_THREE = st.integers(1, 2), st.integers(1, 3)
PATHS, TAGS = st.sampled_from(("/a", "/b")), st.sampled_from(((), ("t",)))


@cache
def one_of(*ids: str | None) -> st.SearchStrategy[Any]:
    return st.sampled_from(ids)


@cache
def order_of(*ids: str) -> st.SearchStrategy[list[str]]:
    return st.permutations(ids)


@cache
@st.composite
def trees(draw: st.DrawFn) -> LoadBalancerTree:
    """Any valid tree over few ids, so that two of them share many."""
    pools = [
        Pool(id=id_, protocol="HTTP", lb_algorithm="ROUND_ROBIN", name=draw(FEW), **OWNED) for id_ in draw(SOME_POOLS)
    ]
    pool_ids = [row.id for row in pools]
    some_pool = one_of(None, *pool_ids)
    ports = draw(PORTS)
    listeners = [
        Listener(
            id=id_, protocol="HTTP", protocol_port=ports[at], name=draw(FEW), default_pool_id=draw(some_pool), **OWNED
        )
        for at, id_ in enumerate(sorted(draw(SOME_LISTENERS)))
    ]
    members = [
        Member(id=f"m{at}", pool_id=draw(one_of(*pool_ids)), address=f"10.1.0.{place}", protocol_port=80, **OWNED)
        for at, place in enumerate(draw(PLACES)[: draw(UP_TO_FOUR)])
        if pool_ids
    ]
    monitored = draw(order_of(*pool_ids))[: draw(UP_TO_TWO)]
    monitors = [
        HealthMonitor(
            id=f"h{at}", pool_id=pool_id, type="TCP", delay=draw(ONE_OR_TWO), timeout=1, max_retries=1, **OWNED
        )
        for at, pool_id in enumerate(monitored)
    ]
    policies = [
        L7Policy(
            id=id_,
            listener_id=draw(one_of(*(row.id for row in listeners))),
            action="REJECT",
            position=draw(ONE_TO_THREE),
            redirect_pool_id=draw(some_pool),
            **OWNED,
        )
        for id_ in sorted(draw(SOME_POLICIES))
        if listeners
    ]
    rules = [
        L7Rule(
            id=f"r{at}",
            l7policy_id=draw(one_of(*(row.id for row in policies))),
            type="PATH",
            compare_type="EQUAL_TO",
            value=draw(PATHS),
            **OWNED,
        )
        for at in range(draw(UP_TO_THREE))
        if policies
    ]
    return LoadBalancerTree(
        load_balancer=replace(ROOT, name=draw(FEW), tags=draw(TAGS)),
        listeners=tuple(listeners),
        pools=tuple(pools),
        members=tuple(members),
        health_monitors=tuple(monitors),
        l7policies=tuple(policies),
        l7rules=tuple(rules),
    )


@cache
@st.composite
def stored_trees(draw: st.DrawFn) -> LoadBalancerTree:
    """A stored tree: some of its objects, with everything below them, are marked deleted."""
    database = Database(draw(trees()))
    for kind, rows in children_of(draw(trees())).items():
        for row in rows:
            if row.id not in database.rows[kind]:
                database.rows[kind][row.id] = replace(row, deleted=True)
    return database.tree(live=False)


class Database:
    """The children of one load balancer, with the constraints that the tables have for live rows, and those that
    requests keep.
    """

    def __init__(self, tree: LoadBalancerTree) -> None:
        self.root = tree.load_balancer
        self.rows: dict[type[Any], dict[str, Any]] = {
            kind: {row.id: row for row in rows} for kind, rows in children_of(tree).items()
        }
        self.touched: set[tuple[type[Any], str]] = set()

    def live(self, kind: type[Any]) -> list[Any]:
        return [row for row in self.rows[kind].values() if not row.deleted]

    def apply(self, step: Any) -> None:
        rows = self.rows[step.kind]
        if isinstance(step, RemoveObjects):
            for id_ in step.ids:
                assert not rows[id_].deleted
                rows[id_] = replace(rows[id_], deleted=True)
        elif isinstance(step, InsertObjects):
            for row in step.rows:
                assert row.id not in rows
                rows[row.id] = row
        elif isinstance(step, OverwriteObjects):
            rows.update({row.id: replace(rows[row.id], **content(row), deleted=False) for row in step.rows})
        else:
            assert isinstance(step, MarkObjectsChanged)
            assert all(not rows[id_].deleted for id_ in step.ids)
            self.touched |= {(step.kind, id_) for id_ in step.ids}

    def check(self) -> None:
        live = {kind: {row.id for row in self.live(kind)} for kind in self.rows}
        for member in (*self.live(Member), *self.live(HealthMonitor)):
            assert member.pool_id in live[Pool]
        for policy in self.live(L7Policy):
            assert policy.listener_id in live[Listener]
        for rule in self.live(L7Rule):
            assert rule.l7policy_id in live[L7Policy]
        for sender in (*self.live(Listener), *self.live(L7Policy)):
            assert getattr(sender, "default_pool_id", getattr(sender, "redirect_pool_id", None)) in {None, *live[Pool]}
        assert_distinct(row.protocol_port for row in self.live(Listener))
        assert_distinct((row.pool_id, row.address, row.protocol_port) for row in self.live(Member))
        assert_distinct(row.pool_id for row in self.live(HealthMonitor))

    def tree(self, *, live: bool = True) -> LoadBalancerTree:
        kept = {kind: tuple(self.live(kind) if live else rows.values()) for kind, rows in self.rows.items()}
        return LoadBalancerTree(
            load_balancer=self.root,
            listeners=kept[Listener],
            pools=kept[Pool],
            members=kept[Member],
            health_monitors=kept[HealthMonitor],
            l7policies=kept[L7Policy],
            l7rules=kept[L7Rule],
        )


def assert_distinct(keys: Iterable[Any]) -> None:
    found = list(keys)
    assert len(set(found)) == len(found), found


def content(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in CONTENT_ATTRIBUTES[type(row)]}


def contents(tree: LoadBalancerTree) -> dict[str, dict[str, Any]]:
    return {row.id: content(row) for rows in children_of(tree).values() for row in rows if not row.deleted}


@given(stored_trees(), trees())
def test_steps_between_any_two_trees_are_valid_each_and_lead_to_the_wanted_one(
    stored: LoadBalancerTree, wanted: LoadBalancerTree
) -> None:
    database = Database(stored)
    changes = tree_changes(stored, wanted)
    database.check()
    for step in changes.steps:
        database.apply(step)
        database.check()
    database.root = replace(database.root, **changes.load_balancer)
    assert contents(database.tree()) == contents(wanted)
    assert database.root == wanted.load_balancer
    assert not tree_changes(database.tree(live=False), wanted)


@given(stored_trees(), trees())
def test_every_object_above_a_difference_is_written_or_touched(
    stored: LoadBalancerTree, wanted: LoadBalancerTree
) -> None:
    database = Database(stored)
    written: set[str] = set()
    for step in tree_changes(stored, wanted).steps:
        database.apply(step)
        if isinstance(step, InsertObjects | OverwriteObjects):
            written |= {row.id for row in step.rows}
    reached = written | {id_ for _, id_ in database.touched}
    assert not written & {id_ for _, id_ in database.touched}
    for kind in (Member, HealthMonitor):
        assert {row.pool_id for row in database.live(kind) if row.id in written} <= reached
    assert {row.l7policy_id for row in database.live(L7Rule) if row.id in written} <= reached
    assert {row.listener_id for row in database.live(L7Policy) if row.id in written} <= reached
    assert {row.id for row in database.live(Listener) if row.default_pool_id in reached} <= reached


def test_statuses_and_times_are_no_difference() -> None:
    pool = Pool(id="g", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **OWNED)
    stored = LoadBalancerTree(load_balancer=ROOT, pools=(replace(pool, revision=7, created_at=5.0, updated_at=6.0),))
    assert not tree_changes(stored, LoadBalancerTree(load_balancer=ROOT, pools=(pool,)))


def test_two_listeners_that_swap_their_ports_are_removed_before_they_are_written() -> None:
    def listening(first: int, second: int) -> LoadBalancerTree:
        rows = [
            Listener(id=id_, protocol="HTTP", protocol_port=port, **OWNED)
            for id_, port in (("a", first), ("b", second))
        ]
        return LoadBalancerTree(load_balancer=ROOT, listeners=tuple(rows))

    steps = tree_changes(listening(80, 81), listening(81, 80)).steps
    assert [type(step) for step in steps] == [RemoveObjects, OverwriteObjects]


@pytest.mark.parametrize(
    ("name", "value"), [("project_id", "other"), ("vip", None), ("provider", "other"), ("zone_group_number", 2)]
)
def test_a_difference_of_what_is_fixed_is_named(name: str, value: Any) -> None:
    assert first_fixed_difference(ROOT, replace(ROOT, **{name: value})) == name
    assert first_fixed_difference(ROOT, replace(ROOT, name="new", tags=("t",))) is None


FULL = LoadBalancerTree(
    load_balancer=ROOT,
    listeners=(
        Listener(id="by default", protocol="HTTP", protocol_port=80, default_pool_id="g1", **OWNED),
        Listener(id="by policy", protocol="HTTP", protocol_port=81, **OWNED),
        Listener(id="of another", protocol="HTTP", protocol_port=82, default_pool_id="g2", **OWNED),
    ),
    pools=(
        Pool(id="g1", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **OWNED),
        Pool(id="g2", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **OWNED),
    ),
    members=(Member(id="m", pool_id="g1", address="10.1.0.1", protocol_port=80, **OWNED),),
    health_monitors=(HealthMonitor(id="h", pool_id="g1", type="TCP", delay=1, timeout=1, max_retries=1, **OWNED),),
    l7policies=(L7Policy(id="y", listener_id="by policy", action="REDIRECT_TO_POOL", redirect_pool_id="g1", **OWNED),),
    l7rules=(L7Rule(id="r", l7policy_id="y", type="PATH", compare_type="EQUAL_TO", value="/", **OWNED),),
)
USERS = {"by default", "by policy"}


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ({"pools": (replace(FULL.pools[0], name="new"), FULL.pools[1])}, USERS),
        ({"members": (replace(FULL.members[0], weight=9),)}, {"g1", *USERS}),
        ({"members": ()}, {"g1", *USERS}),
        ({"members": (*FULL.members, replace(FULL.members[0], id="n", protocol_port=81))}, {"g1", *USERS}),
        ({"health_monitors": ()}, {"g1", *USERS}),
        ({"l7rules": (replace(FULL.l7rules[0], value="/new"),)}, {"y", "by policy"}),
        ({"l7policies": (replace(FULL.l7policies[0], name="new"),)}, {"by policy"}),
        ({"listeners": (replace(FULL.listeners[0], name="new"), *FULL.listeners[1:])}, set()),
        ({"load_balancer": replace(ROOT, name="new")}, set()),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_change_touches_its_parents_and_the_listeners_that_send_to_its_pool(
    change: dict[str, Any], touched: set[str]
) -> None:
    steps = tree_changes(FULL, replace(FULL, **change)).steps
    assert {id_ for step in steps if isinstance(step, MarkObjectsChanged) for id_ in step.ids} == touched
