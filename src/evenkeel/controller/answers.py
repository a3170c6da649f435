"""Answers to callers that wait for a round: whoever has given up by then gets none."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


def give(answer: asyncio.Future[T], result: T) -> None:
    """The caller's result."""
    if not answer.done():
        answer.set_result(result)


def fail(answer: asyncio.Future[T], error: Exception) -> None:
    """The caller raises it."""
    if not answer.done():
        answer.set_exception(error)


async def answer_with(answer: asyncio.Future[T], work: Awaitable[T]) -> None:
    """What the work returns or raises."""
    try:
        result = await work
    except Exception as error:  # the caller raises it
        fail(answer, error)
    else:
        give(answer, result)
