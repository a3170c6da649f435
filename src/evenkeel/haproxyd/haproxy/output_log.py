"""What one HAProxy writes on its terminal: ``haproxy.log`` of its partition, to which HAProxy appends."""

import os
from pathlib import Path

from evenkeel.haproxyd.haproxy.alerts import alerts

TAIL_BYTES = 64 * 1024


class OutputLog:
    """Of one partition. Every function reads the file, which may block shortly."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def position(self) -> int:
        """Where the next output begins, in bytes."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def alerts_since(self, position: int) -> str:
        """Why HAProxy refused what it was told after this :meth:`position`."""
        return alerts(self._tail(position)) or "HAProxy gave no reason"

    def last_alert(self) -> str:
        """The last reason that it gave for anything; empty: none."""
        return alerts(self._tail(0)).split("; ")[-1]

    def _tail(self, position: int) -> str:
        try:
            with self.path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                start = position if position <= end else 0  # it may have been truncated meanwhile
                file.seek(max(start, end - TAIL_BYTES))
                return file.read(TAIL_BYTES).decode(errors="replace")
        except OSError:
            return ""
