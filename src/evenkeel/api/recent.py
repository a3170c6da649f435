"""A value that anybody may ask for, computed once for all who ask within some seconds."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Keeps a value for ``seconds``. Those who ask while it is computed wait for it."""

    def __init__(self, seconds: float, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now_seconds = now_seconds
        self._lock = asyncio.Lock()
        self._kept: tuple[float, T] | None = None

    async def get(self, compute: Callable[[], Awaitable[T]]) -> T:
        """The value kept, or a new one. Raises what ``compute`` raises, which is not kept."""
        async with self._lock:
            if self._kept is None or self._now_seconds() >= self._kept[0] + self._seconds:
                self._kept = self._now_seconds(), await compute()
            return self._kept[1]
