"""Log of refused connections and requests at a bounded rate: the first one immediately, later ones as counts."""

import asyncio
from collections import Counter
from collections.abc import Callable
from time import monotonic

import structlog

log = structlog.get_logger(__name__)

EVERY_SECONDS = 10.0


class RefusalLog:
    """Counts the reasons of refused connections and requests, and logs them, at most every :data:`EVERY_SECONDS`."""

    def __init__(self, server: str, *, monotonic: Callable[[], float] = monotonic) -> None:
        """Initialize the log. ``server``: name of the server, for processes with several."""
        self._server = server
        self._monotonic = monotonic
        self._counts: Counter[str] = Counter()
        self._last_peer = ""
        self._next_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def add(self, reason: str, peer: str = "") -> None:
        """Count one refusal, in an event loop. ``reason``: one of a few constant texts; ``peer``: client's address, of
        which the log shows the last one.
        """
        self._counts[reason] += 1
        self._last_peer = peer
        wait_seconds = self._next_at - self._monotonic()
        if wait_seconds <= 0:
            self._log_counts()
        elif self._timer is None:  # the timer logs the sum even if no further refusal follows
            self._timer = asyncio.get_running_loop().call_later(wait_seconds, self._log_counts)

    def _log_counts(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._next_at = self._monotonic() + EVERY_SECONDS
        counts, self._counts = self._counts, Counter()
        for why, count in counts.items():
            log.warning("refused", server=self._server, reason=why, count=count, last_peer=self._last_peer)
