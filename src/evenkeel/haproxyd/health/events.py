"""Numbered events, for agents that wait for them (long polling).

Bounded: the ring buffer holds the last :data:`EVENTS_MAX`; a request for older events is answered with a flag that some
are missing. Numbers keep increasing over restarts of the daemon, so that clients need not detect a restart.
"""

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.numbering import increasing_numbers
from evenkeel.haproxyd.ports import PartitionEvent

EVENTS_MAX = 5000
ANSWER_EVENTS_MAX = 1000
TEXT_CHARS_MAX = 500


class EventRing:
    """Ring buffer of the newest events, and the requests that wait for the next event. ``now``: seconds since
    the epoch.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._numbers = increasing_numbers(now())
        # This number is used up: every number of an earlier run is below it, and is answered with `missed`.
        self._before = self._newest = next(self._numbers)
        self._events: deque[wire.DaemonEvent] = deque(maxlen=EVENTS_MAX)
        self._arrived = asyncio.Event()
        self._newest_of: dict[str, int] = {}
        self._lost = 0
        """Number given to the last possible loss of events before they were numbered; 0: there was none."""

    def newest_event_number_of_partition(self, partition: str) -> int:
        """Return the number of the partition's newest event, or that of the last possible loss of events if
        it is higher; 0 if there is neither.
        """
        return max(self._newest_of.get(partition, 0), self._lost)

    @property
    def newest(self) -> int:
        """Return the number of the newest event; without any event, the number before the first one."""
        return self._newest

    def add(self, event: PartitionEvent) -> None:
        """Number the event, append it to the ring (at most :data:`EVENTS_MAX`; the oldest is dropped), and
        wake all waiting requests. The text is cut to 500 characters.
        """
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
        self._newest_of[event.partition] = self._newest
        self._wake_waiters()

    def record_lost_events(self) -> None:
        """Record that events of any partition may have been lost, and wake all waiting requests; requests for
        older events are answered with ``missed``.
        """
        self._lost = self._newest = next(self._numbers)
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        self._arrived.set()
        # A new object at once: waiting requests are released, and later ones wait for the next event.
        self._arrived = asyncio.Event()

    async def events_after(self, number: int, wait_seconds: float) -> wire.DaemonEvents:
        """Return the events above ``number``, at most 1,000; if that is the newest event's, wait for the next
        one first, at most ``wait_seconds``.

        In the result, ``newest`` is the number for the next request, and ``missed`` is True if events in
        between are no longer available.
        """
        # Any other number has events after it, or is of another run: both are answered at once.
        if number == self._newest and wait_seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._arrived.wait()
        return self._events_after(number)

    def _events_after(self, number: int) -> wire.DaemonEvents:
        found = tuple(itertools.islice((event for event in self._events if event.number > number), ANSWER_EVENTS_MAX))
        return wire.DaemonEvents(
            newest=found[-1].number if found else self._newest,
            events=found,
            missed=not max(self._before, self._lost) <= number <= self._newest,
        )
