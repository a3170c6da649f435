"""The publisher of one connection: confirmed messages, calls and their replies."""

import asyncio
from collections.abc import Callable

from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import PublishError
from aiormq import spec
from aiormq.abc import DeliveredMessage
from aiormq.exceptions import ChannelAccessRefused, ChannelLockedResource, ChannelPreconditionFailed

from evenkeel.bus.amqp.connection import translate_errors
from evenkeel.bus.amqp.presence import PresenceProbes
from evenkeel.bus.amqp.publish_channel import PublishChannel, PublishRefused, TransientChannel
from evenkeel.bus.amqp.topology import calls_exchange, declare_queue
from evenkeel.core.kit.errors import BusUnavailable

REPLY_TO = "amq.rabbitmq.reply-to"
"""RabbitMQ's direct reply-to: the broker hands replies to the caller's channel without a queue."""


class QueueGone(BusUnavailable):
    """The queue was deleted, and the message was not stored; another try declares the queue again."""


class PublishNacked(BusUnavailable):
    """The broker does not accept a message now: the queue is full, or has no leader yet after the loss of a node."""


class QueueRefused(BusUnavailable):
    """The broker refuses the declaration of the queue: other arguments, no permission, or locked by another
    connection.
    """


def _reply_properties() -> spec.Basic.Properties:
    # any id: without one the client library makes a random one of each message
    return spec.Basic.Properties(message_id="reply", delivery_mode=DeliveryMode.NOT_PERSISTENT.value)


class Publisher:
    """Publishes messages, calls and replies over one connection. The methods that publish raise
    :class:`BusUnavailable` when the connection is lost.
    """

    def __init__(
        self,
        connection: AbstractConnection,
        sends: PublishChannel,
        calls: PublishChannel,
        probes: PresenceProbes,
        transient: TransientChannel,
        user: str | None,
    ) -> None:
        self._connection = connection
        self._user = user
        self._sends = sends
        self._calls = calls
        self._transient = transient
        self.probes = probes
        self._declared: set[str] = set()
        self._declaring: dict[str, asyncio.Lock] = {}

    @classmethod
    async def open(
        cls, connection: AbstractConnection, on_reply: Callable[[bytes], None], user: str | None = None
    ) -> "Publisher":
        """Open a publisher on a connection; ``on_reply`` receives the encoded replies to its calls. Raises
        aio_pika's errors, which ``translate_errors()`` turns into :class:`BusUnavailable`.

        ``user``: name of an agent's own user; calls contain it, validated by the broker, and go through the
        exchange for calls, the only one that this user may write to. None: the queue is addressed directly.
        """

        async def handle_reply(message: AbstractIncomingMessage | DeliveredMessage) -> None:
            on_reply(message.body)

        sends = await PublishChannel.open(connection)
        # RabbitMQ delivers direct replies to the channel that published the call, so each channel for calls consumes
        # them.
        calls = await PublishChannel.open(connection, replies=(REPLY_TO, handle_reply))
        transient = TransientChannel(connection, (REPLY_TO, handle_reply))
        return cls(connection, sends, calls, await PresenceProbes.open(connection), transient, user)

    async def send(self, queue: str, raw: bytes, message_id: str) -> None:
        """Publish a persistent message, and return when the broker has confirmed it. A queue that this
        connection has not used before is declared first. Raises :class:`QueueGone`,
        :class:`PublishNacked`, :class:`QueueRefused`, and :class:`BusUnavailable` for a lost connection.
        """
        await self._declare_once(queue)
        message = Message(raw, message_id=message_id, delivery_mode=DeliveryMode.PERSISTENT)
        await self._publish_confirmed(self._sends, queue, message)

    async def call(self, queue: str, raw: bytes, message_id: str, *, deadline: float) -> None:
        """Publish a call, and return when the broker has confirmed it; the reply comes to ``on_reply`` of
        this publisher. The call expires at ``deadline`` (loop time, seconds). Raises :class:`QueueGone`,
        :class:`PublishNacked`, :class:`QueueRefused`, and :class:`BusUnavailable` for a lost connection.
        """
        if self._user is None:
            await self._declare_once(queue)  # first, because a declaration may take long
        message = Message(
            raw,
            message_id=message_id,
            reply_to=REPLY_TO,
            # At least a millisecond: RabbitMQ answers a negative expiration by closing the channel.
            expiration=max(deadline - asyncio.get_running_loop().time(), 0.001),
            delivery_mode=DeliveryMode.PERSISTENT,
            user_id=self._user,
        )
        exchange = "" if self._user is None else calls_exchange(queue)
        await self._publish_confirmed(self._calls, queue, message, exchange)

    async def call_transient(self, queue: str, raw: bytes, message_id: str, *, deadline: float) -> None:
        """Publish a call to a transient queue; it may get lost, because nothing is declared, confirmed or
        stored. The reply comes to ``on_reply`` of this publisher. The call expires at ``deadline`` (loop
        time, seconds). Raises :class:`BusUnavailable` for a lost connection.
        """
        seconds = max(deadline - asyncio.get_running_loop().time(), 0.001)
        properties = spec.Basic.Properties(
            message_id=message_id,
            reply_to=REPLY_TO,
            expiration=str(int(seconds * 1000)),
            delivery_mode=DeliveryMode.NOT_PERSISTENT.value,
            user_id=self._user,
        )
        with translate_errors(f"sending to {queue}"):
            await self._transient.publish(raw, "", properties, exchange=calls_exchange(queue))

    async def reply(self, address: str, raw: bytes, *, timeout_seconds: float) -> None:
        """Publish a reply without waiting for a confirm: callers repeat a call whose reply is lost. The
        broker drops the reply if the caller is gone. Raises :class:`BusUnavailable` for a lost connection,
        or after ``timeout_seconds``.
        """
        with translate_errors("replying"):
            await self._transient.publish(raw, address, _reply_properties(), timeout_seconds=timeout_seconds)

    async def _publish_confirmed(
        self, channel: PublishChannel, queue: str, message: Message, exchange: str = ""
    ) -> None:
        with translate_errors(f"sending to {queue}"):
            try:
                await channel.publish(message, queue, mandatory=True, exchange=exchange)
            except PublishError as error:
                # The next message declares the queue again.
                self._declared.discard(queue)
                raise QueueGone(f"queue {queue} was deleted") from error
            except PublishRefused as error:
                raise PublishNacked(f"queue {queue} is full or has no leader") from error

    async def _declare_once(self, queue: str) -> None:
        if queue in self._declared:
            return
        declaring = self._declaring.setdefault(queue, asyncio.Lock())
        async with declaring:  # many senders may wait for one connection: the first declares for all
            if queue not in self._declared:
                await self._declare_queue(queue)

    async def _declare_queue(self, queue: str) -> None:
        with translate_errors(f"declaring {queue}"):
            try:
                # on a separate channel: the broker closes the channel of a refused declaration
                async with self._connection.channel() as channel:
                    await declare_queue(channel, queue)
            except (ChannelPreconditionFailed, ChannelAccessRefused, ChannelLockedResource) as error:
                raise QueueRefused(f"the broker refused queue {queue}: {error}") from error
        self._declared.add(queue)
