"""What the broker sends for a process that has gone."""

import asyncio
import contextlib

import pytest

from evenkeel.bus.amqp import AmqpBus, wills
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.ports import Will
from evenkeel.core.protocol import messages as m
from tests.bus.children import child
from tests.bus.test_contract import Recorder
from tests.bus.transports import Amqp
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

pytestmark = pytest.mark.services

NOTICE = m.Departure(agent_id="a1", session_id="s1")


@pytest.fixture
def queue(amqp: Amqp) -> str:
    """The callback queue of an environment of this test alone."""
    return m.keepalive_queue(amqp.queue)


@pytest.fixture
async def heard(amqp: Amqp, queue: str) -> Recorder:
    """What controllers got."""
    return await consumer_of(amqp, queue)


async def consumer_of(amqp: Amqp, queue: str) -> Recorder:
    """What a controller gets from the queue."""
    controller, recorder = await amqp.bus(), Recorder(None)
    await controller.consume(queue, recorder, concurrency=4)
    return recorder


async def announcer(amqp: Amqp) -> AmqpBus:
    bus = await amqp.bus()
    assert isinstance(bus, AmqpBus)
    return bus


async def test_a_killed_process_is_reported_at_once(amqp: Amqp, queue: str, heard: Recorder) -> None:
    watcher = await amqp.bus()
    async with child("tests.bus.presence_process", amqp.url, f"{amqp.name()}={queue}"):
        assert await watcher.present(amqp.name()) is True
        assert not heard.got
    await eventually(lambda: heard.got == [NOTICE])


async def test_a_name_that_is_withdrawn_is_not_reported(amqp: Amqp, queue: str, heard: Recorder) -> None:
    bus, later = await announcer(amqp), m.Departure(agent_id="a2", session_id="s2")
    first = await bus.announce(amqp.name(1), Will(queue=queue, message=NOTICE))
    second = await bus.announce(amqp.name(2), Will(queue=queue, message=later))
    await first.close()
    assert second._link.current is not None
    await second._link.current.queue.channel.close()
    await eventually(lambda: heard.got == [later])


async def test_each_lost_connection_is_reported(amqp: Amqp, queue: str, heard: Recorder) -> None:
    announcement = await (await announcer(amqp)).announce(amqp.name(), Will(queue=queue, message=NOTICE))
    for lost in (1, 2):
        session = announcement._link.current
        assert session is not None
        await session.queue.channel.close()
        await eventually(lambda session=session: announcement._link.current not in (None, session))  # type: ignore[misc]
        await eventually(lambda lost=lost: heard.got == [NOTICE] * lost)  # type: ignore[misc]
    await announcement.close()


@pytest.mark.parametrize("ends", ["channel", "queue"])
async def test_a_will_whose_channel_or_queue_the_broker_ends_is_left_again(
    amqp: Amqp, queue: str, heard: Recorder, ends: str
) -> None:
    announcement = await (await announcer(amqp)).announce(amqp.name(), Will(queue=queue, message=NOTICE))
    will, session = announcement._will, announcement._link.current
    assert will is not None and will._channel is not None and will._queue is not None
    if ends == "channel":
        await will._channel.close()
    else:
        await will._queue.delete(if_unused=False, if_empty=False)
    await eventually(lambda: announcement._link.current not in (None, session))
    told = len(heard.got)
    await eventually(lambda: will._held is not None)
    again = announcement._link.current
    assert again is not None
    await again.queue.channel.close()
    await eventually(lambda: len(heard.got) > told)
    await announcement.close()


async def test_a_will_is_renewed_and_still_told_once(
    amqp: Amqp, queue: str, heard: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wills, "RENEW_SECONDS", 0.05)
    announcement = await (await announcer(amqp)).announce(amqp.name(), Will(queue=queue, message=NOTICE))
    tags: set[int | None] = set()

    def renewed() -> bool:
        will = announcement._will
        assert will is not None
        tags.add(will._held.delivery_tag if will._held is not None else None)
        return len(tags) > 4

    await eventually(renewed)
    assert not heard.got  # settled: nothing may ever come
    session = announcement._link.current
    assert session is not None
    await session.queue.channel.close()
    await eventually(lambda: heard.got == [NOTICE])
    await announcement.close()


async def test_after_a_restart_of_the_broker_wills_are_left_again(own_amqp: Amqp, own_broker: RabbitMQ) -> None:
    queue = m.keepalive_queue(own_amqp.queue)
    heard = await consumer_of(own_amqp, queue)
    watcher = await own_amqp.bus()

    async def there() -> bool:
        return await watcher.present(own_amqp.name()) is True

    async def consumed() -> bool:
        """Whether the controller is back: without its queue there is nobody to tell."""
        with contextlib.suppress(BusUnavailable):
            await watcher.call(queue, m.Keepalive(agent_id="a1", session_id="s1"), timeout_seconds=1.0)
        return bool(heard.got)

    async with child("tests.bus.presence_process", own_amqp.url, f"{own_amqp.name()}={queue}"):
        await eventually(there)
        await asyncio.to_thread(own_broker.stop_application)
        await asyncio.to_thread(own_broker.wipe)
        await asyncio.to_thread(own_broker.start)
        await eventually(there)
        heard.got.clear()
        await eventually(consumed)
    await eventually(lambda: NOTICE in heard.got)
