"""Waiting on conditions: generous limits, no fixed sleeps."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def until(look: Callable[[], bool]) -> None:
    """Wait for a running system, in a test that is not a coroutine."""
    asyncio.run(eventually(look))


async def eventually(
    condition: Callable[[], T | Awaitable[T]], *, within_seconds: float = 60.0, every_seconds: float = 0.01
) -> T:
    """The first true answer of ``condition``; fails with its last answer when the limit is over."""
    now = asyncio.get_running_loop().time  # which is virtual for some tests
    deadline = now() + within_seconds
    while True:
        answer = condition()
        value: T = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        assert now() < deadline, f"not so within {within_seconds} s: {condition}, last answer {value!r}"
        await asyncio.sleep(every_seconds)


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
