"""The output of one HAProxy: ``haproxy.log`` of its partition, to which HAProxy appends."""

import os
from pathlib import Path

from evenkeel.haproxyd.haproxy.alerts import alerts

TAIL_BYTES = 64 * 1024


class OutputLog:
    """The log of one partition. Every method reads the file, which may block shortly."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def position(self) -> int:
        """Offset of the next output, in bytes."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def alerts_since(self, position: int) -> str:
        """Why HAProxy refused what it read after this :meth:`position`."""
        return alerts(self._tail(position)) or "HAProxy gave no reason"

    def last_alert(self) -> str:
        """HAProxy's last error message; empty: none."""
        return alerts(self._tail(0)).split("; ")[-1]

    def _tail(self, position: int) -> str:
        try:
            with self.path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                start = position if position <= end else 0  # the file may have been truncated in the meantime
                file.seek(max(start, end - TAIL_BYTES))
                return file.read(TAIL_BYTES).decode(errors="replace")
        except OSError:
            return ""
