"""Blocking calls: bounded in number and time."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.network.neutron.threads import NeutronCalls
from tests.waiting import eventually


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Lets those that wait for it go; in the end all of them."""
    event = threading.Event()
    yield event
    event.set()


async def test_call_beyond_the_timeout_is_unavailable(gate: threading.Event) -> None:
    calls = NeutronCalls(timeout_seconds=0.05, threads=1, waiting_max=0)
    with pytest.raises(NetworkUnavailable, match=r"within 0\.05 s"):
        await calls.run(lambda: gate.wait(60))
    calls.close()


async def test_there_is_room_again_when_a_late_call_ends(gate: threading.Event) -> None:
    calls = NeutronCalls(timeout_seconds=0.05, threads=1, waiting_max=0)
    started = threading.Event()

    def late() -> bool:
        started.set()
        return gate.wait(60)

    async def is_late() -> bool:
        with pytest.raises(NetworkUnavailable):
            await calls.run(late)
        return started.is_set()  # else its time was over before it had its thread, and it gave its room back

    assert await eventually(is_late)
    with pytest.raises(NetworkUnavailable, match="too many"):
        await calls.run(lambda: True)
    gate.set()

    async def fits() -> bool:
        try:
            return await calls.run(lambda: True)
        except NetworkUnavailable:
            return False

    assert await eventually(fits)
    calls.close()


async def test_more_than_fit_are_refused_at_once(gate: threading.Event) -> None:
    calls = NeutronCalls(timeout_seconds=60.0, threads=2, waiting_max=3)
    under_way = [asyncio.create_task(calls.run(lambda: gate.wait(60))) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(NetworkUnavailable, match="too many requests are waiting"):
        await calls.run(lambda: True)
    gate.set()
    assert await asyncio.gather(*under_way) == [True] * 5
    calls.close()


async def test_a_cancelled_call_gives_its_room_back(gate: threading.Event) -> None:
    calls = NeutronCalls(timeout_seconds=60.0, threads=1, waiting_max=1)
    first, second = (asyncio.create_task(calls.run(lambda: gate.wait(60))) for _ in range(2))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.set()
    assert await first
    assert await asyncio.gather(calls.run(lambda: 1), calls.run(lambda: 2)) == [1, 2]
    calls.close()
