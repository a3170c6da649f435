"""The broker of a run: queues that survive everything but being emptied, consumers that come and go.

It promises what DESIGN says of the port and no more: a message that was taken is delivered again when its consumer's
connection ends, whether or not the consumer was done with it; any message may be lost, delayed or repeated.
"""

import random
from collections import deque
from collections.abc import Callable

from evenkeel.core.kit.errors import BusUnavailable
from tests.sim.effects import Effects, Latency
from tests.sim.process import Process


class Message:
    """One message in a queue or with a consumer."""

    __slots__ = ("deliveries", "expires_at", "raw", "taken_by")

    def __init__(self, raw: bytes, expires_at: float | None) -> None:
        self.raw = raw
        self.expires_at = expires_at
        self.deliveries = 0
        self.taken_by: Consumer | None = None


class Consumer:
    """A consumer as the broker sees it."""

    def __init__(self, process: Process, deliver: Callable[[Message], None], concurrency: int) -> None:
        self.process = process
        self.deliver = deliver
        self.free = concurrency
        self.closed = False
        self.taken: dict[int, Message] = {}


class Queue:
    """One queue."""

    def __init__(self) -> None:
        self.waiting: deque[Message] = deque()
        self.consumers: list[Consumer] = []


class Broker:
    """See the module."""

    def __init__(self, effects: Effects, rng: random.Random) -> None:
        self.effects = effects
        self.queues: dict[str, Queue] = {}
        self.callers: dict[str, tuple[Process, Callable[[bytes], None]]] = {}
        self.present: dict[str, Process] = {}
        self.down = False
        self.latency = Latency(0.0005, 0.004)
        self.lost = self.repeated = self.delayed = 0.0
        self.hints_repeated = self.hints_delayed = 0.0
        """Chances of hints, beside those of all messages."""
        self.delay_seconds = 5.0
        self._rng = rng
        self._numbers = 0

    def unique(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}-{self._numbers}"

    def queue(self, name: str) -> Queue:
        return self.queues.setdefault(name, Queue())

    def reachable(self, process: Process) -> bool:
        """Can the process talk to the broker now?"""
        return not self.down and not process.cut_from_bus

    # -- in

    def publish(self, process: Process, name: str, raw: bytes, expires_at: float | None) -> None:
        """A message arrives. Raises :class:`BusUnavailable`."""
        if not self.reachable(process):
            raise BusUnavailable("the bus is out of reach")
        effects = self.effects
        if effects.fault("message lost", self.lost):
            return
        repeated, delayed = self.repeated, self.delayed
        if expires_at is None:  # a hint
            repeated, delayed = max(repeated, self.hints_repeated), max(delayed, self.hints_delayed)
        copies = 2 if effects.fault("message repeated", repeated) else 1
        for _ in range(copies):
            message = Message(raw, expires_at)
            if effects.fault("message delayed", delayed):
                effects.later(self._rng.uniform(0.0, self.delay_seconds), self._enqueue, name, message)
            else:
                self._enqueue(name, message)

    def _enqueue(self, name: str, message: Message) -> None:
        self.queue(name).waiting.append(message)
        self.pump(name)

    def pump(self, name: str) -> None:
        """Hand out what waits, to any consumer that is free."""
        queue = self.queue(name)
        while queue.waiting and not self.down:
            takers = [each for each in queue.consumers if each.free > 0 and each.process.connected]
            if not takers:
                return
            message = queue.waiting.popleft()
            if message.expires_at is not None and message.expires_at <= self.effects.loop.now:
                continue
            taker = takers[0] if len(takers) == 1 else self._rng.choice(takers)
            taker.free -= 1
            taker.taken[id(message)] = message
            message.taken_by = taker
            message.deliveries += 1
            self.effects.later(self.latency.draw(self._rng), taker.deliver, message)

    # -- out

    def acknowledge(self, name: str, message: Message, consumer: Consumer) -> None:
        """The consumer is done with it."""
        if self._give_up(message, consumer):
            self.pump(name)

    def put_back(self, name: str, message: Message, consumer: Consumer, after_seconds: float) -> None:
        """The consumer wants it later again."""
        if self._give_up(message, consumer):
            self.effects.later(after_seconds, self._enqueue, name, message)
            self.pump(name)

    def _give_up(self, message: Message, consumer: Consumer) -> bool:
        if message.taken_by is not consumer:
            return False  # it was delivered to somebody else meanwhile
        message.taken_by = None
        consumer.taken.pop(id(message), None)
        consumer.free += 1
        return True

    def reply(self, process: Process, address: str, raw: bytes) -> None:
        """An answer to a call. Raises :class:`BusUnavailable`."""
        if not self.reachable(process):
            raise BusUnavailable("the bus is out of reach")
        effects = self.effects
        if effects.fault("reply lost", self.lost):
            return
        for _ in range(2 if effects.fault("reply repeated", self.repeated) else 1):
            delay = self.latency.draw(self._rng)
            if effects.fault("reply delayed", self.delayed):
                delay = self._rng.uniform(0.0, self.delay_seconds)
            effects.later(delay, self._answer, address, raw)

    def _answer(self, address: str, raw: bytes) -> None:
        caller = self.callers.get(address)
        if caller is not None and caller[0].connected:
            caller[1](raw)

    # -- connections

    def subscribe(self, name: str, consumer: Consumer) -> None:
        self.queue(name).consumers.append(consumer)
        self.pump(name)

    def disconnect(self, process: Process) -> None:
        """Its connection ends: what it had taken is delivered again, and it is not present any more."""
        process.connected = False
        for name in [name for name, holder in self.present.items() if holder is process]:
            del self.present[name]
        for name, queue in self.queues.items():
            for consumer in queue.consumers:
                if consumer.process is process:
                    self._requeue(queue, consumer)
            if process.dead:
                queue.consumers = [each for each in queue.consumers if each.process is not process]
            self.pump(name)

    def _requeue(self, queue: Queue, consumer: Consumer) -> None:
        consumer.free += len(consumer.taken)
        for message in reversed(consumer.taken.values()):
            message.taken_by = None
            queue.waiting.appendleft(message)
        consumer.taken = {}

    def reconnect(self, process: Process) -> None:
        process.connected = True
        for name in self.queues:
            self.pump(name)

    def empty(self) -> None:
        """Restarted without its disk."""
        for queue in self.queues.values():
            queue.waiting.clear()
