"""Blocking calls from asyncio: a bounded number of threads, a bounded queue, and a time-out."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from evenkeel.core.kit.errors import Unavailable

T = TypeVar("T")

THREADS = 8
WAITING_MAX = 56


class BlockingCalls:
    """A pool of threads for blocking calls of one service. A call that timed out continues in its thread
    until its own time-outs end it.

    ``name``: name of the service, for error texts. ``unavailable``: error class to raise when the queue is
    full or no answer came within ``timeout_seconds``. At most ``threads`` calls run, and ``waiting_max``
    wait, at a time.
    """

    def __init__(
        self,
        name: str,
        *,
        unavailable: type[Unavailable],
        timeout_seconds: float,
        threads: int = THREADS,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        self._name = name
        self._unavailable = unavailable
        self._timeout_seconds = timeout_seconds
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._slots = threading.Semaphore(threads + waiting_max)

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread and return its result.

        Raises the errors of ``work``, the pool's error class ``unavailable`` if the queue is full or no
        answer came in time (``work`` may still be executed then), and :class:`RuntimeError` after
        :meth:`close`.
        """
        # a full queue is an error now rather than a wait: the caller's own time-out would hide the cause
        if not self._slots.acquire(blocking=False):
            raise self._unavailable(f"too many requests are waiting for {self._name}")
        future: Future[T] = self._pool.submit(work)
        # at the end of the work, not of the wait: after a time-out the thread is still in use
        future.add_done_callback(lambda _: self._slots.release())
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise self._unavailable(f"{self._name} did not answer within {self._timeout_seconds:g} s") from error

    def close(self) -> None:
        """Start no more calls, and cancel those that wait for a thread. Does not wait for running calls."""
        self._pool.shutdown(wait=False, cancel_futures=True)
