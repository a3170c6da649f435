"""Records takeovers that have not reached one device of a group.

A takeover succeeds when one device of the group took the new owner's guard (record of a partition's owner). Another
device may answer but refuse writes. That device lags then, like a device that does not answer: the owner tries to set
its guard there before each batch, and the outcome on the other devices counts.
"""

from collections.abc import Awaitable, Callable

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.kit.errors import OwnershipGuardLost
from evenkeel.core.kit.ids import SessionId

PartitionOwner = tuple[int, SessionId]
"""Owner of a partition: ``(epoch, session id)``."""


class MissedTakeovers:
    """Unfinished takeovers of one device: for each partition, the owner that began a takeover last."""

    def __init__(self) -> None:
        self._owners: dict[str, PartitionOwner] = {}

    def begin_takeover(self, partition: str, owner: PartitionOwner) -> None:
        """Record that this owner begins a takeover of the partition. The takeover counts as missed until
        :meth:`end_takeover`, however it fails or is cancelled.
        """
        self._owners[partition] = owner

    def end_takeover(self, partition: str, owner: PartitionOwner) -> None:
        """Record that the owner's guard is on the device. A takeover that another owner has begun meanwhile stays
        missed.
        """
        if self.has_begun(partition, owner):
            del self._owners[partition]

    def has_begun(self, partition: str, owner: PartitionOwner) -> bool:
        """Whether this owner has begun a takeover of the partition and not ended it."""
        return self._owners.get(partition) == owner

    async def repeat_missed_takeover(
        self, host: str, partition: str, batch: PartitionBatch, move: Callable[[], Awaitable[object]]
    ) -> None:
        """Set the guard on the device ``host`` by ``move`` before a batch is applied, if the takeover of the
        batch's owner missed the device; else do nothing.

        Raises what ``move`` raises; and :class:`OwnershipGuardLost` if the device has taken the guard only now and the
        batch is not complete, because the device's contents are not known then.
        """
        owner = batch.epoch, batch.session_id
        if not self.has_begun(partition, owner):
            return
        await move()
        if not batch.complete:
            raise OwnershipGuardLost(host, partition, batch.epoch)
        self.end_takeover(partition, owner)
