"""Reports that may still be under way in octavia-driver-agent although nobody waits for them any more.

driver-agent forks a process for each report. One that waits for Octavia's database goes on when the agent that sent the
report was killed, or has given up waiting, and applies it late: by then the same objects may have been reported again,
changed or deleted by their tenant, and would be shown as ACTIVE. Therefore, after each report whose outcome is unknown,
and at the start, nothing is reported until all processes of earlier reports have ended.

Another driver-agent of the same machine has a socket of its own. Its reports are not waited for: they may be frozen
with it for as long as this agent acts in its place.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

LISTENER = "octavia-driver-agent - status_listener"
"""Title of the process that takes reports, and of those that it forks for them."""
PATIENCE_SECONDS, LOOK_SECONDS = 1.0, 0.05
"""Time that most reports need to end, and the pause between two looks at their processes."""
Processes = frozenset[tuple[int, str]]
"""Process ids, each with the time of its start: an id alone may be another process's later."""


def report_processes(socket: Path | None = None, proc: Path = Path("/proc")) -> Processes:
    """Return the processes of reports that are under way on this machine: children of a listener.

    ``socket``: path of the driver-agent's socket for reports, also of one that was replaced; without it, those of all
    driver-agents.
    """
    parents: dict[int, int] = {}
    starts: dict[int, str] = {}
    for folder in proc.glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes().rstrip(b"\0 ").decode(errors="replace")
            # the name in brackets may contain spaces; state, parent and so on follow it
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if title == LISTENER:
            parents[int(folder.name)], starts[int(folder.name)] = int(fields[1]), fields[19]
    found = [pid for pid, parent in parents.items() if parent in parents]
    if socket is not None:
        sockets = _sockets(proc)
        found = [pid for pid in found if not _serves_another(proc / str(pid), sockets, os.path.realpath(socket))]
    return frozenset((pid, starts[pid]) for pid in found)


def _sockets(proc: Path) -> dict[str, str]:
    """Return the path that each Unix socket is bound to, by what its descriptor is a link to."""
    found: dict[str, str] = {}
    for line in (proc / "net" / "unix").read_text(errors="replace").splitlines()[1:]:
        # number, references, protocol, flags, type, state, inode, path
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("/"):
            found[f"socket:[{fields[6]}]"] = os.path.realpath(fields[7])
    return found


def _serves_another(process: Path, sockets: Mapping[str, str], own: str) -> bool:
    """Whether a process has sockets that are bound to paths, but none to ``own``. False if that can't be read."""
    try:
        descriptors = [str(descriptor.readlink()) for descriptor in (process / "fd").iterdir()]
    except OSError:
        return False
    held = {sockets[descriptor] for descriptor in descriptors if descriptor in sockets}
    return bool(held) and own not in held


class EarlierReports:
    """Whether earlier reports may still be under way. Thread-safe."""

    def __init__(
        self,
        barrier: Callable[[], None],
        processes: Callable[[], Processes] = report_processes,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Initialize. ``barrier``: an empty report, after whose answer all earlier reports have a process;
        ``patience_seconds``: longest that :meth:`number` waits for their end.
        """
        self._barrier = barrier
        self._processes = processes
        self._patience_seconds = patience_seconds
        # the barrier itself may be a report without an answer
        self._lock = threading.RLock()
        self._is_unknown = True
        self._left: Processes = frozenset()

    def number(self) -> int:
        """Return the number of earlier reports that may be under way. Raises the errors of the barrier."""
        with self._lock:
            if self._is_unknown:
                self._barrier()
                self._left |= self._processes()
                self._is_unknown = False
            until = time.monotonic() + self._patience_seconds
            while self._left:
                self._left &= self._processes()
                if time.monotonic() >= until:
                    break
                time.sleep(LOOK_SECONDS)
            return len(self._left)

    @property
    def may_be(self) -> bool:
        """Whether one may be under way, without a look."""
        with self._lock:
            return self._is_unknown or bool(self._left)

    def outcome_is_unknown(self) -> None:
        """Note that a report was sent whose answer did not come."""
        with self._lock:
            self._is_unknown = True
