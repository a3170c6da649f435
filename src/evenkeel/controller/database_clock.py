"""Detects jumps of the database's clock, which decides sessions and deadlines, and times when it cannot be read.

After a jump every session looks expired, or endless, until its next keepalive; while the database does not answer (or
this process was suspended) no keepalive can be stored. So for one session TTL afterwards nothing counts as expired: in
that time every live agent sends a keepalive.
"""

from typing import NamedTuple

import structlog

from evenkeel.core.ports import Clock

log = structlog.get_logger(__name__)


class _ClockOffset(NamedTuple):
    """Bounds of the difference between the database's clock and the local monotonic one, in seconds."""

    earliest: float
    latest: float

    def agrees(self, other: "_ClockOffset", tolerance_seconds: float) -> bool:
        return self.earliest - tolerance_seconds <= other.latest and other.earliest - tolerance_seconds <= self.latest


class DatabaseClockMonitor:
    """Compares the database's clock with the local monotonic one, and distrusts it for ``hold_seconds`` after
    a jump or a gap.

    Tolerates differences below half of ``hold_seconds``: slewing, or small differences between servers of a
    cluster.
    """

    def __init__(self, clock: Clock, *, hold_seconds: float) -> None:
        self._clock = clock
        self._hold_seconds = hold_seconds
        self._tolerance_seconds = hold_seconds / 2
        self._offset: _ClockOffset | None = None
        self._seen_at = 0.0
        # The first reading has nothing to be compared with, and is trusted.
        self._trusted_at = clock.monotonic()

    def record_reading(self, database_seconds: float, *, asked_at_seconds: float) -> None:
        """Record a reading of the database's clock (seconds since the epoch), made between
        ``asked_at_seconds`` (monotonic) and now.
        """
        now = self._clock.monotonic()
        # The clock was read at some moment between the request and its answer, so only bounds are known.
        offset = _ClockOffset(database_seconds - now, database_seconds - asked_at_seconds)
        if self._offset is not None:
            if not offset.agrees(self._offset, self._tolerance_seconds):
                self._pause_detection("the database's clock jumped", now, offset.earliest - self._offset.latest)
            # A jump as long as the gap cannot be told from it, and agents had no chance to renew their sessions either.
            elif now - self._seen_at > self._hold_seconds:
                self._pause_detection("the database was unavailable", now, now - self._seen_at)
        self._offset, self._seen_at = offset, now

    def _pause_detection(self, reason: str, now: float, seconds: float) -> None:
        log.warning(
            f"{reason}; expiry of sessions and deadlines is suspended",
            seconds=round(seconds, 1),
            hold_seconds=self._hold_seconds,
        )
        self._trusted_at = now + self._hold_seconds

    @property
    def is_trusted(self) -> bool:
        """Whether there was no jump of the database's clock, nor a gap between readings, within the last
        ``hold_seconds``.
        """
        return self._clock.monotonic() >= self._trusted_at
