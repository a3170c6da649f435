"""Declarations of the queues of calls and hints, and of the exchanges for calls and dead letters.

The queues are durable quorum queues, because others lose messages. Only queues of keepalives, which may get
lost, are classic; they are durable, too, because newer brokers refuse other shared queues. The arguments of
an existing queue cannot be changed (the broker answers 406), so they must not change here.
"""

from typing import Any

from aio_pika.abc import AbstractChannel, AbstractQueue

from evenkeel.bus.deliveries import MAX_DELIVERIES
from evenkeel.core.protocol.messages import is_transient

DEAD_QUEUE = "evenkeel-dead"
"""The dead-letter queue; the newest ``MAX_DEAD`` messages are kept for the operator."""
DEAD_EXCHANGE = "evenkeel-dead"
CALLS_PREFIX = "evenkeel-calls-to_"
MAX_DEAD = 10_000
MAX_MESSAGES = 100_000
MAX_BYTES = 1024**3
MAX_TRANSIENT_MESSAGES = 10_000
"""Maximum length of a transient queue; above it the oldest messages are dropped."""
ABANDONED_SECONDS = 7 * 86_400
"""Time without consumers after which a queue is deleted, because its agent is gone."""

_DURABLE_QUEUE_ARGUMENTS: dict[str, Any] = {
    "x-queue-type": "quorum",
    "x-delivery-limit": MAX_DELIVERIES,
    "x-dead-letter-exchange": DEAD_EXCHANGE,
    "x-max-length": MAX_MESSAGES,
    "x-max-length-bytes": MAX_BYTES,
    "x-overflow": "reject-publish",
    "x-expires": ABANDONED_SECONDS * 1000,
}
_TRANSIENT_QUEUE_ARGUMENTS: dict[str, Any] = {
    "x-queue-type": "classic",
    "x-max-length": MAX_TRANSIENT_MESSAGES,
    "x-overflow": "drop-head",
    "x-expires": ABANDONED_SECONDS * 1000,
}
_DEAD_QUEUE_ARGUMENTS: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": MAX_DEAD}
_DEAD_REASONS = ("rejected", "delivery_limit")
"""Reasons of dead letters that need attention; ``expired`` is left out, because callers repeat expired calls."""


async def declare_queue(channel: AbstractChannel, name: str) -> AbstractQueue:
    """Declare a work queue, and return it; declares the dead-letter exchange and queue first. Raises
    aio_pika's errors, which ``translate_errors()`` turns into :class:`BusUnavailable`.
    """
    await _declare_dead_letter_queue(channel)
    return await declare_own_queue(channel, name)


async def declare_own_queue(channel: AbstractChannel, name: str) -> AbstractQueue:
    """Declare a work queue, and return it, without the dead-letter queue, which an agent with its own user
    may not declare. Raises aio_pika's errors, which ``translate_errors()`` turns into
    :class:`BusUnavailable`.
    """
    return await channel.declare_queue(
        name, durable=True, arguments=_TRANSIENT_QUEUE_ARGUMENTS if is_transient(name) else _DURABLE_QUEUE_ARGUMENTS
    )


def calls_exchange(queue: str) -> str:
    """Return the name of the exchange through which agents with users of their own send to a callback queue.
    Write permission for the default exchange would allow sending to every queue; for this exchange, to one
    queue only.
    """
    return f"{CALLS_PREFIX}{queue}"


async def declare_calls_exchange(channel: AbstractChannel, queue: AbstractQueue) -> None:
    """Declare the exchange of a callback queue, and bind the queue to it. Raises aio_pika's errors, which
    ``translate_errors()`` turns into :class:`BusUnavailable`.
    """
    exchange = await channel.declare_exchange(calls_exchange(queue.name), "fanout", durable=True)
    # A fanout exchange ignores routing keys, so an agent can reach nothing but this queue through it.
    await queue.bind(exchange)


async def _declare_dead_letter_queue(channel: AbstractChannel) -> None:
    exchange = await channel.declare_exchange(DEAD_EXCHANGE, "headers", durable=True)
    queue = await channel.declare_queue(DEAD_QUEUE, durable=True, arguments=_DEAD_QUEUE_ARGUMENTS)
    # "any-with-x", because RabbitMQ leaves headers that begin with x- out of the comparison otherwise.
    for reason in _DEAD_REASONS:
        await queue.bind(exchange, "", arguments={"x-match": "any-with-x", "x-first-death-reason": reason})
