"""An operator's question is answered by the agent that owns the shard it is about, and by nobody else."""

from collections.abc import AsyncIterator

import pytest

from evenkeel.core.devices.plans import DevicePlan, PlanAnswer
from evenkeel.core.kit.errors import SessionLost
from evenkeel.core.protocol.messages import ReportPlan
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

DEVICES = (DevicePlan(device="bigip-1", problem="nul \0 and \U0001f600"),)


@pytest.fixture(name="scene")
async def scene_fixture(world: World) -> AsyncIterator[tuple[World, str]]:
    """Agent a1 owns the shard of p1, about which there is a question; a2 has another one."""
    await world.agent("a1")
    await world.agent("a2")
    load_balancer = await world.placed()
    shard_id = (await world.shard_of("p1")).id
    await world.operator.add_plan_inquiry("q1", shard_id, load_balancer.id)
    yield world, shard_id


def report(shard_id: str, *, agent: str = "a1", session: str = "", epoch: int = 1, inquiry: str = "q1") -> ReportPlan:
    return ReportPlan(
        agent_id=agent,
        session_id=session or f"session-of-{agent}",
        shard_id=shard_id,
        epoch=epoch,
        inquiry_id=inquiry,
        devices=DEVICES,
        problem="x" * 5000,
    )


async def test_the_owners_answer_is_kept(scene: tuple[World, str]) -> None:
    world, shard_id = scene
    assert await world.operator.plan_answer("q1") is None
    await world.store.reports.record_plan(report(shard_id))
    assert await world.operator.plan_answer("q1") == PlanAnswer(devices=DEVICES, problem="x" * 1000)


async def test_plan_is_accepted_only_from_the_owner_of_the_shard(scene: tuple[World, str]) -> None:
    world, shard_id = scene
    for changes in (
        {"agent": "a2"},
        {"session": "nonsense"},
        {"epoch": 2},
        {"agent": "a2", "session": "session-of-a1"},
    ):
        with pytest.raises(SessionLost):
            await world.store.reports.record_plan(report(shard_id, **changes))  # type: ignore[arg-type]
    assert await world.operator.plan_answer("q1") is None


async def test_an_answer_about_another_shard_or_to_no_question_is_ignored(scene: tuple[World, str]) -> None:
    world, shard_id = scene
    await world.tenant("p2", home="a2")
    other = await world.shard_of("p2")
    await world.store.reports.record_plan(report(other.id, agent=other.acting_agent_id or "a2"))
    await world.store.reports.record_plan(report(shard_id, inquiry="nonsense"))
    assert await world.operator.plan_answer("q1") is None
    assert await world.operator.plan_answer("nonsense") is None


async def test_old_questions_are_removed_with_the_next_one(scene: tuple[World, str]) -> None:
    world, shard_id = scene
    await world.store.reports.record_plan(report(shard_id))
    await world.change(schema.plan_inquiry, "q1", asked_at=1.0)
    await world.operator.add_plan_inquiry("q2", shard_id, "lb")
    assert await world.operator.plan_answer("q1") is None
