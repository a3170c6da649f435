"""Notifications reach a listener of oslo.messaging, and none is lost when RabbitMQ is stopped."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aio_pika
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from evenkeel.bus.amqp import notifications, parse_nodes
from evenkeel.bus.amqp.notifications import AmqpNotifications
from evenkeel.controller.notification_shapes import NEUTRON, OCTAVIA, build_notification
from evenkeel.core.control.notifications import Notification
from evenkeel.core.kit.errors import BusUnavailable
from tests.bus.amqp.notification_listener import Listener
from tests.bus.patience import LIMIT_SECONDS
from tests.controller.test_notification_shapes import ENTRY
from tests.services.rabbitmq import RabbitMQ, SharedRabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]

TOPIC = "notifications"
QUEUE = f"{TOPIC}.info"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch, patience: None) -> None:
    monkeypatch.setattr(notifications, "CONNECT_SECONDS", LIMIT_SECONDS)
    monkeypatch.setattr(notifications, "SEND_SECONDS", LIMIT_SECONDS)


def sender(url: str, *topics: str, quorum: bool = False) -> AmqpNotifications:
    return AmqpNotifications(parse_nodes(url), name="test", topics=topics or (TOPIC,), quorum=quorum)


@pytest.fixture
async def outlet(broker: SharedRabbitMQ) -> AsyncIterator[AmqpNotifications]:
    opened = sender(broker.url)
    yield opened
    await opened.close()


@pytest.fixture
async def client(broker: SharedRabbitMQ) -> AsyncIterator[Any]:
    """A channel of another client."""
    connection = await aio_pika.connect(broker.url)
    yield await connection.channel()
    await connection.close()


def numbered(number: int, shape: str = OCTAVIA) -> Notification:
    return build_notification(replace(ENTRY, id=number, name=f"n{number}"), shape, "host-1")


async def test_a_listener_of_oslo_messaging_gets_all_that_was_sent(
    broker: SharedRabbitMQ, outlet: AmqpNotifications
) -> None:
    ours = [numbered(1), numbered(2, NEUTRON)]
    await outlet.send(ours[0])  # nobody listens yet: it waits in the queue
    async with Listener(broker.url, OCTAVIA, NEUTRON) as listener:
        await outlet.send(ours[1])
        await eventually(lambda: len(listener.received) == 2)
    for sent, received in zip(ours, listener.received, strict=True):
        assert received["event_type"] == sent.event_type
        assert received["publisher_id"] == sent.publisher_id
        assert received["payload"] == sent.payload
        assert received["metadata"] == {"message_id": sent.message_id, "timestamp": sent.timestamp}
        assert {name: received["context"][name] for name in sent.context} == sent.context


async def test_a_repetition_reaches_the_listener_with_its_message_id_and_leaves_the_queue(
    broker: SharedRabbitMQ, outlet: AmqpNotifications
) -> None:
    name = f'rabbit_misc:r(<<"{broker.vhost}">>, queue, <<"{QUEUE}">>)'
    queue = f"{{ok, Queue}} = rabbit_amqqueue:lookup({name})"
    count = f"{queue}, proplists:get_value(messages, rabbit_amqqueue:info(Queue, [messages]))"

    async def is_empty() -> bool:
        """True if there is no message, also none that was delivered and not acknowledged."""
        return int(await asyncio.to_thread(broker.evaluate, count)) == 0

    async with Listener(broker.url, OCTAVIA) as listener:
        for names in (["n1"], ["n1", "n1"]):
            await outlet.send(numbered(1))
            await eventually(lambda names=names: [each["payload"]["name"] for each in listener.received] == names)
            # The listener has acknowledged it, and so would recognize a repetition by oslo.messaging's own unique id.
            await eventually(is_empty, every_seconds=0.5)


async def test_each_topic_gets_each_notification(broker: SharedRabbitMQ, client: Any) -> None:
    outlet = sender(broker.url, "one", "two")
    await outlet.send(numbered(1))
    await outlet.close()
    for topic in ("one", "two"):
        queue = await client.get_queue(f"{topic}.info")
        message = await queue.get()
        assert json.loads(json.loads(message.body)["oslo.message"])["payload"]["name"] == "n1"
        assert message.delivery_mode is aio_pika.DeliveryMode.PERSISTENT


async def test_an_exchange_and_a_queue_that_consumers_made_are_used_as_they_are(
    broker: SharedRabbitMQ, client: Any, outlet: AmqpNotifications
) -> None:
    exchange = await client.declare_exchange(OCTAVIA, "topic", durable=False)
    queue = await client.declare_queue(QUEUE, durable=False)
    await queue.bind(exchange, QUEUE)
    with capture_logs() as logs:
        await outlet.send(numbered(1))
        await outlet.send(numbered(2))
    assert (await client.declare_queue(QUEUE, passive=True)).declaration_result.message_count == 2
    named = [(each["kind"], each["name"]) for each in logs if each["log_level"] == "warning"]
    assert named == [("exchange", OCTAVIA), ("queue", QUEUE)]


async def test_quorum_queues_are_made_where_configured(broker: SharedRabbitMQ, client: Any) -> None:
    outlet = sender(broker.url, quorum=True)
    await outlet.send(numbered(1))
    await outlet.close()
    # the broker would refuse other arguments
    queue = await client.declare_queue(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
    assert await queue.get() is not None


async def test_a_queue_that_was_deleted_is_made_again(client: Any, outlet: AmqpNotifications) -> None:
    await outlet.send(numbered(1))
    await client.queue_delete(QUEUE)
    await outlet.send(numbered(2))
    assert (await client.declare_queue(QUEUE, passive=True)).declaration_result.message_count == 1


async def test_an_exchange_that_was_deleted_is_made_again_for_the_next_attempt(
    client: Any, outlet: AmqpNotifications
) -> None:
    await outlet.send(numbered(1))
    await client.exchange_delete(OCTAVIA)
    with pytest.raises(BusUnavailable):
        await outlet.send(numbered(2))
    await send_all(outlet, [numbered(2)])
    queue = await client.get_queue(QUEUE)
    for number in (1, 2):
        assert (await queue.get()).message_id == numbered(number).message_id


async def test_a_notification_for_a_full_queue_is_refused(client: Any, outlet: AmqpNotifications) -> None:
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    await client.declare_queue(QUEUE, durable=True, arguments=full)
    await outlet.send(numbered(1))
    with pytest.raises(BusUnavailable, match="refuses"):
        await outlet.send(numbered(2))


async def test_a_broker_that_does_not_confirm_in_time_is_unavailable(
    own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    outlet = sender(own_broker.url)
    await outlet.send(numbered(1))
    monkeypatch.setattr(notifications, "SEND_SECONDS", 0.5)
    own_broker.freeze()
    try:
        with pytest.raises(BusUnavailable, match="did not answer in time"):
            await outlet.send(numbered(2))
    finally:
        own_broker.thaw()
        await outlet.close()


async def test_all_notifications_arrive_in_order_over_stops_of_the_broker(own_broker: RabbitMQ) -> None:
    topic = "stops"  # of its own: the broker is that of other tests, too
    outlet = sender(own_broker.url, topic)
    async with Listener(own_broker.url, OCTAVIA, topic=topic) as listener:
        ours = [numbered(number) for number in range(300)]
        sending = asyncio.create_task(send_all(outlet, ours))
        for count in (20, 100):
            await eventually(lambda count=count: len(listener.received) >= count)
            await asyncio.to_thread(own_broker.stop_application)
            await asyncio.to_thread(own_broker.start)
        await sending
        await eventually(lambda: len(listener.first_receptions()) == len(ours))
    received = [each["metadata"]["message_id"] for each in listener.first_receptions()]
    assert received == [each.message_id for each in ours]
    await outlet.close()


async def send_all(outlet: AmqpNotifications, ours: list[Notification]) -> None:
    """As the outbox is sent: each one after the confirmation of the former, and again after a failure."""
    for each in ours:
        while True:
            try:
                await outlet.send(each)
                break
            except BusUnavailable:
                await asyncio.sleep(0)
