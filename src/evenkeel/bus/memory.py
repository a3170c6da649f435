"""The bus inside one process: for unit tests and for simulations under a virtual clock.

It gives the port's guarantees (at-least-once, competing consumers, bounded retries, size limit) with the same encoding
as the other transports, without threads and with the event loop's time only. Messages do not survive the process.
"""

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Iterator
from weakref import WeakValueDictionary

from evenkeel.bus.codec import MAX_MESSAGE_BYTES, decode_reply, encode
from evenkeel.bus.deliveries import PendingCalls, TaskPool, handle_delivery
from evenkeel.bus.presence import PresenceHistory
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.kit.values import Value
from evenkeel.core.ports import Handler, Will
from evenkeel.core.protocol.messages import AnyReply, Call, Hint

MAX_QUEUED = 100_000
MAX_DEAD = 1_000


class _QueuedMessage:
    """A message in a queue. ``expires_at`` is loop time in seconds; None: the message does not expire."""

    __slots__ = ("deliveries", "expires_at", "raw")

    def __init__(self, raw: bytes, expires_at: float | None) -> None:
        self.raw = raw
        self.expires_at = expires_at
        self.deliveries = 0

    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= asyncio.get_running_loop().time()


class DeadMessage(Value):
    """A message in the dead-letter queue."""

    queue: str
    reason: str
    raw: bytes


