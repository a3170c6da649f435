"""Announces names in a process of its own, to be killed. ``python -m tests.bus.presence_process URL NAME...``

Prints ``ready`` when they are announced.
"""

import asyncio
import sys

import structlog

from evenkeel.bus.factory import open_bus
from tests.bus.patience import be_patient


async def main(url: str, *names: str) -> None:
    be_patient(setattr)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    bus = open_bus(url, name="announcer")
    await bus.start()
    for name in names:
        await bus.announce(name)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
