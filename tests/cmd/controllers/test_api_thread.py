"""Two event loops in one process."""

import asyncio
import threading

import pytest
import structlog

from evenkeel.cmd.controllers.api_thread import CONCURRENT_FAILOVERS_MAX, ThreadedChangeSink, run_in_own_thread
from evenkeel.core.control.writes import Change
from tests.waiting import eventually


async def test_a_loop_that_is_held_up_holds_up_no_other() -> None:
    held, go_on = threading.Event(), threading.Event()

    async def main(stop: asyncio.Event) -> None:
        held.set()
        assert go_on.wait(60)  # as if a request were long to build
        await stop.wait()

    beside = asyncio.create_task(run_in_own_thread(main, name="x"))
    await eventually(held.is_set)
    for _ in range(100):
        await asyncio.sleep(0.001)
    go_on.set()
    beside.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beside


async def test_error_of_the_api_thread_is_raised_and_its_logs_name_the_process() -> None:
    contexts = []

    async def main(stop: asyncio.Event) -> None:
        contexts.append(structlog.contextvars.get_contextvars())
        raise ValueError("no such file")

    with structlog.contextvars.bound_contextvars(process="controller"), pytest.raises(ValueError, match="no such file"):
        await run_in_own_thread(main, name="x")
    assert contexts == [{"process": "controller"}]


class Slow:
    """Takes a moment for each change, in the loop that it is in."""

    def __init__(self) -> None:
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.now = self.most = 0

    async def change_accepted(self, change: Change) -> None:
        await self._work()
        raise RuntimeError("no agent")

    async def failover_requested(self, change: Change) -> None:
        await self._work()

    async def _work(self) -> None:
        self.loops.add(asyncio.get_running_loop())
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1


async def test_changes_are_reported_in_the_controllers_loop_and_failovers_some_at_a_time() -> None:
    slow = Slow()
    sink = ThreadedChangeSink(slow)
    change = Change(load_balancer_id="lb", revision=1, environment="e", owner=None, placed=True)

    async def main(stop: asyncio.Event) -> None:
        await asyncio.gather(*(sink.failover_requested(change) for _ in range(20)))
        with pytest.raises(RuntimeError, match="no agent"):
            await sink.change_accepted(change)

    await run_in_own_thread(main, name="x")
    assert slow.loops == {asyncio.get_running_loop()} and slow.most == CONCURRENT_FAILOVERS_MAX
