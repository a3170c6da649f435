"""A limited device group: takes what it may, says why it takes no more, and goes on as soon as there is room."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.system.world import World
from tests.waiting import eventually

REASON = "waiting: device group sys/1 is at capacity (tenant_count 3 of 3)"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    made.capacity_policy = {"tenant_count": 3.0}
    yield made
    await made.close()


async def active(world: World, made: list[str]) -> list[str]:
    return [each for each in made if await world.active(each)]


async def settled(world: World, made: list[str], *, room: int) -> bool:
    """So many are active, and all others wait with the reason on them."""
    roots = [await world.root(each) for each in made]
    waiting = [root for root in roots if root.provisioning_status == "PENDING_CREATE"]
    explained = all(root.status_reason == REASON and root.shard_id is None for root in waiting)
    return explained and len(await active(world, made)) == room == len(made) - len(waiting)


async def remove(world: World, load_balancer_id: str) -> None:
    change = await world.store.tenants.delete_load_balancer(load_balancer_id, cascade=True, project_id=None)
    await next(iter(world.controllers.values())).driver.change_accepted(change)


async def test_a_full_group_takes_no_more_until_one_goes(world: World) -> None:
    await world.start()
    made = [await world.create(f"tenant-{number}") for number in range(6)]
    await eventually(lambda: settled(world, made, room=3))

    gone, *_ = await active(world, made)
    await remove(world, gone)

    left = [each for each in made if each != gone]
    await eventually(lambda: settled(world, left, room=3))


async def test_load_balancers_that_waited_for_the_first_agent_do_not_overfill_its_group(world: World) -> None:
    await world.start(agents=0)
    made = [await world.create(f"tenant-{number}") for number in range(8)]
    await world.start_agent("h0")
    await eventually(lambda: settled(world, made, room=3))


async def test_lower_figures_let_the_waiting_ones_in(world: World) -> None:
    world.memory.figures = {"tenant_count": 2.0}
    await world.start()
    made = [await world.create(f"tenant-{number}") for number in range(3)]
    await eventually(lambda: settled(world, made, room=1))

    world.memory.figures = {}

    await eventually(lambda: settled(world, made, room=3))
