"""Placement rules: spreading, affinity, homes, and what may never happen."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.placement import (
    AgentView,
    GroupView,
    ShardView,
    assign_unserved,
    choose_group,
    choose_home,
    plan_handback,
)

T = TypeVar("T")


def first(equals: Sequence[T]) -> T:
    return equals[0]


def agent(name: str, *, live: bool = True, settled: bool = True, shards: int = 0, homed: int = 0) -> AgentView:
    return AgentView(id=name, live=live, settled=settled, shards=shards, homed=homed)


def group(number: int, score: float = 0.0, *, tenant: bool = False, live: bool = True) -> GroupView:
    return GroupView(number=number, capacity_score=score, agents=(agent("a", live=live),), holds_tenant=tenant)


def test_a_tenant_stays_on_the_group_that_holds_it_while_it_has_room() -> None:
    chosen = choose_group([group(1, 0.1), group(2, 0.9, tenant=True)], first)
    assert chosen is not None
    assert chosen.number == 2


def test_a_tenant_whose_group_is_full_goes_to_the_emptiest() -> None:
    chosen = choose_group([group(1, 0.5), group(2, 1.0, tenant=True), group(3, 0.2)], first)
    assert chosen is not None
    assert chosen.number == 3


def test_no_group_is_chosen_without_live_agents_or_room() -> None:
    assert choose_group([group(1, live=False), group(2, 1.0)], first) is None
    assert choose_group([], first) is None


def test_a_new_shard_prefers_the_agent_that_is_home_to_the_fewest() -> None:
    chosen = choose_home([agent("a", homed=2), agent("b", homed=1, shards=9), agent("c", live=False)], first)
    assert chosen is not None
    assert chosen.id == "b"
    assert choose_home([agent("c", live=False)], first) is None


def test_a_dead_agents_shards_spread_over_the_live_ones() -> None:
    shards = [ShardView(id=str(n), home="dead", acting="dead", epoch=1) for n in range(6)]
    plan = assign_unserved(shards, [agent("dead", live=False), agent("a"), agent("b"), agent("c")], first)
    assert sorted(step.agent_id for step in plan) == ["a", "a", "b", "b", "c", "c"]


def test_an_unserved_shard_goes_home_if_home_is_up() -> None:
    shards = [ShardView(id="s", home="h", acting=None, epoch=4)]
    plan = assign_unserved(shards, [agent("h", shards=50), agent("a")], first)
    assert [(step.agent_id, step.seen_epoch) for step in plan] == [("h", 4)]


def test_handback_waits_for_home_to_settle_and_goes_a_few_at_a_time() -> None:
    shards = [ShardView(id=str(n), home="h", acting="a", epoch=2) for n in range(5)]
    assert plan_handback(shards, [agent("h", settled=False), agent("a")], at_once=2) == []
    plan = plan_handback(shards, [agent("h"), agent("a")], at_once=2)
    assert [move.shard_id for move in plan] == ["0", "1"]
    under_way = [ShardView(id="9", home="h", acting="a", epoch=2, handover_to="h"), *shards]
    assert len(plan_handback(under_way, [agent("h"), agent("a")], at_once=2)) == 1


agents_st = st.lists(
    st.builds(
        AgentView,
        id=st.sampled_from("abcdef"),
        live=st.booleans(),
        settled=st.booleans(),
        shards=st.integers(0, 20),
        homed=st.integers(0, 20),
    ),
    unique_by=lambda view: view.id,
    max_size=6,
)
shards_st = st.lists(
    st.builds(
        ShardView,
        id=st.uuids().map(str),
        home=st.sampled_from("abcdef"),
        acting=st.none() | st.sampled_from("abcdef"),
        epoch=st.integers(1, 99),
        handover_to=st.none() | st.sampled_from("abcdef"),
    ),
    unique_by=lambda view: view.id,
    max_size=30,
)


@given(agents_st, shards_st)
def test_exactly_the_unserved_shards_are_assigned_and_only_to_live_agents(
    agents: list[AgentView], shards: list[ShardView]
) -> None:
    live = {view.id for view in agents if view.live}
    plan = assign_unserved(shards, agents, first)
    assert all(step.agent_id in live for step in plan)
    unserved = {shard.id for shard in shards if shard.acting not in live}
    assert {step.shard_id for step in plan} == (unserved if live else set())


@given(agents_st, st.integers(1, 40))
def test_spreading_leaves_no_agent_more_than_one_above_what_it_had_to_take(agents: list[AgentView], count: int) -> None:
    shards = [ShardView(id=str(n), home="gone", acting=None, epoch=1) for n in range(count)]
    load = {view.id: view.shards for view in agents if view.live}
    for step in assign_unserved(shards, agents, first):
        assert load[step.agent_id] == min(load.values())
        load[step.agent_id] += 1


@given(agents_st, shards_st, st.integers(0, 5))
def test_handback_moves_only_from_a_live_agent_to_a_live_settled_home(
    agents: list[AgentView], shards: list[ShardView], at_once: int
) -> None:
    by_id = {view.id: view for view in agents}
    by_shard = {view.id: view for view in shards}
    plan = plan_handback(shards, agents, at_once=at_once)
    assert len(plan) <= at_once
    for move in plan:
        shard = by_shard[move.shard_id]
        assert move.agent_id == shard.home
        assert by_id[shard.home].live
        assert by_id[shard.home].settled
        assert shard.acting is not None
        assert by_id[shard.acting].live
        assert shard.acting != shard.home
