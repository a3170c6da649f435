"""Growing pauses between restarts of HAProxy."""

import time
from collections.abc import Callable

from evenkeel.core.kit.backoff import Backoff
from evenkeel.haproxyd.settings import DaemonSettings


class RestartBackoff:
    """Pauses before restarts of HAProxy: they double with each failure, up to a maximum, and are reset by an
    exit after HAProxy has served for ``steady_after_seconds``.
    """

    def __init__(self, settings: DaemonSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._backoff = Backoff(initial_seconds=settings.restart_min_seconds, max_seconds=settings.restart_max_seconds)
        self._steady_after_seconds = settings.steady_after_seconds
        self._now = now
        self._failures = 0
        self._serving_since: float | None = None

    @property
    def pause_seconds(self) -> float:
        """Return the seconds to wait before the next start, after the failures recorded so far."""
        return self._backoff.nominal_seconds(self._failures)

    def record_serving(self) -> None:
        """Record that HAProxy serves; if it does so for ``steady_after_seconds``, :meth:`record_exit` resets the
        pauses.
        """
        # Later passes do not restart the time for which HAProxy has served.
        if self._serving_since is None:
            self._serving_since = self._now()

    def record_failed_start(self) -> None:
        """Record that HAProxy could not be started, which doubles the next pause up to the maximum."""
        self._failures += 1

    def record_exit(self) -> float:
        """Record that HAProxy ended without being stopped; returns the seconds to wait before the next start.
        After ``steady_after_seconds`` of service, the pauses begin anew.
        """
        since, self._serving_since = self._serving_since, None
        if since is not None and self._now() - since >= self._steady_after_seconds:
            self._failures = 0
        self._failures += 1
        return self.pause_seconds

    def describe(self) -> str:
        """Describe the number of consecutive failures and the pause before the next start, for operators."""
        return f"time {self._failures} in a row, next start in {self.pause_seconds:g} s"
