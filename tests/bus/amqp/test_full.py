"""A queue that takes no more: only its own senders notice."""

import asyncio

import pytest

from evenkeel.bus.amqp import bus as amqp_bus
from evenkeel.bus.amqp import publish_channel, topology
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.protocol.messages import Done
from tests.bus.patience import LIMIT_SECONDS
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, Amqp, hint
from tests.waiting import eventually

pytestmark = pytest.mark.services


async def test_a_full_queue_refuses_messages_and_calls_and_others_do_not(
    amqp: Amqp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(topology._DURABLE_QUEUE_ARGUMENTS, "x-max-length", 3)
    bus = await amqp.bus()
    connected = bus._link.current  # type: ignore[attr-defined]
    # a new queue may be without a leader for a while, and refuses messages then, as if it were full
    await bus.send(amqp.queue, hint(0))
    monkeypatch.setattr(amqp_bus, "FULL_SECONDS", 0.5)
    await _fill(amqp)
    refused = await asyncio.gather(*(bus.send(amqp.queue, hint(0)) for _ in range(20)), return_exceptions=True)
    assert all(isinstance(error, BusUnavailable) and "full" in str(error) for error in refused)
    with pytest.raises(BusUnavailable, match="full"):
        await bus.call(amqp.queue, CALL, timeout_seconds=60)
    # so is the other queue, and messages that were taken count until that is acknowledged
    monkeypatch.setattr(amqp_bus, "FULL_SECONDS", LIMIT_SECONDS)
    other, served, emptied = f"{amqp.queue}-other", Recorder(Done()), Recorder(Done())
    await bus.consume(other, served, concurrency=1)
    assert await bus.call(other, CALL, timeout_seconds=60) == Done()
    await bus.consume(amqp.queue, emptied, concurrency=5)
    await eventually(lambda: _sent(amqp, 99))
    # settled: the call waits itself; the rest may never become different
    await eventually(lambda: 99 in emptied.numbers())
    assert await bus.call(amqp.queue, CALL, timeout_seconds=60) == Done()
    assert bus._link.current is connected  # type: ignore[attr-defined]
    assert len(connected._sends._retired) <= publish_channel.MAX_RETIRED


async def _fill(amqp: Amqp) -> None:
    """The limit is a soft one: some more are taken before senders hear of it."""
    bus = await amqp.bus()
    with pytest.raises(BusUnavailable, match="full"):
        for number in range(1000):
            await bus.send(amqp.queue, hint(number))


async def _sent(amqp: Amqp, number: int) -> bool:
    bus = await amqp.bus()
    try:
        await bus.send(amqp.queue, hint(number))
    except BusUnavailable:
        return False
    finally:
        await bus.close()
    return True
