"""Which processes are there: what every transport promises."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.ports import Bus
from evenkeel.core.protocol.messages import Done
from tests.bus.children import child
from tests.bus.test_contract import Recorder
from tests.bus.transports import CALL, HINT, Transport
from tests.waiting import eventually


@asynccontextmanager
async def _announcer(transport: Transport, *names: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process that announces the names; killed in the end."""
    if not transport.durable:
        pytest.skip("has no separate processes")
    async with child("tests.bus.presence_process", transport.url, *names) as process:
        yield process


async def _gone(bus: Bus, name: str) -> bool:
    return await bus.present(name) is False


async def test_a_name_is_present_as_soon_as_it_is_announced_and_gone_as_soon_as_it_is_withdrawn(
    transport: Transport,
) -> None:
    announcer, watcher = await transport.bus(), await transport.bus()
    announcement = await announcer.announce(transport.name())
    assert await watcher.present(transport.name()) is True
    assert await announcer.present(transport.name()) is True
    await announcement.close()
    assert await watcher.present(transport.name()) is False
    assert await watcher.present(transport.name()) is False
    await announcement.close()


async def test_closing_the_bus_withdraws_its_names_and_no_others(transport: Transport) -> None:
    announcer, other, watcher = await transport.bus(), await transport.bus(), await transport.bus()
    for bus, number in (announcer, 1), (announcer, 2), (other, 3):
        await bus.announce(transport.name(number))
    assert [await watcher.present(transport.name(number)) for number in (1, 2, 3)] == [True] * 3
    await announcer.close()
    assert [await watcher.present(transport.name(number)) for number in (1, 2, 3)] == [False, False, True]


async def test_nothing_is_reported_of_a_name_that_was_never_seen(transport: Transport) -> None:
    announcer, watcher, late = await transport.bus(), await transport.bus(), await transport.bus()
    assert await watcher.present(transport.name()) is None
    announcement = await announcer.announce(transport.name())
    assert await watcher.present(transport.name()) is True
    await announcement.close()
    assert await watcher.present(transport.name()) is False
    assert await late.present(transport.name()) is None


async def test_a_name_that_returns_is_present_again(transport: Transport) -> None:
    first, second, watcher = await transport.bus(), await transport.bus(), await transport.bus()
    for announcer in first, second:
        announcement = await announcer.announce(transport.name())
        assert await watcher.present(transport.name()) is True
        await announcement.close()
        assert await watcher.present(transport.name()) is False


async def test_a_bus_that_is_closed_says_and_announces_nothing(transport: Transport) -> None:
    announcer, watcher = await transport.bus(), await transport.bus()
    await announcer.announce(transport.name())
    assert await watcher.present(transport.name()) is True
    await watcher.close()
    assert await watcher.present(transport.name()) is None
    with pytest.raises(BusUnavailable):
        await watcher.announce(transport.name())


async def test_looking_disturbs_neither_messages_nor_calls(transport: Transport) -> None:
    bus, watcher = await transport.bus(), await transport.bus()
    recorder = Recorder(Done())
    await bus.consume(transport.queue, recorder, concurrency=2)
    announcements = [await bus.announce(transport.name(number)) for number in range(3)]
    names = [transport.name(number) for number in range(6)]  # the other half was never there
    for _ in range(20):
        answers = await asyncio.gather(*(watcher.present(name) for name in names))
        assert answers == [True] * 3 + [None] * 3
        await watcher.send(transport.queue, HINT)
        assert await watcher.call(transport.queue, CALL, timeout_seconds=60) == Done()
    await eventually(lambda: len(recorder.got) == 40)
    await announcements[0].close()
    answers = await asyncio.gather(*(watcher.present(name) for name in names))
    assert answers == [False, True, True, None, None, None]


async def test_many_may_look_for_one_name_at_once_and_give_up(transport: Transport) -> None:
    announcer, watcher = await transport.bus(), await transport.bus()
    announcement = await announcer.announce(transport.name())
    looks = [asyncio.create_task(watcher.present(transport.name())) for _ in range(20)]
    await asyncio.sleep(0)
    for look in looks[::2]:
        look.cancel()
    await asyncio.gather(*looks, return_exceptions=True)
    assert {look.result() for look in looks[1::2]} == {True}
    await announcement.close()
    assert await watcher.present(transport.name()) is False


async def test_a_killed_process_is_gone_and_the_next_one_does_not_inherit_its_names(transport: Transport) -> None:
    watcher = await transport.bus()
    names = [transport.name(number) for number in range(3)]
    async with _announcer(transport, *names):
        assert [await watcher.present(name) for name in names] == [True] * 3
    for name in names:
        await eventually(lambda name=name: _gone(watcher, name))
    async with _announcer(transport, transport.name(4)):
        assert await watcher.present(transport.name(4)) is True
        assert [await watcher.present(name) for name in names] == [False] * 3


async def test_a_frozen_process_is_still_there(transport: Transport) -> None:
    watcher = await transport.bus()
    async with _announcer(transport, transport.name()) as process:
        process.send_signal(signal.SIGSTOP)
        assert [await watcher.present(transport.name()) for _ in range(20)] == [True] * 20
    await eventually(lambda: _gone(watcher, transport.name()))
