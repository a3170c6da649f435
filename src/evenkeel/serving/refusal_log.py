"""Logs refusals at a bounded rate: the first one at once, then sums."""

from collections import Counter
from collections.abc import Callable
from time import monotonic

import structlog

log = structlog.get_logger(__name__)

EVERY_SECONDS = 10.0


class RefusalLog:
    """Counts the reasons of refused connections and requests, and logs them periodically."""

    def __init__(self, server: str, *, monotonic: Callable[[], float] = monotonic) -> None:
        """``server``: name of the server, for processes with several."""
        self._server = server
        self._monotonic = monotonic
        self._counts: Counter[str] = Counter()
        self._next_at = float("-inf")

    def add(self, reason: str, peer: str = "") -> None:
        """Count one. ``reason``: one of few constant texts; ``peer``: the log shows the last one."""
        self._counts[reason] += 1
        now = self._monotonic()
        if now < self._next_at:
            return
        self._next_at = now + EVERY_SECONDS
        counts, self._counts = self._counts, Counter()
        for why, count in counts.items():
            log.warning("refused", server=self._server, reason=why, count=count, last_peer=peer)
