"""When a master that starts or reloads is worth a query.

A master binds its socket anew at each execution, also when it executes itself after it has read its configuration.
Until then connections are refused, or reset (2.6), and each attempt costs far more than a look at the file.
"""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_SECONDS = 0.1
"""After this time an unchanged socket is tried all the same."""


class MasterSocketWatch:
    """Watches the file of a master's socket from the moment before a start or reload. Looks block shortly."""

    def __init__(self, path: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._monotonic = monotonic
        self._seen = self._identity()
        self._next_seconds = monotonic() + PATIENCE_SECONDS

    def is_worth_a_query(self) -> bool:
        """Whether the socket is another one than at the last query, or that is long ago; a query is to follow."""
        now = self._identity()
        if now == self._seen and self._monotonic() < self._next_seconds:
            return False
        self._seen, self._next_seconds = now, self._monotonic() + PATIENCE_SECONDS
        return True

    def note_answer(self) -> None:
        """Have the next look find a query worthwhile: a master that answers may soon have another answer."""
        self._next_seconds = self._monotonic()

    def _identity(self) -> tuple[int, int] | None:
        """Return what tells the socket from its predecessors; None: there is none. An inode is soon used again."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_ctime_ns
