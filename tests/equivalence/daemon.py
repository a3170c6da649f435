"""``evenkeel-haproxyd`` as trials run it: the real daemon, which can be told to die, and whose pings find nobody at
addresses that are told to be silent, as no address of loopback is.

    python -m tests.equivalence.daemon CONTROL-DIRECTORY FAULT OPTIONS-OF-THE-DAEMON

In the directory, ``dies_after`` has the number of effects (files replaced or made durable, commands to HAProxy) before
which it kills itself, and ``silent`` the silent addresses. ``FAULT`` is one of :data:`.faults.FAULTS`, or ``-``.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenkeel.cmd import haproxyd
from evenkeel.haproxyd.haproxy.runtime.master_cli import MasterCli
from evenkeel.haproxyd.health import ping
from evenkeel.haproxyd.health.icmp import IcmpPing
from tests.equivalence.faults import FAULTS

DIES_AFTER, SILENT = "dies_after", "silent"


class Deaths:
    """Counts effects, once there is a file with their number."""

    def __init__(self, control: Path) -> None:
        self._file = control / DIES_AFTER
        self._left: int | None = None

    def effect(self) -> None:
        """The daemon is about to have an effect."""
        if self._left is None:
            if not self._file.exists():
                return
            self._left = int(self._file.read_text())
        if not self._file.exists():  # disarmed
            self._left = None
            return
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, as one that has an effect."""

        def counted(*arguments: Any, **named: Any) -> Any:
            self.effect()
            return function(*arguments, **named)

        return counted


class Ping(IcmpPing):
    """Pings, but for silent addresses."""

    silent: Path

    async def __call__(self, address: str, timeout_seconds: float) -> bool:
        if self.silent.exists() and address in self.silent.read_text().split():
            return False
        return await super().__call__(address, timeout_seconds)


def serve(control: Path, fault: str, arguments: list[str]) -> int:
    """Run the daemon."""
    sys.argv = ["evenkeel-haproxyd", *arguments]
    stack = contextlib.ExitStack()
    if fault != "-":
        stack.enter_context(FAULTS[fault].plant())
    deaths = Deaths(control)
    os.replace = deaths.before(os.replace)
    os.fsync = deaths.before(os.fsync)
    MasterCli._send_request = deaths.before(MasterCli._send_request)  # type: ignore[method-assign]
    Ping.silent = control / SILENT
    ping.IcmpPing = Ping  # type: ignore[misc]
    with stack:
        return haproxyd.main()


def main() -> int:
    """Be the daemon."""
    control, fault, *arguments = sys.argv[1:]
    return serve(Path(control), fault, arguments)


if __name__ == "__main__":
    sys.exit(main())
