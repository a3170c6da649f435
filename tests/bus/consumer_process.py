"""A consumer in a process of its own, to be killed. ``python -m tests.bus.consumer_process URL QUEUE``

Prints ``ready``, then ``took <shard id>`` for each message, and never finishes any of them.
"""

import asyncio
import sys

import structlog

from evenkeel.bus.factory import open_bus
from evenkeel.core.protocol.messages import AnyMessage, AnyReply
from tests.bus.patience import be_patient


async def _take_and_hang(message: AnyMessage) -> AnyReply | None:
    print("took", getattr(message, "shard_id", ""), flush=True)
    await asyncio.Event().wait()
    return None


async def main(url: str, queue: str) -> None:
    be_patient(setattr)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    bus = open_bus(url, name="victim")
    await bus.start()
    await bus.consume(queue, _take_and_hang, concurrency=3)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
