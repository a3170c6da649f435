"""Common parts of all processes: clock, ids and stop signals."""

import asyncio
import gc
import signal
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from evenkeel.core.kit.errors import BusUnavailable

if TYPE_CHECKING:  # the HAProxy daemon has no bus, and starts without all of the ports
    from evenkeel.core.ports import Bus

log = structlog.get_logger(__name__)

NEIGHBOUR_RETRY_SECONDS = 1.0
"""Delay between tries to connect to a service at start."""


class SystemClock:
    """The real monotonic clock."""

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary fixed time."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        await asyncio.sleep(seconds)


def new_id() -> str:
    return str(uuid.uuid4())


def tune_collector() -> None:
    """Exempt all present objects from Python's cyclic garbage collector. Call it after all modules are
    loaded.
    """
    # Before freeze(), which exempts garbage, too.
    gc.collect()
    gc.freeze()


def handle_stop_signals(stop: Callable[[], None]) -> None:
    """From now on call ``stop`` in the running loop at SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


async def start_bus(bus: "Bus") -> None:
    """Start the message bus; while it is unreachable, log that and try again every second."""
    while True:
        try:
            await bus.start()
            return
        except BusUnavailable as error:
            log.warning("message bus unreachable; trying again", error=str(error))
            await asyncio.sleep(NEIGHBOUR_RETRY_SECONDS)
