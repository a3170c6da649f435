"""Whole conversations between today's code and a neighbour that speaks message version 1."""

import asyncio
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from evenkeel.core.protocol import messages as m
from evenkeel.store.sql_store import SqlStore
from tests.bus.recorded.neighbour import NeighbourBus
from tests.system.world import ENVIRONMENT, WatchedBus, World
from tests.waiting import eventually

Report = TypeVar("Report", m.ReportApplied, m.ReportStatus)


class MixedWorld(World):
    """Some parts speak version 1 only."""

    def __init__(self, directory: Path, *, old: frozenset[str]) -> None:
        super().__init__(directory)
        self._old = old

    async def _bus(self, name: str) -> WatchedBus:
        if name not in self._old:
            return await super()._bus(name)
        bus = NeighbourBus(self.hub, name)
        await bus.start()
        self._buses[name] = bus
        return bus

    def _store_of(self, name: str) -> Any:
        return UncheckedStore(self.store) if name in self._old else self.store


class UncheckedStore:
    """The store of a controller of version 1, which asks nobody for a session in reports."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self.reports = self

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._store, name)
        except AttributeError:
            return getattr(self._store.reports, name)

    async def record_applied(self, report: m.ReportApplied, **rest: Any) -> m.ReportReceipt:
        return await self._store.reports.record_applied(await self._named(report), **rest)

    async def record_observed(self, report: m.ReportStatus) -> m.ReportReceipt:
        return await self._store.reports.record_observed(await self._named(report))

    async def _named(self, report: Report) -> Report:
        session_id = (await self._store.operators.agent(report.agent_id)).session_id
        return replace(report, session_id=session_id or "")


OLD = {
    "agents": frozenset({"h0", "h1"}),
    "controllers": frozenset({"c0", "c1"}),
    "one_of_each": frozenset({"h0", "c1"}),
}


@pytest.mark.parametrize("old", OLD.values(), ids=OLD)
async def test_a_load_balancer_lives_and_moves_whoever_is_a_version_behind(tmp_path: Path, old: frozenset[str]) -> None:
    world = MixedWorld(tmp_path, old=old)
    try:
        await world.start()
        made = [await world.create(project) for project in ("a", "b")]
        for load_balancer_id in made:
            await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
        first = made[0]
        home = await world.acting(first)

        await world.rename(first, "renamed")
        await eventually(lambda: world.active(first))
        assert world.on_device("a") == {first: "renamed"}  # settled: ACTIVE means that the devices hold it

        await stop(world, home)
        await eventually(lambda: moved(world, first, home))
        await world.rename(first, "elsewhere")
        await eventually(lambda: world.active(first))
        await world.start_agent(home)
        await eventually(lambda: at(world, first, home))  # by planned handover

        change = await world.store.tenants.delete_load_balancer(first, cascade=True, project_id=None)
        await world.controllers["c0"].driver.accepted(change)
        await eventually(lambda: not world.on_device("a"))
        await eventually(lambda: world.active(made[1]))
        assert not world.hub.dead  # settled: nothing may ever be dead
    finally:
        await world.close()


async def stop(world: World, host: str) -> None:
    """As SIGTERM does."""
    world.agents[host].stop()
    await asyncio.wait_for(world.tasks.pop(host), 60)
    assert not await world.alive(host)


async def at(world: World, load_balancer_id: str, host: str) -> bool:
    return await world.acting(load_balancer_id) == host


async def moved(world: World, load_balancer_id: str, former: str) -> bool:
    return await world.acting(load_balancer_id) not in ("", former)


async def test_a_call_that_an_older_controller_does_not_know_is_set_aside_and_disturbs_nothing(tmp_path: Path) -> None:
    world = MixedWorld(tmp_path, old=OLD["controllers"])
    try:
        await world.start(controllers=1, agents=1)
        load_balancer_id = await world.create("a")
        await eventually(lambda: world.active(load_balancer_id))
        queue = m.callback_queue(ENVIRONMENT)
        world.hub.put(queue, b'{"version":2,"id":"x","reply_to":"y","body":{"type":"of_the_future","agent_id":"a"}}')
        await eventually(lambda: [dead.reason for dead in world.hub.dead])
        assert "unknown type" in world.hub.dead[0].reason
        await world.rename(load_balancer_id, "still served")
        await eventually(lambda: world.active(load_balancer_id))
    finally:
        await world.close()
