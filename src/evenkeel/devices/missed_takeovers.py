"""Records takeovers that have not reached one device of a group.

A takeover succeeds when one device of the group took the guard. Another device may answer but refuse writes. It lags
then, like a device that does not answer: its owner tries to move the guard there at each batch, before it writes
anything else, and the outcome on the other devices counts.
"""

from collections.abc import Awaitable, Callable

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.kit.errors import GuardLost
from evenkeel.core.kit.ids import SessionId

Owner = tuple[int, SessionId]
"""Epoch and session of an owner."""


class MissedTakeovers:
    """The unfinished takeovers of one device: by partition, the owner that began a takeover last."""

    def __init__(self) -> None:
        self._owners: dict[str, Owner] = {}

    def begin(self, partition: str, owner: Owner) -> None:
        """Record a takeover by this owner. It counts as missed until :meth:`end`, however it fails or is cancelled."""
        self._owners[partition] = owner

    def end(self, partition: str, owner: Owner) -> None:
        """Record that the owner's guard is on the device. A takeover that another owner has begun meanwhile stays
        missed.
        """
        if self.has_begun(partition, owner):
            del self._owners[partition]

    def has_begun(self, partition: str, owner: Owner) -> bool:
        """Whether this owner has begun a takeover and not ended it."""
        return self._owners.get(partition) == owner

    async def make_up(
        self, host: str, partition: str, batch: PartitionBatch, move: Callable[[], Awaitable[None]]
    ) -> None:
        """Move the guard on the device ``host`` before a batch is applied, if its owner's takeover missed the device.

        Raises what ``move`` raises; and :class:`GuardLost` if the device has taken the guard only now and the batch is
        not complete: the content of the device is not known then.
        """
        owner = batch.epoch, batch.session_id
        if not self.has_begun(partition, owner):
            return
        await move()
        if not batch.complete:
            raise GuardLost(host, partition, batch.epoch)
        self.end(partition, owner)
