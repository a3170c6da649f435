"""Placement rules: spreading, affinity, homes, and what may never happen."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.placement import (
    AgentSnapshot,
    GroupSnapshot,
    PlacementGroup,
    ShardSnapshot,
    choose_group,
    choose_home,
    fit_agents,
    plan_assignments,
    plan_evacuation,
    plan_failover,
    plan_return_home,
)
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode

T = TypeVar("T")


def first(equals: Sequence[T]) -> T:
    return equals[0]


def agent(
    name: str,
    *,
    live: bool = True,
    up: bool = True,
    dead_host: bool = False,
    settled: bool = True,
    asked: bool = False,
    reaches: int | None = None,
    reachable_since: float = 5.0,
    reported_at: float = 20.0,
    shards: int = 0,
    homed: int = 0,
) -> AgentSnapshot:
    return AgentSnapshot(
        id=name,
        live=live,
        admin_state_up=up,
        forced_down=dead_host,
        settled=settled,
        failback_asked=asked,
        reachable_devices=reaches,
        reachable_since=reachable_since,
        reported_at=reported_at,
        shards=shards,
        homed=homed,
    )


def shard(name: str = "s", *, home: str = "h", acting: str | None = None, to: str | None = None) -> ShardSnapshot:
    return ShardSnapshot(id=name, home=home, acting=acting, epoch=4, handover_to=to)


def takers(group: GroupSnapshot) -> list[str]:
    return [step.agent_id for step in plan_assignments(group, first)]


def group(number: int, score: float = 0.0, *, tenant: bool = False, live: bool = True) -> PlacementGroup:
    return PlacementGroup(number=number, capacity_score=score, agents=(agent("a", live=live),), holds_tenant=tenant)


def test_a_tenant_stays_on_the_group_that_holds_it_while_it_has_room() -> None:
    chosen = choose_group([group(1, 0.1), group(2, 0.9, tenant=True)], first)
    assert chosen is not None
    assert chosen.number == 2


def test_a_tenant_whose_group_is_full_goes_to_the_emptiest() -> None:
    chosen = choose_group([group(1, 0.5), group(2, 1.0, tenant=True), group(3, 0.2)], first)
    assert chosen is not None
    assert chosen.number == 3


def test_a_load_balancer_goes_to_the_group_of_its_zone_wherever_the_tenant_is() -> None:
    elsewhere = replace(group(1, 0.1, tenant=True), in_zone=False)
    chosen = choose_group([elsewhere, group(2, 0.9)], first)
    assert chosen is not None
    assert chosen.number == 2
    assert choose_group([elsewhere, group(2, 1.0)], first) is None


def test_no_group_is_chosen_without_live_agents_or_room() -> None:
    assert choose_group([group(1, live=False), group(2, 1.0)], first) is None
    assert choose_group([], first) is None


def test_a_new_shard_prefers_the_agent_that_is_home_to_the_fewest() -> None:
    chosen = choose_home([agent("a", homed=2), agent("b", homed=1, shards=9), agent("c", live=False)], first)
    assert chosen is not None
    assert chosen.id == "b"
    assert choose_home([agent("c", live=False)], first) is None


def test_a_dead_agents_shards_spread_over_the_live_ones() -> None:
    shards = tuple(shard(str(n), home="dead", acting="dead") for n in range(6))
    agents = (agent("dead", live=False), agent("a"), agent("b"), agent("c"))
    assert sorted(takers(GroupSnapshot(shards=shards, agents=agents))) == ["a", "a", "b", "b", "c", "c"]


def test_an_unserved_shard_goes_home_if_home_is_up() -> None:
    group = GroupSnapshot(shards=(shard(),), agents=(agent("h", shards=50), agent("a")))
    plan = plan_assignments(group, first)
    assert [(step.agent_id, step.seen_epoch, step.rebind) for step in plan] == [("h", 4, False)]


def test_handback_waits_for_home_to_settle_and_goes_a_few_at_a_time() -> None:
    shards = tuple(shard(str(n), acting="a") for n in range(5))
    unsettled = GroupSnapshot(shards=shards, agents=(agent("h", settled=False), agent("a")))
    assert plan_return_home(unsettled, at_once=2) == []
    agents = (agent("h"), agent("a"))
    plan = plan_return_home(GroupSnapshot(shards=shards, agents=agents), at_once=2)
    assert [move.shard_id for move in plan] == ["0", "1"]
    under_way = (shard("9", acting="a", to="h"), *shards)
    assert len(plan_return_home(GroupSnapshot(shards=under_way, agents=agents), at_once=2)) == 1


def test_handback_by_mode() -> None:
    def moves(failback: FailbackMode, *, asked: bool) -> int:
        agents = (agent("h", asked=asked), agent("a"))
        group = GroupSnapshot(shards=(shard(acting="a"),), agents=agents, failback=failback)
        return len(plan_return_home(group, at_once=2))

    assert moves(FailbackMode.AUTO, asked=False) == 1
    assert moves(FailbackMode.MANUAL, asked=False) == 0
    assert moves(FailbackMode.MANUAL, asked=True) == 1
    assert moves(FailbackMode.NEVER, asked=True) == 0


def test_a_drained_agents_shards_are_handed_over_not_taken() -> None:
    shards = tuple(shard(str(n), home="h", acting="h") for n in range(4))
    group = GroupSnapshot(shards=shards, agents=(agent("h", up=False, shards=4), agent("a"), agent("b")))
    assert takers(group) == []
    assert [move.agent_id for move in plan_evacuation(group, first, at_once=3)] == ["a", "b", "a"]


def test_a_drained_agent_keeps_its_shards_if_nobody_else_can_take_them() -> None:
    group = GroupSnapshot(shards=(shard(acting="h"),), agents=(agent("h", up=False), agent("a", live=False)))
    assert takers(group) == []
    assert plan_evacuation(group, first, at_once=3) == []


def test_an_agent_that_reaches_fewer_devices_than_another_gives_its_shards_up() -> None:
    blind, seeing = agent("h", reaches=0), agent("a", reaches=2)
    group = GroupSnapshot(shards=(shard(acting="h"),), agents=(blind, seeing))
    assert [move.agent_id for move in plan_evacuation(group, first, at_once=3)] == ["a"]
    assert takers(GroupSnapshot(shards=(shard(),), agents=(blind, seeing))) == ["a"]
    assert plan_return_home(GroupSnapshot(shards=(shard(acting="a"),), agents=(blind, seeing)), at_once=3) == []


def test_nothing_moves_when_no_agent_reaches_the_devices() -> None:
    group = GroupSnapshot(shards=(shard(acting="h"),), agents=(agent("h", reaches=0), agent("a", reaches=0)))
    assert plan_evacuation(group, first, at_once=3) == []
    assert fit_agents([agent("new"), agent("old", reaches=2)]) == [agent("new"), agent("old", reaches=2)]


def test_report_of_another_agent_before_this_one_lost_reach_does_not_count() -> None:
    lost_sight = agent("h", reaches=0, reachable_since=20.5, reported_at=21.0)
    assert fit_agents([lost_sight, agent("a", reaches=2)]) == [lost_sight, agent("a", reaches=2)]


def test_observation_of_another_agent_before_this_one_lost_reach_does_not_count() -> None:
    lost_sight, late = (
        agent("h", reaches=1, reachable_since=20.0, reported_at=28.0),
        agent("a", reaches=2, reported_at=23.0),
    )
    assert fit_agents([lost_sight, late]) == [lost_sight, late]


def test_an_agent_that_has_not_looked_since_another_found_a_device_again_keeps_its_shards() -> None:
    not_looked = agent("h", reaches=1, reachable_since=10.0, reported_at=20.0)
    found_it = agent("a", reaches=2, reachable_since=21.0, reported_at=29.0)
    assert fit_agents([not_looked, found_it]) == [not_looked, found_it]
    still_blind = agent("h", reaches=1, reachable_since=10.0, reported_at=30.0)
    assert fit_agents([still_blind, found_it]) == [found_it]


def test_a_handover_that_is_not_released_is_taken_in_the_end() -> None:
    stuck = ShardSnapshot(id="s", home="h", acting="h", epoch=4, handover_to="b", overdue=True)
    agents = (agent("h", up=False), agent("a"), agent("b", shards=9))
    assert takers(GroupSnapshot(shards=(stuck,), agents=agents)) == ["b"]


def test_the_first_agent_back_after_an_outage_takes_nothing_from_those_still_silent() -> None:
    silent = replace(agent("h", live=False), live_until=50.0)
    gone = replace(agent("x", live=False), registered=False, live_until=50.0)
    back = replace(agent("a"), fresh=True, live_since=60.0)
    shards = (shard("1", acting="h"), shard("2", home="x", acting="x"), shard("3", home="h"))
    group = GroupSnapshot(shards=shards, agents=(silent, gone, back))
    assert [step.shard_id for step in plan_assignments(group, first)] == ["2", "3"]
    grown_up = replace(group, agents=(silent, gone, agent("a")))
    assert [step.shard_id for step in plan_assignments(grown_up, first)] == ["1", "2", "3"]
    was_there_before = replace(group, agents=(silent, gone, replace(back, live_since=40.0)))
    assert [step.shard_id for step in plan_assignments(was_there_before, first)] == ["1", "2", "3"]


def test_a_drained_home_serves_what_nobody_else_can_take() -> None:
    drained = agent("h", up=False)
    group = GroupSnapshot(shards=(shard(),), agents=(drained, agent("a", live=False)))
    assert [(step.agent_id, step.to_home) for step in plan_assignments(group, first)] == [("h", True)]
    assert takers(replace(group, agents=(drained, agent("a")))) == ["a"]


def test_shard_bound_to_a_deleted_agent_is_assigned_another_home() -> None:
    group = GroupSnapshot(shards=(shard(),), agents=(agent("a"),), reschedule=RescheduleMode.NEVER)
    assert [(step.agent_id, step.rebind) for step in plan_assignments(group, first)] == [("a", True)]


def test_while_halted_only_home_takes_what_nobody_serves() -> None:
    agents = (agent("h"), agent("dead", live=False), agent("a", up=False))
    shards = (shard("1", acting="dead"), shard("2", home="dead", acting="dead"), shard("3", home="h", acting="a"))
    group = GroupSnapshot(shards=shards, agents=agents, halted=True)
    assert [(step.shard_id, step.agent_id) for step in plan_assignments(group, first)] == [("1", "h")]
    assert plan_evacuation(group, first, at_once=9) == []
    assert plan_return_home(group, at_once=9) == []


def test_shard_bound_to_its_host_waits_for_it() -> None:
    for mode in (RescheduleMode.NEVER, RescheduleMode.RELOCATE):
        away = GroupSnapshot(shards=(shard(acting="h"),), agents=(agent("h", live=False), agent("a")), reschedule=mode)
        assert takers(away) == []
        back = GroupSnapshot(shards=(shard(),), agents=(agent("h"), agent("a")), reschedule=mode)
        assert takers(back) == ["h"]


def test_a_host_declared_dead_is_replaced_for_good_where_that_is_possible() -> None:
    agents = (agent("h", live=False, dead_host=True), agent("a"))
    for mode, expected in (
        (RescheduleMode.NEVER, []),
        (RescheduleMode.RELOCATE, [("a", True)]),
        (RescheduleMode.CONTROL, [("a", False)]),
    ):
        group = GroupSnapshot(shards=(shard(acting="h"),), agents=agents, reschedule=mode)
        assert [(step.agent_id, step.rebind) for step in plan_assignments(group, first)] == expected


agents_st = st.lists(
    st.builds(
        AgentSnapshot,
        id=st.sampled_from("abcdef"),
        live=st.booleans(),
        admin_state_up=st.booleans(),
        forced_down=st.booleans(),
        registered=st.booleans(),
        fresh=st.booleans(),
        settled=st.booleans(),
        failback_asked=st.booleans(),
        reachable_devices=st.none() | st.integers(0, 2),
        reachable_since=st.integers(0, 3),
        reported_at=st.integers(0, 20),
        shards=st.integers(0, 20),
        homed=st.integers(0, 20),
    ),
    unique_by=lambda view: view.id,
    max_size=6,
)
shards_st = st.lists(
    st.builds(
        ShardSnapshot,
        id=st.uuids().map(str),
        home=st.sampled_from("abcdef"),
        acting=st.none() | st.sampled_from("abcdef"),
        epoch=st.integers(1, 99),
        handover_to=st.none() | st.sampled_from("abcdef"),
        overdue=st.booleans(),
    ),
    unique_by=lambda view: view.id,
    max_size=30,
)
groups_st = st.builds(
    GroupSnapshot,
    shards=shards_st.map(tuple),
    agents=agents_st.map(tuple),
    reschedule=st.sampled_from(RescheduleMode),
    failback=st.sampled_from(FailbackMode),
    halted=st.booleans(),
)


def served(group: GroupSnapshot, view: ShardSnapshot) -> bool:
    return any(each.id == view.acting and each.acts for each in group.agents)


@given(groups_st)
def test_only_eligible_agents_take_and_only_what_is_unserved_or_overdue(group: GroupSnapshot) -> None:
    eligible = {view.id for view in group.agents if view.eligible}
    by_shard = {view.id: view for view in group.shards}
    plan = plan_assignments(group, first)
    assert len({step.shard_id for step in plan}) == len(plan)
    for step in plan:
        view = by_shard[step.shard_id]
        assert step.agent_id in eligible or (step.to_home and step.agent_id == view.home)
        assert any(agent.id == step.agent_id and agent.acts for agent in group.agents)
        assert step.seen_epoch == view.epoch
        assert not served(group, view) or view.overdue
        home_exists = any(agent.id == view.home for agent in group.agents)
        if group.halted or (group.reschedule is RescheduleMode.NEVER and home_exists):
            assert step.agent_id == view.home


@given(groups_st)
def test_no_shard_is_left_unserved_where_any_agent_may_take_over(group: GroupSnapshot) -> None:
    if group.halted or group.reschedule is not RescheduleMode.CONTROL:
        return
    if not any(not agent.fresh for agent in fit_agents(group.agents)):
        return
    taken = {step.shard_id for step in plan_assignments(group, first)}
    assert {view.id for view in group.shards if not served(group, view)} <= taken


@given(agents_st, st.integers(1, 40))
def test_spreading_leaves_no_agent_more_than_one_above_what_it_had_to_take(
    agents: list[AgentSnapshot], count: int
) -> None:
    shards = tuple(shard(str(n), home="gone") for n in range(count))
    load = {view.id: view.shards for view in fit_agents(agents)}
    for step in plan_assignments(GroupSnapshot(shards=shards, agents=tuple(agents)), first):
        assert load[step.agent_id] == min(load.values())
        load[step.agent_id] += 1


@given(groups_st, st.integers(0, 5))
def test_handovers_go_from_one_that_serves_to_another_that_is_fit(group: GroupSnapshot, at_once: int) -> None:
    by_shard = {view.id: view for view in group.shards}
    by_agent = {view.id: view for view in group.agents}
    fit = {view.id for view in fit_agents(group.agents)}
    leaving, home = plan_evacuation(group, first, at_once=at_once), plan_return_home(group, at_once=at_once)
    assert len(leaving) <= at_once and len(home) <= at_once
    for move in [*leaving, *home]:
        view = by_shard[move.shard_id]
        assert not group.halted
        assert served(group, view)
        assert view.handover_to is None
        assert move.agent_id in fit - {view.acting}
    for move in home:
        assert move.agent_id == by_shard[move.shard_id].home
        assert by_agent[move.agent_id].settled
    assert not {move.shard_id for move in leaving} & {move.shard_id for move in home}


def moved(group: GroupSnapshot, which: ShardSnapshot) -> str | None:
    plan = plan_failover(group, which, first)
    assert plan is None or (plan.shard_id, plan.seen_epoch) == (which.id, which.epoch)
    return None if plan is None else plan.agent_id


def test_a_failover_goes_home_else_to_the_fit_agent_with_the_fewest_shards() -> None:
    snapshot = GroupSnapshot(agents=(agent("h", shards=5), agent("b", shards=2), agent("c", shards=1)))
    assert moved(snapshot, shard(home="h", acting="h")) == "c"
    assert moved(snapshot, shard(home="h", acting="c")) == "h"
    drained = replace(snapshot, agents=(agent("h"), agent("b"), agent("c", up=False)))
    assert moved(drained, shard(home="h", acting="h")) == "b"


def test_a_failover_moves_nothing_that_may_not_move_or_is_moving_or_has_nowhere_to_go() -> None:
    snapshot = GroupSnapshot(agents=(agent("h"), agent("b")))
    served = shard(home="h", acting="h")
    assert moved(snapshot, served) == "b"
    assert moved(replace(snapshot, halted=True), served) is None
    assert moved(replace(snapshot, reschedule=RescheduleMode.NEVER), served) is None
    assert moved(replace(snapshot, reschedule=RescheduleMode.RELOCATE), served) is None
    assert moved(replace(snapshot, agents=(agent("h"),)), served) is None
    assert moved(snapshot, shard(home="h", acting="h", to="b")) is None
    assert moved(snapshot, shard(home="h")) is None
    assert moved(replace(snapshot, agents=(agent("h", live=False), agent("b"))), served) is None
