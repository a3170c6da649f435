"""Waiting for several things, and ending them, without anything going on behind one's back."""

import asyncio
import gc

import pytest

from evenkeel.devices.waiting import cancel_and_wait, gather_all_results


async def fail() -> None:
    raise RuntimeError("failed")


async def test_all_have_ended_when_the_first_failure_is_raised() -> None:
    done = asyncio.Event()

    async def slow() -> None:
        await asyncio.sleep(0)
        done.set()

    with pytest.raises(RuntimeError):
        await gather_all_results(fail(), slow())
    assert done.is_set()


async def test_abandoned_task_ends_and_its_failure_is_not_reported() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    failed, endless = asyncio.create_task(fail()), asyncio.create_task(asyncio.Event().wait())
    await asyncio.wait({failed})
    await cancel_and_wait(failed, endless)
    assert endless.cancelled()
    del failed, endless
    gc.collect()
    assert complaints == []
