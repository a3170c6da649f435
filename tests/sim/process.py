"""Simulated operating-system processes: they run, freeze, thaw, crash; what they had under way goes its own way."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any

from tests.sim.loop import PROCESS, SimLoop


class Process:
    """One life of a process. After a crash a new one of the same name takes its place."""

    def __init__(self, loop: SimLoop, name: str, rng: random.Random) -> None:
        self.name = name
        self.identity = ""
        """The agent id, of an agent."""
        self.rng = rng
        self.running = True
        self.dead = False
        self.connected = True
        """To the bus; the broker notices silence by and by."""
        self.cut_from_bus = False
        self.cut_from_store = False
        self.cut_from_devices = False
        self.ended: asyncio.Future[None] = loop.create_future()
        self.on_death: list[Callable[[], None]] = []
        self.on_thaw: list[Callable[[], None]] = []
        self._loop = loop
        self._kept: list[Any] = []
        self._context = copy_context()
        self._context.run(PROCESS.set, self)

    @property
    def frozen(self) -> bool:
        return not self.running and not self.dead

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str = "") -> asyncio.Task[Any]:
        """Run ``coro`` as code of this process."""
        return self._loop.create_task(coro, name=name or self.name, context=self.context())

    def context(self) -> Context:
        """A context whose code belongs to this process."""
        return self._context.copy()

    def cannot_run(self, handle: Any) -> None:
        """Called by the loop for a handle of a process that does not run now."""
        self._kept.append(handle)  # also of a dead one: dropping it now would run its cleanup

    def freeze(self) -> None:
        """No code runs any more; what is under way elsewhere goes on."""
        if not self.dead:
            self.running = False

    def thaw(self, *, timers_first: bool) -> None:
        """Go on with old beliefs. What time-outs and answers came meanwhile is handled in either order."""
        if self.dead or self.running:
            return
        self.running = True
        kept, self._kept = self._kept, []
        if not timers_first:
            kept.sort(key=lambda handle: isinstance(handle, asyncio.TimerHandle))
        self._loop._ready.extend(kept)
        for callback in self.on_thaw:
            callback()

    def die(self) -> None:
        """Nothing of it happens any more."""
        if self.dead:
            return
        self.running, self.dead = False, True
        for callback in self.on_death:
            callback()
        if not self.ended.done():
            self.ended.set_result(None)


class SimClock:
    """A process's monotonic clock."""

    def __init__(self, loop: SimLoop, offset_seconds: float) -> None:
        self._loop = loop
        self._offset = offset_seconds

    def monotonic(self) -> float:
        return self._loop.now + self._offset

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
