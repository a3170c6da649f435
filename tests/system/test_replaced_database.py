"""The database is replaced by another one, empty or foreign, while agents and devices live on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.records import schema
from tests.system.test_lost_commits import copied, kinds, lose, started
from tests.system.world import World
from tests.waiting import eventually

GRACE_SECONDS = 0.3
LONG_SECONDS = 4.0
"""A dozen grace times, with sweeps and complete passes in them."""


def quick(settings: ControllerSettings) -> ControllerSettings:
    """The settings with a grace time of parts of a second; minutes pass in these tests, with few things to do."""
    return replace(
        settings,
        orphan_grace_seconds=GRACE_SECONDS,
        schedule_interval_seconds=0.5,
        sweep_interval_seconds=0.5,
        homes_interval_seconds=0.5,
        suspicion_interval_seconds=0.5,
        renewal_interval_seconds=5.0,
    )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    made.controller_settings = quick(made.controller_settings)
    yield made
    await made.close()


async def replaced(world: World) -> None:
    """Another database is put in the place of this one: it has the environment, and a history of its own."""
    other = {table.name: [] for table in schema.metadata.sorted_tables} | {
        name: rows for name, rows in (await copied(world)).items() if name == "environment"
    }
    other["history"] = [{"number": 1, "id": str(uuid4()), "begun_at": 1.0}]
    await lose(world, other)


async def passed(seconds: float) -> None:
    """So much of the simulated time is over."""
    until = asyncio.get_running_loop().time() + seconds
    await eventually(lambda: asyncio.get_running_loop().time() > until, within_seconds=seconds + 60)


async def served_and_replaced(world: World) -> dict[str, str]:
    """Load balancers of two tenants, on devices only: the database that knew them is gone. One tenant has returned."""
    await started(world)
    before = {tenant: await world.create(tenant) for tenant in ("a", "b")}
    for lb in before.values():
        await eventually(lambda lb=lb: world.active(lb))  # type: ignore[misc]
    await replaced(world)
    await eventually(lambda: world.alive("h0"))
    returned = await world.create("a")
    await eventually(lambda: world.active(returned))
    return before


async def test_replaced_database_removes_nothing_and_is_named_until_an_operator_accepts(world: World) -> None:
    before = await served_and_replaced(world)
    await passed(LONG_SECONDS)
    # settled: nothing may have been removed by now
    assert before["a"] in world.on_device("a") and before["b"] in world.on_device("b")
    (unknown,) = (await world.store.operators.history()).unknown
    assert (await kinds(world)).count("history_unknown") == 1

    async def counted() -> bool:
        summary = await world.store.operators.orphan_summary()
        return (summary.load_balancers, summary.load_balancers_removed_in_seconds) == (1, None)

    await eventually(counted)

    await world.store.operators.accept_history(unknown.id)
    assert (await world.store.operators.history()).unknown == ()
    await world.store.operators.accept_history(unknown.id)  # again: harmless
    await eventually(lambda: before["a"] not in world.on_device("a"), within_seconds=3600)
    assert "history_accepted" in await kinds(world)  # settled: recorded when it was accepted


async def test_operator_may_remove_a_single_orphan_of_a_replaced_database(world: World) -> None:
    before = await served_and_replaced(world)

    async def removal_asked() -> bool:
        try:
            await world.controllers["c0"].driver.request_full_resync(
                await world.store.operators.remove_orphan(LoadBalancerId(before["a"]))
            )
        except NotFound:  # not found on the device yet
            return False
        return True

    await eventually(removal_asked, within_seconds=3600)
    await eventually(lambda: before["a"] not in world.on_device("a"), within_seconds=3600)
    assert before["b"] in world.on_device("b")


async def test_database_that_lost_commits_of_its_own_has_no_unknown_history(world: World) -> None:
    await started(world)
    lb = await world.create("a")
    await eventually(lambda: world.active(lb))
    copy = await copied(world)
    await world.rename(lb, "lost")
    await eventually(lambda: world.active(lb))
    await lose(world, copy)

    async def begun() -> bool:
        return "history_begun" in await kinds(world)

    await eventually(begun)
    await passed(LONG_SECONDS)
    assert (await world.store.operators.history()).unknown == ()  # settled: there may never be one


async def test_history_that_is_not_unknown_cannot_be_accepted(world: World) -> None:
    await started(world)
    own = (await world.store.operators.history()).id
    for history in (own, str(uuid4())):
        with pytest.raises(NotFound):
            await world.store.operators.accept_history(history)
