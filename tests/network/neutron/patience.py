"""How long tests wait where a Neutron takes part that all workers share: what it refuses, or does not answer in time,
while it is busy is asked for again after 5, 10, 20 and 40 s."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests import waiting

PATIENCE_SECONDS = 240.0

T = TypeVar("T")


async def eventually(condition: Callable[[], T | Awaitable[T]], *, every_seconds: float | None = None) -> T:
    """The first true answer of ``condition``."""
    return await waiting.eventually(condition, within_seconds=PATIENCE_SECONDS, every_seconds=every_seconds)
