"""A RabbitMQ cluster of three real nodes loses one after the other, while messages and calls flow.

The cluster takes half a minute to form and some 130 MB of memory a node, so the tests share it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.ports import Bus
from evenkeel.core.protocol.messages import Done
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, Amqp, hint
from tests.services import rabbitmq as rabbit
from tests.services.rabbitmq import RabbitCluster, RabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RabbitCluster]:
    if reason := rabbit.missing():
        pytest.skip(reason)
    nodes = RabbitCluster()
    nodes.start()
    yield nodes
    nodes.close()


class Traffic:
    """Keeps sending numbered hints and making calls, and notes what was acknowledged."""

    def __init__(self, sender: Bus, caller: Bus, queue: str) -> None:
        self._sender = sender
        self._caller = caller
        self._queue = queue
        self.sent: list[int] = []
        self.failed_sends = 0
        self.answered = 0
        self.failed_calls = 0

    @contextlib.asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._repeat(self._send)), asyncio.create_task(self._repeat(self._call))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _repeat(self, action: Callable[[int], Awaitable[None]]) -> None:
        number = 0
        while True:
            await action(number)
            number += 1
            await asyncio.sleep(0.002)

    async def _send(self, number: int) -> None:
        try:
            await self._sender.send(self._queue, hint(number))
            self.sent.append(number)
        except BusUnavailable:
            self.failed_sends += 1

    async def _call(self, number: int) -> None:
        try:
            assert await self._caller.call(self._queue, CALL, timeout_seconds=5.0) == Done()
            self.answered += 1
        except BusUnavailable:
            self.failed_calls += 1

    async def goes_on(self) -> None:
        """Return when fifty more of each got through."""
        sent, answered = len(self.sent) + 50, self.answered + 50
        await eventually(lambda: len(self.sent) >= sent and self.answered >= answered, within_seconds=120)


@pytest.mark.parametrize("lost", [0, 1])
async def test_a_cluster_may_lose_one_node_after_the_other(
    cluster: RabbitCluster, lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # all begin with the node that will be killed
    monkeypatch.setattr(
        "evenkeel.bus.amqp.connection.random.sample", lambda nodes, number: [*nodes[lost:], *nodes[:lost]]
    )
    for limit in ("bus.START_SECONDS", "consumer.FIRST_CONNECT_SECONDS", "presence.ANNOUNCE_SECONDS"):
        monkeypatch.setattr(f"evenkeel.bus.amqp.{limit}", 120.0)
    amqp, watcher = Amqp(cluster.url), Amqp(cluster.nodes[2].url)
    async with contextlib.AsyncExitStack() as opened:
        opened.push_async_callback(amqp.close)
        opened.push_async_callback(watcher.close)
        await _lose(cluster, cluster.nodes[lost], amqp, watcher)


async def _lose(cluster: RabbitCluster, node: RabbitMQ, amqp: Amqp, watcher: Amqp) -> None:
    buses = [await amqp.bus() for _ in range(4)]
    recorders = [Recorder(Done()), Recorder(Done())]
    for bus, recorder in zip(buses, recorders, strict=False):
        await bus.consume(amqp.queue, recorder, concurrency=4)
    observer = await watcher.bus()
    await buses[0].announce(amqp.name())
    await _present(observer, amqp.name())
    await _replicated(cluster, amqp.queue)

    traffic = Traffic(buses[2], buses[3], amqp.queue)
    async with traffic.flowing():
        await traffic.goes_on()
        node.kill()
        await traffic.goes_on()
        await _present(observer, amqp.name())
        await asyncio.to_thread(cluster.start)
        await _replicated(cluster, amqp.queue)
        await traffic.goes_on()
        await _present(observer, amqp.name())

    def consumed() -> set[int]:
        return {number for recorder in recorders for number in recorder.numbers()}

    await eventually(lambda: consumed() >= set(traffic.sent), within_seconds=120)


async def _present(bus: Bus, name: str) -> None:
    async def present() -> bool:
        return await bus.present(name) is True

    await eventually(present, within_seconds=120)


async def _replicated(cluster: RabbitCluster, queue: str) -> None:
    """Wait until every node has caught up with the queue, so that the next one may be lost."""
    await eventually(lambda: asyncio.to_thread(cluster.fully_replicated, queue), within_seconds=120, every_seconds=0.5)
