"""Detects a database that answers reads and accepts no writes: a standby, a read-only server, a full disk, a hanging
commit.

Evidence are the writes of the process itself; a controller makes one every few seconds
(:class:`~evenkeel.controller.presence.Presence`).
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import structlog

from evenkeel.core.kit.errors import StoreUnavailable

REFUSAL_SHOWN_SECONDS = 15.0
"""Time for which a refused write counts as evidence: three intervals of the controller's own write. A later success
does not end this time, because a transaction that happens to change nothing succeeds on a standby server, too.
"""
HUNG_WRITE_SECONDS = 15.0
"""Duration from which a write counts as hanging."""
REASON_CHARACTERS_MAX = 200

log = structlog.get_logger(__name__)


class WriteWatch:
    """Recent writes of a process, shared by all of its handles to one database.

    ``reason_of`` returns the server's reason for refusing to write, from the cause of a
    :class:`StoreUnavailable`; empty if the server did not refuse. ``now_seconds`` returns a monotonic time.
    """

    def __init__(
        self, reason_of: Callable[[BaseException | None], str], now_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._reason_of = reason_of
        self._now_seconds = now_seconds
        self._reason = ""
        self._refused_at = float("-inf")
        self._running: dict[object, float] = {}
        """Monotonic start times of running writes, the oldest first."""

    @contextlib.contextmanager
    def watch_write(self) -> Iterator[None]:
        """Context manager around one write: counts the write as running, and records the server's reason if
        it refuses to write.
        """
        token = object()
        self._running[token] = self._now_seconds()
        try:
            yield
        except StoreUnavailable as error:
            if reason := self._reason_of(error.__cause__):
                self._record_refusal(reason.partition("\n")[0][:REASON_CHARACTERS_MAX])
            raise
        finally:
            del self._running[token]

    def _record_refusal(self, reason: str) -> None:
        # Logged once: a standby refuses every write.
        if not self.problem():
            log.error("database takes no writes", reason=reason)
        self._reason, self._refused_at = reason, self._now_seconds()

    def problem(self) -> str:
        """Return why nothing can be written to the database: a refusal within :data:`REFUSAL_SHOWN_SECONDS`, or a
        write that hangs; empty if neither is known. Thread-safe.
        """
        now = self._now_seconds()
        if now - self._refused_at < REFUSAL_SHOWN_SECONDS:
            return self._reason
        # A copy: event loops of several threads begin and end writes meanwhile.
        oldest = min(tuple(self._running.values()), default=now)
        return f"a write has not ended within {HUNG_WRITE_SECONDS:.0f} s" if now - oldest > HUNG_WRITE_SECONDS else ""
