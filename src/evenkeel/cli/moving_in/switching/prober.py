"""Measures how long a VIP does not answer: a TCP connection is tried every few milliseconds, in a thread."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

PROBE_INTERVAL_SECONDS = 0.02
CONNECT_SECONDS = 1.0
"""Time-out of a connection attempt: TCP would send its first retransmission after that time."""
SILENT_SECONDS = 0.2
"""Seconds without any answer to an attempt after which the address counts as silent: no host has it."""
POLL_SECONDS = 0.02


class MeasuredGap(NamedTuple):
    """Result of probing a VIP: numbers of attempts and of failed ones, and for how long the VIP did not
    answer.
    """

    attempts: int
    failed: int
    longest_seconds: float
    """Longest interval without a successful connection."""

    def __str__(self) -> str:
        return (
            f"longest interval without a connection {self.longest_seconds:.2f} s, {self.failed} of"
            f" {self.attempts} attempts failed"
        )


class ConnectionProber:
    """Connects to ``address`` and ``port`` repeatedly from :meth:`start` to :meth:`stop`, to measure
    intervals without a successful connection.
    """

    def __init__(self, address: str, port: int) -> None:
        self._target = (address, port)
        self._thread = threading.Thread(target=self._run_in_thread, daemon=True)
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._open: dict[int, float] = {}
        """Start times of the attempts that have no answer yet."""
        self._succeeded: list[tuple[float, float]] = []
        """(start, end) of each successful attempt, by the monotonic clock."""
        self._failed = 0
        self._started_at = self._ended_at = 0.0

    def start(self) -> None:
        """Begin to connect to the VIP repeatedly, in a thread of its own."""
        self._started_at = time.monotonic()
        self._thread.start()

    def stop(self) -> MeasuredGap:
        """End the measurement, and return the longest gap from the first success on; without any success the
        time since the start. Blocks until the thread ends.
        """
        self._ending.set()
        self._thread.join()
        with self._lock:
            times = sorted(end for _, end in self._succeeded)
            attempts = len(times) + self._failed
        if not times:
            return MeasuredGap(attempts, self._failed, time.monotonic() - self._started_at)
        ends = [*times, self._ended_at]
        longest = max(after - before for before, after in pairwise(ends))
        return MeasuredGap(attempts, self._failed, longest)

    def wait_for_success(self, since: float, seconds: float) -> bool:
        """Whether an attempt that began after ``since`` (monotonic clock) succeeds within ``seconds``. Blocks
        until then.
        """
        return self._wait_until(seconds, lambda: any(begun >= since for begun, _ in self._succeeded[-100:]))

    def wait_for_silence(self, since: float, seconds: float) -> bool:
        """Whether, within ``seconds``, an attempt fails, or one that began after ``since`` (monotonic clock)
        has had no answer for :data:`SILENT_SECONDS`. Blocks until then.
        """

        def is_silent() -> bool:
            now = time.monotonic()
            return any(begun >= since and now - begun >= SILENT_SECONDS for begun in self._open.values())

        before = self._failed
        return self._wait_until(seconds, lambda: is_silent() or self._failed > before)

    def _wait_until(self, seconds: float, condition: Callable[[], bool]) -> bool:
        until = time.monotonic() + seconds
        while True:
            with self._lock:
                if condition():
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(POLL_SECONDS)

    def _run_in_thread(self) -> None:
        asyncio.run(self._probe_repeatedly())

    async def _probe_repeatedly(self) -> None:
        tasks: set[asyncio.Task[None]] = set()
        number = 0
        while not self._ending.is_set():
            number += 1
            task = asyncio.create_task(self._try_connection(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(PROBE_INTERVAL_SECONDS)
        self._ended_at = time.monotonic()
        # Those that began last neither succeeded nor failed.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _try_connection(self, number: int) -> None:
        begun = time.monotonic()
        with self._lock:
            self._open[number] = begun
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(*self._target)
        except OSError:  # TimeoutError is one
            with self._lock:
                self._failed += 1
        else:
            with self._lock:
                self._succeeded.append((begun, time.monotonic()))
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        finally:
            with self._lock:
                self._open.pop(number, None)
