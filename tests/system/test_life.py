"""The main job in one process: placed, applied, taken over, handed back, removed; whatever is missing at the moment."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.agent.service import AgentMisconfigured
from evenkeel.core.kit.errors import NotFound
from tests.system.world import World
from tests.waiting import eventually


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


async def test_tenants_spread_over_agents_and_stay_where_they_are(world: World) -> None:
    await world.start(agents=3)
    made = {project: [await world.create(project) for _ in range(3)] for project in ("a", "b", "c")}
    for ids in made.values():
        for load_balancer_id in ids:
            await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    hosts = {project: {await world.acting(lb) for lb in ids} for project, ids in made.items()}
    assert all(len(found) == 1 for found in hosts.values())
    assert len(set.union(*hosts.values())) >= 2
    assert {lb for project in made for lb in world.on_device(project)} == {lb for ids in made.values() for lb in ids}


async def test_without_an_agent_it_waits_with_a_reason_and_is_placed_when_one_appears(world: World) -> None:
    await world.start(agents=0)
    waiting = await world.create("a")
    await eventually(lambda: has_reason(world, waiting))
    root = await world.root(waiting)
    assert root.provisioning_status == "PENDING_CREATE"
    assert root.status_reason == "waiting: no agent has registered in environment sys"
    await world.start_agent("h0")
    await eventually(lambda: world.active(waiting))
    # settled: the reason goes with the status
    assert (await world.root(waiting)).status_reason == ""


async def has_reason(world: World, load_balancer_id: str) -> bool:
    return bool((await world.root(load_balancer_id)).status_reason)


async def test_work_goes_on_with_another_agent_and_comes_home_again(world: World) -> None:
    await world.start()
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    home = await world.acting(load_balancer_id)
    await world.vanish(home)
    await world.rename(load_balancer_id, "while nobody serves it")
    await eventually(lambda: world.active(load_balancer_id))
    # settled: ACTIVE means that the devices hold it
    assert world.on_device("a") == {load_balancer_id: "while nobody serves it"}
    assert await world.acting(load_balancer_id) not in ("", home)  # settled: whoever made it ACTIVE acts
    await world.start_agent(home)

    async def back_home() -> bool:
        return await world.acting(load_balancer_id) == home

    await eventually(back_home)
    await world.rename(load_balancer_id, "at home")
    await eventually(lambda: world.active(load_balancer_id))
    shard = await world.store.operators.shard_of_load_balancer(load_balancer_id)
    assert shard is not None
    assert shard.epoch == 3


async def test_an_agent_that_stops_is_replaced_without_waiting_for_its_session_to_expire(world: World) -> None:
    await world.start()
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    home = await world.acting(load_balancer_id)
    world.agents[home].stop()
    await asyncio.wait_for(world.tasks.pop(home), 60)
    assert not await world.alive(home)

    async def moved() -> bool:
        return await world.acting(load_balancer_id) not in ("", home)

    await eventually(moved)


async def test_a_bus_outage_costs_the_session_and_nothing_else(world: World) -> None:
    await world.start()
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    world.hub.outage = True
    revision = await world.rename(load_balancer_id, "during the outage")

    async def all_dead() -> bool:
        return not any(agent.alive for agent in await world.store.operators.agents())

    await eventually(all_dead)
    assert (await world.root(load_balancer_id)).applied_revision < revision  # settled: nobody can report in an outage
    world.hub.outage = False
    await eventually(lambda: world.active(load_balancer_id))
    # settled: ACTIVE means that the devices hold it
    assert world.on_device("a") == {load_balancer_id: "during the outage"}


async def test_a_device_out_of_reach_delays_and_heals_even_past_the_deadline(tmp_path: Path) -> None:
    world = World(tmp_path, pending_deadline_seconds=0.5)
    try:
        await world.start()
        load_balancer_id = await world.create("a")
        await eventually(lambda: world.active(load_balancer_id))
        world.memory.reachable = False
        await world.rename(load_balancer_id, "late")

        async def overdue() -> bool:
            root = await world.root(load_balancer_id)
            return root.provisioning_status == "ERROR" and "still being retried" in root.status_reason

        await eventually(overdue)
        world.memory.reachable = True
        await eventually(lambda: world.active(load_balancer_id))
    finally:
        await world.close()


async def test_deleted_load_balancer_leaves_device_and_database(world: World) -> None:
    await world.start()
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    change = await world.store.tenants.delete_load_balancer(load_balancer_id, cascade=True, project_id=None)
    await world.controllers["c0"].driver.change_accepted(change)

    async def gone() -> bool:
        try:
            await world.root(load_balancer_id)
        except NotFound:
            return True
        return False

    await eventually(gone)
    assert world.on_device("a") == {}  # settled: the row goes after the device's confirmation


async def test_a_lost_hint_is_found_by_the_sync(world: World) -> None:
    await world.start()
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    await world.store.tenants.update_load_balancer(load_balancer_id, {"name": "untold"}, project_id=None)
    await eventually(lambda: world.active(load_balancer_id))
    assert world.on_device("a") == {load_balancer_id: "untold"}  # settled: ACTIVE means that the devices hold it


async def test_a_twin_of_a_living_agent_is_refused_and_disturbs_nothing(world: World) -> None:
    await world.start(agents=1)
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    first = world.tasks["h0"]
    world.duplicate_patience_seconds = 1.0
    twin = await world.begin_agent("h0")
    with pytest.raises(AgentMisconfigured, match="duplicate"):
        await asyncio.wait_for(twin, 60)
    assert not first.done()
    world.tasks["h0"] = first
    await world.rename(load_balancer_id, "still served")
    await eventually(lambda: world.active(load_balancer_id))


async def test_controllers_come_and_go(world: World) -> None:
    await world.start(controllers=1)
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    await world.controllers.pop("c0").stop()
    await world.rename(load_balancer_id, "nobody told anybody")
    await world.start_controller("c9")
    await eventually(lambda: world.active(load_balancer_id))
    # settled: ACTIVE means that the devices hold it
    assert world.on_device("a") == {load_balancer_id: "nobody told anybody"}
