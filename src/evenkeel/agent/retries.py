"""Times at which failed work may be retried: a back-off for each key."""

import math
import random
from collections.abc import Collection

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.values import Value


class _RetryDelay(Value):
    until: float
    failures: int


class Retries:
    """Records when each failed key may be tried again. All times are seconds of one monotonic clock."""

    def __init__(self, backoff: Backoff, rng: random.Random) -> None:
        self._backoff = backoff
        self._rng = rng
        self._waits: dict[str, _RetryDelay] = {}

    def record_failure(self, key: str, now: float) -> float:
        """Record a failure of ``key``; returns the time of the next try, after a delay that grows with the
        failures in a row.
        """
        before = self._waits.get(key)
        failures = before.failures + 1 if before else 1
        wait = _RetryDelay(until=now + self._backoff.delay_seconds(failures, self._rng.uniform), failures=failures)
        self._waits[key] = wait
        return wait.until

    def record_success(self, key: str) -> None:
        """Forget the failures of ``key``."""
        self._waits.pop(key, None)

    def take_due(self, now: float) -> list[str]:
        """Return the keys that may be tried now; they are not returned again until they fail again."""
        due = [key for key, wait in self._waits.items() if wait.until <= now]
        for key in due:
            # The count is kept until the try succeeds, so that delays go on growing; infinity marks a try under way.
            self._waits[key] = _RetryDelay(until=math.inf, failures=self._waits[key].failures)
        return due

    def forget_others(self, keys: Collection[str]) -> None:
        self._waits = {key: wait for key, wait in self._waits.items() if key in keys}

    def is_waiting(self, key: str, now: float) -> bool:
        """Return whether ``key`` failed and its delay is not over; False during a try."""
        wait = self._waits.get(key)
        # A try under way does not wait: work that arrives during it must be queued.
        return wait is not None and now < wait.until < math.inf

    def next_due(self) -> float | None:
        """Return the earliest time at which a key may be tried again; infinity if only tries are under way,
        None if no failure is recorded.
        """
        return min((wait.until for wait in self._waits.values()), default=None)
