"""A thread that runs jobs of any number of event loops one after the other: always the job with the earliest
due time.
"""

import asyncio
import contextvars
import itertools
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _QueuedJob(NamedTuple):
    due_at: float
    number: int
    """Sequence number of the job; of jobs due at the same time, the lowest number runs first."""
    do: Callable[[], Any] | None
    """The function to run; None: the thread ends."""
    done: "Future[Any]"


class OrderedThread:
    """Runs jobs in a thread, which starts with the first job. The owner must close the object."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.PriorityQueue[_QueuedJob] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, do: Callable[[], T], *, wait_seconds: float = 0.0) -> T:
        """Run ``do`` in the thread and return its result, or raise its exception. Raises
        :class:`RuntimeError` after :meth:`close`.

        An idle thread runs the job at once. If jobs wait, those that are submitted later run first if they
        become due earlier, which is ``wait_seconds`` after their submission. A job cancelled before it begins
        is skipped.
        """
        if self._closed:
            raise RuntimeError(f"{self._name} is closed")
        done: Future[T] = Future()
        # in the caller's context, as asyncio.to_thread does
        within = partial(contextvars.copy_context().run, do)
        self._jobs.put(_QueuedJob(time.monotonic() + wait_seconds, next(self._numbers), within, done))
        self._start_thread()
        return await asyncio.wrap_future(done)

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_jobs, name=self._name, daemon=True)
                self._thread.start()

    def _run_jobs(self) -> None:
        while True:
            job = self._jobs.get()
            if job.do is None:
                job.done.set_result(None)
                return
            # From here on a cancelled caller no longer stops the job; before, it is skipped.
            if job.done.set_running_or_notify_cancel():
                _run_job(job.do, job.done)
            del job  # it would keep a caller's values alive until the next job

    async def close(self, *last: Callable[[], object]) -> None:
        """Run the waiting jobs, then the functions ``last``, and end the thread; at least one function, or a
        job before, must have started the thread. Raises what a function of ``last`` raises; the thread
        then goes on. A repeated call does nothing.
        """
        if self._closed:
            return
        for do in last:
            # Due after every waiting job, but on the thread: SQLite connections are closed where they are used.
            await self.run(do, wait_seconds=_CLOSING_JOB_WAIT_SECONDS)
        self._closed = True
        done: Future[None] = Future()
        # Infinity sorts behind everything, including jobs submitted while the last ones ran.
        self._jobs.put(_QueuedJob(float("inf"), next(self._numbers), None, done))
        await asyncio.wrap_future(done)


_CLOSING_JOB_WAIT_SECONDS = 365 * 86_400.0


def _run_job(do: Callable[[], object], done: "Future[Any]") -> None:
    try:
        result = do()
    # Also SystemExit and the like: the caller would otherwise wait for ever, and the thread would be gone.
    except BaseException as error:
        done.set_exception(error)
    else:
        done.set_result(result)
