"""RabbitMQ is connected and takes no messages: a resource alarm, or publishes that it never confirms."""

import asyncio
from collections.abc import Iterator

import pytest

from evenkeel.bus.amqp import publishing_watch
from evenkeel.core.kit.errors import BusUnavailable
from tests.bus.test_contract import Recorder
from tests.bus.transports import Amqp, hint
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

pytestmark = pytest.mark.services

_WATERMARK = "vm_memory_monitor:set_vm_memory_high_watermark"


@pytest.fixture
def alarmed(own_broker: RabbitMQ) -> Iterator[RabbitMQ]:
    """A broker whose memory alarm the test raises; it has none afterwards."""
    yield own_broker
    own_broker.evaluate(f"{_WATERMARK}({{absolute, 1000000000}})")


def raise_alarm(broker: RabbitMQ) -> None:
    """What ``rabbitmqctl set_vm_memory_high_watermark 0.0001`` does."""
    broker.evaluate(f"{_WATERMARK}(0.0001)")


async def test_a_memory_alarm_is_the_problem_of_an_idle_process_until_it_ends(
    own_amqp: Amqp, alarmed: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing_watch, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(publishing_watch, "IDLE_SECONDS", 0.1)
    bus, consumer = await own_amqp.bus(), await own_amqp.bus()
    await bus.send(own_amqp.queue, hint(1))
    connected = bus._link.current  # type: ignore[attr-defined]
    assert bus.problem() == ""
    raise_alarm(alarmed)
    await eventually(lambda: "blocks publishers" in bus.problem())
    with pytest.raises(BusUnavailable, match="blocks publishers"):
        await bus.send(own_amqp.queue, hint(2))
    # a new connection would be blocked, too
    assert bus._link.current is connected  # type: ignore[attr-defined]
    alarmed.evaluate(f"{_WATERMARK}({{absolute, 1000000000}})")
    await eventually(lambda: bus.problem() == "")
    recorder = Recorder()
    await consumer.consume(own_amqp.queue, recorder, concurrency=1)
    await bus.send(own_amqp.queue, hint(3))
    await eventually(lambda: {1, 3} <= set(recorder.numbers()))


async def test_publishes_without_confirms_are_a_problem_until_one_is_confirmed(
    own_amqp: Amqp, own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing_watch, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(publishing_watch, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(publishing_watch, "UNCONFIRMED_SECONDS", 0.5)
    bus = await own_amqp.bus()
    own_broker.freeze()
    try:
        await eventually(lambda: "confirms no messages" in bus.problem())
    finally:
        own_broker.thaw()
    await eventually(lambda: bus.problem() == "")
    await asyncio.wait_for(bus.send(own_amqp.queue, hint(1)), 60)
