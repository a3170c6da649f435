"""An operator's question goes to the agent that serves the load balancer, and its answer into the database."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.devices.plans import DevicePlan
from evenkeel.core.protocol.inquiries import Inquiry
from evenkeel.devices.noop.memory import Partition
from tests.system.world import ENVIRONMENT, UNLIMITED_RATE, World
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
        shard = await world.store.operators.shard_of_load_balancer(lb)
        assert shard is not None
        host = await world.acting(lb)
        owner = ShardOwner(shard_id=shard.id, environment=ENVIRONMENT, group_number=1, host=host)
        await world.store.operators.add_plan_inquiry(inquiry_id, shard.id, lb)
        await world.controllers["c1"].driver.send_inquiry(owner, Inquiry(inquiry_id=inquiry_id, load_balancer_id=lb))

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


async def test_orphan_on_a_device_is_found_by_the_observer(world: World) -> None:
    world.controller_settings = replace(world.controller_settings, **UNLIMITED_RATE)
    await world.start(agents=1)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    held = world.memory.partitions["a"].holds[lb]
    world.memory.partitions["lost"] = Partition()
    world.memory.partitions["lost"].holds["orphan"] = held
    (common,) = [shard for shard in await world.store.operators.shards() if not shard.project_id]
    owner = ShardOwner(shard_id=common.id, environment=ENVIRONMENT, group_number=1, host="h0")
    numbers = count()

    async def found() -> bool:
        inquiry_id = f"q{next(numbers)}"
        await world.store.operators.add_plan_inquiry(inquiry_id, common.id, "")
        await world.controllers["c0"].driver.send_inquiry(owner, Inquiry(inquiry_id=inquiry_id))

        async def answered() -> bool:
            return await world.store.operators.plan_answer(inquiry_id) is not None

        await eventually(answered)
        answer = await world.store.operators.plan_answer(inquiry_id)
        assert answer is not None
        named = [step.name for plan in answer.devices for step in plan.operations]
        return "orphan" in named and await world.store.operators.filter_known_load_balancers(named) <= {lb}

    await eventually(found, within_seconds=150.0, every_seconds=2.0)
