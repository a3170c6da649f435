"""What holds for every plan, whatever is on the device and whatever is wanted."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import parse_mark
from evenkeel.devices.bigip.objects import (
    DATA_GROUP,
    MEMBER,
    NODE,
    OWNED_TYPES,
    Key,
    Observed,
    ObservedObject,
    Verb,
)
from evenkeel.devices.bigip.reconcile.nodes import assign_nodes
from evenkeel.devices.bigip.reconcile.plan import NO_OWNER, predict_observed
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.bigip.definitions import tenants
from tests.devices.bigip.reconcile.test_plan import NAMES, PARTITION, in_its_own_words, made, nodes_of, planned

Services = tuple[ServiceDefinition, ...]

many = settings(max_examples=40, deadline=None)
FOREIGN_MARKS = (
    "",
    "by hand",
    "evenkeel",
    "evenkeel:dev",
    "evenkeel:dev_a:pool:lb-1:pool-1",
    "evenkeel:de:pool:lb-2:x",
)


@st.composite
def strangers(draw: st.DrawFn) -> Observed:
    """Objects of others, with names that may be those of ours."""
    found: Observed = {}
    for _ in range(draw(st.integers(0, 6))):
        key = Key(
            type=draw(st.sampled_from(OWNED_TYPES)),
            name=draw(st.sampled_from(["dev_lb-1", "dev_pool-1", "dev_pool-2", "dev_listener-10", "dev_x", "mine"])),
        )
        mark = draw(st.sampled_from(FOREIGN_MARKS))
        attributes = {"description": mark, "pool": "somewhere"}
        found[key] = ObservedObject(key=key, attributes=attributes, mark=parse_mark(mark))
    return found


def owner(item: ObservedObject) -> str:
    return item.mark.load_balancer_id if item.mark and item.mark.environment == NAMES.environment else ""


@many
@given(before=tenants, wanted=tenants, complete=st.booleans())
def test_plan_makes_each_wanted_object_equal_in_every_attribute(
    before: Services, wanted: Services, complete: bool
) -> None:
    observed = in_its_own_words(made(*before))
    result = predict_observed(observed, planned(observed, *wanted, complete=complete).operations)
    for rendered in assign_nodes((render_load_balancer(one, NAMES) for one in wanted), observed, NAMES, {}):
        for item in () if rendered.problem else rendered.objects:
            there = result[item.key]
            assert not canonical.differing_attributes(item.attributes, there.attributes)
            assert {member.key.name for member in item.members} == set(there.members)
            for member in item.members:
                assert not canonical.differing_attributes(member.attributes, there.members[member.key.name].attributes)


@many
@given(before=tenants, others=strangers(), wanted=tenants, complete=st.booleans())
def test_plan_never_touches_objects_of_others(
    before: Services, others: Observed, wanted: Services, complete: bool
) -> None:
    observed = {**made(*before), **others}
    todo = planned(observed, *wanted, complete=complete)
    result = predict_observed(observed, todo.operations)
    for key, item in others.items():
        unmarked = item.mark is None
        is_wanted_name = any(
            key == one.key for service in wanted for one in render_load_balancer(service, NAMES).objects
        )
        if not (unmarked and is_wanted_name):  # a name that we want is ours, unless somebody marked it
            assert result.get(key) == item
    for service in wanted:
        for one in render_load_balancer(service, NAMES).objects:
            stranger = others.get(one.key)
            if stranger and stranger.mark and stranger.mark.environment != NAMES.environment:
                assert service.load_balancer_id in todo.problems
                assert not todo.operations_of_owners(frozenset({service.load_balancer_id}))


@many
@given(before=tenants, wanted=tenants, named=st.sets(st.integers(0, 2)))
def test_a_partial_batch_leaves_other_load_balancers_alone(before: Services, wanted: Services, named: set[int]) -> None:
    batch = tuple(wanted[place] for place in sorted(named))
    ids = {one.load_balancer_id for one in batch}
    observed = in_its_own_words(made(*before))
    todo = planned(observed, *batch)
    assert {step.owner for step in todo.operations} <= ids | {NO_OWNER}
    result = predict_observed(observed, todo.operations)
    for key, item in observed.items():
        if owner(item) not in ids and key.type != NODE:
            assert result.get(key) == item
    assert not {step.key.name for step in todo.operations if step.key.type == NODE} & nodes_of(result)


@many
@given(before=tenants, wanted=tenants, complete=st.booleans())
def test_nothing_is_made_that_refers_to_what_is_not_there_yet_and_nothing_removed_that_is_in_use(
    before: Services, wanted: Services, complete: bool
) -> None:
    observed = made(*before)
    for step in planned(observed, *wanted, complete=complete).operations:
        if step.verb is Verb.DELETE and step.key.type not in (MEMBER, NODE):
            users = [
                key for key, item in observed.items() if step.key.name in references(item.attributes) and _refers(key)
            ]
            replaced = any(
                step.key == one.key for service in wanted for one in render_load_balancer(service, NAMES).objects
            )
            assert replaced or not users, f"{step.key} is used by {users}"
        observed = predict_observed(observed, [step])
        if step.verb is not Verb.DELETE and _refers(step.key):
            there = {key.name for key in observed}
            assert references(step.body) <= there, f"{step.key} comes before what it refers to"


def _refers(key: Key) -> bool:
    """Whether the device checks the names in it: those in data groups are text, which iRules read."""
    return key.type != DATA_GROUP


def references(value: Any) -> set[str]:
    """Names of objects of the partition that are named somewhere in a body."""
    if isinstance(value, dict):
        return set().union(*map(references, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(references, value))
    return set(re.findall(rf"/{PARTITION}/([^\s:{{}}\"\]]+)", value)) if isinstance(value, str) else set()


def test_references_are_seen_in_bodies() -> None:
    body = {"destination": f"/{PARTITION}/dev_lb-1:80", "profiles": [{"name": f"/{PARTITION}/dev_http_l"}]}
    assert references(body) == {"dev_lb-1", "dev_http_l"}
