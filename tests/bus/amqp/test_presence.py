"""Presence when RabbitMQ goes away, comes back, refuses or is slow."""

import asyncio
import logging

import aio_pika
import pytest

from evenkeel.bus.amqp import AmqpBus, parse_nodes
from evenkeel.bus.amqp import presence as amqp_presence
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.ports import Bus
from tests.bus.patience import LIMIT_SECONDS
from tests.bus.transports import Amqp
from tests.services.rabbitmq import RabbitMQ, SharedRabbitMQ
from tests.waiting import eventually

pytestmark = pytest.mark.services


async def _is(bus: Bus, name: str, answer: bool | None) -> bool:
    return await bus.present(name) is answer


async def test_after_a_restart_names_return_and_none_is_reported_to_be_gone_that_was_not_seen_since(
    own_amqp: Amqp, own_broker: RabbitMQ
) -> None:
    announcer, watcher = await own_amqp.bus(), await own_amqp.bus()
    gone = await announcer.announce(own_amqp.name(1))
    await announcer.announce(own_amqp.name(2))
    assert [await watcher.present(own_amqp.name(number)) for number in (1, 2)] == [True, True]
    await asyncio.to_thread(own_broker.stop_application)
    await eventually(lambda: _is(watcher, own_amqp.name(2), None))
    await gone.close()
    await asyncio.to_thread(own_broker.wipe)
    await asyncio.to_thread(own_broker.start)
    answers = []

    async def back() -> bool:
        answers.append((await watcher.present(own_amqp.name(1)), await watcher.present(own_amqp.name(2))))
        return answers[-1] == (None, True)

    await eventually(back)
    assert {answer for pair in answers for answer in pair} <= {None, True}


async def test_a_name_that_lost_its_connection_is_announced_again(amqp: Amqp) -> None:
    announcer, watcher = await amqp.bus(), await amqp.bus()
    announcement = await announcer.announce(amqp.name())
    assert await watcher.present(amqp.name()) is True
    session = announcement._link.current  # type: ignore[attr-defined]
    await session.queue.channel.close()
    await eventually(lambda: announcement._link.current not in (None, session))  # type: ignore[attr-defined]
    assert await watcher.present(amqp.name()) is True  # settled: a link is current after its name was announced


async def test_a_name_held_by_a_connection_that_ends_later_is_taken_then(
    amqp: Amqp, broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = await amqp.bus()
    connection = await aio_pika.connect(broker.url)
    channel = await connection.channel()
    await channel.declare_queue(amqp.name(), exclusive=True)
    announcing = asyncio.create_task(bus.announce(amqp.name()))
    done, _ = await asyncio.wait({announcing}, timeout=0.5)
    assert not done
    await connection.close()
    await announcing
    assert await bus.present(amqp.name()) is True
    monkeypatch.setattr(amqp_presence, "ANNOUNCE_SECONDS", 0.5)
    other = await amqp.bus()
    with pytest.raises(BusUnavailable):
        await other.announce(amqp.name())
    assert await bus.present(amqp.name()) is True


async def test_a_frozen_broker_states_nothing_and_late_answers_harm_nothing(
    own_amqp: Amqp, own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    announcer, watcher = await own_amqp.bus(), await own_amqp.bus()
    await announcer.announce(own_amqp.name(1))
    gone = await announcer.announce(own_amqp.name(2))
    assert [await watcher.present(own_amqp.name(number)) for number in (1, 2)] == [True, True]
    await gone.close()
    publisher = watcher._link.current  # type: ignore[attr-defined]
    monkeypatch.setattr(amqp_presence, "PROBE_SECONDS", 0.1)
    own_broker.freeze()
    try:
        assert [await watcher.present(own_amqp.name(number)) for number in (1, 2, 1, 2)] == [None] * 4
    finally:
        own_broker.thaw()
    monkeypatch.setattr(amqp_presence, "PROBE_SECONDS", LIMIT_SECONDS)
    await eventually(lambda: _is(watcher, own_amqp.name(1), True))
    await eventually(lambda: _is(watcher, own_amqp.name(2), False))  # settled: neither may ever happen
    assert watcher._link.current is publisher  # type: ignore[attr-defined]
    assert caplog.records == []


async def test_an_announcement_without_a_broker_fails_in_time(
    own_amqp: Amqp, own_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amqp_presence, "ANNOUNCE_SECONDS", 0.5)
    bus = await own_amqp.bus()
    own_broker.kill()
    with pytest.raises(BusUnavailable):
        await bus.announce(own_amqp.name())
    await eventually(lambda: _is(bus, own_amqp.name(), None))


async def test_a_bus_that_is_not_started_says_and_announces_nothing(broker: SharedRabbitMQ) -> None:
    bus = AmqpBus(parse_nodes(broker.url), name="test")
    assert await bus.present("n") is None
    with pytest.raises(BusUnavailable):
        await bus.announce("n")


async def test_a_withdrawn_name_leaves_no_queue(amqp: Amqp, broker: SharedRabbitMQ) -> None:
    bus = await amqp.bus()
    announcement = await bus.announce(amqp.name())
    await announcement.close()
    async with await aio_pika.connect(broker.url) as connection, connection.channel() as channel:
        with pytest.raises(aio_pika.exceptions.ChannelNotFoundEntity):
            await channel.declare_queue(amqp.name(), passive=True)
