"""Events, numbered, for agents that wait for them (long polling).

Bounded: the ring holds the last :data:`EVENTS_MAX`; who asks for older ones is told that some are missing. Numbers
rise over restarts of the daemon, so a client need not know that there was one.
"""

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.numbering import numbers_from
from evenkeel.haproxyd.ports import PartitionEvent

EVENTS_MAX = 5000
ANSWER_EVENTS_MAX = 1000
TEXT_CHARS_MAX = 500


class EventRing:
    """The newest events, and those who wait for the next."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._numbers = numbers_from(now())
        self._before = self._newest = next(self._numbers)
        self._events: deque[wire.DaemonEvent] = deque(maxlen=EVENTS_MAX)
        self._arrived = asyncio.Event()

    @property
    def newest(self) -> int:
        """Number of the newest event; of none, before the first."""
        return self._newest

    def add(self, event: PartitionEvent) -> None:
        """Number it and wake up everybody who waits."""
        if len(self._events) == EVENTS_MAX:
            self._before = self._events[0].number
        self._newest = next(self._numbers)
        numbered = wire.DaemonEvent(
            number=self._newest,
            time=self._now(),
            partition=event.partition,
            backend=event.backend,
            server=event.server,
            up=event.up,
            text=event.text[:TEXT_CHARS_MAX],
        )
        self._events.append(numbered)
        self._arrived.set()
        self._arrived = asyncio.Event()

    async def after(self, number: int, wait_seconds: float) -> wire.DaemonEvents:
        """Events above ``number``; waits for the first if there is none. ``newest`` is the number to ask after next."""
        if number == self._newest and wait_seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), wait_seconds)
        return self._now_after(number)

    def _now_after(self, number: int) -> wire.DaemonEvents:
        found = tuple(itertools.islice((event for event in self._events if event.number > number), ANSWER_EVENTS_MAX))
        return wire.DaemonEvents(
            newest=found[-1].number if found else self._newest,
            events=found,
            missed=not self._before <= number <= self._newest,
        )
