"""What the observer and the ping checks need of partitions."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.ports import WorkerCli


class ObservedPartition(Protocol):
    """What is needed of a partition."""

    @property
    def name(self) -> str:
        """The partition's."""
        ...

    @property
    def problem(self) -> str:
        """Why its HAProxy does not run as configured; empty when it does."""
        ...

    @property
    def cli(self) -> WorkerCli:
        """The runtime API."""
        ...

    @property
    def worker_pid(self) -> int | None:
        """Of the current worker; None when there is none."""
        ...

    @property
    def held(self) -> Mapping[str, wire.LoadBalancerConfig]:
        """Load balancers by id."""
        ...

    @property
    def settled(self) -> int | None:
        """Changes when anybody changes what its HAProxy does; None while somebody does, or where that is not known."""
        ...

    def repair_drift(self, found: Sequence[str]) -> None:
        """Its HAProxy does something else than it should; ``found`` is for people."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """Of all that is held of each of them, by id."""
        ...


class ObservedPartitions(Protocol):
    """All partitions."""

    def names(self) -> tuple[str, ...]:
        """Of all there are."""
        ...

    def get(self, name: str) -> ObservedPartition:
        """Raises :class:`PartitionUnknown`."""
        ...
