"""Waits for conditions, with errors that name the missing one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

STEP_SECONDS = 60.0
POLL_SECONDS = 0.1

T = TypeVar("T")


class StepFailed(Exception):
    """A step of the demo did not reach the expected condition in time; the text names the condition."""


async def wait_until(condition: Callable[[], Awaitable[T | None]], what: str) -> T:
    """Poll the condition until its value is true, and return that value. ``what``: text for the error. Raises
    :class:`StepFailed` after :data:`STEP_SECONDS`.
    """
    deadline = time.monotonic() + STEP_SECONDS
    while not (value := await condition()):
        if time.monotonic() > deadline:
            raise StepFailed(f"waited {STEP_SECONDS:.0f} s in vain for {what}")
        await asyncio.sleep(POLL_SECONDS)
    return value


async def wait_until_settled(problems: Callable[[], Awaitable[list[str]]]) -> None:
    """Poll until ``problems`` returns no texts. Raises :class:`StepFailed` with the remaining ones after
    :data:`STEP_SECONDS`.
    """
    deadline = time.monotonic() + STEP_SECONDS
    while found := await problems():
        if time.monotonic() > deadline:
            raise StepFailed(f"after {STEP_SECONDS:.0f} s: " + "; ".join(found))
        await asyncio.sleep(POLL_SECONDS)
