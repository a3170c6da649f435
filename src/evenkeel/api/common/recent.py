"""Values that several callers request at the same time, computed once for all of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class RecentResult(Generic[T]):
    """Caches a computed value for ``seconds``. Callers that arrive during a computation wait for its result, or get its
    exception.
    """

    def __init__(self, seconds: float, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now_seconds = now_seconds
        self._running: asyncio.Task[T] | None = None
        self._kept: tuple[float, T] | None = None

    async def get(self, compute: Callable[[], Awaitable[T]]) -> T:
        """Return the cached value, or a new one. Raises the exceptions of ``compute``, which are not cached."""
        if self._kept is not None and self._now_seconds() < self._kept[0] + self._seconds:
            return self._kept[1]
        if self._running is None:
            self._running = asyncio.create_task(self._compute_now(compute))
            self._running.add_done_callback(_retrieve_exception)
        return await asyncio.shield(self._running)

    async def _compute_now(self, compute: Callable[[], Awaitable[T]]) -> T:
        # The age counts from before the computation: the value may have been read at its very beginning.
        begun = self._now_seconds()
        try:
            value = await compute()
        finally:
            self._running = None
        self._kept = begun, value
        return value


class CoalescedCalls(Generic[T]):
    """Computes a value for all callers that arrive before the computation begins: many simultaneous callers cost two
    computations, the running one and the next, and no caller gets a value computed before its call.
    """

    def __init__(self) -> None:
        self._running: asyncio.Task[T] | None = None
        self._next: asyncio.Task[T] | None = None

    async def get(self, compute: Callable[[], Awaitable[T]]) -> T:
        """Return a value computed after this call. Raises the exceptions of ``compute``."""
        if self._next is None:
            self._next = asyncio.create_task(self._compute_after_previous(self._running, compute))
            self._next.add_done_callback(_retrieve_exception)
        return await asyncio.shield(self._next)

    async def _compute_after_previous(self, before: "asyncio.Task[T] | None", compute: Callable[[], Awaitable[T]]) -> T:
        if before is not None:
            # wait() does not raise the error of the earlier computation, which concerns its own callers only.
            await asyncio.wait({before})
        # callers from now on get the next computation
        self._running, self._next = self._next, None
        return await compute()


def _retrieve_exception(task: "asyncio.Task[T]") -> None:
    """Mark the task's exception as retrieved, because all callers may have left and asyncio would log it."""
    if not task.cancelled():
        task.exception()
