"""Helpers of the controller's loops: an interruptible sleep, and bounded concurrency."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


class InterruptibleSleep:
    """The pause between two rounds, which may be interrupted."""

    def __init__(self) -> None:
        self._over = asyncio.Event()

    def end(self) -> None:
        """End this pause, or the next one, at once."""
        self._over.set()

    async def wait(self, seconds: float) -> None:
        """Return after ``seconds``, or earlier after :meth:`end`."""
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass
        # After the wait, so that an end that came before it has shortened it.
        self._over.clear()


async def for_each_concurrently(items: Iterable[T], do: Callable[[T], Awaitable[None]], *, at_once: int) -> None:
    """Call ``do`` for all items, ``at_once`` at a time. After all calls have ended, the first failure, in
    order of the items, is raised.
    """
    slots = asyncio.Semaphore(at_once)

    async def do_one(item: T) -> None:
        async with slots:
            await do(item)

    # Waits for all: if the first failure were raised at once, the other items would go on without anything that waits
    # for them.
    outcomes = await asyncio.gather(*(do_one(item) for item in items), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
