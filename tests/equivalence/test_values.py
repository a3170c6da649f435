"""Every attribute of a service definition has values that histories draw, and every kind of object and value that a
HAProxy supports turns up in some history."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.attributes import defaults_of
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from tests.equivalence import definitions as d
from tests.equivalence import values
from tests.equivalence.history import Add, Change, History, Set, dead, draw, wanted
from tests.equivalence.host import HAPROXY
from tests.equivalence.riders import CONNECTIONS

HISTORIES = 60
NOT_DRAWN = {"SCTP"}
"""Its elements are those of UDP; its traffic is raw packets, in ``tests/haproxyd/layer4/test_sctp.py``."""


@pytest.fixture(scope="module")
def histories() -> list[History]:
    return [draw(str(seed), HAPROXY) for seed in range(1, HISTORIES + 1)]


@pytest.mark.parametrize("kind", values.KINDS)
def test_every_attribute_has_values(kind: str) -> None:
    missing = [name for name in values.attributes(kind, changeable=False) if not values.drawable(kind, name)]
    fixed = set(values.attributes(kind, changeable=False)) - set(values.attributes(kind))
    assert [name for name in missing if name not in fixed] == [], f"give them values in {values.__name__}.VALUES"


def test_a_history_is_the_same_each_time_it_is_drawn(histories: list[History]) -> None:
    assert draw("7", HAPROXY) == histories[6]


def test_no_history_ends_with_what_the_api_or_the_driver_refuses(histories: list[History]) -> None:
    trees = [tree for one in histories for tree in wanted(one).values()]
    assert trees
    assert [found for tree in trees if (found := d.problem(tree, HAPROXY.table, HAPROXY.render))] == []


def test_histories_have_every_kind_of_step(histories: list[History]) -> None:
    seen = Counter(type(step).__name__ for one in histories for step in one.steps)
    assert set(seen) == {
        *("Change", "DaemonDies", "MemberDies", "MemberReturns", "Reload", "Unbindable", "WorkerDies"),
    }
    assert any(step.dies_after for one in histories for step in one.steps if isinstance(step, Change))
    assert any(dead(one) for one in histories)


def test_histories_have_load_balancers_of_each_data_path_and_some_that_come_back_with_the_other_one(
    histories: list[History],
) -> None:
    lives = [[tree.data_path for tree in _lives(one, CONNECTIONS.load_balancer_id)] for one in histories]
    assert {path for each in lives for path in each} == {"proxy", "kernel"}
    assert any(len(set(each)) > 1 for each in lives)


def _lives(one: History, load_balancer_id: str) -> Iterator[ServiceDefinition]:
    """The load balancer as it was after each change."""
    trees = one.first
    for step in one.steps:
        for edit in step.edits if isinstance(step, Change) else ():
            trees = edit.on(trees)
        if load_balancer_id in trees:
            yield trees[load_balancer_id]


def test_histories_have_every_value_that_the_device_type_names(histories: list[History]) -> None:
    parts = [part for one in histories for part in _all_parts(one)]
    seen: dict[str, set[Any]] = {}
    for part in parts:
        for name in ("protocol", "lb_algorithm", "type", "action"):
            if (value := getattr(part, name, None)) is not None:
                seen.setdefault(f"{d.KIND_OF[type(part)]} {name}", set()).add(value)
    assert seen["listener protocol"] == set(CAPABILITIES.protocol_pairs) - NOT_DRAWN
    assert seen["pool protocol"] == set(CAPABILITIES.pool_protocols) - NOT_DRAWN
    assert seen["pool lb_algorithm"] == set(CAPABILITIES.lb_algorithms)
    assert seen["monitor type"] == set(CAPABILITIES.health_monitor_types) - NOT_DRAWN
    assert seen["policy action"] == set(CAPABILITIES.l7policy_actions)
    assert seen["rule type"] == set(CAPABILITIES.l7rule_types)


def test_histories_have_other_values_than_the_default_of_every_attribute(histories: list[History]) -> None:
    found = set()
    for one in histories:
        for step in one.steps:
            for edit in step.edits if isinstance(step, Change) else ():
                if isinstance(edit, Set) and edit.part_id:
                    found |= {(edit.part_id.partition("-")[0], name) for name in edit.values}
        for part in _all_parts(one):
            defaults = defaults_of(type(part))
            found |= {(d.KIND_OF[type(part)], name) for name, value in defaults.items() if getattr(part, name) != value}
    options = {tuple(option.split(".")) for option in CAPABILITIES.options if not option.startswith("loadbalancer")}
    changeable = {(kind, name) for kind, name in options if kind in values.KINDS and name in values.attributes(kind)}
    assert changeable - found == set()


def _all_parts(one: History) -> list[Any]:
    trees = [*one.first.values(), *wanted(one).values()]
    edits = [edit for step in one.steps if isinstance(step, Change) for edit in step.edits if isinstance(edit, Add)]
    trees += [edit.part for edit in edits if edit.parent_id is None]
    single = [edit.part for edit in edits if edit.parent_id is not None]
    below = [part for tree in (*trees, *single) for _, part in d.parts(tree)]
    return [*below, *single]
