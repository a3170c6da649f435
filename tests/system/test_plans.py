"""An operator's question goes to the agent that serves the load balancer, and its answer into the database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.core.control import ShardOwner
from evenkeel.core.plans import DevicePlan
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


async def test_a_question_is_answered_by_whoever_serves_the_load_balancer(world: World) -> None:
    await world.start()
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    for inquiry_id in ("q1", "q2"):
        shard = await world.store.operators.hosting(lb)
        assert shard is not None
        host = await world.acting(lb)
        owner = ShardOwner(shard_id=shard.id, environment=ENVIRONMENT, group_number=1, host=host)
        await world.store.operators.add_plan_inquiry(inquiry_id, shard.id, lb)
        await world.controllers["c1"].driver.asked(owner, lb, inquiry_id)

        async def answered(inquiry_id: str = inquiry_id) -> bool:
            return await world.store.operators.plan_answer(inquiry_id) is not None

        await eventually(answered)
        answer = await world.store.operators.plan_answer(inquiry_id)
        assert answer is not None and answer.devices == (DevicePlan(device="noop"),)
        if inquiry_id == "q1":
            await world.vanish(host)

            async def moved(former: str = host) -> bool:
                return await world.acting(lb) not in ("", former)

            await eventually(moved)
            await world.rename(lb, "served by the other one")
            await eventually(lambda: world.active(lb))
