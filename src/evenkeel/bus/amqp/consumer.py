"""The consumer of one queue over its own connection, which is re-established (and the queue declared again) when it is
lost.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

import structlog
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aiormq.abc import DeliveredMessage

from evenkeel.bus.access import NOT_AUTHORISED, AgentAccess, ControllerAccess
from evenkeel.bus.amqp.connection import AmqpConnection, translate_errors
from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog
from evenkeel.bus.amqp.nodes import Node
from evenkeel.bus.amqp.publisher import REPLY_TO
from evenkeel.bus.amqp.topology import declare_calls_exchange, declare_own_queue, declare_queue
from evenkeel.bus.deliveries import DeliveryOutcome, TaskPool, handle_delivery
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.ports import Handler
from evenkeel.core.protocol.messages import AnyMessage, AnyReply, Refused, is_callback_queue, is_transient

FIRST_CONNECT_SECONDS = 10.0
CANCEL_SECONDS = 3.0

log = structlog.get_logger(__name__)
Reply = Callable[[str, bytes], Awaitable[None]]


class _Consumer:
    """A consumer on one connection: the queue, its channel and RabbitMQ's consumer tag."""

    def __init__(self, channel: AbstractChannel, queue: AbstractQueue, tag: str) -> None:
        self.channel = channel
        self.queue = queue
        self.tag = tag


