"""A worker as seen by its parent: its process, its last notification, and the connection to it."""

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from evenkeel.cmd.controllers.workers.connection import WorkerConnection

ENTRY_MODULE = "evenkeel.cmd.controllers.workers.entry"
NOTIFICATION_BYTES_MAX = 4096
"""Maximum length of a notification in bytes (sd_notify(3))."""


class WorkerDescriptors(NamedTuple):
    """File descriptors passed to a worker: of the API's listening socket, of the socket for notifications to
    the parent (sd_notify(3)), and of the connection to the parent.
    """

    api: int
    notices: int
    connection: int


class WorkerProcess:
    """A running worker process, as its parent sees it. Create it with :meth:`start`."""

    def __init__(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        notices: socket.socket,
        connection: WorkerConnection,
        on_serving: Callable[["WorkerProcess"], None],
    ) -> None:
        self.number = number
        self.pid = process.pid
        self.connection = connection
        self._process = process
        self._notices = notices
        self._on_serving = on_serving
        self._served_at: float | None = None
        self._beat_at = 0.0

    @classmethod
    async def start(
        cls,
        number: int,
        words: Sequence[str],
        api: socket.socket,
        *,
        beat_seconds: float,
        on_serving: Callable[["WorkerProcess"], None],
    ) -> "WorkerProcess":
        """Start a worker's process and return without waiting until it serves.

        ``words``: the command's name and arguments. ``api``: the listening socket. ``beat_seconds``: time
        within which the worker has to send notifications. ``on_serving`` is called as soon as it serves.
        Raises :class:`OSError` without memory, processes or descriptors.
        """
        with ExitStack() as on_failure:
            # Datagrams, because sd_notify(3) separates notifications by the boundaries of messages.
            notices, its_notices = map(on_failure.enter_context, socket.socketpair(type=socket.SOCK_DGRAM))
            connection, its_line = map(on_failure.enter_context, socket.socketpair())
            passed = WorkerDescriptors(api.fileno(), its_notices.fileno(), its_line.fileno())
            own = (sys.executable, "-m", ENTRY_MODULE, str(number), str(beat_seconds), *map(str, passed))
            # The parent closes its copies of the worker's ends: a side sees the end of the other only when no copy is
            # open.
            with its_notices, its_line:
                process = await asyncio.create_subprocess_exec(
                    *own, *words, stdin=asyncio.subprocess.DEVNULL, pass_fds=passed
                )
            notices.setblocking(False)
            worker = cls(number, process, notices, WorkerConnection(connection), on_serving)
            try:
                await worker.connection.open()
            except BaseException:
                # Nobody else knows the process: a parent that is stopped now would not wait for its end.
                process.kill()
                await process.wait()
                raise
            asyncio.get_running_loop().add_reader(notices.fileno(), worker.read_notifications)
            on_failure.pop_all()
        return worker

    @property
    def serves(self) -> bool:
        """Whether the worker has reported that it serves."""
        return self._served_at is not None

    def served_seconds(self) -> float:
        """Return the seconds since the worker reported that it serves; 0 if it never did."""
        return 0.0 if self._served_at is None else time.monotonic() - self._served_at

    def read_notifications(self) -> None:
        """Read and process all pending notifications of the worker."""
        while True:
            try:
                notice = self._notices.recv(NOTIFICATION_BYTES_MAX).decode().splitlines()
            except OSError:
                # Either everything is read (BlockingIOError), or the worker is gone, which wait_for_exit() reports.
                return
            self._beat_at = time.monotonic()
            if "READY=1" in notice and self._served_at is None:
                self._served_at = self._beat_at
                self._on_serving(self)

    def reset_silence_timer(self) -> None:
        """Restart the measurement of the worker's silence now."""
        self._beat_at = time.monotonic()

    def is_hanging(self, beat_seconds: float) -> bool:
        """Whether a serving worker has sent no notification for ``beat_seconds``; False before it serves,
        when it may wait for the database or the bus.
        """
        self.read_notifications()  # notifications may be unread, because the parent's loop was busy
        return self.serves and time.monotonic() - self._beat_at > beat_seconds

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal; a worker that is gone is ignored."""
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def wait_for_exit(self) -> int:
        """Wait for the end of the process, close the connections to it, and return its exit code; negative:
        the signal that killed it. May be called again.
        """
        code = await self._process.wait()
        # A second wait is possible: Parent.stop() waits again for a worker whose first wait was cancelled.
        if self._notices.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._notices.fileno())
            self._notices.close()
        await self.connection.close()
        return code
