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

STATUS_LISTENER_TITLE = "octavia-driver-agent - status_listener"
"""Title of driver-agent's process that receives reports, and of the processes that it forks for them."""
PATIENCE_SECONDS, LOOK_SECONDS = 1.0, 0.05
"""Time within which most reports end, and pause between two looks at the processes."""
ProcessIdentities = frozenset[tuple[int, str]]
"""Process ids, each with the process's start time, because ids are reused."""


def report_processes(socket: Path | None = None, proc: Path = Path("/proc")) -> ProcessIdentities:
    """Return the processes on this machine in which a driver-agent is carrying out reports: children of its
    listener.

    ``socket``: path of the driver-agent's socket for reports, also if the socket was replaced; None: of all
    driver-agents. ``proc``: where the proc file system is mounted.
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
        if title == STATUS_LISTENER_TITLE:
            parents[int(folder.name)], starts[int(folder.name)] = int(fields[1]), fields[19]
    found = [pid for pid, parent in parents.items() if parent in parents]
    if socket is not None:
        sockets = _bound_socket_paths(proc)
        found = [pid for pid in found if not _serves_other_socket(proc / str(pid), sockets, os.path.realpath(socket))]
    return frozenset((pid, starts[pid]) for pid in found)


def _bound_socket_paths(proc: Path) -> dict[str, str]:
    """Return ``{target of a descriptor's link in /proc: path}`` for all Unix sockets that are bound to a path."""
    found: dict[str, str] = {}
    for line in (proc / "net" / "unix").read_text(errors="replace").splitlines()[1:]:
        # number, references, protocol, flags, type, state, inode, path
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("/"):
            found[f"socket:[{fields[6]}]"] = os.path.realpath(fields[7])
    return found


def _serves_other_socket(process: Path, sockets: Mapping[str, str], own: str) -> bool:
    """Whether a process has sockets bound to paths, but none bound to ``own``. False if that cannot be read."""
    try:
        descriptors = [str(descriptor.readlink()) for descriptor in (process / "fd").iterdir()]
    except OSError:
        return False
    held = {sockets[descriptor] for descriptor in descriptors if descriptor in sockets}
    return bool(held) and own not in held


class UnconfirmedReports:
    """Tracks reports to driver-agent that may still be applied although their outcome is unknown. Thread-safe."""

    def __init__(
        self,
        barrier: Callable[[], None],
        processes: Callable[[], ProcessIdentities] = report_processes,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Initialize. ``barrier``: sends an empty report; when it is answered, each earlier report has a process;
        ``patience_seconds``: how long :meth:`number` waits for these processes to end.
        """
        self._barrier = barrier
        self._processes = processes
        self._patience_seconds = patience_seconds
        # the barrier itself may be a report without an answer
        self._lock = threading.RLock()
        self._is_unknown = True
        self._left: ProcessIdentities = frozenset()

    def number(self) -> int:
        """Wait, at most the patience, for earlier reports to end, and return how many may still be under way.
        Raises the errors of the barrier.
        """
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
    def may_be_under_way(self) -> bool:
        """Whether an earlier report may be under way, as far as is known without looking at processes."""
        with self._lock:
            return self._is_unknown or bool(self._left)

    def record_unknown_outcome(self) -> None:
        """Record that a report was sent and not answered."""
        with self._lock:
            self._is_unknown = True
