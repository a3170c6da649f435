"""The :class:`~evenkeel.core.ports.Bus` over RabbitMQ.

One connection for publishing, and one for each subscription and announcement, so that a broker that blocks publishers
does not delay acknowledgements, and a publisher that changes its node does not look like a vanished process.
"""

import asyncio
import random
import uuid
from collections.abc import Sequence

import structlog
from aio_pika.abc import AbstractConnection

from evenkeel.bus.access import AgentAccess, ControllerAccess
from evenkeel.bus.amqp.connection import AmqpConnection
from evenkeel.bus.amqp.connection_errors import ConnectionErrorLog
from evenkeel.bus.amqp.consumer import AmqpSubscription
from evenkeel.bus.amqp.nodes import Node
from evenkeel.bus.amqp.presence import AmqpAnnouncement
from evenkeel.bus.amqp.publisher import REPLY_TO, Publisher, PublishNacked, QueueGone, QueueRefused
from evenkeel.bus.amqp.publishing_watch import PublishingBlocked, PublishingWatch
from evenkeel.bus.amqp.wills import WillQueue
from evenkeel.bus.codec import MAX_MESSAGE_BYTES, decode_reply, encode
from evenkeel.bus.deliveries import PendingCalls
from evenkeel.core.kit.errors import BusUnavailable, MessageRejected
from evenkeel.core.ports import Handler, Will
from evenkeel.core.protocol.messages import AnyReply, Call, Hint, is_transient

START_SECONDS = 10.0
SEND_SECONDS = 10.0
"""Time for which a send is retried, across outages and nodes."""
CONFIRM_SECONDS = 5.0
"""Time without a confirm after which the next broker is tried."""
RETRY_SECONDS = 0.05
FULL_SECONDS = 2.0
"""How long sending to a queue that refuses messages is retried: it may have lost its leader, and elect another one
within a second.
"""
FULL_RETRY_SECONDS = 0.2
GONE_SECONDS = 0.5
"""Pause before a deleted queue is declared again: RabbitMQ confuses it with a new one of the same name that is declared
during the deletion (seen with 3.10: the consumers of the old one were neither cancelled nor served).
"""
ANSWERS = (QueueGone, PublishNacked, QueueRefused)
"""Errors by which the broker answers: a broker that refuses one message may take others."""
REPLY_WAIT_SECONDS = 5.0
"""Time for which a handler's reply waits for the connection. After that the call times out, and its caller repeats
it.
"""

log = structlog.get_logger(__name__)


