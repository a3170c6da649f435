"""RabbitMQ goes away, comes back, comes back empty, or is replaced by another node."""

import asyncio
import socket

import aio_pika
import pytest

from evenkeel.bus.amqp import AmqpBus, Node, parse_nodes
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout
from evenkeel.core.protocol.messages import AnyMessage, AnyReply, Done
from tests.bus.amqp.starting import why_not_started
from tests.bus.patience import LIMIT_SECONDS
from tests.bus.test_contract import Recorder, cancel_close
from tests.bus.transports import CALL, Amqp, hint
from tests.services.rabbitmq import RabbitMQ, SharedRabbitMQ
from tests.waiting import eventually

pytestmark = pytest.mark.services


async def _stop(broker: RabbitMQ) -> None:
    await asyncio.to_thread(broker.stop_application)


async def _start(broker: RabbitMQ) -> None:
    await asyncio.to_thread(broker.start)


async def test_a_subscription_survives_a_restart_and_waiting_messages_are_kept(
    own_amqp: Amqp, own_broker: RabbitMQ
) -> None:
    sender, consumer = await own_amqp.bus(), await own_amqp.bus()
    recorder, idle = Recorder(), f"{own_amqp.queue}-idle"
    await consumer.consume(own_amqp.queue, recorder, concurrency=2)
    await sender.send(idle, hint(1))
    await _stop(own_broker)
    await _start(own_broker)
    await sender.send(own_amqp.queue, hint(2))
    await eventually(lambda: recorder.got == [hint(2)])
    late = Recorder()
    await consumer.consume(idle, late, concurrency=1)
    await eventually(lambda: late.got == [hint(1)])


async def test_everything_works_on_when_the_broker_was_killed_and_comes_back_empty(
    own_amqp: Amqp, own_broker: RabbitMQ
) -> None:
    sender, consumer = await own_amqp.bus(), await own_amqp.bus()
    recorder = Recorder(Done())
    await consumer.consume(own_amqp.queue, recorder, concurrency=2)
    await sender.send(own_amqp.queue, hint(1))
    await eventually(lambda: recorder.got == [hint(1)])
    own_broker.kill()
    own_broker.wipe()
    waiting = asyncio.create_task(sender.send(own_amqp.queue, hint(2)))
    await _start(own_broker)
    await waiting
    await eventually(lambda: recorder.got == [hint(1), hint(2)])
    assert await sender.call(own_amqp.queue, CALL, timeout_seconds=60) == Done()  # settled: the call waits itself


async def test_a_call_fails_at_once_when_the_connection_is_lost(
    own_amqp: Amqp, own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, server = await own_amqp.bus(), await own_amqp.bus()
    started = asyncio.Event()

    async def hang(message: AnyMessage) -> AnyReply | None:
        started.set()
        await asyncio.Event().wait()
        return None

    subscription = await server.consume(own_amqp.queue, hang, concurrency=1)
    call = asyncio.create_task(caller.call(own_amqp.queue, CALL, timeout_seconds=3600))
    await started.wait()
    own_broker.kill()
    with pytest.raises(BusUnavailable) as failure:
        await asyncio.wait_for(call, 60)
    assert not isinstance(failure.value, CallTimeout)
    await cancel_close(subscription, monkeypatch)


async def test_sends_in_a_short_outage_wait_and_in_a_long_one_fail(
    own_amqp: Amqp, own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = await own_amqp.bus()
    await bus.send(own_amqp.queue, hint(1))
    monkeypatch.setattr("evenkeel.bus.amqp.bus.SEND_SECONDS", 0.5)
    await _stop(own_broker)  # killed, a single node may forget the queue that it has just made
    with pytest.raises(BusUnavailable):
        await bus.send(own_amqp.queue, hint(2))
    with pytest.raises(BusUnavailable):
        await bus.call(own_amqp.queue, CALL, timeout_seconds=0.5)
    monkeypatch.setattr("evenkeel.bus.amqp.bus.SEND_SECONDS", LIMIT_SECONDS)
    waiting = asyncio.create_task(bus.send(own_amqp.queue, hint(3)))
    await _start(own_broker)
    await waiting
    recorder = Recorder()
    await bus.consume(own_amqp.queue, recorder, concurrency=1)
    await eventually(lambda: {1, 3} <= set(recorder.numbers()))


async def test_a_deleted_queue_is_made_again_by_sender_and_consumer(amqp: Amqp) -> None:
    bus = await amqp.bus()
    recorder = Recorder(Done())
    await bus.consume(amqp.queue, recorder, concurrency=1)
    await bus.send(amqp.queue, hint(1))
    await eventually(lambda: recorder.got == [hint(1)])
    async with await aio_pika.connect(amqp.url) as connection, connection.channel() as channel:
        await channel.queue_delete(amqp.queue)
    await bus.send(amqp.queue, hint(2))
    await eventually(lambda: recorder.got == [hint(1), hint(2)])
    assert await bus.call(amqp.queue, CALL, timeout_seconds=60) == Done()  # settled: the call waits itself


async def test_another_node_is_used_when_one_is_dead(broker: SharedRabbitMQ) -> None:
    with socket.socket() as taken:  # by somebody who does not listen
        taken.bind(("127.0.0.1", 0))
        dead = Node(host="127.0.0.1", port=taken.getsockname()[1])
        bus = AmqpBus((dead, *parse_nodes(broker.url), dead), name="test")
        await bus.start()
        await bus.send("rotation", hint(1))
        await bus.close()


async def test_start_fails_in_time_when_no_node_answers_and_may_be_repeated(
    own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 0.5)
    bus = AmqpBus(parse_nodes(own_broker.url), name="test")
    own_broker.kill()
    with pytest.raises(BusUnavailable):
        await bus.start()
    await _start(own_broker)
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", LIMIT_SECONDS)
    await bus.start()
    await bus.close()


async def test_a_wrong_password_is_reported_without_it(broker: SharedRabbitMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.amqp.bus.START_SECONDS", 2.0)
    bus = AmqpBus(parse_nodes(broker.url.replace("guest:guest", "guest:s3cret")), name="test")
    assert "s3cret" not in await why_not_started(bus, "refused")
