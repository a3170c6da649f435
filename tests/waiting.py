"""Waiting on conditions: generous limits, no fixed sleeps."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, PAUSE_GROWTH = 0.01, 0.1, 1.2
"""A short wait is noticed to be over at once; in a long one a hundred looks a second would take more CPU time than what
is waited for."""


def until(look: Callable[[], bool]) -> None:
    """Wait for a running system, in a test that is not a coroutine."""
    asyncio.run(eventually(look))


async def eventually(
    condition: Callable[[], T | Awaitable[T]], *, within_seconds: float = 60.0, every_seconds: float | None = None
) -> T:
    """The first true answer of ``condition``; fails with its last answer when the limit is over.

    ``every_seconds``: pause between two looks; None: it grows with the time waited, to a tenth of a second."""
    now = asyncio.get_running_loop().time  # which is virtual for some tests
    deadline = now() + within_seconds
    pause = FIRST_PAUSE_SECONDS if every_seconds is None else every_seconds
    while True:
        answer = condition()
        value: T = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        assert now() < deadline, f"not so within {within_seconds} s: {condition}, last answer {value!r}"
        await asyncio.sleep(pause)
        if every_seconds is None:
            pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE_SECONDS)


async def becomes_empty(look: Callable[[], Awaitable[Mapping[Any, Any]]], *, within_seconds: float = 120.0) -> None:
    """Fails with what was there at last."""
    last: list[Mapping[Any, Any]] = []

    async def is_empty() -> bool:
        last[:] = [await look()]
        return not last[0]

    try:
        await eventually(is_empty, every_seconds=0.5, within_seconds=within_seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}; there was {last}") from None
