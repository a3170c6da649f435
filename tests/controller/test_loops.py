"""Pauses that may be cut short, and doing the same for many things some at a time."""

import asyncio

import pytest

from evenkeel.controller.loops import InterruptibleSleep, for_each_concurrently


async def test_a_pause_ends_with_its_time_or_on_request() -> None:
    pause = InterruptibleSleep()
    await pause.wait(0.001)
    waiting = asyncio.create_task(pause.wait(3600.0))
    await asyncio.sleep(0)
    pause.end()
    await asyncio.wait_for(waiting, 60.0)


async def test_told_before_it_begins_it_ends_at_once_and_only_that_one() -> None:
    pause = InterruptibleSleep()
    pause.end()
    pause.end()
    await asyncio.wait_for(pause.wait(3600.0), 60.0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pause.wait(3600.0), 0.01)


async def test_no_more_are_done_at_once_than_said() -> None:
    running = most = 0
    done = []

    async def one(number: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(number)

    await for_each_concurrently(range(10), one, at_once=3)
    assert (most, sorted(done)) == (3, list(range(10)))


async def test_all_are_tried_and_the_first_failure_in_order_is_reported() -> None:
    tried = []

    async def one(number: int) -> None:
        await asyncio.sleep(0.01 if number == 1 else 0)
        tried.append(number)
        if number in (1, 2):
            raise ValueError(str(number))

    with pytest.raises(ValueError, match=r"^1$"):
        await for_each_concurrently(range(4), one, at_once=4)
    assert sorted(tried) == [0, 1, 2, 3]
