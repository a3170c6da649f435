"""Notifications in oslo.messaging's format over RabbitMQ, for listeners of oslo.messaging such as
Ceilometer's.

oslo.messaging's own notifier cannot be used where none may be lost: it logs a failure and goes on, and gives
each attempt another message id. The format is that of its driver ``messagingv2``: a topic exchange named by
the service, the routing key ``<topic>.<priority>``, and an envelope of version 2.0 around the message as JSON
text (``common.serialize_msg`` in its ``_drivers``). Here each message is persistent, mandatory and confirmed.
"""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from aio_pika import DeliveryMode, ExchangeType, Message
from aio_pika.abc import AbstractConnection
from aio_pika.exceptions import PublishError
from aiormq.exceptions import ChannelPreconditionFailed

from evenkeel.bus.amqp.connection import AmqpConnection, translate_errors
from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog
from evenkeel.bus.amqp.nodes import Node
from evenkeel.bus.amqp.publish_channel import PublishChannel, PublishRefused
from evenkeel.core.control.notifications import Notification
from evenkeel.core.kit.errors import BusUnavailable

CONNECT_SECONDS = 5.0
"""Time for which a notification waits for the connection."""
SEND_SECONDS = 10.0
"""Time-out of the broker's confirmation."""

log = structlog.get_logger(__name__)


class AmqpNotifications:
    """Implements :class:`evenkeel.core.ports.NotificationSender`. Connects at the first notification."""

    def __init__(self, nodes: Sequence[Node], *, name: str, topics: Sequence[str], quorum: bool = False) -> None:
        """``topics``: every notification is sent to each of them. ``quorum``: queues that do not exist yet
        are declared as quorum queues, otherwise as the broker's default type.
        """
        self._topics = tuple(topics)
        self._arguments: dict[str, Any] = {"x-queue-type": "quorum"} if quorum else {}
        self._link: AmqpConnection[_NotificationPublisher] = AmqpConnection(
            nodes, name=name, error_log=ConnectionErrorLog(), open_session=self._open_publisher
        )
        self._warned: set[str] = set()

    async def send(self, notification: Notification) -> None:
        self._link.start()
        body = encode_notification(notification)
        publisher = await self._link.session(timeout_seconds=CONNECT_SECONDS)
        try:
            for topic in self._topics:
                await publisher.send(notification, f"{topic}.{notification.priority.lower()}", body)
        except BusUnavailable:
            # A new connection also repairs a channel that the broker closed, and queues that were deleted.
            self._link.replace_session(publisher)
            raise

    async def close(self) -> None:
        await self._link.close()

    async def _open_publisher(self, connection: AbstractConnection) -> "_NotificationPublisher":
        return _NotificationPublisher(connection, await PublishChannel.open(connection), self._arguments, self._warned)


class _NotificationPublisher:
    """Publishes notifications over one connection to RabbitMQ, and declares their exchanges and queues."""

    def __init__(
        self, connection: AbstractConnection, channel: PublishChannel, arguments: dict[str, Any], warned: set[str]
    ) -> None:
        self._connection = connection
        self._channel = channel
        self._arguments = arguments
        self._warned = warned
        self._declared: set[tuple[str, str]] = set()
        self._declaring = asyncio.Lock()

    async def send(self, notification: Notification, key: str, body: bytes) -> None:
        """Publish the notification with the routing key ``key`` (``<topic>.<priority>``), and return when the
        broker has confirmed it. Raises :class:`BusUnavailable` if it was refused or not confirmed within
        ``SEND_SECONDS``, or the connection is lost.
        """
        message = Message(
            body,
            message_id=notification.message_id,
            content_type="application/json",
            content_encoding="utf-8",
            delivery_mode=DeliveryMode.PERSISTENT,
        )
        with translate_errors("sending a notification"):
            async with asyncio.timeout(SEND_SECONDS):
                try:
                    await self._declare_and_publish(notification.exchange, key, message)
                except PublishError:
                    # returned: somebody deleted the queue, or its binding
                    self._declared.discard((notification.exchange, key))
                    await self._declare_and_publish(notification.exchange, key, message)

    async def _declare_and_publish(self, exchange: str, key: str, message: Message) -> None:
        await self._declare_once(exchange, key)
        try:
            await self._channel.publish(message, key, mandatory=True, exchange=exchange)
        except PublishRefused as error:
            raise BusUnavailable(f"the broker refuses notifications for queue {key}; is it full?") from error

    async def _declare_once(self, exchange: str, key: str) -> None:
        """Declare the exchange, the queue named by the routing key ``key``, and the binding, once for each
        connection, as oslo.messaging does: so a notification waits in the queue for a consumer that comes
        later.
        """
        async with self._declaring:
            if (exchange, key) not in self._declared:
                await self._declare_exchange(exchange)
                await self._declare_queue(exchange, key)
                self._declared.add((exchange, key))

    async def _declare_exchange(self, exchange: str) -> None:
        # Each attempt has a channel of its own, because a refusal closes it.
        try:
            channel = await self._connection.channel()
            await channel.declare_exchange(exchange, ExchangeType.TOPIC, durable=True)
        except ChannelPreconditionFailed as error:
            self._warn_once("exchange", exchange, error)
            channel = await self._connection.channel()
            await channel.declare_exchange(exchange, passive=True)
        await channel.close()

    async def _declare_queue(self, exchange: str, key: str) -> None:
        try:
            channel = await self._connection.channel()
            queue = await channel.declare_queue(key, durable=True, arguments=self._arguments)
        except ChannelPreconditionFailed as error:
            self._warn_once("queue", key, error)
            channel = await self._connection.channel()
            queue = await channel.declare_queue(key, passive=True)
        await queue.bind(exchange, key)
        await channel.close()

    def _warn_once(self, kind: str, name: str, error: Exception) -> None:
        """Log a warning, once for each name, that an existing exchange or queue has other attributes than
        those declared here; it is used unchanged.
        """
        if name not in self._warned:
            self._warned.add(name)
            log.warning(
                "an existing exchange or queue for notifications is not durable as configured here: notifications in it"
                " may not survive a restart of the broker",
                kind=kind,
                name=name,
                reason=str(error)[:300],
            )


def encode_notification(notification: Notification) -> bytes:
    """Return the notification as JSON in oslo.messaging's envelope of version 2.0, with a new ``_unique_id``
    at every call.
    """
    message = {
        "message_id": notification.message_id,
        "publisher_id": notification.publisher_id,
        "event_type": notification.event_type,
        "priority": notification.priority,
        "payload": notification.payload,
        "timestamp": notification.timestamp,
        # A new one for each attempt: oslo.messaging's listener would not acknowledge a repetition by the same id, so
        # that it stayed in the queue. (Seen with 18.3.1: AMQPListener.__call__.)
        "_unique_id": uuid.uuid4().hex,
        **{f"_context_{name}": value for name, value in notification.context.items()},
    }
    text = msgspec.json.encode(message).decode()
    return msgspec.json.encode({"oslo.version": "2.0", "oslo.message": text})
