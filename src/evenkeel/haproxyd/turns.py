"""One pass over a partition at a time, and how long others wait for it."""

import asyncio
from collections.abc import Iterable

from evenkeel.core.errors import EvenKeelError
from evenkeel.haproxyd.checks import EPOCH_MAX
from evenkeel.haproxyd.merging import Request


class Busy(EvenKeelError):
    """Too many changes wait; try again later."""


class Pass:
    """Changes that are being applied. ``epoch``: of the oldest owner among those who sent them."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self.epoch = min((request.change.epoch for request in requests), default=EPOCH_MAX)
        self._ended = asyncio.Event()

    def end(self) -> None:
        """What it did is on disk."""
        self._ended.set()

    async def over(self, limit_seconds: float) -> None:
        """Wait for the end. Raises :class:`Busy` if that takes too long."""
        try:
            await asyncio.wait_for(self._ended.wait(), limit_seconds)
        except TimeoutError as error:
            raise Busy("a change of an older owner is still under way; try again later") from error
