"""How long a HAProxy that dies again and again waits for its next start."""

import time
from collections.abc import Callable

from evenkeel.core.backoff import Backoff
from evenkeel.haproxyd.settings import DaemonSettings


class Restarts:
    """Pauses that double with each death, and begin anew after it ran steadily."""

    def __init__(self, settings: DaemonSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._backoff = Backoff(initial_seconds=settings.restart_min_seconds, max_seconds=settings.restart_max_seconds)
        self._steady_after_seconds = settings.steady_after_seconds
        self._now = now
        self._deaths = 0
        self._serving_since: float | None = None

    @property
    def pause_seconds(self) -> float:
        """Before the next try."""
        return self._backoff.nominal_seconds(self._deaths)

    def served(self) -> None:
        """It serves."""
        if self._serving_since is None:
            self._serving_since = self._now()

    def failed(self) -> None:
        """It could not be brought to serve."""
        self._deaths += 1

    def died(self) -> float:
        """It ended; how long to wait."""
        since, self._serving_since = self._serving_since, None
        if since is not None and self._now() - since >= self._steady_after_seconds:
            self._deaths = 0
        self._deaths += 1
        return self.pause_seconds

    def words(self) -> str:
        """For people."""
        return f"time {self._deaths} in a row, next start in {self.pause_seconds:g} s"
