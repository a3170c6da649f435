"""Limits how many passes over partitions an agent runs at a time, so that slow partitions do not starve the others.

A pass over a device that hangs occupies a slot until a time-out. So partitions whose last pass was slow may use only
half of the slots; and a pass that turns out to be slow gives its slot to the next waiting one and goes on without, up
to a limit.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evenkeel.core.ports import Clock

SLOW_SECONDS = 3.0
"""A pass that takes longer is slow: hundreds of transactions, or a device that does not answer."""
OVERDUE_PER_TURN = 2
"""How many slow passes may go on without a slot, per slot."""


class _Turn:
    def __init__(self, *, slow: bool) -> None:
        self.slow = slow
        self.counts = True


class PassLimit:
    """Shared by all partitions that an agent serves."""

    def __init__(self, at_once: int, clock: Clock, *, slow_seconds: float = SLOW_SECONDS) -> None:
        self._at_once = at_once
        self._lanes = max(1, at_once // 2)
        """Slots that slow partitions may use."""
        self._clock = clock
        self._slow_seconds = slow_seconds
        self._slow: set[str] = set()
        self._taken = {False: 0, True: 0}
        """Running passes, of slow and of other partitions."""
        self._overdue = 0
        self._waiting: dict[bool, deque[asyncio.Future[None]]] = {False: deque(), True: deque()}

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """Wait for a slot for this partition, and hold it inside the block."""
        slow = key in self._slow
        await self._take(slow)
        turn = _Turn(slow=slow)
        began = self._clock.monotonic()
        timer = asyncio.get_running_loop().call_later(self._slow_seconds, self._pass_on, turn)
        try:
            yield
        finally:
            timer.cancel()
            self._give_back(turn)
            if self._clock.monotonic() - began >= self._slow_seconds:
                self._slow.add(key)
            else:
                self._slow.discard(key)

    def forget(self, key: str) -> None:
        """Forget a partition that is no longer served."""
        self._slow.discard(key)

    def _free(self, slow: bool) -> bool:
        all_taken = self._taken[False] + self._taken[True] >= self._at_once
        return not all_taken and not (slow and self._taken[True] >= self._lanes)

    async def _take(self, slow: bool) -> None:
        if self._free(slow) and not self._waiting[slow]:
            self._taken[slow] += 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting[slow].append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():  # it was granted at the same moment
                self._taken[slow] -= 1
                self._grant()
            raise

    def _give_back(self, turn: _Turn) -> None:
        if turn.counts:
            self._taken[turn.slow] -= 1
        else:
            self._overdue -= 1
        self._grant()

    def _pass_on(self, turn: _Turn) -> None:
        """Give away the slot of a pass that turned out to be slow."""
        if turn.slow or self._overdue >= OVERDUE_PER_TURN * self._at_once:
            return
        turn.counts = False
        self._taken[False] -= 1
        self._overdue += 1
        self._grant()

    def _grant(self) -> None:
        """Grant free slots to waiting passes, those of fast partitions first."""
        for slow in (False, True):
            waiting = self._waiting[slow]
            while waiting and self._free(slow):
                granted = waiting.popleft()
                if not granted.done():
                    self._taken[slow] += 1
                    granted.set_result(None)
