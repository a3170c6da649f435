"""Work on load balancers in threads, in batches: what arrives while one batch is under way is the next one.

A report through driver-agent takes a third of a second, whatever it holds. So reports that wait are collected, and a
second one begins beside the first only if that takes long.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Generic, TypeVar

WorkItem = TypeVar("WorkItem")


class WorkBatches(Generic[WorkItem]):
    """Work on load balancers in batches, in threads. A load balancer is in one running batch at most."""

    def __init__(
        self,
        work: Callable[[Mapping[str, WorkItem]], None],
        executor: Executor,
        *,
        at_once: int,
        patience_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Initialize. ``work``: processes ``{load balancer id: item}`` and raises nothing; ``at_once``: maximum number
        of running batches; ``patience_seconds``: how long the youngest running batch delays another one.
        """
        self._work = work
        self._executor = executor
        self._at_once = at_once
        self._patience_seconds = patience_seconds
        self._now = now
        self._lock = threading.Lock()
        self._waiting: dict[str, WorkItem] = {}
        self._under_way: dict[int, tuple[float, frozenset[str]]] = {}
        self._number = 0

    @property
    def ids(self) -> frozenset[str]:
        """Return the ids of the load balancers that wait for a batch or are in a running one."""
        with self._lock:
            return frozenset(self._waiting).union(*(ids for _, ids in self._under_way.values()))

    def add(self, items: Mapping[str, WorkItem]) -> None:
        """Queue items by load balancer id, and start a batch if possible; a new item replaces one of the same
        load balancer that waits.
        """
        with self._lock:
            self._waiting.update(items)
        self.begin()

    def begin(self) -> None:
        """Start a batch with all waiting items, unless it must wait for a running batch."""
        with self._lock:
            began = max((began for began, _ in self._under_way.values()), default=float("-inf"))
            if len(self._under_way) >= self._at_once or self._now() - began < self._patience_seconds:
                return
            number, batch = self._take_waiting()
        if batch:
            self._executor.submit(self._run_batch, number, batch)

    def clear(self) -> None:
        """Drop all waiting items."""
        with self._lock:
            self._waiting.clear()

    def _take_waiting(self) -> tuple[int, dict[str, WorkItem]]:
        busy = frozenset[str]().union(*(ids for _, ids in self._under_way.values()))
        batch = {id: item for id, item in self._waiting.items() if id not in busy}
        self._waiting = {id: item for id, item in self._waiting.items() if id in busy}
        if batch:
            self._number += 1
            self._under_way[self._number] = self._now(), frozenset(batch)
        return self._number, batch

    def _run_batch(self, number: int, batch: dict[str, WorkItem]) -> None:
        while batch:
            try:
                self._work(batch)
            finally:
                with self._lock:
                    del self._under_way[number]
                    number, batch = self._take_waiting()
