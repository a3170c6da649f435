"""Passes are shared fairly: those who are slow leave some to the others."""

import asyncio
from collections.abc import Awaitable, Callable

from evenkeel.agent.pass_limit import OVERDUE_PER_TURN, VERIFY_EVERY, PassLimit
from tests.waiting import eventually


class FakeClock:
    """Time that the test sets."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


class Bench:
    def __init__(self, at_once: int, *, slow_seconds: float = 3600.0) -> None:
        self.clock = FakeClock()
        self.turns = PassLimit(at_once, self.clock, slow_seconds=slow_seconds)
        self.slow_seconds = slow_seconds
        self.running: set[str] = set()
        self.tasks: list[asyncio.Task[None]] = []

    async def _run(self, key: str, work: Callable[[], Awaitable[object]]) -> None:
        async with self.turns.hold_slot(key):
            self.running.add(key)
            await work()
            self.running.discard(key)

    def start(self, key: str, work: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(self._run(key, work)))
        return self.tasks[-1]

    def hang(self, *keys: str) -> None:
        for key in keys:
            self.start(key, asyncio.Event().wait)

    async def quick(self, key: str) -> None:
        await asyncio.wait_for(self.start(key, lambda: asyncio.sleep(0)), 30)

    async def make_slow(self, *keys: str) -> None:
        """Their passes took longer than they may."""

        async def long() -> None:
            self.clock.now += self.slow_seconds

        for key in keys:
            await asyncio.wait_for(self.start(key, long), 30)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_no_more_than_so_many_have_a_turn_and_the_next_gets_the_first_that_is_given_back() -> None:
    bench = Bench(2)
    gate = asyncio.Event()
    for key in "abc":
        bench.start(key, gate.wait)
    await eventually(lambda: bench.running == {"a", "b"})
    gate.set()
    await asyncio.wait_for(asyncio.gather(*bench.tasks), 30)
    await bench.quick("d")


async def test_partitions_that_were_slow_leave_half_of_the_turns_to_the_others() -> None:
    bench = Bench(8)
    slow = [f"slow-{number}" for number in range(10)]
    await bench.make_slow(*slow)
    bench.hang(*slow)
    await eventually(lambda: len(bench.running) == 4)
    for number in range(20):
        await bench.quick(f"quick-{number}")
    assert len(bench.running) == 4
    await bench.close()


async def test_partitions_that_hang_for_the_first_time_give_their_turns_on() -> None:
    bench = Bench(2, slow_seconds=0.05)
    bench.hang("a", "b")
    await eventually(lambda: bench.running == {"a", "b"})
    await bench.quick("c")
    bench.hang(*(f"more-{number}" for number in range(10)))
    # and not without end: so many go on without a turn, and then all turns are taken
    await eventually(lambda: len(bench.running) == 2 * OVERDUE_PER_TURN + 2)
    await bench.close()


async def test_a_partition_that_was_quick_again_is_like_any_other() -> None:
    bench = Bench(2)
    await bench.make_slow("a", "b")
    bench.hang("a")
    await eventually(lambda: bench.running == {"a"})
    waiting = bench.start("b", lambda: asyncio.sleep(0))
    await bench.quick("c")
    assert not waiting.done()
    bench.tasks[-3].cancel()
    await asyncio.wait_for(waiting, 30)
    bench.running.clear()
    bench.hang("b", "c")
    await eventually(lambda: bench.running == {"b", "c"})
    await bench.close()


async def test_one_that_gives_up_waiting_takes_no_turn_with_it() -> None:
    bench = Bench(1)
    gate = asyncio.Event()
    bench.start("a", gate.wait)
    await eventually(lambda: bench.running == {"a"})
    bench.start("b", gate.wait).cancel()
    late = bench.start("c", gate.wait)
    await asyncio.sleep(0)
    gate.set()
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.gather(*bench.tasks, return_exceptions=True)
    await bench.quick("d")


class Order:
    """One slot, and who gets it in which order."""

    def __init__(self) -> None:
        self.limit = PassLimit(1, FakeClock(), slow_seconds=3600.0)
        self.granted: list[str] = []
        self.gate = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def _pass(self, key: str, changed: bool) -> None:
        async with self.limit.hold_slot(key, changed=changed):
            self.granted.append(key)
            await self.gate.wait()

    async def wait(self, *keys: str, changed: bool) -> None:
        self.tasks += [asyncio.create_task(self._pass(key, changed)) for key in keys]
        await asyncio.sleep(0)

    async def all(self) -> list[str]:
        self.gate.set()
        await asyncio.wait_for(asyncio.gather(*self.tasks, return_exceptions=True), 30)
        return self.granted


async def test_partitions_with_changes_go_before_those_that_only_look() -> None:
    order = Order()
    await order.wait("running", changed=False)
    await order.wait("look-1", "look-2", changed=False)
    await order.wait("change-1", "change-2", changed=True)
    assert await order.all() == ["running", "change-1", "change-2", "look-1", "look-2"]


async def test_a_waiting_look_goes_with_the_changes_once_its_partition_has_one() -> None:
    order = Order()
    await order.wait("running", changed=False)
    await order.wait("look-1", "look-2", "look-3", changed=False)
    await order.wait("change", changed=True)
    for key in ("look-3", "change", "running", "unknown"):
        order.limit.prioritize(key)
    assert await order.all() == ["running", "change", "look-3", "look-1", "look-2"]


async def test_changes_without_end_do_not_put_looks_off_for_ever() -> None:
    order = Order()
    await order.wait("running", changed=False)
    await order.wait("look", changed=False)
    await order.wait(*(f"change-{number}" for number in range(2 * VERIFY_EVERY)), changed=True)
    granted = await order.all()
    assert granted.index("look") == VERIFY_EVERY and len(granted) == 2 * VERIFY_EVERY + 2


async def test_a_change_that_gives_up_waiting_is_passed_over() -> None:
    order = Order()
    await order.wait("running", changed=False)
    await order.wait("change", changed=True)
    await order.wait("look", changed=False)
    order.tasks[1].cancel()
    assert await order.all() == ["running", "look"]
    order.limit.prioritize("change")
