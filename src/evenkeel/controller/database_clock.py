"""Detects jumps of the database's clock, by which sessions and deadlines are judged, and times when it is away.

After a jump every session looks expired, or endless, until its next keepalive; while the database does not answer (it
was away, or this process was frozen) no keepalive can be stored. So for one session time-to-live afterwards nothing is
judged: in that time every agent that is alive sends a keepalive.
"""

from typing import NamedTuple

import structlog

from evenkeel.core.ports import Clock

log = structlog.get_logger(__name__)


class _Offset(NamedTuple):
    """The database's clock less ours lies between these, in seconds."""

    earliest: float
    latest: float

    def agrees(self, other: "_Offset", tolerance_seconds: float) -> bool:
        return self.earliest - tolerance_seconds <= other.latest and other.earliest - tolerance_seconds <= self.latest


class DatabaseClockMonitor:
    """Compares the database's clock with our monotonic one.

    Less than half of ``hold_seconds`` is slewing, or servers of one cluster whose clocks differ a little.
    """

    def __init__(self, clock: Clock, *, hold_seconds: float) -> None:
        self._clock = clock
        self._hold_seconds = hold_seconds
        self._tolerance_seconds = hold_seconds / 2
        self._offset: _Offset | None = None
        self._seen_at = 0.0
        self._trusted_at = clock.monotonic()

    def saw(self, database_seconds: float, *, asked_at_seconds: float) -> None:
        """The database's clock showed this some time between ``asked_at_seconds`` and now."""
        now = self._clock.monotonic()
        offset = _Offset(database_seconds - now, database_seconds - asked_at_seconds)
        if self._offset is not None:
            if not offset.agrees(self._offset, self._tolerance_seconds):
                self._hold("the database's clock jumped", now, offset.earliest - self._offset.latest)
            elif now - self._seen_at > self._hold_seconds:
                self._hold("the database was out of sight", now, now - self._seen_at)
        self._offset, self._seen_at = offset, now

    def _hold(self, reason: str, now: float, seconds: float) -> None:
        log.warning(
            f"{reason}; nobody's session or deadline is judged for a while",
            seconds=round(seconds, 1),
            hold_seconds=self._hold_seconds,
        )
        self._trusted_at = now + self._hold_seconds

    @property
    def trusted(self) -> bool:
        """No jump and no gap lately."""
        return self._clock.monotonic() >= self._trusted_at
