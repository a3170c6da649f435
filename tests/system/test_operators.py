"""What operators ask for comes about: drain, undrain, a dead agent replaced for good, fail-back by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from evenkeel.core.control.agent_state import AgentState, agent_state, away_reason
from evenkeel.core.control.scheduling import DueSchedulingWork
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.resources.statuses import FailbackMode
from evenkeel.store.records import schema
from tests.system.world import ENVIRONMENT, World
from tests.virtual.database import VirtualDatabase
from tests.waiting import eventually

TENANTS = ("a", "b", "c", "d", "e")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


async def on_first(world: World) -> tuple[list[str], str, str]:
    """Five tenants' load balancers at home on one agent; then another agent joins. The ids of all."""
    await world.start(agents=1)
    created = [await world.create(tenant) for tenant in TENANTS]
    for load_balancer_id in created:
        await eventually(lambda it=load_balancer_id: world.active(it))  # type: ignore[misc]
    await world.start_agent("h1")
    ids = {agent.host: agent.id for agent in await world.store.operators.agents()}
    return created, ids["h0"], ids["h1"]


async def acting(world: World) -> list[str | None]:
    """Who acts for each tenant's shard."""
    return [shard.acting_agent_id for shard in await world.store.operators.shards() if shard.project_id]


async def all_with(world: World, agent_id: str) -> bool:
    return await acting(world) == [agent_id] * len(TENANTS)


@asynccontextmanager
async def never_without_an_owner(world: World) -> AsyncIterator[None]:
    """Looks after each commit while the body runs."""
    gaps: list[list[str | None]] = []
    database = world.store.database
    assert isinstance(database, VirtualDatabase)
    tenants_shards = select(schema.shard.c.acting_agent_id).where(schema.shard.c.project_id != COMMON_PROJECT)

    def read(connection: Connection) -> list[str | None]:
        return list(connection.scalars(tenants_shards))

    def look() -> None:
        seen = database.read_now(read)
        if None in seen:
            gaps.append(seen)

    database.committed.append(look)
    try:
        yield
    finally:
        database.committed.remove(look)
    assert gaps == []


async def kinds(world: World) -> list[str]:
    return [event.kind for event in await world.store.operators.events(limit=1000)]


async def test_drain_hands_every_shard_over_without_a_gap_and_undrain_brings_them_home(world: World) -> None:
    created, first, second = await on_first(world)
    async with never_without_an_owner(world):
        drained = await world.store.operators.set_agent_admin_state(first, False)
        assert agent_state(drained) is AgentState.DRAINING

        async def nothing_left() -> bool:
            return agent_state(await world.store.operators.agent(first)) is AgentState.DRAINED

        await eventually(nothing_left)
        assert await all_with(world, second)  # settled: what leaves one of two agents goes to the other
        await world.rename(created[0], "while drained")
        await eventually(lambda: world.active(created[0]))
        await world.store.operators.set_agent_admin_state(first, True)
        await eventually(lambda: all_with(world, first))
    await world.rename(created[0], "home again")
    await eventually(lambda: world.active(created[0]))

    async def none_is_away() -> bool:  # nor the common shard, which comes home by itself
        return (await world.store.operators.agent(first)).away_shards == 0

    await eventually(none_is_away)
    assert (await world.store.operators.agent(first)).away_shards == 0
    assert "shard_taken_over" not in await kinds(world)  # settled: it may never happen


async def test_a_dead_agent_is_deleted_and_its_load_balancers_are_home_elsewhere(world: World) -> None:
    created, first, second = await on_first(world)
    await world.vanish("h0")
    await eventually(lambda: world.silent("h0"))
    await world.store.operators.delete_agent(first, rebind_to=second)
    await eventually(lambda: all_with(world, second))
    (left,) = await world.store.operators.agents()
    assert (left.id, left.load_balancers, left.away_shards) == (second, len(TENANTS), 0)
    for load_balancer_id in created:
        await world.rename(load_balancer_id, "by the heir")
        await eventually(lambda it=load_balancer_id: world.active(it))  # type: ignore[misc]


async def looked_for_homes(world: World, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The schedulers have looked for shards that are away from home so often from now on."""
    read_due_work, looks = world.store.scheduling.read_due_work, 0

    async def counted(**how: Any) -> DueSchedulingWork:
        nonlocal looks
        due_work = await read_due_work(**how)
        looks += bool(how["homes"])
        return due_work

    monkeypatch.setattr(world.store.scheduling, "read_due_work", counted)
    await eventually(lambda: looks >= times)


async def test_manual_failback_waits_to_be_requested(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, first, second = await on_first(world)
    await world.store.operators.update_environment(ENVIRONMENT, {"failback": FailbackMode.MANUAL})
    await world.store.operators.set_agent_admin_state(first, False)
    await eventually(lambda: all_with(world, second))
    await world.store.operators.set_agent_admin_state(first, True)
    await looked_for_homes(world, monkeypatch, 10)  # settled: nothing may ever move
    assert await all_with(world, second)
    assert "was not requested" in away_reason(await world.store.operators.agent(first))
    async with never_without_an_owner(world):
        await world.store.operators.request_failback(first)
        await eventually(lambda: all_with(world, first))

    async def is_forgotten() -> bool:
        return not (await world.store.operators.agent(first)).failback_asked

    await eventually(is_forgotten)
