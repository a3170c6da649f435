"""Stopping a process as a frozen host does."""

import asyncio
import contextlib
import signal
import sqlite3
from collections.abc import Callable

from tests.waiting import eventually

BUS_SECONDS = 1.0
LIMIT_SECONDS = 120.0


async def freeze(send_signal: Callable[[signal.Signals], object], transport_url: str) -> None:
    """Stop a process, but not in the middle of a write to the embedded bus: its lock would stop everybody."""

    async def still() -> bool:
        send_signal(signal.SIGSTOP)
        if await asyncio.to_thread(_bus_is_free, transport_url):
            return True
        send_signal(signal.SIGCONT)
        return False

    await eventually(still, within_seconds=LIMIT_SECONDS)


def _bus_is_free(transport_url: str) -> bool:
    """Can somebody else write? Those who are awake keep the file for some milliseconds at most."""
    with contextlib.closing(sqlite3.connect(transport_url.removeprefix("embedded://"), timeout=BUS_SECONDS)) as bus:
        try:
            bus.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        bus.rollback()
    return True
