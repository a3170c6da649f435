"""What only the in-process bus has: outages at will, and no time but the loop's."""

import asyncio

import pytest

from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.core.errors import BusUnavailable, CallTimeout
from evenkeel.core.messages import Done
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, HINT, hint
from tests.waiting import eventually


async def test_an_outage_fails_sends_calls_and_starts_until_it_is_over() -> None:
    hub = MemoryHub()
    bus = MemoryBus(hub)
    hub.outage = True
    with pytest.raises(BusUnavailable):
        await bus.start()
    with pytest.raises(BusUnavailable):
        await bus.send("q", HINT)
    with pytest.raises(BusUnavailable):
        await bus.call("q", CALL, timeout_seconds=1)
    hub.outage = False
    await bus.consume("q", Recorder(Done()), concurrency=1)
    assert await bus.call("q", CALL, timeout_seconds=60) == Done()
    await bus.close()


async def test_a_full_queue_refuses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.bus.memory.MAX_QUEUED", 1)
    bus = MemoryBus()
    await bus.send("q", HINT)
    with pytest.raises(BusUnavailable, match="full"):
        await bus.send("q", HINT)


async def test_a_consumer_that_leaves_while_it_is_chosen_passes_the_message_on() -> None:
    hub = MemoryHub()
    bus, recorder = MemoryBus(hub), Recorder()
    leaving = await bus.consume("q", Recorder(), concurrency=1)
    await asyncio.sleep(0)
    await bus.consume("q", recorder, concurrency=1)
    await asyncio.sleep(0)
    closing = asyncio.create_task(leaving.close())
    await bus.send("q", hint(1))
    await closing
    await bus.send("q", hint(2))
    await eventually(lambda: hint(2) in recorder.got)
    await bus.close()


async def test_an_hour_of_waiting_takes_no_time_under_a_virtual_clock() -> None:
    loop = asyncio.get_running_loop()
    offset = 0.0
    real = loop.time
    loop.time = lambda: real() + offset  # type: ignore[method-assign]
    bus = MemoryBus()
    call = asyncio.create_task(bus.call("q", CALL, timeout_seconds=3600))
    await asyncio.sleep(0)
    offset = 3601.0
    with pytest.raises(CallTimeout):
        await asyncio.wait_for(call, 3600)
    await bus.close()
