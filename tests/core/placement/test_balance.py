"""Homes even out, one planned move after the other, and nothing else moves."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.placement import (
    AgentSnapshot,
    GroupSnapshot,
    HandoverStep,
    ShardSnapshot,
    plan_balance,
    skewed_homes,
)
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode


def group(*homed: int, **changes: object) -> GroupSnapshot:
    """Agents 0, 1, … that are home to so many shards, all served there."""
    agents = tuple(
        AgentSnapshot(id=f"{number}", live=True, shards=count, homed=count) for number, count in enumerate(homed)
    )
    shards = tuple(
        ShardSnapshot(id=f"{agent.id}-{place}", home=agent.id, acting=agent.id, epoch=1)
        for agent in agents
        for place in range(agent.homed)
    )
    return replace(GroupSnapshot(agents=agents, shards=shards), **changes)


def test_the_most_gives_to_the_least() -> None:
    assert skewed_homes(group(3, 7, 2)) == ("1", "2")
    assert plan_balance(group(3, 7, 2)) == [HandoverStep(shard_id="1-0", seen_epoch=1, agent_id="2")]


def test_small_differences_stay() -> None:
    assert skewed_homes(group(2, 4, 3)) is None
    assert skewed_homes(group(98, 100, 107)) is None
    assert skewed_homes(group(98, 100, 109)) == ("2", "0")
    assert skewed_homes(group(5)) is None
    assert skewed_homes(group()) is None


def test_homes_that_are_not_moved() -> None:
    skewed = group(9, 0)
    assert skewed_homes(skewed) is not None
    assert skewed_homes(replace(skewed, halted=True)) is None
    assert skewed_homes(replace(skewed, reschedule=RescheduleMode.RELOCATE)) is None
    assert skewed_homes(replace(skewed, failback=FailbackMode.MANUAL)) is None


def test_agents_that_are_not_settled_neither_give_nor_get() -> None:
    skewed = group(9, 0, 4)
    for number, state in ((1, {"settled": False}), (1, {"live": False}), (1, {"admin_state_up": False})):
        agents = tuple(
            replace(agent, **state) if agent.id == f"{number}" else agent  # type: ignore[arg-type]
            for agent in skewed.agents
        )
        assert skewed_homes(replace(skewed, agents=agents)) == ("0", "2")


def test_one_at_a_time_and_only_what_is_at_home() -> None:
    skewed = group(4, 0)
    first, *rest = skewed.shards
    going = replace(first, handover_to="1")
    assert plan_balance(replace(skewed, shards=(going, *rest))) == []
    away = replace(first, acting="1")
    assert plan_balance(replace(skewed, shards=(away, *rest)))[0].shard_id == "0-1"
    assert plan_balance(replace(skewed, shards=(away,))) == []


def carried_out(before: GroupSnapshot, move: HandoverStep) -> GroupSnapshot:
    shards = tuple(
        replace(shard, home=move.agent_id, acting=move.agent_id) if shard.id == move.shard_id else shard
        for shard in before.shards
    )
    agents = tuple(replace(agent, homed=sum(shard.home == agent.id for shard in shards)) for agent in before.agents)
    return replace(before, agents=agents, shards=shards)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_balancing_ends_and_moves_no_shard_in_vain(homed: list[int]) -> None:
    now, moves = group(*homed), 0
    while plan := plan_balance(now):
        (move,) = plan
        now, moves = carried_out(now, move), moves + 1
        assert moves <= sum(homed)
    counts = [agent.homed for agent in now.agents]
    assert max(counts) - min(counts) < max(3, 0.1 * sum(counts) / len(counts))
    average = sum(homed) / len(homed)
    assert moves <= sum(max(0, count - int(average)) for count in homed)  # none comes back
