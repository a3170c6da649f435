"""Presence over RabbitMQ: a name is an exclusive queue, which the broker deletes with the connection that declared it.

A probe is a ``mandatory`` message to the queue, which the broker returns if there is none: that costs the broker less
than a passive declaration, and does not close the channel. :mod:`evenkeel.bus.amqp.wills` notifies controllers of when
to probe.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

import structlog
from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import PublishError
from aiormq.exceptions import ChannelLockedResource, ChannelNotFoundEntity

from evenkeel.bus.amqp.connection import AmqpConnection, translate_errors
from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog
from evenkeel.bus.amqp.nodes import Node
from evenkeel.bus.amqp.wills import WillQueue
from evenkeel.bus.presence import PresenceHistory
from evenkeel.core.kit.errors import BusUnavailable

ANNOUNCE_SECONDS = 10.0
"""Time after which an announcement that the broker has not accepted fails."""
WITHDRAW_SECONDS = 3.0
PROBE_SECONDS = 1.0
PROBE_LIFE_SECONDS = 1.0
"""Time after which the broker drops an undelivered probe, which is useless by then."""
TAKEN_RETRY_SECONDS = 0.1
UNUSED_NAME = "evenkeel-presence_nobody"
"""A name that is never announced."""

log = structlog.get_logger(__name__)


class PresenceProbes:
    """Sends probes over one connection that show whether names are present, on a channel of its own."""

    def __init__(self, channel: AbstractChannel) -> None:
        self._channel = channel
        self._sightings = PresenceHistory()
        self._under_way: dict[str, asyncio.Task[bool | None]] = {}

    @classmethod
    async def open(cls, connection: AbstractConnection) -> "PresenceProbes":
        """Open a channel for probes on the connection. Raises aio_pika's errors, which ``translate_errors()``
        turns into :class:`BusUnavailable`.
        """
        # A channel of its own: a returned probe must not be taken for the answer to another message.
        return cls(await connection.channel(on_return_raises=True))

    @property
    def broken(self) -> bool:
        """Whether the broker or the library has closed the channel, so that the connection must be replaced."""
        return self._channel.is_closed

    async def present(self, name: str) -> bool | None:
        """Return whether the name has a queue at the broker. None: the broker did not answer within
        ``PROBE_SECONDS``, or there is no queue and the name was never seen present over this connection.
        """
        probe = self._under_way.get(name)
        if probe is None:
            probe = self._under_way[name] = asyncio.get_running_loop().create_task(self._send_probe(name))
            # Callers that probe the same name while an answer is pending share it.
            probe.add_done_callback(lambda _: self._under_way.pop(name, None))
        # never cancelled: the client library closes the channel on an answer without a waiter. It ends with the answer
        # or the connection
        done, _ = await asyncio.wait({probe}, timeout=PROBE_SECONDS)
        there = probe.result() if done and not probe.cancelled() else None
        return None if there is None else self._sightings.evaluate(name, there)

    async def broker_answers(self) -> bool:
        """Return whether the broker answered a probe of an unused name. Waits without a time-out, but ends
        with False when the connection is lost.
        """
        return await self._send_probe(UNUSED_NAME) is not None

    async def _send_probe(self, name: str) -> bool | None:
        message = Message(b"", delivery_mode=DeliveryMode.NOT_PERSISTENT, expiration=PROBE_LIFE_SECONDS)
        try:
            with translate_errors("looking for a name"):
                await self._channel.default_exchange.publish(message, name, mandatory=True)
        except BusUnavailable as error:
            # A returned message proves that the queue is missing; any other error proves nothing.
            return False if isinstance(error.__cause__, PublishError) else None
        return True


class _PresenceQueue:
    """The exclusive queue that makes a name present, with its channel and connection to RabbitMQ."""

    def __init__(self, connection: AbstractConnection, channel: AbstractChannel, queue: AbstractQueue) -> None:
        self.connection = connection
        self.channel = channel
        self.queue = queue


class AmqpAnnouncement:
    """Keeps a name present over a connection of its own, because a shared one may be dropped for other
    reasons. The connection also holds the will, if there is one.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        announced: str,
        *,
        name: str,
        error_log: ConnectionErrorLog,
        will: WillQueue | None = None,
        wait_for_main: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._announced = announced
        self._will = will
        self.closed = False
        self._link: AmqpConnection[_PresenceQueue] = AmqpConnection(
            nodes,
            name=f"{name} presence",
            error_log=error_log,
            open_session=self._open_presence_queue,
            wait_for_main=wait_for_main,
            probe_session=lambda announced: announced.channel.set_qos(prefetch_count=1),
        )

    async def start(self) -> None:
        """Announce the name on the bus, and keep it present until closed. Raises :class:`BusUnavailable` if
        that fails for ``ANNOUNCE_SECONDS``; then the announcement is closed.
        """
        self._link.start()
        try:
            await self._link.session(timeout_seconds=ANNOUNCE_SECONDS)
        except BaseException:
            # Otherwise the reconnect loop would announce the name later, although its caller was told that it failed.
            await self.close()
            raise

    def verify(self) -> None:
        """Start a check, in the background, that the broker answers, and reconnect if it does not. To be
        called when another connection to the broker was lost.
        """
        self._link.verify()

    async def close(self) -> None:
        self.closed = True
        if (session := self._link.current) is not None:
            with contextlib.suppress(BusUnavailable), translate_errors("withdrawing a name"):
                async with asyncio.timeout(WITHDRAW_SECONDS):
                    if self._will is not None:
                        # Before the name vanishes: a process that withdraws by itself needs no message about its end.
                        await self._will.revoke_will()
                    await session.queue.delete(if_unused=False, if_empty=False)
        await self._link.close()

    async def _open_presence_queue(self, connection: AbstractConnection) -> _PresenceQueue:
        if self._will is not None:
            # first: a name that is present has left its will
            await self._will.publish_last_will(connection, on_lost=lambda: self._replace_connection(connection))
        channel, queue = await self._declare_queue(connection)
        # The queue lives as long as the connection, but a closed channel cannot be verified any more.
        channel.close_callbacks.add(lambda *_: self._replace_connection(connection))
        underlay = await channel.get_underlay_channel()
        underlay.on_consumer_cancel_callbacks.add(lambda _: self._replace_connection(connection))
        # Without a consumer the queue would store the probes until they expire.
        await queue.consume(_discard_probe, no_ack=True, exclusive=True)
        return _PresenceQueue(connection, channel, queue)

    async def _declare_queue(self, connection: AbstractConnection) -> tuple[AbstractChannel, AbstractQueue]:
        """Declare the presence queue on a new channel, and return both; waits while the broker still holds
        the queue for a lost connection.
        """
        while True:
            # A new channel for each try, because the broker closes the channel of a refused declaration.
            channel = await connection.channel(publisher_confirms=False)
            try:
                queue = await channel.declare_queue(
                    self._announced,
                    exclusive=True,
                    auto_delete=True,
                    arguments={"x-queue-type": "classic"},  # independent of the virtual host's default
                )
                return channel, queue
            except (ChannelLockedResource, ChannelNotFoundEntity):
                await asyncio.sleep(TAKEN_RETRY_SECONDS)

    def _replace_connection(self, connection: AbstractConnection) -> None:
        session = self._link.current
        if session is not None and session.connection is connection and not self.closed:
            self._link.replace_session(session)


async def _discard_probe(message: AbstractIncomingMessage) -> None:
    """Ignore a received probe: the broker's delivery was the answer."""
