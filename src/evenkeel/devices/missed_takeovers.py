"""Which takeovers have not reached one device of a group.

A takeover succeeds when one device of the group took the guard. Another one may answer, and take no writes. It lags
then, like one that does not answer: its owner tries to move the guard there at each batch, before it writes anything
else, and the outcome on the other devices counts.
"""

from collections.abc import Awaitable, Callable

from evenkeel.core.device import PartitionBatch
from evenkeel.core.errors import GuardLost
from evenkeel.core.ids import SessionId

Owner = tuple[int, SessionId]
"""Epoch and session."""


class MissedTakeovers:
    """Of one device: by partition, the owner that began a takeover last and has not ended it."""

    def __init__(self) -> None:
        self._owners: dict[str, Owner] = {}

    def begin(self, partition: str, owner: Owner) -> None:
        """The owner takes over. Missed until :meth:`end`, however the takeover fails or is given up."""
        self._owners[partition] = owner

    def end(self, partition: str, owner: Owner) -> None:
        """The owner's guard is on the device. What another owner has begun meanwhile stays missed."""
        if self.has(partition, owner):
            del self._owners[partition]

    def has(self, partition: str, owner: Owner) -> bool:
        """Whether this owner has begun a takeover and not ended it."""
        return self._owners.get(partition) == owner

    async def make_up(
        self, host: str, partition: str, batch: PartitionBatch, move: Callable[[], Awaitable[None]]
    ) -> None:
        """``move`` the guard to the device, ``host``, before the batch is applied, if its owner's takeover missed it.

        Raises what ``move`` raises; and :class:`GuardLost` if the device has taken the guard only now, and the batch is
        not complete: what it holds is not known.
        """
        owner = batch.epoch, batch.session_id
        if not self.has(partition, owner):
            return
        await move()
        if not batch.complete:
            raise GuardLost(host, partition, batch.epoch)
        self.end(partition, owner)
