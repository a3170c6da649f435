"""A failover of one load balancer: another agent serves it for good; where there is none, its device is done again. And
an agent that is added gets its part of what there is."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenkeel.core.resources.statuses import OperatingStatus
from tests.system.test_operators import never_without_an_owner
from tests.system.world import World
from tests.waiting import eventually


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


async def fail_over(world: World, load_balancer_id: str) -> None:
    """Accepted as the API would."""
    change = await world.store.tenants.fail_over_load_balancer(load_balancer_id, project_id=None)
    await world.controllers["c0"].driver.failover_requested(change)


async def test_failed_over_shard_is_handed_to_another_agent_and_stays_there(world: World) -> None:
    await world.start(agents=2)
    it = await world.create("a")
    await eventually(lambda: world.active(it))
    former = await world.acting(it)

    async with never_without_an_owner(world):
        await fail_over(world, it)
        assert (await world.root(it)).provisioning_status == "PENDING_UPDATE"

        async def elsewhere() -> bool:
            return await world.acting(it) not in ("", former)

        await eventually(elsewhere)
    await eventually(lambda: world.active(it))
    # it has another home now: fail-back, which is automatic here, moves it no more
    (shard,) = [shard for shard in await world.store.operators.shards() if shard.project_id]
    assert (shard.home_agent_id, shard.handover_to) == (shard.acting_agent_id, None)
    assert shard.epoch == 2


async def test_without_another_agent_the_device_is_brought_up_to_date_again(world: World) -> None:
    await world.start(agents=1)
    it = await world.create("a")
    await eventually(lambda: world.active(it))
    for partition in world.memory.partitions.values():
        partition.holds.pop(it, None)

    await fail_over(world, it)

    await eventually(lambda: world.active(it))
    # settled: ACTIVE means that the devices hold it
    assert any(it in partition.holds for partition in world.memory.partitions.values())
    assert (await world.root(it)).revision == 2  # settled: nobody else changes it


async def test_load_balancer_on_a_device_without_traffic_stays_offline(world: World) -> None:
    await world.start(agents=1)
    it = await world.create("a")
    await eventually(lambda: world.active(it))
    await world.rename(it, "x")
    await eventually(lambda: world.active(it))
    assert (await world.root(it)).operating_status is OperatingStatus.OFFLINE  # settled: it may never be anything else


async def test_an_agent_that_is_added_becomes_the_home_of_its_part(world: World) -> None:
    world.controller_settings = replace(world.controller_settings, balance_interval_seconds=0.2)
    await world.start(agents=1)
    made = [await world.create(f"project-{number}") for number in range(8)]
    for it in made:
        await eventually(lambda it=it: world.active(it))

    async with never_without_an_owner(world):
        await world.start_agent("h1")

        async def even() -> bool:
            shards = await world.store.operators.shards()
            homes = Counter(shard.home_agent_id for shard in shards)
            at_home = all(shard.acting_agent_id == shard.home_agent_id for shard in shards)
            return at_home and len(homes) == 2 and max(homes.values()) - min(homes.values()) < 3

        await eventually(even)
    for it in made:
        await world.rename(it, "changed")
        await eventually(lambda it=it: world.active(it))
