"""Ensures that no HAProxy of a cluster is left, however the cluster's process ends."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from evenkeel.demo.device_kinds import leftovers
from evenkeel.demo.processes import ProcessFailed

CLOSE_SECONDS = leftovers.LIMIT_SECONDS + 30.0


class ProcessGuard:
    """Runs a separate process that ends every HAProxy of a cluster when this process closes a pipe or dies.
    ``directory``: the cluster's; ``removed``: directories to delete then; ``table``: name of the nftables
    table to remove; ``log``: the process's log.
    """

    def __init__(self, directory: Path, *, removed: Sequence[Path] = (), table: str = "", log: Path) -> None:
        self._command = [sys.executable, "-I", "-S", leftovers.__file__, str(directory), table, *map(str, removed)]
        self._log = log
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the guard process, unless it runs. Call this before the first daemon is started."""
        if self._popen is None:
            with self._log.open("ab") as output:
                # its own session: Ctrl-C at the terminal must not end it before its work is done
                self._popen = subprocess.Popen(  # noqa: S603  # this interpreter, a script of ours, paths we made
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

    def close(self) -> None:
        """Stop every HAProxy now, if the guard was started; blocks until that is done. Raises
        :class:`~evenkeel.demo.processes.ProcessFailed` if some could not be ended.
        """
        if self._popen is None:
            return
        popen, self._popen = self._popen, None
        if popen.stdin is not None:
            # The end of its input makes the guard clean up.
            popen.stdin.close()
        try:
            code = popen.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        if code != 0:
            raise ProcessFailed(f"the end of every HAProxy was requested, and is not certain; see {self._log}")
