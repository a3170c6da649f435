"""Plans against a model of a device that answers in its own words."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames, parse_mark
from evenkeel.devices.bigip.objects import (
    MEMBER,
    NODE,
    POOL,
    SELF_IP,
    ConfigOperation,
    Key,
    Observed,
    ObservedObject,
    RenderedObjects,
    Verb,
    WantedObject,
)
from evenkeel.devices.bigip.reconcile.plan import Plan, member_node_name, plan_operations, predict_observed
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.bigip.definitions import tenants
from tests.devices.services import gone, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PARTITION = "dev_a3f1c2"


def planned(observed: Observed, *services: ServiceDefinition, complete: bool = False) -> Plan:
    rendered = [render_load_balancer(one, NAMES) for one in services]
    return plan_operations(observed, rendered, partition=PARTITION, names=NAMES, complete=complete)


def made(*services: ServiceDefinition) -> Observed:
    return predict_observed({}, planned({}, *services).operations)


def in_its_own_words(observed: Observed) -> Observed:
    """The same, as a device puts it."""
    return {key: reworded(item) for key, item in observed.items()}


def reworded(item: ObservedObject) -> ObservedObject:
    words: dict[str, Any] = {"generation": 17, "fullPath": f"/{PARTITION}/{item.key.name}"}
    for name, value in item.attributes.items():
        words[name] = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if item.attributes.get("monitor"):
        words["monitor"] = f"{item.attributes['monitor']} "
    if item.key.type == MEMBER and item.attributes.get("session") == "user-enabled":
        words |= {"session": "monitor-enabled", "state": "down"}
    if item.attributes.get("profiles"):
        words["profiles"] = [
            {"name": "in-short", "fullPath": one.get("fullPath", one["name"]), "context": one["context"]}
            for one in reversed(item.attributes["profiles"])
        ]
    members = {name: reworded(one) for name, one in item.members.items()}
    return ObservedObject(key=item.key, attributes=words, mark=item.mark, members=members)


@settings(max_examples=60, deadline=None)
@given(before=tenants, wanted=tenants, complete=st.booleans())
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(
    before: tuple[ServiceDefinition, ...], wanted: tuple[ServiceDefinition, ...], complete: bool
) -> None:
    observed = in_its_own_words(made(*before))
    todo = planned(observed, *wanted, complete=complete)
    done = in_its_own_words(predict_observed(observed, todo.operations))
    assert not planned(done, *wanted, complete=complete).operations


@settings(max_examples=40, deadline=None)
@given(before=tenants, wanted=tenants)
def test_the_way_does_not_matter(before: tuple[ServiceDefinition, ...], wanted: tuple[ServiceDefinition, ...]) -> None:
    sound = tuple(one for one in wanted if not render_load_balancer(one, NAMES).problem)
    observed = made(*before)
    result = predict_observed(observed, planned(observed, *sound, complete=True).operations)
    assert set(result) == set(made(*sound))


@settings(max_examples=40, deadline=None)
@given(before=tenants, wanted=tenants, complete=st.booleans())
def test_nodes_stay_exactly_while_members_use_them(
    before: tuple[ServiceDefinition, ...], wanted: tuple[ServiceDefinition, ...], complete: bool
) -> None:
    observed = made(*before)
    todo = planned(observed, *wanted, complete=complete)
    used, after = nodes_of(observed), nodes_of(predict_observed(observed, todo.operations))
    assert {step.key.name for step in todo.operations if step.key.type == NODE} == used - after


def nodes_of(observed: Observed) -> set[str]:
    """The nodes that members name."""
    return {member_node_name(name) for item in observed.values() for name in item.members}


@settings(max_examples=40, deadline=None)
@given(before=tenants, wanted=tenants, complete=st.booleans())
def test_operations_come_in_an_order_that_refers_to_nothing_missing(
    before: tuple[ServiceDefinition, ...], wanted: tuple[ServiceDefinition, ...], complete: bool
) -> None:
    observed = made(*before)
    seen: dict[str, int] = {}
    for step in planned(observed, *wanted, complete=complete).operations:
        if step.verb is Verb.DELETE:
            assert not _still_used(step, observed)
        else:
            seen[step.key.name] = 1
        observed = predict_observed(observed, [step])


def _still_used(step: ConfigOperation, observed: Observed) -> bool:
    if step.key.type == NODE:
        return any(member_node_name(name) == step.key.name for item in observed.values() for name in item.members)
    path = f"/{PARTITION}/{step.key.name}"
    return any(
        path in (item.attributes.get("pool"), item.attributes.get("monitor"))
        for item in observed.values()
        if item.key != step.key
    )


# -- single rules


def test_only_what_differs_is_written() -> None:
    observed = made(service())
    changed = service(pools=(pool(lb_algorithm="LEAST_CONNECTIONS"),))
    (only,) = planned(observed, changed).operations
    assert (only.verb, dict(only.body)) == (Verb.MODIFY, {"loadBalancingMode": "least-connections-member"})


def test_an_attribute_that_cannot_be_changed_means_a_new_object() -> None:
    observed = made(service())
    key = Key(type="ltm/monitor/http", name="dev_monitor-1")
    item = observed[key]
    observed[key] = ObservedObject(
        key=key, attributes={**item.attributes, "defaultsFrom": "/Common/http_head_f5"}, mark=item.mark
    )
    steps = planned(observed, service()).operations
    assert [(step.verb, step.key.type, step.key.name) for step in steps] == [
        (Verb.CREATE, key.type, "dev_monitor-1-anew"),
        (Verb.MODIFY, "ltm/pool", "dev_pool-1"),
        (Verb.DELETE, key.type, "dev_monitor-1"),
    ]
    assert not planned(predict_observed(observed, steps), service()).operations


def foreign(kind: str, name: str, description: str) -> ObservedObject:
    return ObservedObject(
        key=Key(type=kind, name=name), attributes={"description": description}, mark=parse_mark(description)
    )


def test_object_without_our_mark_is_no_orphan() -> None:
    strangers = [
        foreign("ltm/pool", "dev_pool-9", ""),
        foreign("ltm/pool", "dev_pool-8", "evenkeel:dev_a:pool:lb-8:pool-8"),
        foreign("ltm/pool", "dev_pool-7", "evenkeel"),
        foreign("ltm/pool", "dev_pool-6", "evenkeel:dev"),
    ]
    observed = {item.key: item for item in strangers}
    assert not planned(observed, complete=True).operations
    ours = foreign("ltm/pool", "dev_pool-5", "evenkeel:dev/1:pool:lb-5:pool-5")
    assert [step.owner for step in planned({ours.key: ours}, complete=True).operations] == ["lb-5"]
    assert not planned({ours.key: ours}, service()).operations_of_owners(frozenset({"lb-5"}))


def test_a_load_balancer_that_cannot_be_rendered_keeps_what_it_has() -> None:
    observed = made(service(), service(2))
    odd = RenderedObjects(service=service(), problem="no")
    todo = plan_operations(observed, [odd], partition=PARTITION, names=NAMES, complete=True)
    assert {step.owner for step in todo.operations} == {"lb-2", ""}
    assert dict(todo.problems) == {"lb-1": "no"}


def test_an_object_that_lost_its_mark_is_ours_by_its_name_as_long_as_it_is_wanted() -> None:
    observed = made(service())
    key = Key(type=POOL, name="dev_pool-1")
    observed[key] = ObservedObject(
        key=key, attributes={**observed[key].attributes, "description": ""}, members=observed[key].members
    )
    (only,) = planned(observed, service()).operations
    assert dict(only.body) == {"description": "evenkeel:dev/1:pool:lb-1:pool-1"}


def test_a_node_with_a_description_is_somebodys() -> None:
    observed = made(service(members=1))
    key = Key(type=NODE, name="10.2.1.1")
    observed[key] = ObservedObject(key=key, attributes={"address": "10.2.1.1", "description": "mine"})
    assert key not in {step.key for step in planned(observed, gone()).operations}


def test_plan_deletes_a_shared_object_that_it_creates_anew() -> None:
    key = Key(type=SELF_IP, name="self-1")
    needed = WantedObject(
        key=key, owner="lb-1", attributes={"address": "10.0.0.2/24"}, immutables=frozenset({"address"})
    )
    seen = ObservedObject(key=key, attributes={"address": "10.0.0.3/24"})
    rendered = RenderedObjects(service=service(), networks=(needed,))
    plan = plan_operations({key: seen}, [rendered], partition=PARTITION, names=NAMES, complete=False)
    assert [(step.verb, step.key) for step in plan.operations] == [(Verb.DELETE, key), (Verb.CREATE, key)]
