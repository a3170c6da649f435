"""Common parts of all processes: clock, ids and stop signals."""

import asyncio
import gc
import signal
import time
import uuid
from collections.abc import Callable

import structlog

from evenkeel.core.kit.errors import BusUnavailable
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
    """Run the cyclic garbage collector less often, after all modules are loaded: a list of 1,000 load balancers creates
    many thousand objects, none of them cyclic, which the default would scan repeatedly.
    """
    # Before freeze(), which exempts all objects from later collections, garbage included.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def handle_stop_signals(stop: Callable[[], None]) -> None:
    """Call ``stop`` in the running loop at SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


async def start_bus(bus: Bus) -> None:
    """Wait for the message bus."""
    while True:
        try:
            await bus.start()
            return
        except BusUnavailable as error:
            log.warning("message bus unreachable; trying again", error=str(error))
            await asyncio.sleep(NEIGHBOUR_RETRY_SECONDS)
