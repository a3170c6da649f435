"""Work on load balancers in threads, in batches: what arrives while one batch is under way is the next one.

A report through driver-agent takes a third of a second, whatever it holds. So reports that wait are collected, and a
second one begins beside the first only if that takes long.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Batches(Generic[Item]):
    """Batches under way, and the items of the next one. A load balancer is in one batch at a time."""

    def __init__(
        self,
        work: Callable[[Mapping[str, Item]], None],
        executor: Executor,
        *,
        at_once: int,
        patience_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Initialize. ``work``: takes a batch by load balancer, and raises nothing; ``at_once``: most batches that are
        under way; ``patience_seconds``: age of the youngest one from which on another may begin.
        """
        self._work = work
        self._executor = executor
        self._at_once = at_once
        self._patience_seconds = patience_seconds
        self._now = now
        self._lock = threading.Lock()
        self._waiting: dict[str, Item] = {}
        self._under_way: dict[int, tuple[float, frozenset[str]]] = {}
        self._number = 0

    @property
    def ids(self) -> frozenset[str]:
        """Load balancers that wait or are under way."""
        with self._lock:
            return frozenset(self._waiting).union(*(ids for _, ids in self._under_way.values()))

    def add(self, items: Mapping[str, Item]) -> None:
        """Add items; one that waits for the same load balancer is replaced."""
        with self._lock:
            self._waiting.update(items)
        self.begin()

    def begin(self) -> None:
        """Begin a batch of what waits, unless it has to wait for one that is under way."""
        with self._lock:
            began = max((began for began, _ in self._under_way.values()), default=float("-inf"))
            if len(self._under_way) >= self._at_once or self._now() - began < self._patience_seconds:
                return
            number, batch = self._take()
        if batch:
            self._executor.submit(self._run, number, batch)

    def clear(self) -> None:
        """Drop all waiting entries."""
        with self._lock:
            self._waiting.clear()

    def _take(self) -> tuple[int, dict[str, Item]]:
        busy = frozenset[str]().union(*(ids for _, ids in self._under_way.values()))
        batch = {id: item for id, item in self._waiting.items() if id not in busy}
        self._waiting = {id: item for id, item in self._waiting.items() if id in busy}
        if batch:
            self._number += 1
            self._under_way[self._number] = self._now(), frozenset(batch)
        return self._number, batch

    def _run(self, number: int, batch: dict[str, Item]) -> None:
        while batch:
            try:
                self._work(batch)
            finally:
                with self._lock:
                    del self._under_way[number]
                    number, batch = self._take()
