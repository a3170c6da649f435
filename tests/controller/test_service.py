"""A controller's running parts on a real store and a bus in memory: each goes on whatever becomes of its neighbours."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.controller import service as room
from evenkeel.controller.service import Controller
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Conflict, StoreUnavailable
from evenkeel.core.protocol import messages as m
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store
from tests.api.stores import new_file
from tests.waiting import eventually

QUICK = ControllerSettings(
    schedule_interval_seconds=0.01,
    sweep_interval_seconds=0.01,
    release_interval_seconds=0.01,
    suspicion_interval_seconds=0.01,
    stop_timeout_seconds=0.2,
)
QUEUES = {m.callback_queue("lab"), m.keepalive_queue("lab")}


class QuickClock:
    """No sleep takes longer than a moment."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


class World:
    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.hub = MemoryHub()
        self.bus = MemoryBus(self.hub, name="controller")
        self.agent = MemoryBus(self.hub, name="agent")
        self.controller = Controller(store=store, bus=self.bus, clock=QuickClock(), settings=QUICK)

    async def ask(self, queue: str) -> m.AnyReply:
        return await self.agent.call(queue, m.Keepalive(agent_id="a", session_id="s"), timeout_seconds=60.0)  # type: ignore[arg-type]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = open_store(f"sqlite:///{await new_file(tmp_path)}", StoreOptions())
    await store.start()
    await store.operators.add_environment(Environment(name="lab", device_driver="noop"))
    made = World(store)
    await made.bus.start()
    await made.agent.start()
    yield made
    await made.controller.stop()
    await made.bus.close()
    await made.agent.close()
    await store.close()


async def soon(condition: Callable[[], Any]) -> Any:
    return await eventually(condition)


async def test_calls_of_agents_are_answered_on_both_queues_of_every_environment(world: World) -> None:
    await world.controller.start()
    for queue in sorted(QUEUES):
        reply = await world.ask(queue)
        assert isinstance(reply, m.Refused) and reply.code == m.SESSION_LOST


async def test_an_environment_that_is_added_later_is_served_without_a_restart(world: World) -> None:
    await world.controller.start()
    await world.ask(m.callback_queue("lab"))
    await world.store.operators.add_environment(Environment(name="later", device_driver="noop"))
    assert isinstance(await world.ask(m.callback_queue("later")), m.Refused)


@pytest.mark.parametrize("problem", [StoreUnavailable("away"), Conflict("unexpected"), RuntimeError("a bug")])
async def test_a_part_that_fails_goes_on_and_so_do_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    failures = 3
    looks = 0
    read = world.store.scheduling.read_unplaced_load_balancers

    async def read_unplaced_load_balancers(**given: Any) -> Any:
        nonlocal looks
        looks += 1
        if looks <= failures:
            raise problem
        return await read(**given)

    scheduling = world.controller._scheduler._scheduling
    monkeypatch.setattr(scheduling, "read_unplaced_load_balancers", read_unplaced_load_balancers)
    with capture_logs() as logs:
        await world.controller.start()
        await soon(lambda: looks > failures + 1)
        # settled: the question waits itself for its answer
        assert isinstance(await world.ask(m.callback_queue("lab")), m.Refused)
    said = [line["event"] for line in logs if line.get("part") == "scheduler"]
    if isinstance(problem, StoreUnavailable):
        assert said == ["dependency unavailable; trying again", "recovered"]
    else:
        kind = "unexpected refusal" if isinstance(problem, Conflict) else "unexpected error"
        assert said == [kind] * failures


async def test_the_sweeper_rests_while_the_databases_clock_is_not_believed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = 0

    async def mark_overdue_load_balancers(*, limit: int) -> int:
        nonlocal swept
        swept += 1
        return 0

    trusted = False
    monkeypatch.setattr(world.store.scheduling, "mark_overdue_load_balancers", mark_overdue_load_balancers)
    monkeypatch.setattr(room.Scheduler, "trusts_clock", property(lambda _: trusted))
    await world.controller.start()
    await world.ask(m.callback_queue("lab"))
    assert swept == 0
    trusted = True
    await soon(lambda: swept)


async def test_stopped_it_takes_no_more_calls_and_leaves_nothing_running(world: World) -> None:
    before = asyncio.all_tasks()
    await world.controller.start()
    await world.ask(m.callback_queue("lab"))
    await world.controller.stop()
    asked = asyncio.create_task(world.ask(m.callback_queue("lab")))
    await asyncio.sleep(0.05)
    assert not asked.done()
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    assert asyncio.all_tasks() <= before


async def test_a_call_that_takes_too_long_does_not_keep_it_from_stopping(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def handle(_: m.AnyMessage) -> m.AnyReply:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(world.controller._callbacks, "handle", handle)
    await world.controller.start()
    asked = asyncio.create_task(world.ask(m.callback_queue("lab")))
    await asyncio.wait_for(begun.wait(), 60.0)
    await asyncio.wait_for(world.controller.stop(), 60.0)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
