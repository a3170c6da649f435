"""Protocols of a partition and of all partitions, as observation and ICMP checks use them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.ports import WorkerCli


class ObservedPartition(Protocol):
    """One partition, as observation and ICMP checks use it."""

    @property
    def name(self) -> str: ...

    @property
    def problem(self) -> str:
        """Reason why the partition's HAProxy does not run as configured; empty if it does."""
        ...

    @property
    def cli(self) -> WorkerCli:
        """Runtime API of the partition's HAProxy."""
        ...

    @property
    def worker_pid(self) -> int | None:
        """Pid of the current worker; None when there is none."""
        ...

    @property
    def held(self) -> Mapping[str, wire.LoadBalancerConfig]:
        """Load balancers of the partition by id."""
        ...

    @property
    def settled(self) -> int | None:
        """A value that differs after any change of its HAProxy; None during a change, or if the state is unknown."""
        ...

    def note_connection_count(self, current: int) -> None:
        """Take note of the number of connections, which the worker may be too small for."""
        ...

    def repair_drift(self, found: Sequence[str]) -> None:
        """Have HAProxy repaired, which deviates from its configuration. ``found``: the deviations, for operators."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """Digests of the held load balancers, by id."""
        ...


class ObservedPartitions(Protocol):
    """Access to all partitions of this host by name."""

    def names(self) -> tuple[str, ...]: ...

    def get(self, name: str) -> ObservedPartition:
        """The partition of this name. Raises :class:`PartitionUnknown`."""
        ...
