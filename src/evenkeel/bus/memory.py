"""The bus inside one process: for unit tests, for simulations under a virtual clock, and for trying things out.

It keeps the promises of the port (at-least-once, competing consumers, bounded retries, size limit) over the same
bytes as the other transports, with no threads and no time but the event loop's. Nothing survives the process.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Iterator
from weakref import WeakValueDictionary

from evenkeel.bus.codec import MAX_MESSAGE_BYTES, decode_reply, encode
from evenkeel.bus.work import Calls, Workers, work
from evenkeel.core.errors import BusUnavailable, CallTimeout
from evenkeel.core.messages import AnyReply, Call, Hint
from evenkeel.core.ports import Handler
from evenkeel.core.values import Value

MAX_QUEUED = 100_000
MAX_DEAD = 1_000


class _Item:
    """A message in a queue. ``expires_at`` is loop time."""

    __slots__ = ("deliveries", "expires_at", "raw")

    def __init__(self, raw: bytes, expires_at: float | None) -> None:
        self.raw = raw
        self.expires_at = expires_at
        self.deliveries = 0

    def expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= asyncio.get_running_loop().time()


class DeadMessage(Value):
    """A message that was set aside."""

    queue: str
    reason: str
    raw: bytes


class _Queue:
    """A bounded queue with any number of takers."""

    def __init__(self) -> None:
        self._items: deque[_Item] = deque()
        self._takers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: _Item) -> None:
        self._items.append(item)
        self._wake()

    def put_back(self, item: _Item) -> None:
        self._items.appendleft(item)
        self._wake()

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    async def take(self) -> _Item:
        """The next message that has not expired."""
        while True:
            while self._items:
                item = self._items.popleft()
                if not item.expired():
                    return item
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake()  # we were chosen and leave: the next one must look
                raise


class MemoryHub:
    """The queues that several :class:`MemoryBus` share: the stand-in for the broker."""

    def __init__(self) -> None:
        self.queues: dict[str, _Queue] = {}
        self.dead: deque[DeadMessage] = deque(maxlen=MAX_DEAD)
        """What was set aside, the newest last."""
        self.outage = False
        """While True, sends and calls raise BusUnavailable, as if the broker were gone."""
        self.callers: dict[str, Calls] = {}
        self._names: Iterator[int] = itertools.count(1)

    def unique(self, prefix: str) -> str:
        """A name that this hub never gave before."""
        return f"{prefix}-{next(self._names)}"

    def queue(self, name: str) -> _Queue:
        """The queue, made on first use."""
        return self.queues.setdefault(name, _Queue())

    def put(self, queue: str, raw: bytes, *, expires_at: float | None = None) -> None:
        """Add raw bytes to a queue. Raises :class:`BusUnavailable` in an outage or when the queue is full."""
        if self.outage:
            raise BusUnavailable("the bus is out of reach")
        target = self.queue(queue)
        if len(target) >= MAX_QUEUED:
            raise BusUnavailable(f"queue {queue} is full")
        target.put(_Item(raw, expires_at))


_hubs: WeakValueDictionary[str, MemoryHub] = WeakValueDictionary()


def shared_hub(name: str) -> MemoryHub:
    """The hub of that name in this process, for as long as anybody holds it."""
    return _hubs.setdefault(name, MemoryHub())


class MemoryBus:
    """A :class:`~evenkeel.core.ports.Bus` within this process. Those with the same ``hub`` talk to each other."""

    def __init__(
        self, hub: MemoryHub | None = None, *, name: str = "memory", max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> None:
        self.hub = hub if hub is not None else MemoryHub()
        self._max_bytes = max_message_bytes
        self._address = self.hub.unique(name)
        self._calls = Calls()
        self._subscriptions: list[MemorySubscription] = []

    async def start(self) -> None:
        self.hub.callers[self._address] = self._calls
        if self.hub.outage:
            raise BusUnavailable("the bus is out of reach")

    async def send(self, queue: str, message: Hint) -> None:
        raw = encode(message, message_id=self.hub.unique("m"), max_bytes=self._max_bytes)
        self.hub.put(queue, raw)

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        call_id = self.hub.unique("c")
        raw = encode(message, message_id=call_id, reply_to=self._address, max_bytes=self._max_bytes)
        self.hub.callers[self._address] = self._calls
        self.hub.put(queue, raw, expires_at=asyncio.get_running_loop().time() + timeout_seconds)
        future = self._calls.open(call_id)
        try:
            async with asyncio.timeout(timeout_seconds):
                reply: AnyReply = await future
        except TimeoutError as error:
            raise CallTimeout(f"no answer on {queue} within {timeout_seconds:g} s") from error
        finally:
            self._calls.forget(call_id)
        return reply

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> "MemorySubscription":
        subscription = MemorySubscription(self.hub, queue, handler, concurrency, self._max_bytes)
        self._subscriptions.append(subscription)
        return subscription

    async def close(self) -> None:
        for subscription in self._subscriptions:
            await subscription.close()
        self._calls.fail_all("the bus was closed")
        self.hub.callers.pop(self._address, None)


class MemorySubscription:
    """A consumer of one queue."""

    def __init__(self, hub: MemoryHub, queue: str, handler: Handler, concurrency: int, max_bytes: int) -> None:
        self._hub = hub
        self._queue = queue
        self._handler = handler
        self._max_bytes = max_bytes
        self._workers = Workers(concurrency)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        queue = self._hub.queue(self._queue)
        while True:
            await self._workers.wait_free()
            self._workers.start(self._work(await queue.take()))

    async def _work(self, item: _Item) -> None:
        item.deliveries += 1
        try:
            outcome = await work(
                item.raw,
                self._handler,
                queue=self._queue,
                deliveries=item.deliveries,
                max_reply_bytes=self._max_bytes,
            )
        except asyncio.CancelledError:
            self._hub.queue(self._queue).put_back(item)
            raise
        if outcome.retry_seconds is not None:
            asyncio.get_running_loop().call_later(outcome.retry_seconds, self._hub.queue(self._queue).put, item)
        elif outcome.aside:
            self._hub.dead.append(DeadMessage(queue=self._queue, reason=outcome.aside, raw=item.raw))
        elif outcome.reply_to and (caller := self._hub.callers.get(outcome.reply_to)) is not None:
            caller.resolve(*decode_reply(outcome.reply))

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._workers.drain()
