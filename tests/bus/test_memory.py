"""What only the in-process bus has: outages at will, and no time but the loop's."""

import asyncio

import pytest

from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.core.kit.errors import BusUnavailable, CallTimeout
from evenkeel.core.protocol.messages import Done
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


async def test_nothing_is_reported_in_an_outage_and_afterwards_only_of_names_seen_since() -> None:
    hub = MemoryHub()
    announcer, watcher = MemoryBus(hub), MemoryBus(hub)
    announcement = await announcer.announce("n")
    assert await watcher.present("n") is True
    hub.outage = True
    assert await watcher.present("n") is None
    with pytest.raises(BusUnavailable):
        await watcher.announce("m")
    hub.outage = False
    await announcement.close()
    assert await watcher.present("n") is None
    assert await watcher.present("m") is None


async def test_an_abandoned_bus_is_like_a_killed_process() -> None:
    hub = MemoryHub()
    killed, heir, recorder = MemoryBus(hub), MemoryBus(hub), Recorder()
    started = asyncio.Event()
    finished: list[object] = []

    async def hold_out(message: object) -> Done:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            finished.append(message)  # and does not let itself be cancelled
        return Done()

    await killed.start()
    await killed.announce("n")
    assert await heir.present("n") is True
    await killed.consume("q", hold_out, concurrency=2)
    await heir.send("q", hint(1))
    call = asyncio.create_task(heir.call("q", CALL, timeout_seconds=60))
    await eventually(started.is_set)
    killed.abandon()
    assert await heir.present("n") is False
    await eventually(lambda: len(finished) == 2)
    assert not call.done()  # settled: it may not be answered
    for use in (
        killed.start(),
        killed.send("q", HINT),
        killed.announce("n"),
        killed.consume("q", recorder, concurrency=1),
    ):
        with pytest.raises(BusUnavailable):
            await use
    assert await killed.present("n") is None
    served = Recorder(Done())
    await heir.consume("q", served, concurrency=1)
    assert await call == Done()
    assert served.got == [hint(1), CALL]
    await killed.close()
    await heir.close()
