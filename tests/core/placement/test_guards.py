"""Every step of the rule passes the guard that its commit asks for."""

from hypothesis import given
from msgspec.structs import replace

from evenkeel.core.placement import (
    AgentSnapshot,
    GroupSnapshot,
    HandoverStep,
    ShardSnapshot,
    may_assign,
    may_receive,
    may_start_handover,
    plan_assignments,
    plan_evacuation,
    plan_failover,
    plan_return_home,
)
from tests.core.placement.test_shards import agent, first, groups_st, shard


def named(group: GroupSnapshot, agent_id: str | None) -> AgentSnapshot | None:
    return next((each for each in group.agents if each.id == agent_id), None)


@given(groups_st)
def test_every_step_of_the_rule_may_be_committed(group: GroupSnapshot) -> None:
    shards = {each.id: each for each in group.shards}
    for step in plan_assignments(group, first):
        view = shards[step.shard_id]
        assignee, acting = named(group, step.agent_id), named(group, view.acting)
        assert may_assign(step, view, assignee=assignee, acting=acting, halted=group.halted)
    moves: list[HandoverStep | None] = [plan_failover(group, each, first) for each in group.shards]
    for move in [*plan_evacuation(group, first, at_once=99), *plan_return_home(group, at_once=99), *moves]:
        if move is not None:
            view = shards[move.shard_id]
            receiver, acting = named(group, move.agent_id), named(group, view.acting)
            assert may_start_handover(move, view, receiver=receiver, acting=acting)


def test_a_drained_agent_receives_nothing_and_is_assigned_its_own_shards_only() -> None:
    drained, dead = agent("h", up=False), agent("a", live=False)
    assert not may_receive(drained) and not may_receive(None)
    (step,) = plan_assignments(GroupSnapshot(shards=(shard(),), agents=(drained, dead)), first)
    assert may_assign(step, shard(), assignee=drained, acting=None, halted=True)
    assert not may_assign(replace(step, to_home=False), shard(), assignee=drained, acting=None, halted=False)
    assert not may_assign(step, shard(home="a"), assignee=drained, acting=None, halted=False)


def test_nothing_is_committed_on_what_has_changed() -> None:
    (step,) = plan_assignments(GroupSnapshot(shards=(shard(),), agents=(agent("h"),)), first)
    newer = ShardSnapshot(id="s", home="h", acting=None, epoch=5)
    assert not may_assign(step, newer, assignee=agent("h"), acting=None, halted=False)
    assert not may_assign(step, shard(acting="a"), assignee=agent("h"), acting=agent("a"), halted=False)
    move = HandoverStep(shard_id="s", seen_epoch=4, agent_id="h")
    served = shard(acting="a")
    assert may_start_handover(move, served, receiver=agent("h"), acting=agent("a"))
    assert not may_start_handover(move, shard(acting="a", to="b"), receiver=agent("h"), acting=agent("a"))
    assert not may_start_handover(move, shard(acting="h"), receiver=agent("h"), acting=agent("h"))
    assert not may_start_handover(move, shard(), receiver=agent("h"), acting=None)
