"""A publishing channel that is replaced when it is stuck.

RabbitMQ 3.10 caches the leader of a quorum queue for each channel. A channel opened just after the leader's node failed
keeps that node and answers every message with a nack until the node returns, as if the queue were full; a channel
opened after the next leader's election works. (Seen with 3.10.8.)
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractMessage
from aio_pika.exceptions import DeliveryError, PublishError
from aiormq import spec
from aiormq.abc import DeliveredMessage
from aiormq.channel import Channel as UnderlayChannel

MAX_RETIRED = 8
"""Number of replaced channels that stay open, because confirms and replies may still come over them."""
RENEW_SECONDS = 0.2
"""Interval after a new channel's refusal in which no other channel is opened for the same queue, for all senders
together: the queue may really be full.
"""

_Replies = tuple[str, Callable[[AbstractIncomingMessage], Awaitable[None]]]
_TransientReplies = tuple[str, Callable[[DeliveredMessage], Coroutine[Any, Any, None]]]


class PublishRefused(Exception):
    """The broker refused a message on a new channel too; or it refused a message for the same queue on a new
    channel less than ``RENEW_SECONDS`` ago, so that no other channel was tried.
    """


class PublishChannel:
    """Publishes confirmed messages over one connection, on a channel that is replaced when the broker refuses
    a message. ``replies``: name of a queue that each channel consumes, and the callback for its messages.
    """

    def __init__(self, connection: AbstractConnection, channel: AbstractChannel, replies: _Replies | None) -> None:
        self._connection = connection
        self._channel = channel
        self._replies = replies
        self._retired: deque[AbstractChannel] = deque()
        self._renewing = asyncio.Lock()
        self._renew_at: dict[str, float] = {}

    @classmethod
    async def open(cls, connection: AbstractConnection, replies: _Replies | None = None) -> "PublishChannel":
        """Return a publisher with its first channel on the connection. ``replies``: queue that each channel
        consumes, and the callback for its messages; None: none is consumed. Raises aio_pika's errors,
        which ``translate_errors()`` turns into :class:`BusUnavailable`.
        """
        return cls(connection, await _open_channel(connection, replies), replies)

    async def publish(self, message: AbstractMessage, routing_key: str, *, mandatory: bool, exchange: str = "") -> None:
        """Publish a message, and return when the broker has confirmed it; a refused message is published
        again over a new channel. ``exchange``: empty for the default one.

        Raises :class:`PublishError` if a ``mandatory`` message reaches no queue, :class:`PublishRefused`, and
        aio_pika's errors for a lost connection, which ``translate_errors()`` turns into
        :class:`BusUnavailable`.
        """
        tried = self._channel
        try:
            await _publish_to_exchange(tried, exchange, message, routing_key, mandatory)
        except PublishError:
            raise
        # PublishError, a subclass, means that the message was returned: the queue is missing, and a new channel would
        # not help.
        except DeliveryError:
            await self._publish_after_refusal(tried, message, routing_key, mandatory, exchange)

    async def _publish_after_refusal(
        self, tried: AbstractChannel, message: AbstractMessage, routing_key: str, mandatory: bool, exchange: str
    ) -> None:
        time = asyncio.get_running_loop().time
        async with self._renewing:
            # Many senders may fail at once; the first one that gets the lock replaces the channel for all.
            if tried is self._channel:
                if time() < self._renew_at.get(routing_key, 0.0):
                    raise PublishRefused
                self._renew_at[routing_key] = time() + RENEW_SECONDS
                await self._publish_over_new_channel(message, routing_key, mandatory, exchange)
                # It succeeded, so the old channel was the fault; the limit is only for queues that are really full.
                del self._renew_at[routing_key]
                return
        # another sender has replaced it meanwhile
        await self.publish(message, routing_key, mandatory=mandatory, exchange=exchange)

    async def _publish_over_new_channel(
        self, message: AbstractMessage, routing_key: str, mandatory: bool, exchange: str
    ) -> None:
        """Publish over a new channel, which replaces the current one if the broker accepts the message.
        Raises :class:`PublishError` if no queue gets it, :class:`PublishRefused` if the broker refuses it.
        """
        # Replaced channels stay open for a while, because confirms and replies of earlier messages come over them.
        while len(self._retired) >= MAX_RETIRED:
            await self._retired.popleft().close()
        channel = await _open_channel(self._connection, self._replies)
        # If the new channel fails as well, it is the one to retire, and the current one is kept.
        spare = channel
        try:
            await _publish_to_exchange(channel, exchange, message, routing_key, mandatory)
            spare, self._channel = self._channel, channel
        except PublishError:
            raise
        except DeliveryError as error:
            raise PublishRefused from error
        finally:
            self._retired.append(spare)


class TransientChannel:
    """Publishes without confirms, on a channel that is opened at first use, and again after it was closed.
    ``replies``: name of a queue that the channel consumes, and the callback for its messages.

    Uses the lower layer of the client library: a message over the upper one costs more than all the rest of a
    keepalive.
    """

    def __init__(self, connection: AbstractConnection, replies: _TransientReplies) -> None:
        self._connection = connection
        self._replies = replies
        self._channel: UnderlayChannel | None = None
        self._opening = asyncio.Lock()

    async def publish(
        self,
        raw: bytes,
        routing_key: str,
        properties: spec.Basic.Properties,
        *,
        exchange: str = "",
        timeout_seconds: float | None = None,
    ) -> None:
        """Pass a message to the connection for sending, and return without a confirm: the message may get
        lost.

        Raises aio_pika's errors for a lost connection, which ``translate_errors()`` turns into
        :class:`BusUnavailable`, and :class:`TimeoutError` after ``timeout_seconds`` (None: no limit).
        """
        channel = self._channel
        # Without confirms the broker reports an error, such as a missing exchange, only by closing the channel.
        if channel is None or channel.is_closed:
            async with asyncio.timeout(timeout_seconds):
                channel = await self._open_once()
        await channel.basic_publish(
            raw, exchange=exchange, routing_key=routing_key, properties=properties, timeout=timeout_seconds, wait=False
        )

    async def _open_once(self) -> UnderlayChannel:
        async with self._opening:
            # Checked again under the lock: another sender may have opened it meanwhile.
            if self._channel is None or self._channel.is_closed:
                channel = await self._connection.channel(publisher_confirms=False, on_return_raises=False)
                underlay = cast(UnderlayChannel, await channel.get_underlay_channel())
                await underlay.basic_consume(self._replies[0], self._replies[1], no_ack=True)
                self._channel = underlay
            return self._channel


async def _publish_to_exchange(
    channel: AbstractChannel, exchange: str, message: AbstractMessage, routing_key: str, mandatory: bool
) -> None:
    # Not verified: a passive declaration for every message would cost a round trip.
    through = await channel.get_exchange(exchange, ensure=False) if exchange else channel.default_exchange
    await through.publish(message, routing_key, mandatory=mandatory)


async def _open_channel(connection: AbstractConnection, replies: _Replies | None) -> AbstractChannel:
    channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
    if replies is not None:
        queue = await channel.get_queue(replies[0], ensure=False)
        await queue.consume(replies[1], no_ack=True)
    return channel
