"""The transports under test, each as something that opens buses which talk to each other."""

import contextlib
import sqlite3
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import aio_pika

from evenkeel.bus.amqp.topology import DEAD_QUEUE, declare_queue
from evenkeel.bus.embedded.schema import monotonic_seconds
from evenkeel.bus.factory import open_bus
from evenkeel.bus.memory import shared_hub
from evenkeel.core.ports import Bus
from evenkeel.core.protocol.messages import ApplyHint, Keepalive

HINT = ApplyHint(shard_id="shard", load_balancer_ids=("lb-1",))
CALL = Keepalive(agent_id="agent", session_id="session")
FILE_SECONDS = 120.0
"""How long a test waits for the queue file, which the buses have one after the other."""


def hint(number: int) -> ApplyHint:
    """A message that can be told from others."""
    return ApplyHint(shard_id=str(number), load_balancer_ids=())


class Transport:
    """One bus, seen from several processes."""

    kind = ""
    durable = True

    def __init__(self, url: str) -> None:
        self.url = url
        self.queue = f"queue-{uuid.uuid4().hex[:8]}"
        self._buses: list[Bus] = []

    async def bus(self, *, max_message_bytes: int = 64 * 1024) -> Bus:
        """A started bus, as another process would have it."""
        bus = open_bus(self.url, name="test", max_message_bytes=max_message_bytes)
        await bus.start()
        self._buses.append(bus)
        return bus

    def name(self, number: int = 0) -> str:
        """A name to announce that no other test has."""
        return f"presence_{self.queue}-{number}"

    async def put_raw(self, raw: bytes) -> None:
        """Put bytes that no bus of ours would send on the queue."""
        raise NotImplementedError

    async def dead(self) -> list[bytes]:
        """What was set aside from the queue."""
        raise NotImplementedError

    async def waiting(self) -> int:
        """How many messages of the queue a consumer would get."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close all buses."""
        for bus in self._buses:
            await bus.close()


class Memory(Transport):
    """Within this process."""

    kind = "memory"
    durable = False

    def __init__(self) -> None:
        super().__init__(f"memory://{uuid.uuid4().hex}")
        self._hub = shared_hub(self.url.removeprefix("memory://"))

    async def put_raw(self, raw: bytes) -> None:
        self._hub.put(self.queue, raw)

    async def dead(self) -> list[bytes]:
        return [message.raw for message in self._hub.dead if message.queue == self.queue]

    async def waiting(self) -> int:
        return sum(not item.has_expired() for item in self._hub.queue(self.queue)._items)


class Embedded(Transport):
    """A queue file."""

    kind = "embedded"

    def __init__(self, directory: Path) -> None:
        self.path = directory / "bus.db"
        super().__init__(f"embedded://{self.path}")

    async def put_raw(self, raw: bytes) -> None:
        with contextlib.closing(sqlite3.connect(self.path, timeout=FILE_SECONDS)) as file, file:
            file.execute("INSERT OR IGNORE INTO queue VALUES (?, 0, 0, 0)", (self.queue,))
            file.execute("INSERT INTO message (queue, available_at, body) VALUES (?, 0, ?)", (self.queue, raw))

    async def dead(self) -> list[bytes]:
        with contextlib.closing(sqlite3.connect(self.path, timeout=FILE_SECONDS)) as file:
            return [row[0] for row in file.execute("SELECT body FROM dead WHERE queue = ?", (self.queue,))]

    async def waiting(self) -> int:
        statement = "SELECT COUNT(*) FROM message WHERE queue = ? AND (expires_at IS NULL OR expires_at > ?)"
        with contextlib.closing(sqlite3.connect(self.path, timeout=FILE_SECONDS)) as file:
            return int(file.execute(statement, (self.queue, monotonic_seconds())).fetchone()[0])


class Amqp(Transport):
    """RabbitMQ."""

    kind = "amqp"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._dead: list[bytes] = []

    async def put_raw(self, raw: bytes) -> None:
        async def publish(channel: aio_pika.abc.AbstractChannel) -> None:
            await declare_queue(channel, self.queue)
            await channel.default_exchange.publish(aio_pika.Message(raw), self.queue)

        await self._with_channel(publish)

    async def dead(self) -> list[bytes]:
        async def fetch(channel: aio_pika.abc.AbstractChannel) -> None:
            await declare_queue(channel, self.queue)
            queue = await channel.get_queue(DEAD_QUEUE)
            while (message := await queue.get(no_ack=True, fail=False)) is not None:
                if message.headers.get("x-first-death-queue") == self.queue:  # others were left by earlier tests
                    self._dead.append(message.body)

        await self._with_channel(fetch)
        return self._dead

    async def waiting(self) -> int:
        found = 0

        async def count(channel: aio_pika.abc.AbstractChannel) -> None:
            nonlocal found
            queue = await declare_queue(channel, self.queue)
            found = int(queue.declaration_result.message_count or 0)

        await self._with_channel(count)
        return found

    async def _with_channel(self, action: Callable[[aio_pika.abc.AbstractChannel], Awaitable[None]]) -> None:
        async with await aio_pika.connect(self.url) as connection, connection.channel() as channel:
            await action(channel)
