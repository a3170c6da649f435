"""Every caller that still waits gets a result or an error."""

import asyncio

import pytest

from evenkeel.controller.answers import deliver_error, deliver_outcome, deliver_result


async def raising() -> str:
    raise ValueError("no")


async def test_results_and_errors_reach_the_caller() -> None:
    loop = asyncio.get_running_loop()
    good, bad = loop.create_future(), loop.create_future()
    await deliver_outcome(good, asyncio.sleep(0, "yes"))
    await deliver_outcome(bad, raising())
    assert await good == "yes"
    with pytest.raises(ValueError, match="no"):
        await bad


async def test_a_caller_that_has_given_up_gets_none() -> None:
    answer = asyncio.get_running_loop().create_future()
    answer.cancel()
    deliver_result(answer, "late")
    deliver_error(answer, ValueError("late"))
    assert answer.cancelled()
