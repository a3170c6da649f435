"""The output of one HAProxy: ``haproxy.log`` of its partition, to which HAProxy appends."""

import os
from pathlib import Path

import structlog

from evenkeel.haproxyd.haproxy.alerts import extract_alerts

log = structlog.get_logger(__name__)

TAIL_BYTES = 64 * 1024


class OutputLog:
    """Output log of one partition's HAProxy. Methods read the file, which may block shortly."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def writable_path(self) -> Path:
        """Return the path for HAProxy's output: that of the log, which is created if it is missing, or
        ``/dev/null`` if the log cannot be opened, as on a read-only disk.
        """
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        except OSError as error:
            log.warning("haproxy's log cannot be opened; its output is lost", log=str(self.path), reason=error.strerror)
            return Path(os.devnull)
        return self.path

    def end_offset(self) -> int:
        """Return the size of the log in bytes, at which the next output begins; 0 without a log."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def alerts_since(self, position: int) -> str:
        """Return HAProxy's error messages after the offset ``position`` (bytes), within the last 64 KiB of
        the log; "HAProxy gave no reason" if there are none.
        """
        return extract_alerts(self._read_tail(position)) or "HAProxy gave no reason"

    def last_alert(self) -> str:
        """Return the last error message in the last 64 KiB of HAProxy's log; empty if there is none."""
        return extract_alerts(self._read_tail(0)).split("; ")[-1]

    def _read_tail(self, position: int) -> str:
        try:
            with self.path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                start = position if position <= end else 0  # the file may have been truncated in the meantime
                file.seek(max(start, end - TAIL_BYTES))
                return file.read(TAIL_BYTES).decode(errors="replace")
        except OSError:
            return ""
