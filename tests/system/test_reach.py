"""Devices that go out of reach, for one agent or for all: what load balancers and operators are told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.system.world import World
from tests.waiting import eventually


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    await made.start()
    yield made
    await made.close()


async def reason(world: World, load_balancer_id: str) -> str:
    return (await world.root(load_balancer_id)).operating_reason


async def kinds(world: World) -> list[str]:
    return [event.kind for event in await world.store.operators.events(limit=1000) if event.kind.startswith("device_")]


async def test_a_device_that_no_agent_reaches_is_reported_and_its_return_too(world: World) -> None:
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    world.memory.reachable = False
    await eventually(lambda: reason(world, load_balancer_id))
    assert await reason(world, load_balancer_id) == "no device of device group sys/1 can be reached"
    (group,) = await world.store.operators.unreachable_groups()
    assert (group.reach.kind, group.reach.away, group.tenants) == ("none", ("noop",), 1)
    world.memory.reachable = True
    await eventually(lambda: at_rest(world, load_balancer_id))
    # settled: events are written with what they are about
    assert await kinds(world) == [
        "device_unreachable",
        "device_group_unreachable",
        "device_reachable",
        "device_group_reachable",
    ]


async def at_rest(world: World, load_balancer_id: str) -> bool:
    return not await reason(world, load_balancer_id) and not await world.store.operators.unreachable_groups()


async def test_an_agent_that_is_cut_off_alone_is_no_reason_to_call_anything_out_of_reach(world: World) -> None:
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    host = await world.acting(load_balancer_id)
    world.views[host].cut_off = True
    await eventually(lambda: elsewhere(world, load_balancer_id, host))  # settled: nothing may ever be reported
    assert not await world.store.operators.unreachable_groups()
    assert not await reason(world, load_balancer_id)
    assert not await kinds(world)


async def elsewhere(world: World, load_balancer_id: str, host: str) -> bool:
    return await world.acting(load_balancer_id) not in ("", host)
