"""One process's bus: the port over the real codec and delivery rules, on the simulated broker."""

import asyncio
from collections.abc import Callable
from typing import Any

from evenkeel.bus.codec import MAX_MESSAGE_BYTES, decode_reply, encode
from evenkeel.bus.deliveries import PendingCalls, handle_delivery
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout
from evenkeel.core.ports import Handler
from evenkeel.core.protocol.messages import AnyReply, Call, Hint
from tests.sim.broker import Broker, Consumer, Message
from tests.sim.process import Process

RECONNECT_SECONDS = 0.3
RESEND_SECONDS = 0.2


class SimBus:
    """Implements :class:`evenkeel.core.ports.Bus`."""

    def __init__(self, broker: Broker, process: Process) -> None:
        self._broker = broker
        self._process = process
        self._calls = PendingCalls()
        self._address = broker.unique(process.name)
        self._seen: set[str] = set()
        """Names seen present since the connection was last made."""
        self._announced: set[str] = set()
        self._closed = False
        process.on_death.append(self._gone)
        process.on_thaw.append(self._look)

    @property
    def delivers_wills(self) -> bool:
        """Controllers look for themselves who is present."""
        return False

    @property
    def connection_number(self) -> int:
        """Of use with wills only."""
        return 0

    async def start(self) -> None:
        """Connect."""
        await self._request("connect", lambda: None, effect=False)
        self._broker.callers[self._address] = (self._process, self._resolve)

    async def send(self, queue: str, message: Hint) -> None:
        """A hint."""
        raw = encode(message, message_id=self._broker.unique("m"), max_bytes=MAX_MESSAGE_BYTES)
        kind = type(message).__name__
        self._note("send", kind, queue)
        await self._request(f"send {kind}", lambda: self._broker.publish(self._process, queue, raw, None))

    async def call(self, queue: str, message: Call, *, timeout_seconds: float) -> AnyReply:
        """A call, and its answer."""
        call_id, kind = self._broker.unique("c"), type(message).__name__
        raw = encode(message, message_id=call_id, reply_to=self._address, max_bytes=MAX_MESSAGE_BYTES)
        expires_at = self._broker.effects.loop.now + timeout_seconds
        future = self._calls.open(call_id)
        self._note("call", kind)
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._request(f"call {kind}", lambda: self._broker.publish(self._process, queue, raw, expires_at))
                reply: AnyReply = await future
        except TimeoutError as error:
            self._note("no answer", kind)
            raise CallTimeout(f"no answer on {queue} within {timeout_seconds:g} s") from error
        finally:
            self._calls.forget(call_id)
        return reply

    async def consume(self, queue: str, handler: Handler, *, concurrency: int) -> "SimSubscription":
        """Take a queue's messages."""
        return SimSubscription(self._broker, self, self._process, queue, handler, concurrency)

    async def announce(self, name: str, will: object = None) -> "_Presence":
        """Be seen."""
        await self._request("announce", lambda: self._make_present(name), effect=False)
        self._announced.add(name)
        return _Presence(lambda: self._withdraw(name))

    async def present(self, name: str) -> bool | None:
        """Is somebody seen?"""
        if not self._broker.reachable(self._process) or not self._process.connected:
            return None
        if name in self._broker.present:
            self._seen.add(name)
            return True
        return False if name in self._seen else None

    async def close(self) -> None:
        """Disconnect."""
        self._closed = True
        self._calls.fail_all("the bus was closed")
        self._broker.callers.pop(self._address, None)
        self._broker.disconnect(self._process)

    # -- the connection

    def lost(self) -> None:
        """The connection has ended, whoever ended it."""
        if self._process.connected and not self._closed:
            self._broker.disconnect(self._process)
            self._calls.fail_all("the connection to the bus was lost")
            self._seen.clear()
            self._look()

    def _look(self) -> None:
        """Connect again by and by."""
        if not self._process.connected and not self._process.dead and not self._closed:
            self._broker.effects.later(RECONNECT_SECONDS, self._reconnect)

    def _reconnect(self) -> None:
        process = self._process
        if process.connected or process.dead or process.frozen or self._closed:
            return
        if not self._broker.reachable(process):
            self._look()
            return
        for name in sorted(self._announced):
            self._broker.present[name] = process
        self._broker.reconnect(process)

    def _gone(self) -> None:
        """The process died: its sockets close."""
        self._broker.callers.pop(self._address, None)
        self._broker.effects.later(0.05, self._broker.disconnect, self._process)

    def _make_present(self, name: str) -> None:
        if not self._broker.reachable(self._process):
            raise BusUnavailable("the bus is out of reach")
        self._broker.present[name] = self._process

    def _withdraw(self, name: str) -> None:
        self._announced.discard(name)
        if self._broker.present.get(name) is self._process:
            del self._broker.present[name]

    # -- the rest

    def _resolve(self, raw: bytes) -> None:
        call_id, reply = decode_reply(raw)
        self._note("reply", type(reply).__name__)
        self._calls.resolve(call_id, reply)

    async def _request(self, what: str, do: Callable[[], Any], *, effect: bool = True) -> None:
        broker = self._broker

        def arrive() -> None:
            if not broker.reachable(self._process):
                raise BusUnavailable("the bus is out of reach")
            do()

        await broker.effects.request(
            self._process,
            what,
            arrive,
            latency=broker.latency,
            lost=BusUnavailable("the confirmation was lost"),
            effect=effect,
        )

    def _note(self, kind: str, *what: str) -> None:
        self._broker.effects.note(kind, self._process.name, *what)

    async def respond(self, outcome: Any, queue: str, message: Message, consumer: Consumer) -> None:
        """What becomes of a delivery: the reply goes out, then the message is acknowledged."""
        broker, process = self._broker, self._process
        if outcome.retry_seconds is not None:
            broker.put_back(queue, message, consumer, outcome.retry_seconds)
            return
        if outcome.reply_to:
            for raw in outcome.replies:
                await self._insist(
                    "reply", lambda raw=raw: broker.reply(process, outcome.reply_to, raw), message, consumer
                )
        await self._insist("acknowledge", lambda: broker.acknowledge(queue, message, consumer), message, consumer)

    async def _insist(self, what: str, do: Callable[[], Any], message: Message, consumer: Consumer) -> None:
        """Until it is out, or the message is somebody else's."""
        while message.taken_by is consumer:
            try:
                await self._request(what, do)
                return
            except BusUnavailable:
                await asyncio.sleep(RESEND_SECONDS)


