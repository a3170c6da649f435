"""Protocols of one partition and of all partitions, for observation and for the daemon's own health checks."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.ports import WorkerCli


class ObservedPartition(Protocol):
    """One partition, as needed by observation and by the daemon's own health checks."""

    @property
    def name(self) -> str: ...

    @property
    def problem(self) -> str:
        """Return the reason why the partition's HAProxy does not run as configured; empty if it does."""
        ...

    @property
    def cli(self) -> WorkerCli:
        """Return the runtime API of the partition's HAProxy."""
        ...

    @property
    def worker_pid(self) -> int | None:
        """Return the pid of the current worker; None when there is none."""
        ...

    @property
    def held(self) -> Mapping[str, wire.LoadBalancerConfig]:
        """Return ``{id: load balancer}`` of the partition."""
        ...

    @property
    def settled_pass_count(self) -> int | None:
        """Return the number of passes so far, which differs after any change of the partition's HAProxy; None
        during a change, or if the state is unknown.
        """
        ...

    def report_connection_count(self, current: int) -> None:
        """Report ``current`` connections to the partition, which starts a larger worker if its worker becomes
        too small.
        """
        ...

    def repair_drift(self, drift_texts: Sequence[str]) -> None:
        """Begin to repair a HAProxy that deviates from its configuration. ``drift_texts``: the deviations, for
        operators.
        """
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """Return ``{load balancer id: digest}`` of the held load balancers."""
        ...


class ObservedPartitions(Protocol):
    """Access to all partitions of this host by name."""

    def names(self) -> tuple[str, ...]: ...

    def get(self, name: str) -> ObservedPartition:
        """Return the partition with this name. Raises :class:`PartitionUnknown` if there is none."""
        ...
