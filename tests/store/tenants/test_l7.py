"""L7 policies keep their places without gaps, whatever comes, goes and moves; rules and pools keep to them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.core.resources.model import (
    L7_POSITION_MAX,
    L7_RULES_MAX,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancerTree,
    Pool,
)
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.core.status.outcomes import Applied
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import (
    AGENT,
    PROJECT,
    SESSION,
    SHARD,
    confirm,
    create,
    ids,
    l7policy,
    l7rule,
    listener,
    load_balancer,
    member,
    placed,
    pool,
    tree,
    with_policies,
)


@pytest.fixture
async def stored(store: SqlStore) -> LoadBalancerTree:
    """Placed and confirmed: a listener with two policies of two rules each, which send to the only pool."""
    await placed(store)
    made = await create(store, with_policies(tree()))
    await confirm(store, made.load_balancer.id)
    return await store.tenants.tree(made.load_balancer.id, project_id=None)


async def places(store: SqlStore, listener_id: str) -> dict[str, int]:
    """Position by name of the live policies, in order."""
    query = ListQuery(filters={"listener_id": (listener_id,)}, sort=(("position", False),))
    rows = (await store.tenants.list(L7Policy, query)).items
    return {row.name: row.position for row in rows if not row.deleted}


async def add(store: SqlStore, listener_id: str, name: str, position: int = L7_POSITION_MAX) -> L7Policy:
    row = l7policy(listener_id=listener_id, name=name, position=position)
    change = await store.tenants.add_l7policy(row, [], project_id=None)
    added: Any = change.resources[0]
    return added


async def report(store: SqlStore, load_balancer_id: str, revision: int, error: str = "") -> None:
    outcome = Applied(load_balancer_id=load_balancer_id, revision=revision, error=error)
    await store.reports.record_applied(
        ReportApplied(agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=1, outcomes=(outcome,))
    )


async def test_a_tree_comes_back_as_it_was_stored(store: SqlStore, stored: LoadBalancerTree) -> None:
    assert [row.position for row in stored.l7policies] == [1, 2]
    assert stored.listeners[0].l7policy_ids == tuple(ids(stored.l7policies))
    for row in stored.l7policies:
        assert row == await store.tenants.get(L7Policy, row.id, project_id=PROJECT)
        assert row.rule_ids == tuple(ids([rule for rule in stored.l7rules if rule.l7policy_id == row.id]))
        rules = await store.tenants.list(L7Rule, ListQuery(), parent_id=row.id)
        assert ids(rules.items) == list(row.rule_ids)
    assert await store.tenants.get(Listener, stored.listeners[0].id, project_id=None) == stored.listeners[0]
    found = service_definition_of_tree(stored).listeners[0].l7policies
    assert [each.id for each in found] == ids(stored.l7policies)
    assert [len(each.rules) for each in found] == [2, 2]


async def test_a_new_policy_is_last_or_moves_those_from_its_place_on(store: SqlStore) -> None:
    at = (await create(store)).listeners[0].id
    assert (await add(store, at, "a")).position == 1
    assert (await add(store, at, "b", 70)).position == 2
    assert (await add(store, at, "c", 2)).position == 2
    assert (await add(store, at, "d", 1)).position == 1
    assert await places(store, at) == {"d": 1, "a": 2, "c": 3, "b": 4}


async def test_a_policy_that_goes_leaves_no_gap(store: SqlStore) -> None:
    await placed(store)
    at = (await create(store)).listeners[0].id
    made = [await add(store, at, name) for name in "abc"]
    await store.tenants.delete_child(L7Policy, made[1].id, project_id=PROJECT)
    assert await places(store, at) == {"a": 1, "c": 2}
    assert (await add(store, at, "d")).position == 3


@pytest.mark.parametrize(
    ("moved", "wanted", "order"),
    [("a", 3, "bcad"), ("d", 1, "dabc"), ("b", 2, "abcd"), ("a", 99, "bcda"), ("c", 2, "acbd")],
)
async def test_a_policy_that_moves_makes_the_others_move_up(
    store: SqlStore, moved: str, wanted: int, order: str
) -> None:
    at = (await create(store)).listeners[0].id
    made = {name: await add(store, at, name) for name in "abcd"}
    change = await store.tenants.update_child(L7Policy, made[moved].id, {"position": wanted}, project_id=None)
    assert await places(store, at) == {name: place for place, name in enumerate(order, start=1)}
    assert change.resources == (await store.tenants.get(L7Policy, made[moved].id, project_id=None),)


async def test_other_listeners_keep_their_places(store: SqlStore) -> None:
    first, second = (await create(store, tree(listeners=2))).listeners
    for name in "ab":
        await add(store, first.id, name)
        await add(store, second.id, name)
    await add(store, first.id, "c", 1)
    assert await places(store, second.id) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("changes", "words"), [({"redirect_pool_id": "nope"}, "Pool nope"), ({"listener_id": "x"}, "listener_id")]
)
async def test_impossible_change_of_a_policy_is_refused(
    store: SqlStore, stored: LoadBalancerTree, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises((NotFound, Invalid), match=words):
        await store.tenants.update_child(L7Policy, stored.l7policies[0].id, changes, project_id=None)


async def test_a_policy_sends_only_to_fitting_pools_of_its_load_balancer(store: SqlStore) -> None:
    row, wrong = listener(), pool(protocol="HTTPS")
    await create(store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(row,), pools=(wrong,)))
    stranger = (await create(store)).pools[0].id
    for pool_id, error in ((wrong.id, Invalid), (stranger, NotFound)):
        policy = l7policy(listener_id=row.id, action="REDIRECT_TO_POOL", redirect_pool_id=pool_id)
        with pytest.raises(error, match=r"protocol 'HTTPS'|Pool"):
            await store.tenants.add_l7policy(policy, [], project_id=None)
        more = listener(load_balancer_id=(await store.tenants.get(Listener, row.id, project_id=None)).load_balancer_id)
        with pytest.raises(error):
            await store.tenants.add_listener(more, [policy], project_id=None)


async def test_a_listener_comes_with_its_policies(store: SqlStore) -> None:
    root = await create(store)
    row = listener(load_balancer_id=root.load_balancer.id, protocol_port=81)
    policies = [l7policy(listener_id=row.id, position=place) for place in (1, 2)]
    rules = [l7rule(l7policy_id=policies[1].id)]
    change = await store.tenants.add_listener(row, policies, rules, project_id=PROJECT)
    assert change.resources == (await store.tenants.get(Listener, row.id, project_id=None),)
    now = await store.tenants.tree(root.load_balancer.id, project_id=None)
    assert ids(now.l7policies) == ids(policies) and ids(now.l7rules) == ids(rules)
    assert {each.project_id for each in (*now.l7policies, *now.l7rules)} == {PROJECT}


async def test_a_pool_that_a_policy_sends_to_stays(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match=rf"^Pool {stored.pools[0].id} is in use by L7 policy"):
        await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)
    for row in stored.l7policies:
        await store.tenants.delete_child(L7Policy, row.id, project_id=None)
    await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)


async def test_there_are_at_most_fifty_rules(store: SqlStore) -> None:
    at = (await create(store)).listeners[0].id
    rules = [l7rule(number) for number in range(L7_RULES_MAX)]
    full = l7policy(listener_id=at)
    await store.tenants.add_l7policy(full, rules, project_id=None)
    with pytest.raises(Conflict, match="Too many rules on L7 policy"):
        await store.tenants.add_l7rule(l7rule(l7policy_id=full.id), project_id=None)
    with pytest.raises(Conflict, match="Too many rules"):
        await store.tenants.add_l7policy(l7policy(listener_id=at), [*rules, l7rule()], project_id=None)
    await store.tenants.delete_child(L7Rule, rules[0].id, parent_id=full.id, project_id=None)
    await store.tenants.add_l7rule(l7rule(l7policy_id=full.id), project_id=None)


# -- statuses


def pending(now: LoadBalancerTree) -> set[str]:
    rows: Sequence[Any] = (*now.listeners, *now.pools, *now.members, *now.l7policies, *now.l7rules)
    return {type(row).__name__ for row in rows if row.provisioning_status is not ProvisioningStatus.ACTIVE}


async def test_changes_touch_what_is_above_them(store: SqlStore, stored: LoadBalancerTree) -> None:
    root, policy, rule = stored.load_balancer.id, stored.l7policies[1], stored.l7rules[0]

    async def settled(*, pending_are: set[str]) -> None:
        now = await store.tenants.tree(root, project_id=None)
        assert pending(now) == pending_are
        await report(store, root, now.load_balancer.revision)
        assert pending(await store.tenants.tree(root, project_id=None)) == set()

    await store.tenants.update_child(L7Policy, policy.id, {"name": "x", "position": 1}, project_id=None)
    await settled(pending_are={"L7Policy", "Listener"})
    await store.tenants.update_child(L7Rule, rule.id, {"value": "/x"}, parent_id=rule.l7policy_id, project_id=None)
    await settled(pending_are={"L7Rule", "L7Policy", "Listener"})
    await store.tenants.add_l7rule(l7rule(l7policy_id=policy.id, admin_state_up=False), project_id=None)
    await settled(pending_are={"L7Rule", "L7Policy", "Listener"})
    await store.tenants.delete_child(L7Rule, rule.id, project_id=None)
    await settled(pending_are={"L7Rule", "L7Policy", "Listener"})
    now = await store.tenants.tree(root, project_id=None)
    assert rule.id not in ids(now.l7rules)
    (down,) = (row for row in now.l7rules if not row.admin_state_up)
    assert down.operating_status is OperatingStatus.OFFLINE
    assert {row.operating_status for row in now.l7policies} == {OperatingStatus.ONLINE}


async def test_a_member_touches_the_listeners_whose_policies_send_to_its_pool(store: SqlStore) -> None:
    await placed(store)
    made = with_policies(tree())
    second = listener(protocol_port=81)
    made = LoadBalancerTree(load_balancer=made.load_balancer, listeners=(second,), pools=made.pools)
    root = await create(store, made)
    policy = l7policy(listener_id=second.id, action="REDIRECT_TO_POOL", redirect_pool_id=made.pools[0].id)
    await store.tenants.add_l7policy(policy, [], project_id=None)
    await confirm(store, root.load_balancer.id)
    await store.tenants.add_members((member(pool_id=made.pools[0].id),), project_id=None)
    assert pending(await store.tenants.tree(root.load_balancer.id, project_id=None)) == {"Member", "Pool", "Listener"}


async def test_a_pool_has_the_listeners_whose_enabled_policies_with_rules_send_to_it(store: SqlStore) -> None:
    first, second = (listener(protocol_port=port) for port in (80, 81))
    target = pool()
    made = await create(
        store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(first, second), pools=(target,))
    )
    send = {"action": "REDIRECT_TO_POOL", "redirect_pool_id": made.pools[0].id}
    policies = [l7policy(listener_id=row.id, **send) for row in (second, second, first)]
    for policy in policies:
        await store.tenants.add_l7policy(policy, [], project_id=PROJECT)

    async def senders() -> tuple[str, ...]:
        shown = (await store.tenants.list(Pool, ListQuery())).items[0]
        assert await store.tenants.get(Pool, made.pools[0].id, project_id=PROJECT) == shown
        tree = await store.tenants.tree(made.load_balancer.id, project_id=PROJECT)
        assert tree.pools[0].l7_listener_ids == shown.l7_listener_ids
        return shown.l7_listener_ids

    assert await senders() == ()
    for policy in policies[:2]:
        await store.tenants.add_l7rule(l7rule(l7policy_id=policy.id), project_id=PROJECT)
    assert await senders() == (second.id,)
    await store.tenants.update_child(L7Policy, policies[0].id, {"admin_state_up": False}, project_id=PROJECT)
    assert await senders() == (second.id,)
    await store.tenants.update_child(L7Policy, policies[1].id, {"admin_state_up": False}, project_id=PROJECT)
    assert await senders() == ()


async def test_rule_that_the_device_refuses_is_in_error_until_it_is_corrected(
    store: SqlStore, stored: LoadBalancerTree
) -> None:
    root, rule = stored.load_balancer.id, stored.l7rules[0]
    change = await store.tenants.update_child(L7Rule, rule.id, {"value": "/x"}, project_id=None)
    await report(store, root, change.revision, "no")
    assert (await store.tenants.get(L7Rule, rule.id, project_id=None)).provisioning_status is ProvisioningStatus.ERROR
    await report(store, root, change.revision)
    assert pending(await store.tenants.tree(root, project_id=None)) == set()


@pytest.mark.parametrize("kind", [Listener, L7Policy])
async def test_policies_and_rules_are_deleted_with_their_parent(
    store: SqlStore, stored: LoadBalancerTree, kind: Any
) -> None:
    row: Any = stored.listeners[0] if kind is Listener else stored.l7policies[0]
    change = await store.tenants.delete_child(kind, row.id, project_id=None)
    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    gone = [each for each in (*now.l7policies, *now.l7rules) if each.deleted]
    assert len(gone) == (6 if kind is Listener else 3)
    assert {each.revision for each in gone} == {change.revision}
    await report(store, stored.load_balancer.id, change.revision)
    left = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert len(left.l7policies) == (0 if kind is Listener else 1)
    again = await create(store, with_policies(tree()))
    await store.tenants.delete_load_balancer(again.load_balancer.id, cascade=True, project_id=None)
    marked = await store.tenants.tree(again.load_balancer.id, project_id=None)
    assert all(each.deleted for each in (*marked.l7policies, *marked.l7rules))


async def test_below_one_that_was_never_placed_rows_go_at_once(store: SqlStore) -> None:
    made = await create(store, with_policies(tree()))
    await store.tenants.delete_child(L7Rule, made.l7rules[0].id, project_id=None)
    await store.tenants.delete_child(L7Policy, made.l7policies[0].id, project_id=None)
    now = await store.tenants.tree(made.load_balancer.id, project_id=None)
    assert [row.position for row in now.l7policies] == [1]
    assert set(ids(now.l7rules)) == set(ids(made.l7rules[2:]))
    await store.tenants.delete_child(Listener, made.listeners[0].id, project_id=None)
    now = await store.tenants.tree(made.load_balancer.id, project_id=None)
    assert now.l7policies == now.l7rules == ()


async def test_a_rule_of_another_policy_or_project_is_not_found(store: SqlStore, stored: LoadBalancerTree) -> None:
    rule, other = stored.l7rules[0], stored.l7policies[1]
    assert rule.l7policy_id != other.id
    with pytest.raises(NotFound, match=f"L7 Rule {rule.id}"):
        await store.tenants.get(L7Rule, rule.id, parent_id=other.id, project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.update_child(L7Rule, rule.id, {"value": "/"}, parent_id=other.id, project_id=None)
    with pytest.raises(NotFound, match="L7 Policy"):
        await store.tenants.list(L7Rule, ListQuery(project_id="another"), parent_id=other.id)
    with pytest.raises(NotFound, match="L7 Policy"):
        await store.tenants.get(L7Policy, other.id, project_id="another")
    with pytest.raises(NotFound, match="Listener"):
        await store.tenants.add_l7policy(l7policy(listener_id=stored.listeners[0].id), [], project_id="another")


async def test_nothing_is_added_to_what_is_going(store: SqlStore, stored: LoadBalancerTree) -> None:
    policy = stored.l7policies[0]
    await store.tenants.delete_child(L7Policy, policy.id, project_id=None)
    with pytest.raises(Conflict, match=f"L7 Policy {policy.id} is immutable"):
        await store.tenants.add_l7rule(l7rule(l7policy_id=policy.id), project_id=None)
    with pytest.raises(Conflict, match="immutable"):
        await store.tenants.update_child(L7Policy, policy.id, {"position": 1}, project_id=None)


steps = st.lists(
    st.tuples(st.sampled_from(["add", "move", "delete"]), st.integers(0, 30), st.integers(1, 8)), max_size=12
)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=steps)
async def test_places_are_those_of_a_list(store: SqlStore, steps: list[tuple[str, int, int]]) -> None:
    """The model: a list that is inserted into, moved in and removed from."""
    at = (await create(store, tree(members=0))).listeners[0].id
    model: list[str] = []
    known: dict[str, L7Policy] = {}
    for number, (what, which, place) in enumerate(steps):
        if what == "add" or not model:
            name = str(number)
            known[name] = await add(store, at, name, place)
            model.insert(place - 1, name)
            continue
        name = model.pop(which % len(model))
        if what == "move":
            model.insert(place - 1, name)
            await store.tenants.update_child(L7Policy, known[name].id, {"position": place}, project_id=None)
        else:
            await store.tenants.delete_child(L7Policy, known[name].id, project_id=None)
    assert await places(store, at) == {name: place for place, name in enumerate(model, start=1)}
