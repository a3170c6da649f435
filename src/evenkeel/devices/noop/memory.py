"""What a no-op device group holds: definitions by partition, and guards. Agents that share one share a device."""

import hashlib

import msgspec

from evenkeel.core.capacity import Metric
from evenkeel.core.errors import GuardLost, StaleOwner
from evenkeel.core.ids import ProjectId, SessionId
from evenkeel.core.service import ServiceDefinition


class Partition:
    """One tenant's part: the guard's epoch, and what was applied by load balancer."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.session_id = ""
        self.holds: dict[str, ServiceDefinition] = {}
        self.foreign: set[str] = set()
        """Things somebody else put there, which are never touched."""


class NoopMemory:
    """The device's side: like a real one, it refuses stale owners and addresses that are taken."""

    def __init__(self) -> None:
        self.partitions: dict[str, Partition] = {}
        self.reachable = True
        self.incarnation = "1"
        """See :attr:`evenkeel.core.messages.DeviceState.incarnation`; set by tests."""
        self.figures: dict[str, float] = {}
        """By capacity metric: what is used besides what the partitions hold, such as load; set by tests."""

    def take_over(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> Partition:
        """Move the guard up to this owner. Raises :class:`StaleOwner` if it is newer, or as new and another's."""
        partition = self.partitions.setdefault(project_id, Partition())
        _refuse_stale(project_id, partition, epoch, session_id)
        partition.epoch, partition.session_id = epoch, session_id
        return partition

    def guarded(self, project_id: ProjectId, epoch: int, session_id: SessionId) -> Partition:
        """The partition that this owner guards. Raises :class:`StaleOwner`; :class:`GuardLost` if nobody newer does."""
        partition = self.partitions.get(project_id, Partition())
        _refuse_stale(project_id, partition, epoch, session_id)
        if partition.epoch != epoch:
            raise GuardLost("noop", project_id, partition.epoch)
        return partition

    def used(self) -> dict[str, float]:
        """By capacity metric. What needs traffic or networks is said only if it was set."""
        held = [tuple(partition.holds.values()) for partition in self.partitions.values() if partition.holds]
        nodes = sum(
            len({member.address for service in services for pool in service.pools for member in pool.members})
            for services in held
        )
        counted = {Metric.TENANT_COUNT.value: len(held), Metric.NODE_COUNT.value: nodes}
        return {name: counted.get(name, 0) + self.figures.get(name, 0.0) for name in {*counted, *self.figures}}

    def digests(self) -> dict[str, str]:
        """By load balancer that is held: a digest of its definition."""
        return {
            load_balancer_id: hashlib.sha256(msgspec.json.encode(service)).hexdigest()
            for partition in self.partitions.values()
            for load_balancer_id, service in partition.holds.items()
        }

    def holder(self, address: str) -> str | None:
        """The load balancer that has the address."""
        for partition in self.partitions.values():
            for load_balancer_id, service in partition.holds.items():
                if address in (service.vip.address, *(vip.address for vip in service.additional_vips)):
                    return load_balancer_id
        return None


def _refuse_stale(project_id: ProjectId, partition: Partition, epoch: int, session_id: SessionId) -> None:
    """Epochs grow with every owner, so one that two sessions hold was given twice: neither may write under it."""
    if partition.epoch is None or partition.epoch < epoch:
        return
    if partition.epoch > epoch or partition.session_id != session_id:
        raise StaleOwner(project_id, partition.epoch)
