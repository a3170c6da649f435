"""Child processes with logs and readiness checks; on Linux they never outlive their parent.

Used by the demo and by the acceptance tests. All are started by one thread that lives as long as this
process, because on Linux a child dies with the thread that started it.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TAIL_LINES = 20
POLL_SECONDS = 0.05
STOP_SECONDS = 10.0

_CHILD_SCRIPT = Path(__file__).with_name("child.py")
_start_executor = ThreadPoolExecutor(1, thread_name_prefix="process-starter")


class ProcessFailed(Exception):
    """A process failed, could not be ended, or was used before its start. An error made by
    :meth:`DemoProcess.failure` ends with the last lines of the process's log.
    """


class DemoProcess:
    """One program under a name. A restart appends to the same log. ``environment``: additional environment
    variables.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        # Unbuffered, so that the log of a killed process is complete.
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Pid of the process, also after it ended. Raises :class:`ProcessFailed` if it was never started."""
        if self._popen is None:
            raise ProcessFailed(f"{self.name} has not been started")
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def state(self) -> str:
        """State of the process as text, for reports."""
        if self._popen is None:
            return "never started"
        return "running" if self.running else f"exit code {self._popen.returncode}"

    def start(self) -> None:
        """Start the program, unless it runs; its output goes to the log."""
        if not self.running:
            self._popen = _start_executor.submit(self._open_process).result()

    def _open_process(self) -> subprocess.Popen[bytes]:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603  # a command of the demo's
                [sys.executable, "-I", "-S", str(_CHILD_SCRIPT), str(os.getpid()), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,  # Ctrl-C at the terminal must reach only the supervisor
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal, such as SIGSTOP, unless the process has ended."""
        if self._popen is not None:
            self._popen.send_signal(number)

    def kill(self) -> None:
        """Kill the process (SIGKILL) and wait, at most :data:`STOP_SECONDS`, until it has ended."""
        self.send(signal.SIGKILL)
        self.wait(STOP_SECONDS)

    def stop(self, timeout_seconds: float = STOP_SECONDS) -> None:
        """Terminate the process; kill it if it has not ended after ``timeout_seconds``."""
        self.send(signal.SIGTERM)
        if not self.wait(timeout_seconds):
            self.kill()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for the process's end; returns whether it has ended within ``timeout_seconds``. True if it was
        never started.
        """
        if self._popen is None:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout_seconds)
        return not self.running

    def failure(self, what: str) -> ProcessFailed:
        """Create an error about this process that shows the end of its log."""
        return ProcessFailed(f"{self.name} ({self.state}): {what}\n--- {self.log}\n{self.tail()}")

    def tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last ``lines`` lines of the process's log."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    async def run(self, *, timeout_seconds: float) -> None:
        """Run the program to its end. Raises :class:`ProcessFailed` for an exit code other than 0; after the
        time-out it is killed first.
        """
        self.start()
        has_ended = await asyncio.to_thread(self.wait, timeout_seconds)
        if not has_ended:
            self.kill()
            raise self.failure(f"did not end within {timeout_seconds:.0f} s")
        if self._popen is None or self._popen.returncode != 0:
            raise self.failure("failed")

    async def wait_until(self, ready: Callable[[], bool], what: str, *, timeout_seconds: float) -> None:
        """Wait until ``ready()`` is true. ``what``: text for errors that names what is awaited. Raises
        :class:`ProcessFailed` if the process ends before, or after the time-out.
        """
        deadline = time.monotonic() + timeout_seconds
        while not ready():
            if not self.running:
                raise self.failure(f"ended while waiting for {what}")
            if time.monotonic() > deadline:
                raise self.failure(f"no {what} within {timeout_seconds:.0f} s")
            await asyncio.sleep(POLL_SECONDS)


def stop_all(processes: Sequence[DemoProcess], timeout_seconds: float = STOP_SECONDS) -> None:
    """Terminate all processes concurrently; processes still running after ``timeout_seconds`` are killed."""
    for process in processes:
        # A frozen process handles SIGTERM only when it continues.
        process.send(signal.SIGCONT)
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + timeout_seconds
    for process in processes:
        if not process.wait(max(0.0, deadline - time.monotonic())):
            process.kill()