class _Queue:
    """A first-in, first-out queue with any number of consumers. The caller limits its length: see
    :meth:`MemoryHub.put`.
    """

    def __init__(self) -> None:
        self._items: deque[_QueuedMessage] = deque()
        self._takers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: _QueuedMessage) -> None:
        self._items.append(item)
        self._wake_consumer()

    def put_back(self, item: _QueuedMessage) -> None:
        # In front, as a broker requeues a message near its old place.
        self._items.appendleft(item)
        self._wake_consumer()

    def _wake_consumer(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            # A consumer that was cancelled while it waited must not swallow the wake-up.
            if not taker.done():
                taker.set_result(None)
                return

    async def take(self) -> _QueuedMessage:
        """Wait for the next message that has not expired, remove it and return it. Expired messages are
        dropped.
        """
        while True:
            while self._items:
                item = self._items.popleft()
                if not item.has_expired():
                    return item
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake_consumer()  # this consumer was woken and is cancelled: wake the next one
                raise


class MemoryHub:
    """The queues, dead letters and announced names that several :class:`MemoryBus` share, in place of a
    broker.
    """

    def __init__(self) -> None:
        self.queues: dict[str, _Queue] = {}
        self.dead: deque[DeadMessage] = deque(maxlen=MAX_DEAD)
        """Dead letters, the newest last."""
        self.callers: dict[str, PendingCalls] = {}
        self.announced: Counter[str] = Counter()
        self.outages = 0
        """Number of outages so far; a bus that finds it changed was disconnected meanwhile."""
        self._outage = False
        self._names: Iterator[int] = itertools.count(1)

    @property
    def outage(self) -> bool:
        """While True, sends and calls raise BusUnavailable, as if the broker were gone."""
        return self._outage

    @outage.setter
    def outage(self, outage: bool) -> None:
        # Counts beginnings only: setting the same value twice is one outage.
        self.outages += outage and not self._outage
        self._outage = outage

    def unique_name(self, prefix: str) -> str:
        return f"{prefix}-{next(self._names)}"

    def refuse_in_outage(self) -> None:
        """Raise :class:`BusUnavailable` during an outage."""
        if self._outage:
            raise BusUnavailable("the bus is out of reach")

    def queue(self, name: str) -> _Queue:
        """Return the queue of this name; creates it on first use."""
        return self.queues.setdefault(name, _Queue())

    def put(self, queue: str, raw: bytes, *, expires_at: float | None = None) -> None:
        """Add an encoded message to a queue. ``expires_at``: loop time in seconds; None: never. Raises
        :class:`BusUnavailable` in an outage or if the queue is full.
        """
        self.refuse_in_outage()
        target = self.queue(queue)
        if len(target) >= MAX_QUEUED:
            raise BusUnavailable(f"queue {queue} is full")
        target.put(_QueuedMessage(raw, expires_at))


_hubs: WeakValueDictionary[str, MemoryHub] = WeakValueDictionary()


def shared_hub(name: str) -> MemoryHub:
    """Return this process's hub with the given name; creates it if there is none. A hub exists as long as it
    is referenced.
    """
    return _hubs.setdefault(name, MemoryHub())


class MemoryBus:
    """A :class:`~evenkeel.core.ports.Bus` within this process. Buses with the same ``hub`` exchange messages;
    None: a hub of its own.
    """

    def __init__(
        self, hub: MemoryHub | None = None, *, name: str = "memory", max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> None:
        self.hub = hub if hub is not None else MemoryHub()
        self._max_bytes = max_message_bytes
        self._address = self.hub.unique_name(name)
        self._calls = PendingCalls()
        self._subscriptions: list[MemorySubscription] = []
        self._announcements: list[MemoryAnnouncement] = []
        self._sightings = PresenceHistory()
        self._outages_seen = self.hub.outages
        self._closed = False
        self._abandoned = False

    async def start(self) -> None:
        self._refuse_if_unreachable()
        self._closed = False
        self.hub.callers[self._address] = self._calls

    def _refuse_if_unreachable(self) -> None:
        if self._abandoned:
            raise BusUnavailable("the bus was abandoned")
        self.hub.refuse_in_outage()

    async def send(self, queue: str, message: Hint) -> None:
        self._refuse_if_unreachable()
        raw = encode(message, message_id=self.hub.unique_name("m"), max_bytes=self._max_bytes)
        self.hub.put(queue, raw)

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        self._refuse_if_unreachable()
        call_id = self.hub.unique_name("c")
        raw = encode(message, message_id=call_id, reply_to=self._address, max_bytes=self._max_bytes)
        self.hub.callers[self._address] = self._calls
        self.hub.put(queue, raw, expires_at=asyncio.get_running_loop().time() + timeout_seconds)
        async with self._calls.expect_reply(call_id, queue=queue, timeout_seconds=timeout_seconds) as future:
            reply: AnyReply = await future
        return reply

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> "MemorySubscription":
        if self._abandoned:
            raise BusUnavailable("the bus was abandoned")
        subscription = MemorySubscription(self.hub, queue, handler, concurrency, self._max_bytes)
        self._subscriptions.append(subscription)
        return subscription

    async def announce(self, name: str, will: Will | None = None) -> "MemoryAnnouncement":
        self._refuse_if_unreachable()
        if self._closed:
            raise BusUnavailable("the bus is not open")
        announcement = MemoryAnnouncement(self.hub, name)
        self._announcements.append(announcement)
        return announcement

    @property
    def delivers_wills(self) -> bool:
        return False

    @property
    def connection_number(self) -> int:
        return self.hub.outages

    async def present(self, name: str) -> bool | None:
        if self._closed or self._abandoned or self.hub.outage:
            return None
        if self._outages_seen != self.hub.outages:
            self._outages_seen = self.hub.outages
            # As after a reconnection to a real broker: a name never seen on this connection is not reported as absent.
            self._sightings.forget()
        return self._sightings.evaluate(name, self.hub.announced[name] > 0)

    def problem(self) -> str:
        try:
            self._refuse_if_unreachable()
        except BusUnavailable as error:
            return str(error)
        return ""

    def abandon(self) -> None:
        """Simulate that this process was killed: its names vanish, messages in progress are redelivered to other
        consumers, and its tasks can send nothing more. Waiting calls stay until their tasks are cancelled.
        """
        self._abandoned = True
        for announcement in self._announcements:
            announcement.withdraw()
        for subscription in self._subscriptions:
            subscription.abandon()
        self.hub.callers.pop(self._address, None)

    async def close(self) -> None:
        self._closed = True
        for announcement in self._announcements:
            await announcement.close()
        for subscription in self._subscriptions:
            await subscription.close()
        self._calls.fail_all("the bus was closed")
        self.hub.callers.pop(self._address, None)


class MemoryAnnouncement:
    """A name that is present on the bus until it is withdrawn."""

    def __init__(self, hub: MemoryHub, name: str) -> None:
        self._hub = hub
        self._name: str | None = name
        hub.announced[name] += 1

    def withdraw(self) -> None:
        if self._name is not None:
            self._hub.announced -= Counter([self._name])  # which drops zero counts
            self._name = None

    async def close(self) -> None:
        self.withdraw()


class MemorySubscription:
    """Consumes one queue of a hub with ``handler``, at most ``concurrency`` messages at a time."""

    def __init__(self, hub: MemoryHub, queue: str, handler: Handler, concurrency: int, max_bytes: int) -> None:
        self._hub = hub
        self._queue = queue
        self._handler = handler
        self._max_bytes = max_bytes
        self._workers = TaskPool(concurrency)
        self._under_way: dict[_QueuedMessage, None] = {}
        self._abandoned = False
        self._task = asyncio.get_running_loop().create_task(self._consume_repeatedly())

    async def _consume_repeatedly(self) -> None:
        queue = self._hub.queue(self._queue)
        while True:
            await self._workers.wait_free()
            self._workers.start(self._handle_item(await queue.take()))

    async def _handle_item(self, item: _QueuedMessage) -> None:
        item.deliveries += 1
        self._under_way[item] = None
        try:
            outcome = await handle_delivery(
                item.raw,
                self._handler,
                queue=self._queue,
                deliveries=item.deliveries,
                max_reply_bytes=self._max_bytes,
            )
        except asyncio.CancelledError:
            # abandon() has put the item back itself.
            if not self._abandoned:
                self._hub.queue(self._queue).put_back(item)
            raise
        finally:
            self._under_way.pop(item, None)
        if self._abandoned:
            return  # a handler that suppressed its cancellation
        if outcome.retry_seconds is not None:
            asyncio.get_running_loop().call_later(outcome.retry_seconds, self._hub.queue(self._queue).put, item)
        elif outcome.dead_letter_reason:
            self._hub.dead.append(DeadMessage(queue=self._queue, reason=outcome.dead_letter_reason, raw=item.raw))
        elif outcome.reply_to and (caller := self._hub.callers.get(outcome.reply_to)) is not None:
            for reply in outcome.replies:
                caller.resolve(*decode_reply(reply))

    async def close(self) -> None:
        self._task.cancel()
        await self._workers.drain(asyncio.wait([self._task]))

    def abandon(self) -> None:
        """Stop at once, without waiting for handlers; the messages that they were handling go back to the
        front of the queue.
        """
        self._abandoned = True
        self._task.cancel()
        self._workers.cancel()
        # In reverse, because each is put in front: the order of the queue is restored.
        for item in reversed(self._under_way):
            self._hub.queue(self._queue).put_back(item)
        self._under_way = {}
