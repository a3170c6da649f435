"""The device port: one device group as agents see it."""

from collections.abc import Collection, Mapping
from typing import Protocol

from evenkeel.core.device import DeviceFacts, DeviceState, Observation, PartitionBatch, PartitionOutcome
from evenkeel.core.ids import ProjectId, SessionId


class Device(Protocol):
    """One device group. Stateless towards callers: any agent of the group may call at any time; the guard decides."""

    @property
    def facts(self) -> DeviceFacts:
        """What it is."""
        ...

    async def check(self) -> tuple[DeviceState, ...]:
        """Look whether each device meets the minimum. Never raises for a device's sake: see ``problem``."""
        ...

    async def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> None:
        """Move the guard of the tenant's partition to ``epoch`` and ``session_id`` on every reachable device; made if
        absent. What the partition holds is not known then: a complete batch is to follow.

        Raises :class:`StaleOwner` if a device holds a newer guard, or one of this epoch and another session;
        :class:`DeviceUnavailable` if none is reachable.
        """
        ...

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Make the partition look as the batch says, guarded by its epoch, on every device of the group.

        One bad load balancer costs only its own outcome. Raises :class:`StaleOwner`; :class:`GuardLost` if a
        reachable device holds neither this guard nor a newer one (nothing was written to that one);
        :class:`DeviceUnavailable` (no device reachable; nothing known to be written).
        """
        ...

    async def observe(self) -> Observation:
        """Statuses and statistics of everything that carries our mark, by a constant number of bulk reads."""
        ...

    async def changed(self) -> None:
        """Return when the devices tell that an operating status is otherwise than :meth:`observe` said last.

        Never returns for devices that cannot tell: those are only looked at now and then. Never raises for a
        device's sake.
        """
        ...

    async def capacity(self, metrics: Collection[str]) -> Mapping[str, float]:
        """How much is used of each of these :class:`~evenkeel.core.capacity.Metric`, on the fullest device; without
        those that cannot be said (a rate needs two looks). A constant number of reads. Raises
        :class:`DeviceUnavailable`."""
        ...

    def forget(self, project_id: ProjectId) -> None:
        """Drop whatever is remembered of the partition: it is somebody else's, or may have changed."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...
