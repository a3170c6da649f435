"""Waits for several asyncio tasks without leaving any behind."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_all_results(*work: Awaitable[T]) -> list[T]:
    """Return all results in the order of the arguments. If some fail, wait until all have ended and raise the
    first failure in that order, so that no task continues unobserved.
    """
    results = await asyncio.gather(*work, return_exceptions=True)
    found: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the unfinished tasks and wait for their end. Their exceptions are not raised, only marked as retrieved: a
    caller that needs them reads them from the tasks."""
    left = [task for task in tasks if not task.done()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)
    for task in tasks:
        if not task.cancelled():
            task.exception()
