"""One rule decides: what SQL finds, what operators are told and what commits check agree with core/placement."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.core.control.agent_state import AgentState, agent_state, away_reason, waiting_reason, waiting_shards
from evenkeel.core.placement import (
    AgentSnapshot,
    AssignStep,
    GroupSnapshot,
    HandoverStep,
    ShardSnapshot,
    ended_handovers,
    may_assign,
    may_start_handover,
    plan_assignments,
    plan_evacuation,
    plan_return_home,
)
from evenkeel.store.ownership.sql import acting_agent_ids_query, eligible_agent_ids_query, is_handover_overdue, is_live
from evenkeel.store.records import schema
from evenkeel.store.scheduling.due_shards import NEEDS_DECISION, candidate_parameters
from tests.store.rule_world import (
    AGENTS,
    DELETED,
    SETTLE_SECONDS,
    Rows,
    RuleWorld,
    by_id,
    rows,
    rule_world_fixture,
)

__all__ = ["rule_world_fixture"]

T = TypeVar("T")

ALL = 1_000
"""More at once than there are shards."""


def first(equals: Sequence[T]) -> T:
    return equals[0]


def takers(group: GroupSnapshot) -> dict[str, str]:
    """Who is to have which shard by the rule, whatever way it goes there."""
    assigned = {step.shard_id: step.agent_id for step in plan_assignments(group, first)}
    moves = [*plan_evacuation(group, first, at_once=ALL), *plan_return_home(group, at_once=ALL)]
    return {move.shard_id: move.agent_id for move in moves} | assigned


def steps(group: GroupSnapshot) -> set[str]:
    """Ids of shards for which the rule has a step."""
    return takers(group).keys() | set(ended_handovers(group))


def names_deleted(shard: ShardSnapshot, views: Mapping[str, AgentSnapshot]) -> bool:
    named = {shard.home, shard.acting, shard.handover_to} - {None}
    return not named <= views.keys()


# -- what SQL finds


def found(world: RuleWorld, group: GroupSnapshot, *, homes: bool) -> set[str]:
    statement = select(schema.shard.c.id).where(NEEDS_DECISION[homes])
    return world.read(lambda connection: set(connection.scalars(statement, candidate_parameters([group]))))


@given(rows)
def test_sql_finds_every_shard_for_which_the_rule_has_a_step(rule_world: RuleWorld, some: Rows) -> None:
    rule_world.fill(some)
    group = rule_world.everything()
    assert steps(group) <= found(rule_world, group, homes=True)
    returning = {move.shard_id for move in plan_return_home(group, at_once=ALL)}
    rare = returning | {shard.id for shard in group.shards if names_deleted(shard, by_id(group))}
    assert steps(group) - rare <= found(rule_world, group, homes=False)
    due_work = rule_world.run(
        rule_world.store.scheduling.read_due_work(
            settle_seconds=SETTLE_SECONDS, breaker_window_seconds=30.0, homes=True
        )
    )
    assert not steps(group) or not some.agents or due_work.groups == (("prod", 1),)


@given(rows)
def test_the_snapshot_holds_every_shard_for_which_the_rule_has_a_step(rule_world: RuleWorld, some: Rows) -> None:
    rule_world.fill(some)
    snapshot = rule_world.run(rule_world.store.scheduling.group_snapshot("prod", 1, settle_seconds=SETTLE_SECONDS))
    everything = rule_world.everything()
    assert not ended_handovers(everything)
    assert steps(snapshot) == steps(everything)


# -- what operators are told


def in_time(group: GroupSnapshot) -> GroupSnapshot:
    """When everybody has been up for long enough, and handovers to nobody have ended: what passes by itself is not
    told."""
    ended = ended_handovers(group)
    return replace(
        group,
        agents=tuple(replace(each, fresh=False, settled=each.eligible) for each in group.agents),
        shards=tuple(
            replace(each, handover_to=None, overdue=False) if each.id in ended else each for each in group.shards
        ),
    )


@given(rows)
def test_operators_are_informed_why_nothing_moves_if_and_only_if_the_rule_has_no_step(
    rule_world: RuleWorld, some: Rows
) -> None:
    rule_world.fill(some)
    group = in_time(rule_world.everything())
    views, moving = by_id(group), steps(group)
    for agent in rule_world.run(rule_world.store.operators.agents()):
        told = waiting_reason(agent)
        waiting = [
            shard
            for shard in group.shards
            if shard.acting == agent.id or (shard.acting is None and shard.home == agent.id)
        ]
        if agent_state(agent) is AgentState.UP:
            assert (waiting_shards(agent), told) == (0, "")
            continue
        assert waiting_shards(agent) == len(waiting)
        stuck = [shard for shard in waiting if shard.id not in moving and not under_way(shard, views)]
        assert bool(told) == bool(stuck)


def under_way(shard: ShardSnapshot, views: Mapping[str, AgentSnapshot]) -> bool:
    """Its acting agent was asked to hand it over."""
    return shard.handover_to is not None and shard.acting in views and views[shard.acting].acts


@given(rows)
def test_operators_are_informed_why_shards_are_away_if_and_only_if_the_rule_does_not_bring_them_home(
    rule_world: RuleWorld, some: Rows
) -> None:
    rule_world.fill(some)
    group = in_time(rule_world.everything())
    views = by_id(group)
    released = replace(group, shards=tuple(replace(each, handover_to=None, overdue=False) for each in group.shards))
    going = takers(released)
    for agent in rule_world.run(rule_world.store.operators.agents()):
        away = [shard for shard in group.shards if shard.home == agent.id and shard.acting not in (None, agent.id)]
        assert agent.away_shards == len(away)
        coming = {shard.id for shard in away if under_way(shard, views) and shard.handover_to == agent.id}
        stay = [shard for shard in away if shard.id not in coming and going.get(shard.id) != agent.id]
        assert bool(away_reason(agent)) == bool(stay)


# -- what commits check


@given(rows)
def test_sql_judges_agents_and_handovers_as_the_rule_does(rule_world: RuleWorld, some: Rows) -> None:
    rule_world.fill(some)
    group = rule_world.everything()
    agents = group.agents

    def ids(statement: Iterable[str]) -> set[str]:
        return set(statement)

    lively = rule_world.read(lambda c: ids(c.scalars(select(schema.agent.c.id).where(is_live()))))
    assert lively == {agent.id for agent in agents if agent.live}
    assert rule_world.read(lambda c: ids(c.scalars(acting_agent_ids_query()))) == {
        agent.id for agent in agents if agent.acts
    }
    assert rule_world.read(lambda c: ids(c.scalars(eligible_agent_ids_query()))) == {
        each.id for each in agents if each.eligible
    }
    overdue = rule_world.read(lambda c: ids(c.scalars(select(schema.shard.c.id).where(is_handover_overdue()))))
    assert overdue == {shard.id for shard in group.shards if shard.overdue}


single = rows.map(lambda some: replace(some, shards=some.shards[:1]))
epochs = st.sampled_from((4, 4, 4, 3))
receivers = st.sampled_from((*AGENTS, DELETED))


@given(single, receivers, epochs, st.booleans())
def test_a_shard_is_assigned_if_and_only_if_the_guard_lets_it(
    rule_world: RuleWorld, some: Rows, taker: str, epoch: int, to_home: bool
) -> None:
    rule_world.fill(some)
    group = rule_world.everything()
    (shard,), views = group.shards, by_id(group)
    step = AssignStep(shard_id=shard.id, seen_epoch=epoch, agent_id=taker, to_home=to_home)
    acting = views.get(shard.acting or "")
    allowed = may_assign(step, shard, assignee=views.get(taker), acting=acting, halted=group.halted)
    taken = rule_world.run(rule_world.store.scheduling.assign_shards([step]))
    assert bool(taken) == allowed
    (after,) = rule_world.everything().shards
    assert (after.acting, after.epoch) == ((taker, 5) if allowed else (shard.acting, 4))


@given(single, receivers, epochs)
def test_a_handover_is_started_if_and_only_if_the_guard_lets_it(
    rule_world: RuleWorld, some: Rows, receiver: str, epoch: int
) -> None:
    rule_world.fill(some)
    group = rule_world.everything()
    (shard,), views = group.shards, by_id(group)
    step = HandoverStep(shard_id=shard.id, seen_epoch=epoch, agent_id=receiver)
    acting = views.get(shard.acting or "")
    allowed = may_start_handover(step, shard, receiver=views.get(receiver), acting=acting)
    asked = rule_world.run(rule_world.store.scheduling.start_handover(shard.id, epoch, receiver))
    assert (asked is not None) == allowed
    (after,) = rule_world.everything().shards
    assert after.handover_to == (receiver if allowed else shard.handover_to)
