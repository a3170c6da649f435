"""Notices jumps of the database's clock, by which sessions and deadlines are judged.

After a jump every session looks expired, or endless, until its next keepalive: so nothing is judged for as long as
a session lives, in which every agent that is alive is heard of again.
"""

import structlog

from evenkeel.core.ports import Clock

log = structlog.get_logger(__name__)

JUMP_SECONDS = 1.0
"""Less is slewing, or a server of a cluster whose clock differs a little."""


class ClockWatch:
    """Compares the database's clock with our monotonic one."""

    def __init__(self, clock: Clock, *, hold_seconds: float) -> None:
        self._clock = clock
        self._hold_seconds = hold_seconds
        self._earliest: float | None = None
        self._latest = 0.0
        self._trusted_at = clock.monotonic()

    def saw(self, database_seconds: float, *, asked_at_seconds: float) -> None:
        """The database's clock showed this some time between ``asked_at_seconds`` and now."""
        now = self._clock.monotonic()
        earliest, latest = database_seconds - now, database_seconds - asked_at_seconds
        if self._earliest is not None and not (
            earliest - JUMP_SECONDS <= self._latest and latest + JUMP_SECONDS >= self._earliest
        ):
            log.warning(
                "the database's clock jumped; nobody's session or deadline is judged for a while",
                jump_seconds=round(earliest - self._latest, 1),
                hold_seconds=self._hold_seconds,
            )
            self._trusted_at = now + self._hold_seconds
        self._earliest, self._latest = earliest, latest

    @property
    def trusted(self) -> bool:
        """No jump lately."""
        return self._clock.monotonic() >= self._trusted_at
