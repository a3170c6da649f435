"""Waiting for several things at once."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(*work: Awaitable[T]) -> list[T]:
    """All results in order. If some fail, the first failure in order is raised after all have ended, so that
    nothing goes on behind the caller's back."""
    results = await asyncio.gather(*work, return_exceptions=True)
    found: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel those under way and wait for their end. What they failed with is for whoever asks them, if anybody does:
    who was cancelled himself does not."""
    left = [task for task in tasks if not task.done()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)
    for task in tasks:
        if not task.cancelled():
            task.exception()
