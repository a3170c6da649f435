"""What a no-op device group holds: definitions by partition, and guards. Agents that share one share a device."""

from evenkeel.core.errors import StaleOwner
from evenkeel.core.service import ServiceDefinition


class Partition:
    """One tenant's part: the guard's epoch, and what was applied by load balancer."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.holds: dict[str, ServiceDefinition] = {}
        self.foreign: set[str] = set()
        """Things somebody else put there, which are never touched."""


class NoopMemory:
    """The device's side: like a real one, it refuses stale owners and addresses that are taken."""

    def __init__(self) -> None:
        self.partitions: dict[str, Partition] = {}
        self.reachable = True

    def take_over(self, project_id: str, epoch: int) -> Partition:
        """Move the guard up to ``epoch``. Raises :class:`StaleOwner` if it is newer."""
        partition = self.partitions.setdefault(project_id, Partition())
        if partition.epoch is not None and partition.epoch > epoch:
            raise StaleOwner(project_id, partition.epoch)
        partition.epoch = epoch
        return partition

    def holder(self, address: str) -> str | None:
        """The load balancer that has the address."""
        for partition in self.partitions.values():
            for load_balancer_id, service in partition.holds.items():
                if service.vip.address == address:
                    return load_balancer_id
        return None
