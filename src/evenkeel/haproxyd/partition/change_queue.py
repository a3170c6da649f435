"""One pass over a partition at a time, and how long others wait for it."""

import asyncio
from collections.abc import Iterable

from evenkeel.core.errors import EvenKeelError
from evenkeel.haproxyd.partition.merge import QueuedChange


class PartitionBusy(EvenKeelError):
    """Too many changes wait; try again later."""


class ApplyPass:
    """Changes that are being applied."""

    def __init__(self, requests: Iterable[QueuedChange]) -> None:
        self._owners = {(request.change.epoch, request.change.session_id) for request in requests}
        self._ended = asyncio.Event()

    def is_of_another(self, epoch: int, session_id: str) -> bool:
        """Did anybody else than this owner send any of them?"""
        return bool(self._owners - {(epoch, session_id)})

    def end(self) -> None:
        """What it did is on disk."""
        self._ended.set()

    async def over(self, limit_seconds: float) -> None:
        """Wait for the end. Raises :class:`PartitionBusy` if that takes too long."""
        try:
            await asyncio.wait_for(self._ended.wait(), limit_seconds)
        except TimeoutError as error:
            raise PartitionBusy("a change of an older owner is still under way; try again later") from error