class AmqpBus:
    """A bus over the brokers ``nodes`` of one RabbitMQ cluster, which are tried in random order."""

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        name: str,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        access: AgentAccess | ControllerAccess | None = None,
    ) -> None:
        """Raises :class:`ValueError` if ``access`` belongs to an agent and the user of a node is not that
        agent's.
        """
        # clients are spread over the cluster; all connections of one begin at the same node, so that the loss of one
        # is a reason to verify the others
        self._nodes = tuple(random.sample(nodes, len(nodes)))
        self._access = access
        for node in self._nodes:
            if isinstance(access, AgentAccess) and node.user != access.user:
                raise ValueError(f"transport_url: with rabbit_agents_authenticated this agent's user is {access.user}")
        self._name = name
        self._error_log = ConnectionErrorLog()
        self._max_bytes = max_message_bytes
        self._calls = PendingCalls()
        self._subscriptions: list[AmqpSubscription] = []
        self._announcements: list[AmqpAnnouncement] = []
        self._link: AmqpConnection[Publisher] | None = None
        self._connections = 0
        self._watch = PublishingWatch()
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._link is not None:
            return
        if any(node.tls and not node.tls_verify for node in self._nodes):
            log.warning(
                "message broker's certificate is NOT verified; connections are open to man-in-the-middle attacks"
            )
        link = AmqpConnection(
            self._nodes,
            name=self._name,
            error_log=self._error_log,
            open_session=self._open_publisher,
            on_down=self._handle_connection_loss,
        )
        link.start()
        try:
            await link.session(timeout_seconds=START_SECONDS)
        except BaseException:
            await link.close()
            raise
        self._link = link

    async def send(self, queue: str, message: Hint) -> None:
        message_id = uuid.uuid4().hex
        raw = encode(message, message_id=message_id, max_bytes=self._max_bytes)
        # Two limits: a queue that stays full is reported soon; an outage is bridged for longer.
        time = asyncio.get_running_loop().time
        deadline, full_until = time() + SEND_SECONDS, time() + FULL_SECONDS
        while True:
            publisher = await self._wait_for_publisher(deadline)
            try:
                with self._watch.publishing(answers=ANSWERS):
                    async with asyncio.timeout(CONFIRM_SECONDS):
                        await publisher.send(queue, raw, message_id)
                return
            except QueueGone:
                await asyncio.sleep(GONE_SECONDS)
            except PublishNacked:
                if time() >= full_until:
                    raise
                await asyncio.sleep(FULL_RETRY_SECONDS)
            # Neither another connection nor another try changes such an answer within the time of a send.
            except (QueueRefused, PublishingBlocked):
                raise
            except (BusUnavailable, TimeoutError) as error:
                self._watch.refuse_if_blocked()  # a new connection would be blocked, too
                self._replace_publisher(publisher)
                if time() >= deadline:
                    raise BusUnavailable(f"the message broker did not take a message for {queue}") from error
                await asyncio.sleep(RETRY_SECONDS)

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        call_id = uuid.uuid4().hex
        raw = encode(message, message_id=call_id, reply_to=REPLY_TO, max_bytes=self._max_bytes)
        # Before a connection is awaited: the caller's time-out includes that wait.
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        publisher = await self._wait_for_publisher(deadline)
        waiting = self._calls.expect_reply(call_id, queue=queue, timeout_seconds=timeout_seconds, give_up_at=deadline)
        # The call is registered before it is published, because its reply may come first.
        async with waiting as future:
            if is_transient(queue):
                # A blocked connection is kept: a new one would be blocked as well.
                self._watch.refuse_if_blocked()
                await publisher.call_transient(queue, raw, call_id, deadline=deadline)
            else:
                await self._publish_call(publisher, queue, raw, call_id, deadline)
            reply: AnyReply = await future
        return reply

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> AmqpSubscription:
        subscription = AmqpSubscription(
            self._nodes,
            queue,
            handler,
            name=self._name,
            error_log=self._error_log,
            concurrency=concurrency,
            max_reply_bytes=self._max_bytes,
            reply=self._send_reply,
            access=self._access,
            wait_for_main=self._wait_until_sending,
        )
        self._subscriptions.append(subscription)
        await subscription.start()
        return subscription

    async def announce(self, name: str, will: Will | None = None) -> AmqpAnnouncement:
        if self._link is None:
            raise BusUnavailable("the bus is not open")
        user = self._access.user if isinstance(self._access, AgentAccess) else None
        announcement = AmqpAnnouncement(
            self._nodes,
            name,
            name=self._name,
            error_log=self._error_log,
            will=None if will is None else WillQueue(name, will, user),
            wait_for_main=self._wait_until_sending,
        )
        # An agent announces once for each session; without this the list would grow as long as the process runs.
        self._announcements = [other for other in self._announcements if not other.closed]
        self._announcements.append(announcement)
        await announcement.start()
        return announcement

    @property
    def delivers_wills(self) -> bool:
        return True

    @property
    def connection_number(self) -> int:
        return self._connections

    async def present(self, name: str) -> bool | None:
        publisher = self._current_publisher()
        # A blocked broker reads no probes, so nothing can be learned from one.
        if publisher is None or self._watch.blocked:
            return None
        answer = await publisher.probes.present(name)
        if publisher.probes.broken:
            self._replace_publisher(publisher)
        return answer

    def problem(self) -> str:
        if self._current_publisher() is not None:
            return self._watch.problem()
        return self._error_log.latest_reason() or "not connected yet"

    async def close(self) -> None:
        for announcement in self._announcements:
            await announcement.close()
        self._announcements = []
        for subscription in self._subscriptions:
            await subscription.close()
        self._subscriptions = []
        # After the subscriptions, whose handlers may still wait for calls of their own.
        self._calls.fail_all("the bus was closed")
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _open_publisher(self, connection: AbstractConnection) -> Publisher:
        user = self._access.user if isinstance(self._access, AgentAccess) else None
        self._connections += 1
        publisher = await Publisher.open(connection, self._handle_reply, user)
        # an agent's own user may not write to the default exchange; its keepalives are answered all the time
        probe = publisher.probes.broker_answers if user is None else None
        self._watching = asyncio.get_running_loop().create_task(self._watch.watch_connection(connection, probe))
        return publisher

    async def _wait_until_sending(self) -> None:
        """Wait until the connection for sending is up; returns at once if the bus is not open."""
        if self._link is not None:
            await self._link.wait_until_up()

    def _handle_connection_loss(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
        # Direct reply-to belongs to the channel: replies to these calls can never arrive.
        self._calls.fail_all("the connection to the message broker was lost")
        for subscription in self._subscriptions:
            # Their heartbeats are rare, and the broker may be gone for them, too.
            subscription.verify()
        for announcement in self._announcements:
            announcement.verify()

    def _handle_reply(self, raw: bytes) -> None:
        # A reply proves that the broker forwards messages, even if it cannot be decoded.
        self._watch.record_answer()
        try:
            self._calls.resolve(*decode_reply(raw))
        except MessageRejected as error:
            log.error("reply dropped", reason=str(error))

    def _current_publisher(self) -> Publisher | None:
        return self._link.current if self._link is not None else None

    def _replace_publisher(self, publisher: Publisher) -> None:
        if self._link is not None:
            self._link.replace_session(publisher)

    async def _wait_for_publisher(self, deadline: float) -> Publisher:
        if self._link is None:
            raise BusUnavailable("the bus is not open")
        if (publisher := self._link.current) is not None:
            return publisher
        seconds = min(SEND_SECONDS, deadline - asyncio.get_running_loop().time())
        return await self._link.session(timeout_seconds=seconds)

    async def _publish_call(self, publisher: Publisher, queue: str, raw: bytes, call_id: str, deadline: float) -> None:
        full_until = asyncio.get_running_loop().time() + FULL_SECONDS
        gone = False
        while True:
            try:
                with self._watch.publishing(answers=ANSWERS):
                    await publisher.call(queue, raw, call_id, deadline=deadline)
                return
            except QueueGone:
                # Once only: the caller's time-out is short, and it repeats the call.
                if gone:
                    raise
                gone = True
                await asyncio.sleep(GONE_SECONDS)
            except PublishNacked:
                if asyncio.get_running_loop().time() >= full_until:
                    raise
                await asyncio.sleep(FULL_RETRY_SECONDS)
            except (QueueRefused, PublishingBlocked):
                raise
            except BusUnavailable:
                self._watch.refuse_if_blocked()
                self._replace_publisher(publisher)
                raise

    async def _send_reply(self, address: str, raw: bytes) -> None:
        try:
            # no time-out around both, as every reply would pay for it
            self._watch.refuse_if_blocked()
            publisher = await self._wait_for_publisher(asyncio.get_running_loop().time() + REPLY_WAIT_SECONDS)
            await publisher.reply(address, raw, timeout_seconds=REPLY_WAIT_SECONDS)
        except (BusUnavailable, TimeoutError) as error:
            log.warning("reply not sent; its caller will repeat the call", reason=str(error))
