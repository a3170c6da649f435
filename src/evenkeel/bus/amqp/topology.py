"""What we declare on the broker. Only durable quorum queues: newer brokers refuse others, and others lose messages.

The arguments of a queue can never be changed once it exists (the broker answers 406), so neither may they here.
"""

from typing import Any

from aio_pika.abc import AbstractChannel, AbstractQueue

from evenkeel.bus.deliveries import MAX_DELIVERIES

DEAD_QUEUE = "evenkeel-dead"
"""Where messages go that are set aside; the newest ``MAX_DEAD`` are kept for the operator."""
DEAD_EXCHANGE = "evenkeel-dead"
CALLS_PREFIX = "evenkeel-calls-to_"
MAX_DEAD = 10_000
MAX_MESSAGES = 100_000
MAX_BYTES = 1024**3
ABANDONED_SECONDS = 7 * 86_400
"""A queue without consumers for that long is removed: its agent is gone."""

_QUEUE: dict[str, Any] = {
    "x-queue-type": "quorum",
    "x-delivery-limit": MAX_DELIVERIES,
    "x-dead-letter-exchange": DEAD_EXCHANGE,
    "x-max-length": MAX_MESSAGES,
    "x-max-length-bytes": MAX_BYTES,
    "x-overflow": "reject-publish",
    "x-expires": ABANDONED_SECONDS * 1000,
}
_DEAD: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": MAX_DEAD}
_DEAD_REASONS = ("rejected", "delivery_limit")
"""Not ``expired``: a call that nobody answered in time is no news."""


async def declare_queue(channel: AbstractChannel, name: str) -> AbstractQueue:
    """Make a work queue, and where its dead messages go, if they are not there."""
    await _declare_dead(channel)
    return await declare_own_queue(channel, name)


async def declare_own_queue(channel: AbstractChannel, name: str) -> AbstractQueue:
    """The queue alone: what an agent with a user of its own may declare."""
    return await channel.declare_queue(name, durable=True, arguments=_QUEUE)


def calls_exchange(queue: str) -> str:
    """Through which such agents send to a callback queue. Who may write to the default exchange may send to every
    queue; who may write to this one only, to this queue only."""
    return f"{CALLS_PREFIX}{queue}"


async def declare_calls(channel: AbstractChannel, queue: AbstractQueue) -> None:
    """Make the exchange of a callback queue."""
    exchange = await channel.declare_exchange(calls_exchange(queue.name), "fanout", durable=True)
    await queue.bind(exchange)


async def _declare_dead(channel: AbstractChannel) -> None:
    exchange = await channel.declare_exchange(DEAD_EXCHANGE, "headers", durable=True)
    queue = await channel.declare_queue(DEAD_QUEUE, durable=True, arguments=_DEAD)
    for reason in _DEAD_REASONS:
        await queue.bind(exchange, "", arguments={"x-match": "any-with-x", "x-first-death-reason": reason})
