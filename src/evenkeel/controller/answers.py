"""Delivers results of batches to waiting callers; callers that timed out are skipped."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


def deliver_result(answer: asyncio.Future[T], result: T) -> None:
    """Set the result that a caller awaits; skipped if the caller timed out."""
    if not answer.done():
        answer.set_result(result)


def deliver_error(answer: asyncio.Future[T], error: Exception) -> None:
    """Make a waiting caller raise the error; skipped if the caller timed out."""
    if not answer.done():
        answer.set_exception(error)


async def deliver_outcome(answer: asyncio.Future[T], work: Awaitable[T]) -> None:
    """Await ``work``, and deliver its result or exception to the waiting caller."""
    try:
        result = await work
    except Exception as error:  # the caller raises it
        deliver_error(answer, error)
    else:
        deliver_result(answer, result)
