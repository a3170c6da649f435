"""Decides when to query a master that starts or reloads, by the file of its socket.

A master binds its socket anew at each execution, also when it executes itself after it has read its
configuration. Until then connections are refused, or reset (2.6), and each attempt costs far more than a look
at the file.
"""

import time
from collections.abc import Callable
from pathlib import Path

UNCHANGED_SOCKET_SECONDS = 0.1
"""Time since the last query after which the master is queried although its socket is unchanged."""


class MasterSocketWatch:
    """Watches the file of a master's socket from the moment before a start or reload. Methods may block
    shortly.
    """

    def __init__(self, path: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._monotonic = monotonic
        self._seen = self._identity()
        self._next_seconds = monotonic() + UNCHANGED_SOCKET_SECONDS

    def should_query(self) -> bool:
        """Whether the caller should query the master now: the socket was created anew since the last query,
        or that was :data:`UNCHANGED_SOCKET_SECONDS` ago. True counts as a query.
        """
        now = self._identity()
        if now == self._seen and self._monotonic() < self._next_seconds:
            return False
        self._seen, self._next_seconds = now, self._monotonic() + UNCHANGED_SOCKET_SECONDS
        return True

    def record_answer(self) -> None:
        """Record that the master answered: the next call of :meth:`should_query` returns True, because
        the master may soon have another answer.
        """
        self._next_seconds = self._monotonic()

    def _identity(self) -> tuple[int, int] | None:
        """Return inode number and time of change (nanoseconds) of the socket's file, because inode numbers
        are soon reused; None if there is no file.
        """
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_ctime_ns
