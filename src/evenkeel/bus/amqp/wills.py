"""Wills over RabbitMQ: a message that the broker sends when the connection that left it ends.

The will is a message in a queue of its own, which its connection has received and does not acknowledge. When
the connection ends, for whatever reason, the broker puts the message back; there it expires at once (time to
live 0), and expired messages of that queue go to the exchange of a callback queue. That takes some
milliseconds (RabbitMQ 3.10). Until then a will costs one message every ten minutes, which replaces it.

A will is not persistent: after a restart of the broker none is left, and each process leaves a new one.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aiormq.exceptions import ChannelAccessRefused

from evenkeel.bus.amqp.topology import calls_exchange
from evenkeel.bus.codec import encode
from evenkeel.core.ports import Will

RENEW_SECONDS = 600.0
"""Interval at which the will is replaced: RabbitMQ closes a channel on which a message is not acknowledged for 30
minutes (``consumer_timeout``).
"""
UNUSED_SECONDS = 60
"""Time without a consumer after which the broker deletes the will's queue; a process that reconnects sooner uses the
same queue again.
"""
SUFFIX = ".will"

log = structlog.get_logger(__name__)


class WillQueue:
    """The will of one announcement: a message that the broker sends when the connection of the announcement
    ends. A new will is left on each new connection.
    """

    def __init__(self, announced: str, will: Will, user: str | None) -> None:
        """``announced``: the announced name, from which the queue's name is derived. ``user``: the agent's
        user at the broker, contained in the message and validated by the broker; None: no user.
        """
        self._name = f"{announced}{SUFFIX}"
        self._will = will
        self._user = user
        self._queue: AbstractQueue | None = None
        self._channel: AbstractChannel | None = None
        self._held: AbstractIncomingMessage | None = None
        self._renewing: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def publish_last_will(self, connection: AbstractConnection, *, on_lost: Callable[[], None]) -> None:
        """Leave the will on a new connection. If the broker refuses it, that is logged, and controllers
        detect the end of the process later. ``on_lost`` is called when the broker has closed the will's
        channel or deleted its queue. Raises aio_pika's other errors, which ``translate_errors()`` turns
        into :class:`BusUnavailable`.
        """
        # A will that was held on the former connection has been sent by the broker already.
        self._held = self._channel = None
        channel = await connection.channel(publisher_confirms=False)
        try:
            await self._declare_and_publish(channel, on_lost)
        except ChannelAccessRefused as error:
            log.warning(
                "the broker refuses a will; see evenkeel-rabbitmq agent-user", queue=self._name, reason=str(error)
            )

    async def _declare_and_publish(self, channel: AbstractChannel, on_lost: Callable[[], None]) -> None:
        def notify_if_current(*_: object) -> None:
            # Callbacks of a channel that was revoked or replaced come too late to matter.
            if channel is self._channel:
                on_lost()

        channel.close_callbacks.add(notify_if_current)
        (await channel.get_underlay_channel()).on_consumer_cancel_callbacks.add(notify_if_current)
        await channel.set_qos(prefetch_count=2)  # the one that is held, and the next one at its renewal
        exchange = await channel.declare_exchange(self._name, "fanout", auto_delete=True, durable=True)
        queue = await channel.declare_queue(self._name, durable=True, arguments=self._queue_arguments())
        await queue.bind(exchange)
        # Consumed before the first will is published: with a time to live of 0 it would expire at once, and announce a
        # death.
        await queue.consume(self._hold_received_will, exclusive=True)
        self._channel, self._queue = channel, queue
        await self._publish_will()

    def _queue_arguments(self) -> dict[str, Any]:
        return {
            "x-queue-type": "classic",
            "x-message-ttl": 0,
            "x-dead-letter-exchange": calls_exchange(self._will.queue),
            "x-expires": UNUSED_SECONDS * 1000,
        }

    async def _publish_will(self) -> None:
        channel = self._channel
        if channel is None or channel.is_closed:
            return
        message_id = uuid.uuid4().hex
        message = Message(
            encode(self._will.message, message_id=message_id),
            message_id=message_id,
            delivery_mode=DeliveryMode.NOT_PERSISTENT,
            user_id=self._user,
        )
        exchange = await channel.get_exchange(self._name, ensure=False)
        await exchange.publish(message, "", mandatory=False)
        self._renew_later()

    async def _hold_received_will(self, message: AbstractIncomingMessage) -> None:
        """Keep the received will unacknowledged, and acknowledge the previous one."""
        # The new will is held before the old one is acknowledged, so that there is one at every moment.
        before, self._held = self._held, message
        if before is not None:
            await before.ack()

    def _renew_later(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        self._renewing = asyncio.get_running_loop().call_later(RENEW_SECONDS, self._start_renewal)

    def _start_renewal(self) -> None:
        task = asyncio.get_running_loop().create_task(self._publish_will_safely())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _publish_will_safely(self) -> None:
        with contextlib.suppress(Exception):  # the connection is lost: the next one gets a new will
            await self._publish_will()

    async def revoke_will(self) -> None:
        """Acknowledge the will and delete its queue, so that the broker does not send it: the process
        withdraws its name itself. Raises aio_pika's errors, which ``translate_errors()`` turns into
        :class:`BusUnavailable`.
        """
        if self._renewing is not None:
            self._renewing.cancel()
        held, queue = self._held, self._queue
        # Cleared before the awaits: a will that arrives meanwhile is of a channel that no longer counts.
        self._held = self._queue = self._channel = None
        if held is not None:
            # Acknowledged first: if the deletion fails, an empty queue is left, which announces nothing.
            await held.ack()
        if queue is not None:
            await queue.delete(if_unused=False, if_empty=False)