class AmqpSubscription:
    """Consumes one queue with ``handler``, at most ``concurrency`` messages at a time. The channel's prefetch
    limit makes the broker hold back the rest; of a transient queue, messages above the limit are dropped.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        queue: str,
        handler: Handler,
        *,
        name: str,
        error_log: ConnectionErrorLog,
        concurrency: int,
        max_reply_bytes: int,
        reply: Reply,
        access: AgentAccess | ControllerAccess | None = None,
        wait_for_main: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._queue = queue
        self._is_transient = is_transient(queue)
        self._handler = handler
        self._concurrency = concurrency
        self._max_reply_bytes = max_reply_bytes
        self._reply = reply
        self._access = access
        self._workers = TaskPool(concurrency)
        self._closing = asyncio.Event()
        self._link: AmqpConnection[_Consumer] = AmqpConnection(
            nodes,
            name=f"{name} consumer",
            error_log=error_log,
            open_session=self._open_consumer,
            wait_for_main=wait_for_main,
            probe_session=None
            if is_callback_queue(queue)
            else lambda consumer: self._set_prefetch_limit(consumer.channel),
        )

    async def start(self) -> None:
        """Start to consume. Waits up to ``FIRST_CONNECT_SECONDS`` for the broker; if it is unreachable,
        consuming begins when it is back.
        """
        self._link.start()
        with contextlib.suppress(BusUnavailable):
            # The reconnect loop goes on in the background, so a broker that is down is no error here.
            await self._link.session(timeout_seconds=FIRST_CONNECT_SECONDS)

    async def close(self) -> None:
        self._closing.set()
        try:
            # Cancelled at the broker first, then drained: running handlers can still acknowledge over the open
            # connection.
            await self._workers.drain(self._cancel_consumer())
        finally:
            await self._link.close()

    async def _cancel_consumer(self) -> None:
        """Cancel the consumer at the broker, so that no more messages come. Failures are ignored: an
        unreachable broker sends nothing anyway.
        """
        if (consumer := self._link.current) is None:
            return
        with contextlib.suppress(BusUnavailable), translate_errors("cancelling"):
            async with asyncio.timeout(CANCEL_SECONDS):
                await consumer.queue.cancel(consumer.tag)

    async def _open_consumer(self, connection: AbstractConnection) -> _Consumer:
        # Nothing is published here; replies go over the bus's publishing connection.
        channel = await connection.channel(publisher_confirms=False)
        # An agent with a user of its own has no permission for the dead-letter queue.
        if isinstance(self._access, AgentAccess):
            queue = await declare_own_queue(channel, self._queue)
        else:
            queue = await declare_queue(channel, self._queue)
            # The exchange is declared by the consumer, because agents with users of their own may not declare it.
            if is_callback_queue(self._queue):
                await declare_calls_exchange(channel, queue)
        # Before consuming begins: the broker would send the whole queue at once.
        await self._set_prefetch_limit(channel)
        # in both cases the connection cannot be used any more: restart, which declares the queue again
        channel.close_callbacks.add(lambda *_: self._replace_connection(channel))
        underlay = await channel.get_underlay_channel()
        underlay.on_consumer_cancel_callbacks.add(lambda _: self._replace_connection(channel))
        if self._is_transient:  # by the lower layer of the client library, whose messages cost less
            begun = await underlay.basic_consume(queue.name, self._start_handling_transient, no_ack=True)
            return _Consumer(channel, queue, str(begun.consumer_tag))
        return _Consumer(channel, queue, await queue.consume(self._start_handling))

    async def _set_prefetch_limit(self, channel: AbstractChannel) -> None:
        await channel.set_qos(prefetch_count=self._concurrency)

    def verify(self) -> None:
        """Start a check, in the background, that the broker answers, and reconnect if it does not. To be
        called when another connection to the broker was lost; consumers of callback queues do nothing,
        because their heartbeats are frequent.
        """
        self._link.verify()

    def _replace_connection(self, channel: AbstractChannel) -> None:
        consumer = self._link.current
        # A callback of a former channel may come late, and must not end the present one.
        if consumer is not None and consumer.channel is channel and not self._closing.is_set():
            self._link.replace_session(consumer)

    async def _start_handling_transient(self, message: DeliveredMessage) -> None:
        # without a free worker it is lost: no limit of the channel holds it back, and its sender repeats it
        if self._workers.free_slots > 0 and not self._closing.is_set():
            self._workers.start(self._handle_transient(message))

    async def _handle_transient(self, message: DeliveredMessage) -> None:
        """Handle a message of a transient queue and send its reply, without acknowledgement or redelivery."""
        properties = message.header.properties
        outcome = await handle_delivery(
            message.body,
            self._checked_handler(properties.user_id),
            queue=self._queue,
            deliveries=1,
            max_reply_bytes=self._max_reply_bytes,
        )
        if outcome.reply_to and (address := self._reply_address(properties.reply_to, properties.user_id)):
            for reply in outcome.replies:
                await self._reply(address, reply)

    async def _start_handling(self, message: AbstractIncomingMessage) -> None:
        # in an own task: the library cancels its tasks when the connection is lost
        self._workers.start(self._handle_message(message))

    async def _handle_message(self, message: AbstractIncomingMessage) -> None:
        # A message that was prefetched goes back at once, to other consumers.
        if self._closing.is_set():
            await self._settle_message(lambda: message.nack(requeue=True))
            return
        outcome = await handle_delivery(
            message.body,
            self._checked_handler(message.user_id),
            queue=self._queue,
            deliveries=_delivery_number(message),
            max_reply_bytes=self._max_reply_bytes,
        )
        await self._apply_outcome(message, outcome)

    def _checked_handler(self, user: str | None) -> Handler:
        """Return the handler for a message of ``user``, which the broker has validated (None: the message
        names no user). In controllers with access checks the handler answers a message that the user may
        not send with :class:`Refused`, and logs an error.
        """
        if not isinstance(self._access, ControllerAccess):
            return self._handler
        refusal = self._access.refusal

        async def check_and_handle(message: AnyMessage) -> AnyReply | None:
            if not (reason := refusal(user, message)):
                return await self._handler(message)
            log.error("message refused", queue=self._queue, message=type(message).__name__, user=user, reason=reason)
            return Refused(code=NOT_AUTHORISED, reason=reason)

        return check_and_handle

    async def _apply_outcome(self, message: AbstractIncomingMessage, outcome: DeliveryOutcome) -> None:
        if outcome.retry_seconds is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(outcome.retry_seconds):
                    await self._closing.wait()  # when closing, return it to other consumers at once
            await self._settle_message(lambda: message.nack(requeue=True))
        elif outcome.dead_letter_reason:
            # Rejected without requeue, which makes the broker dead-letter it.
            await self._settle_message(lambda: message.reject(requeue=False))
        else:
            if outcome.reply_to and (address := self._reply_address(message.reply_to, message.user_id)):
                for reply in outcome.replies:
                    await self._reply(address, reply)
            # After the reply: a crash in between redelivers the call, and its caller takes either reply.
            await self._settle_message(message.ack)

    def _reply_address(self, reply_to: str | None, user: str | None) -> str:
        """Return a direct reply-to address unchanged; empty for none or for any other address, which is
        logged: a reply must not go to a queue to which the sender of the call may not write.
        """
        address = reply_to or ""
        if address and not address.startswith(f"{REPLY_TO}."):
            log.error("reply dropped: its address is a queue", queue=self._queue, user=user)
            return ""
        return address

    async def _settle_message(self, settle: Callable[[], Awaitable[None]]) -> None:
        try:
            with translate_errors("acknowledging"):
                await settle()
        except BusUnavailable as error:  # the broker redelivers it
            log.info("message could not be acknowledged", queue=self._queue, reason=str(error))


def _delivery_number(message: AbstractIncomingMessage) -> int:
    """Return the number of the message's delivery, from 1; quorum queues count earlier ones in ``x-delivery-count``."""
    count = message.headers.get("x-delivery-count", 0)
    return 1 + (count if isinstance(count, int) else 0)
