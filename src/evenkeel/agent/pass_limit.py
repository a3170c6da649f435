"""Limits how many passes over partitions an agent runs at a time, so that slow partitions do not starve
others.

Passes with tenants' changes have priority over verification passes, of which there is one per partition after
a takeover or a restart. Every fourth slot goes to a verification pass if one is waiting, so that changes
cannot starve them.

A pass over a device that hangs occupies a slot until a time-out. Therefore partitions whose last pass was
slow may use only half of the slots; and a pass that turns out to be slow gives its slot to the next waiting
one and continues without, up to a limit.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evenkeel.core.ports import Clock

SLOW_SECONDS = 3.0
"""Duration from which a pass counts as slow: hundreds of transactions, or a device that does not answer."""
OVERDUE_PER_TURN = 2
"""Number of slow passes, per slot, that may continue without a slot."""


VERIFY_EVERY = 4
"""Every fourth slot goes to a verification pass if one is waiting, so that changes cannot starve them."""


class _WaitingPasses:
    """Passes waiting for a slot, first come, first served, changes before verification passes."""

    def __init__(self) -> None:
        self._waiting: dict[bool, dict[asyncio.Future[None], str]] = {True: {}, False: {}}
        """Waiting passes and their partitions in order of arrival: with changes (True), and for verification
        (False).
        """
        self._of: dict[str, asyncio.Future[None]] = {}
        """The last pass that began to wait, by partition."""
        self._changes_granted = 0

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def add(self, key: str, *, changed: bool) -> asyncio.Future[None]:
        """Add a waiting pass for the partition ``key``; returns a future that completes when a slot is
        granted. ``changed``: there are changes to apply.
        """
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[changed][granted] = key
        self._of[key] = granted
        return granted

    def prioritize(self, key: str) -> None:
        """Move the partition's waiting verification pass, if there is one, to the passes with changes."""
        granted = self._of.get(key)
        if granted is not None and self._waiting[False].pop(granted, None) is not None:
            self._waiting[True][granted] = key

    def pop_next(self) -> asyncio.Future[None]:
        """Remove the next pass to run, and return its future. The queue must not be empty."""
        # Counted over granted changes, so that a flood of them cannot delay verification without end.
        verification_due = self._changes_granted >= VERIFY_EVERY - 1 and bool(self._waiting[False])
        changed = bool(self._waiting[True]) and not verification_due
        self._changes_granted = self._changes_granted + 1 if changed else 0
        granted, key = next(iter(self._waiting[changed].items()))
        del self._waiting[changed][granted]
        # A later pass of the same partition may have replaced the entry.
        if self._of.get(key) is granted:
            del self._of[key]
        return granted


class _HeldSlot:
    def __init__(self, *, slow: bool) -> None:
        self.slow = slow
        self.counts = True


class PassLimit:
    """Limits the passes that run at a time to ``at_once``, for all partitions that an agent serves. Besides
    them, at most ``OVERDUE_PER_TURN`` times as many passes that turned out to be slow may continue without
    a slot.
    """

    def __init__(self, at_once: int, clock: Clock, *, slow_seconds: float = SLOW_SECONDS) -> None:
        self._at_once = at_once
        # Half of the slots stay free for fast partitions: a hanging device must not stop all others.
        self._slow_slots_max = max(1, at_once // 2)
        """Maximum number of slots that partitions known as slow may occupy."""
        self._clock = clock
        self._slow_seconds = slow_seconds
        self._slow: set[str] = set()
        self._taken = {False: 0, True: 0}
        """Number of occupied slots: by partitions known as slow (True), and by others (False)."""
        self._overdue = 0
        self._waiting = {False: _WaitingPasses(), True: _WaitingPasses()}

    @asynccontextmanager
    async def hold_slot(self, key: str, *, changed: bool = True) -> AsyncIterator[None]:
        """Context manager that waits for a slot for the partition ``key``, and holds it inside the block; a
        pass that turns out to be slow may lose the slot before its end, and continues. ``changed``: there
        are changes to apply.
        """
        slow = key in self._slow
        await self._acquire_slot(key, slow=slow, changed=changed)
        turn = _HeldSlot(slow=slow)
        began = self._clock.monotonic()
        # Whether a pass is slow shows only while it runs; a timer gives its slot away as soon as it is.
        timer = asyncio.get_running_loop().call_later(self._slow_seconds, self._release_slot_of_slow_pass, turn)
        try:
            yield
        finally:
            timer.cancel()
            self._return_slot(turn)
            if self._clock.monotonic() - began >= self._slow_seconds:
                self._slow.add(key)
            else:
                self._slow.discard(key)

    def prioritize(self, key: str) -> None:
        """Give the partition's waiting pass, which now has changes to apply, priority over verification passes."""
        for queue in self._waiting.values():
            queue.prioritize(key)

    def forget(self, key: str) -> None:
        """Forget whether the partition, which is no longer served, was slow."""
        self._slow.discard(key)

    def _has_free_slot(self, slow: bool) -> bool:
        all_taken = self._taken[False] + self._taken[True] >= self._at_once
        return not all_taken and not (slow and self._taken[True] >= self._slow_slots_max)

    async def _acquire_slot(self, key: str, *, slow: bool, changed: bool) -> None:
        # A free slot is not taken past passes that already wait.
        if self._has_free_slot(slow) and not self._waiting[slow]:
            self._taken[slow] += 1
            return
        granted = self._waiting[slow].add(key, changed=changed)
        try:
            await granted
        except asyncio.CancelledError:
            # Both the grant and the cancellation may arrive in one round of the event loop; without this the slot would
            # leak.
            if granted.done() and not granted.cancelled():  # it was granted at the same moment
                self._taken[slow] -= 1
                self._grant_free_slots()
            raise

    def _return_slot(self, turn: _HeldSlot) -> None:
        if turn.counts:
            self._taken[turn.slow] -= 1
        else:
            self._overdue -= 1
        self._grant_free_slots()

    def _release_slot_of_slow_pass(self, turn: _HeldSlot) -> None:
        """Free the slot of a pass that turned out to be slow, which continues without one. No effect if the
        partition was known as slow, or if too many passes continue without a slot.
        """
        # A pass of a partition known to be slow has one of the slow lanes anyway; the limit bounds the load when every
        # device hangs.
        if turn.slow or self._overdue >= OVERDUE_PER_TURN * self._at_once:
            return
        turn.counts = False
        self._taken[False] -= 1
        self._overdue += 1
        self._grant_free_slots()

    def _grant_free_slots(self) -> None:
        """Grant free slots to waiting passes, fast partitions first."""
        for slow in (False, True):
            waiting = self._waiting[slow]
            while waiting and self._has_free_slot(slow):
                granted = waiting.pop_next()
                # A waiting pass that was cancelled is still in the queue, and must not get a slot.
                if not granted.done():
                    self._taken[slow] += 1
                    granted.set_result(None)
