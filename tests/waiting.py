"""Waiting on conditions: generous limits, no fixed sleeps."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], bool]) -> None:
    """Wait for a running system, in a test that is not a coroutine."""
    asyncio.run(eventually(look))


async def eventually(
    condition: Callable[[], T | Awaitable[T]], *, within_seconds: float = 60.0, every_seconds: float = 0.01
) -> T:
    """The first true answer of ``condition``; fails with its last answer when the limit is over."""
    deadline = time.monotonic() + within_seconds
    while True:
        answer = condition()
        value: T = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        assert time.monotonic() < deadline, f"not so within {within_seconds} s: {condition}, last answer {value!r}"
        await asyncio.sleep(every_seconds)
