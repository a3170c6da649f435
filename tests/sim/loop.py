"""An event loop whose time is virtual, and whose handles belong to simulated processes.

Nothing here waits: when nobody can go on, the clock jumps to the next timer. What a frozen process would run is
kept for its thaw, what a dead one would run never happens. Iteration over sets of tasks is in the order in which they
were made, so that two runs of a seed are the same in any interpreter.
"""

import asyncio
import heapq
from asyncio import events
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any

PROCESS: ContextVar[Any] = ContextVar("PROCESS", default=None)
"""The simulated process (:class:`tests.sim.process.Process`) that the running code belongs to; None: the world."""

COMPACT_AT = 512


class Stuck(Exception):
    """Everybody waits, and nothing will ever happen."""


def _run(handle: Any) -> None:
    process = handle.process
    if process is None or process.running:
        events.Handle._run(handle)
    else:
        process.cannot_run(handle)


class _Handle(events.Handle):
    __slots__ = ("process",)

    def __init__(self, callback: Any, args: Any, loop: Any, context: Any) -> None:
        super().__init__(callback, args, loop, context)
        self.process = self._context.get(PROCESS)

    _run = _run


class _Timer(events.TimerHandle):
    __slots__ = ("process",)

    def __init__(self, when: float, callback: Any, args: Any, loop: Any, context: Any) -> None:
        super().__init__(when, callback, args, loop, context)
        self.process = self._context.get(PROCESS)

    _run = _run


class _Task(asyncio.Task):  # type: ignore[type-arg]
    """A task with a hash that is the same in every run."""

    def __init__(self, number: int, coro: Any, **options: Any) -> None:
        self.number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number

    __eq__ = object.__eq__


class _Selector:
    """Never blocks: lets the time pass instead."""

    def __init__(self, loop: "SimLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck
        if timeout > 0:
            self._loop.now = self._loop._scheduled[0]._when
        return []


class SimLoop(asyncio.BaseEventLoop):
    """See the module."""

    def __init__(self, start_seconds: float = 1000.0) -> None:
        super().__init__()
        self.now = start_seconds
        self.errors: list[str] = []
        """What asyncio complained about."""
        self._selector = _Selector(self)
        self._clock_resolution = 1e-9
        self._numbers = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self._over = False

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> events.Handle:
        handle = _Handle(callback, args, self, context)
        if not self._over:
            self._ready.append(handle)
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> events.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> events.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        if not self._over:
            heapq.heappush(self._scheduled, timer)
            timer._scheduled = True
        return timer

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        self._numbers += 1
        task = _Task(self._numbers, coro, loop=self, name=name or "", context=context)
        tasks = self._tasks
        tasks.append(task)
        if len(tasks) > COMPACT_AT and len(tasks) > 2 * self._live:
            self._tasks = [each for each in tasks if not each.done()]
            self._live = max(len(self._tasks), COMPACT_AT // 2)
        return task

    _live = COMPACT_AT // 2

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        raise RuntimeError("no threads in a simulation")

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        future = context.get("future")
        if error is not None and (future is None or isinstance(future, asyncio.Task)):
            self.errors.append(f"{context.get('message')}: {error!r}")

    def _process_events(self, event_list: list[Any]) -> None:
        """There is nothing outside."""

    def _write_to_self(self) -> None:
        """There is nobody to wake."""

    def abandon(self) -> None:
        """End all that is still waiting, without letting it do anything."""
        self._over = True
        asyncio._set_running_loop(self)
        try:
            for task in self._tasks:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    _close(task.get_coro())
        finally:
            asyncio._set_running_loop(None)
        self._tasks.clear()
        self._ready.clear()
        self._scheduled.clear()
        self.close()


def _close(coroutine: Any) -> None:
    """Whatever a coroutine awaits while it is being closed is closed in its turn."""
    for _ in range(20):
        try:
            coroutine.close()
            return
        except BaseException:  # noqa: S112  # what it was doing does not matter any more
            continue
