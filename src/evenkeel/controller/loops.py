"""Helpers of the controller's loops: a sleep that can be cut short, and running several coroutines at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


class InterruptibleSleep:
    """The time between two rounds, which may be cut short."""

    def __init__(self) -> None:
        self._over = asyncio.Event()

    def end(self) -> None:
        """There is something to do now: end this pause, or the next at once."""
        self._over.set()

    async def wait(self, seconds: float) -> None:
        """Until the time is over, or :meth:`end`."""
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass
        self._over.clear()


async def for_each(items: Iterable[T], do: Callable[[T], Awaitable[None]], *, at_once: int) -> None:
    """Do it for all items, some at a time. If some fail, the first failure in order is raised after all have ended."""
    slots = asyncio.Semaphore(at_once)

    async def one(item: T) -> None:
        async with slots:
            await do(item)

    outcomes = await asyncio.gather(*(one(item) for item in items), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
