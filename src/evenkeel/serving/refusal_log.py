"""Refusals in the log, without letting strangers write it: the first one at once, then sums."""

from collections import Counter
from collections.abc import Callable
from time import monotonic

import structlog

log = structlog.get_logger(__name__)

EVERY_SECONDS = 10.0


class RefusalLog:
    """Counts why connections and requests were refused, and says so now and then."""

    def __init__(self, server: str, *, monotonic: Callable[[], float] = monotonic) -> None:
        """``server``: which one of this process's."""
        self._server = server
        self._monotonic = monotonic
        self._counts: Counter[str] = Counter()
        self._next_at = float("-inf")

    def add(self, reason: str, peer: str = "") -> None:
        """Count one. ``reason``: one of few constant texts; ``peer``: the last one is told."""
        self._counts[reason] += 1
        now = self._monotonic()
        if now < self._next_at:
            return
        self._next_at = now + EVERY_SECONDS
        counts, self._counts = self._counts, Counter()
        for why, count in counts.items():
            log.warning("refused", server=self._server, reason=why, count=count, last_peer=peer)
