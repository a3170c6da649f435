"""Notifications to the service manager of this process.

For systemd: its notification protocol (sd_notify(3)), with ready, stopping and the watchdog; without systemd nothing
happens. For containers: a file whose age shows whether the process lives. The protocol is stable and takes fifteen
lines: the libraries for it are not maintained, or bind to libsystemd.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable, MutableMapping
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

HEALTH_SECONDS = 15.0
"""Age of the health file from which the process counts as hanging."""
KEEP_ALIVES_PER_TIMEOUT = 3
"""Notifications per watchdog time-out, so that one of them may be lost or late."""


class EventLoopWatchdog:
    """Shows other threads whether an event loop still runs its tasks."""

    def __init__(self) -> None:
        self._beat_at_seconds = time.monotonic()

    async def record_beats(self, interval_seconds: float = 1.0) -> None:
        """Record beats until cancelled. Runs in the event loop that is watched."""
        while True:
            self._beat_at_seconds = time.monotonic()
            await asyncio.sleep(interval_seconds)

    def is_stopped(self, within_seconds: float) -> bool:
        """Whether the loop has run no task for more than ``within_seconds``."""
        return time.monotonic() - self._beat_at_seconds > within_seconds


class ServiceManager:
    """Sends notifications about this process to systemd or to its parent; one that cannot be sent raises
    nothing.

    ``health_file`` is written as often as the watchdog is notified; empty: none. ``parent`` and
    ``watchdog_seconds``: in a worker, the socket to its parent, which receives the notifications instead of
    systemd, and the parent's time-out for them.

    systemd's variables are removed from ``environment``, because child processes, such as HAProxy, speak the
    protocol, too.
    """

    def __init__(
        self,
        environment: MutableMapping[str, str] = os.environ,
        *,
        health_file: str = "",
        parent: socket.socket | None = None,
        watchdog_seconds: float = 0.0,
    ) -> None:
        self._parent = parent
        if parent is not None:
            # A parent that does not read must not stop this process's event loop; a lost notification is repeated.
            parent.setblocking(False)
        self._health_file = Path(health_file) if health_file else None
        address = environment.pop("NOTIFY_SOCKET", "")
        # systemd writes the zero byte of an abstract socket's address as @.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        microseconds = environment.pop("WATCHDOG_USEC", "")
        of = environment.pop("WATCHDOG_PID", "")
        # The variables are inherited: they are meant for this process only if the watchdog names no other.
        mine = of in ("", str(os.getpid()))
        self.watchdog_seconds = int(microseconds) / 1e6 if microseconds.isdigit() and mine else watchdog_seconds
        """Time-out of systemd's watchdog in seconds; 0 without a watchdog."""

    def notify_ready(self) -> None:
        """Notify that the process serves."""
        self._send_notification("READY=1\nSTATUS=serving")

    def set_status(self, text: str) -> None:
        """Set the status line shown by ``systemctl status``."""
        self._send_notification(f"STATUS={text}")

    def notify_stopping(self) -> None:
        """Notify that the process has begun to end."""
        self._send_notification("STOPPING=1\nSTATUS=stopping")

    async def watch(
        self, *, hangs: Callable[[float], bool] = lambda _seconds: False, problem: str = "an event loop hangs"
    ) -> None:
        """Notify the watchdog and write the health file, three times per time-out, until cancelled; returns
        at once without a watchdog and a health file.

        ``hangs`` returns whether another event loop has not run for the given number of seconds: then both
        are withheld and ``problem`` is logged.
        """
        seconds = self.watchdog_seconds or (HEALTH_SECONDS if self._health_file else 0.0)
        while seconds:
            if hangs(seconds):
                log.error(f"{problem}; the service manager will restart this process")
            else:
                self._send_notification("WATCHDOG=1")
                self._touch_health_file()
            await asyncio.sleep(seconds / KEEP_ALIVES_PER_TIMEOUT)

    def _touch_health_file(self) -> None:
        if self._health_file is None:
            return
        try:
            self._health_file.write_text(f"{time.time():.0f}\n")
        except OSError as error:
            log.warning("the health file is not written", file=str(self._health_file), error=str(error))

    def _send_notification(self, text: str) -> None:
        if self._parent is not None:
            with contextlib.suppress(OSError):  # it is gone, which ends this process
                self._parent.send(text.encode())
            return
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notifying:
                # The event loop must not wait for systemd, whose queue may be full.
                notifying.setblocking(False)
                notifying.sendto(text.encode(), self._address)
        except OSError as error:
            log.warning("notification to systemd failed", error=str(error))
