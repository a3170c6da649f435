"""Orphans: objects on devices that the database does not contain."""

from evenkeel.core.control.histories import UnknownHistory
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value


class OrphanSummary(Value):
    """Counts of orphans (objects on devices that the database does not contain), and seconds until the first is
    removed.
    """

    load_balancers: int = 0
    """Number of orphaned load balancers in partitions of tenants that have a shard."""
    load_balancers_removed_in_seconds: float | None = None
    """Seconds until the first orphaned load balancer may be removed; None: none is removed automatically."""
    partitions: int = 0
    """Number of orphaned partitions: those of tenants without a shard."""
    partitions_removed_in_seconds: float | None = None
    """Seconds until the first partition may be emptied; None: none is emptied automatically."""
    unknown_histories: tuple[UnknownHistory, ...] = ()
    """Histories of other databases that agents named; while there are any, no orphan is removed automatically."""


class OrphanedPartition(Value):
    """A tenant's partition on the devices of a group in which the tenant has no shard."""

    project_id: ProjectId
    seconds: float
    """Seconds since the partition was first reported."""


class OrphanedLoadBalancer(Value):
    """A load balancer that devices hold and the database does not contain, in the partition of a tenant that has a
    shard.
    """

    load_balancer_id: LoadBalancerId
    seconds: float
    """Seconds since the load balancer was first reported."""
    removed_in_seconds: float | None
    """Seconds until the load balancer may be removed; None: it is not removed automatically."""
