"""Waiting for several things at once."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

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
