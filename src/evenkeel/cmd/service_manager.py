"""What this process tells those that run it. systemd: its notification protocol (sd_notify(3)), with ready, stopping
and the watchdog; without systemd nothing happens. Containers: a file whose age says whether the process lives.

Fifteen lines of a stable protocol: the libraries for it are not maintained, or bind to libsystemd.
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
"""A health file that was not written for so long: the process hangs."""
BEATS_PER_TIMEOUT = 3
"""One of them may be lost or late."""


class EventLoopWatchdog:
    """Tells other threads whether an event loop still runs its tasks."""

    def __init__(self) -> None:
        self._beat_at_seconds = time.monotonic()

    async def beat(self, interval_seconds: float = 1.0) -> None:
        """In the loop to watch, until it is cancelled."""
        while True:
            self._beat_at_seconds = time.monotonic()
            await asyncio.sleep(interval_seconds)

    def stopped(self, within_seconds: float) -> bool:
        """Whether the loop has run no task for that long."""
        return time.monotonic() - self._beat_at_seconds > within_seconds


class ServiceManager:
    """``health_file``: written as often as the watchdog is fed; empty: none. ``parent``: told in systemd's stead, by a
    process that a parent of this package started, with ``watchdog_seconds``.

    The variables are removed from the environment: child processes, HAProxy for
    one, know the protocol, too."""

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
            parent.setblocking(False)
        self._health_file = Path(health_file) if health_file else None
        address = environment.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        microseconds = environment.pop("WATCHDOG_USEC", "")
        of = environment.pop("WATCHDOG_PID", "")
        mine = of in ("", str(os.getpid()))
        self.watchdog_seconds = int(microseconds) / 1e6 if microseconds.isdigit() and mine else watchdog_seconds
        """0: there is no watchdog."""

    def ready(self) -> None:
        """The process serves."""
        self._tell("READY=1\nSTATUS=serving")

    def status(self, text: str) -> None:
        """One line for ``systemctl status``."""
        self._tell(f"STATUS={text}")

    def stopping(self) -> None:
        """The process has begun to end."""
        self._tell("STOPPING=1\nSTATUS=stopping")

    async def watch(
        self, *, hangs: Callable[[float], bool] = lambda _seconds: False, problem: str = "an event loop hangs"
    ) -> None:
        """Feed the watchdog, and write the health file, as long as this loop runs, and ``hangs`` does not say of
        another one that it does not, which is the ``problem``; until it is cancelled. Returns at once without both."""
        seconds = self.watchdog_seconds or (HEALTH_SECONDS if self._health_file else 0.0)
        while seconds:
            if hangs(seconds):
                log.error(f"{problem}; the service manager will restart this process")
            else:
                self._tell("WATCHDOG=1")
                self._touch()
            await asyncio.sleep(seconds / BEATS_PER_TIMEOUT)

    def _touch(self) -> None:
        if self._health_file is None:
            return
        try:
            self._health_file.write_text(f"{time.time():.0f}\n")
        except OSError as error:
            log.warning("the health file is not written", file=str(self._health_file), error=str(error))

    def _tell(self, text: str) -> None:
        if self._parent is not None:
            with contextlib.suppress(OSError):  # it is gone, which ends this process
                self._parent.send(text.encode())
            return
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as telling:
                telling.setblocking(False)
                telling.sendto(text.encode(), self._address)
        except OSError as error:
            log.warning("systemd is not told", error=str(error))