class SimSubscription:
    """A consumer of one queue."""

    def __init__(
        self, broker: Broker, bus: SimBus, process: Process, queue: str, handler: Handler, concurrency: int
    ) -> None:
        self._broker = broker
        self._bus = bus
        self._process = process
        self._queue = queue
        self._handler = handler
        self._tasks: set[asyncio.Task[Any]] = set()
        self._consumer = Consumer(process, self._deliver, concurrency)
        broker.subscribe(queue, self._consumer)

    def _deliver(self, message: Message) -> None:
        if message.taken_by is not self._consumer or self._process.dead:
            return
        if not self._broker.reachable(self._process):
            self._broker.effects.later(RESEND_SECONDS, self._deliver, message)
        else:
            task = self._process.spawn(self._work(message), "delivery")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, message: Message) -> None:
        try:
            outcome = await handle_delivery(
                message.raw,
                self._handler,
                queue=self._queue,
                deliveries=message.deliveries,
                max_reply_bytes=MAX_MESSAGE_BYTES,
            )
        except asyncio.CancelledError:
            self._broker.put_back(self._queue, message, self._consumer, 0.0)
            raise
        if outcome.dead_letter_reason:
            self._broker.effects.faults["message set aside"] += 1
        await self._bus.respond(outcome, self._queue, message, self._consumer)

    async def close(self) -> None:
        """Take no more, and wait for those being worked on."""
        consumer = self._consumer
        queue = self._broker.queue(self._queue)
        if consumer in queue.consumers:
            queue.consumers.remove(consumer)
        while self._tasks:
            try:
                await asyncio.wait(self._tasks)
            except asyncio.CancelledError:
                for task in self._tasks:
                    task.cancel()
                raise


class _Presence:
    def __init__(self, withdraw: Callable[[], None]) -> None:
        self._withdraw = withdraw

    async def close(self) -> None:
        self._withdraw()
