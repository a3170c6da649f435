"""Announces names in a process of its own, to be killed. ``python -m tests.bus.presence_process URL NAME[=QUEUE]...``

Prints ``ready`` when they are announced. QUEUE gets a will of session ``s1`` of agent ``a1``.
"""

import asyncio
import sys

import structlog

from evenkeel.bus.factory import open_bus
from evenkeel.core.ports import Will
from evenkeel.core.protocol.messages import Departure
from tests.bus.patience import be_patient


async def main(url: str, *names: str) -> None:
    be_patient(setattr)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    bus = open_bus(url, name="announcer")
    await bus.start()
    for name in names:
        announced, _, queue = name.partition("=")
        will = Will(queue=queue, message=Departure(agent_id="a1", session_id="s1")) if queue else None
        await bus.announce(announced, will)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
