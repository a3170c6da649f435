"""Everything at once: health and totals of all partitions, in a constant number of commands to each HAProxy.

All partitions are asked at the same time, a bounded number of them, each with a limit: one whose HAProxy hangs or is
down costs only itself, and says so. Observers that ask at the same time get the same answer.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.haproxy.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.drift import server_drift
from evenkeel.haproxyd.haproxy.plan import NeedsReload
from evenkeel.haproxyd.haproxy.worker_state import (
    SERVERS_CONNECTIONS,
    SERVERS_STATE,
    FrontendCounts,
    ServerKey,
    ServerState,
    server_connections,
    server_states,
)
from evenkeel.haproxyd.ports import WorkerCli

log = structlog.get_logger(__name__)

CONCURRENT_MAX = 8
PARTITION_SECONDS = 6.0
"""For all of one partition; a command has a limit of its own."""


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


class FrontendTotals(Protocol):
    """A partition's counters."""

    async def collect(self, cli: WorkerCli, pid: int, kept: tuple[str, ...]) -> Mapping[str, FrontendCounts]:
        """Totals by frontend. Raises :class:`HaproxyDown`."""
        ...


IsPinged = Callable[[str, str, str], bool]
"""Whether partition, backend, server is checked by ICMP and has a result."""


class Observer:
    """Looks at everything."""

    def __init__(
        self,
        partitions: ObservedPartitions,
        totals: Mapping[str, FrontendTotals],
        *,
        newest_event: Callable[[], int],
        state_id: Callable[[], str],
        is_pinged: IsPinged,
    ) -> None:
        self._partitions = partitions
        self._totals = totals
        self._newest_event = newest_event
        self._state_id = state_id
        self._is_pinged = is_pinged
        self._slots = asyncio.Semaphore(CONCURRENT_MAX)
        self._next: asyncio.Task[wire.DaemonObservation] | None = None

    async def observe(self) -> wire.DaemonObservation:
        """A look that began after this call, or that nobody has waited for yet."""
        if self._next is None:
            self._next = asyncio.create_task(self._observe_all())
        return await asyncio.shield(self._next)

    async def _observe_all(self) -> wire.DaemonObservation:
        await asyncio.sleep(0)  # whoever asks in the same moment joins; who asks later gets a later look
        self._next = None
        # before the look: an event that comes meanwhile is told again, never left out
        event, state_id = self._newest_event(), self._state_id()
        found = await asyncio.gather(*(self._partition(name) for name in self._partitions.names()))
        partitions = tuple(status for status in found if status is not None)
        return wire.DaemonObservation(event=event, state_id=state_id, partitions=partitions)

    async def _partition(self, name: str) -> wire.PartitionStatus | None:
        async with self._slots:
            try:
                partition = self._partitions.get(name)
            except PartitionUnknown:
                return None
            try:
                async with asyncio.timeout(PARTITION_SECONDS):
                    return await self._status(partition)
            except HaproxyDown as error:
                return _status_without_haproxy(partition, partition.problem or str(error))
            except (ValueError, KeyError) as error:
                log.error("haproxy answer not understood", partition=name, exc_info=error)
                return _status_without_haproxy(
                    partition, "HAProxy says of its state what this daemon does not understand"
                )
            except TimeoutError:
                return _status_without_haproxy(partition, f"HAProxy did not answer in {PARTITION_SECONDS:g} s")

    async def _status(self, partition: ObservedPartition) -> wire.PartitionStatus:
        held, digests, pid = dict(partition.held), dict(partition.digests), partition.worker_pid
        if pid is None:
            absent = "HAProxy does not run" if held else ""
            return _status_without_haproxy(partition, partition.problem or absent)
        settled = partition.settled
        names = tuple(frontend.name for balancer in held.values() for frontend in balancer.frontends)
        states, connections, totals = await asyncio.gather(
            partition.cli.command(SERVERS_STATE),
            partition.cli.command(SERVERS_CONNECTIONS),
            self._totals[partition.name].collect(partition.cli, pid, names),
        )
        if settled is not None and settled == partition.settled:
            found = deviations(held, states, totals)
            if found:
                partition.repair_drift(found)
        servers = _Servers(partition.name, server_states(states), server_connections(connections), self._is_pinged)
        return wire.PartitionStatus(
            name=partition.name,
            load_balancer_ids=tuple(held),
            frontends=tuple(frontend_statuses(held.values(), totals)),
            backends=tuple(servers.backends(held.values())),
            problem=partition.problem,
            notes=_notes(held),
            digests=digests,
        )


class _Servers:
    """The servers of one partition as its worker has them."""

    def __init__(
        self,
        partition: str,
        states: Mapping[ServerKey, ServerState],
        connections: Mapping[ServerKey, int],
        is_pinged: IsPinged,
    ) -> None:
        self._partition = partition
        self._states = states
        self._connections = connections
        self._is_pinged = is_pinged

    def backends(self, balancers: Iterable[wire.LoadBalancerConfig]) -> Iterable[wire.BackendStatus]:
        """Those that are held; a server that the worker does not have (yet) is left out."""
        for balancer in balancers:
            for backend in balancer.backends:
                yield wire.BackendStatus(
                    name=backend.name,
                    load_balancer_id=balancer.id,
                    servers=tuple(
                        self._server(backend.name, server.name)
                        for server in backend.servers
                        if (backend.name, server.name) in self._states
                    ),
                )

    def _server(self, backend: str, name: str) -> wire.ServerStatus:
        state = self._states[backend, name]
        return wire.ServerStatus(
            name=name,
            up=state.up,
            checked=state.checked or self._is_pinged(self._partition, backend, name),
            admin_up=state.admin_up,
            weight=state.weight,
            active_connections=self._connections.get((backend, name), 0),
        )


def deviations(
    held: Mapping[str, wire.LoadBalancerConfig], states: str, totals: Mapping[str, FrontendCounts]
) -> tuple[str, ...]:
    """What a worker does otherwise than it should, because somebody told it to; ``states``: its own account."""
    try:
        servers = tuple(
            finding.command.text for finding in server_drift(HaproxyConfig(load_balancers=held), states).findings
        )
    except NeedsReload as reason:
        servers = (str(reason),)
    closed = (one.name for one in frontend_statuses(held.values(), totals) if not one.listening)
    return (*servers, *(f"enable frontend {name}" for name in closed))


def frontend_statuses(
    balancers: Iterable[wire.LoadBalancerConfig], totals: Mapping[str, FrontendCounts]
) -> Iterable[wire.FrontendStatus]:
    """Of every frontend that is held."""
    for balancer in balancers:
        for frontend in balancer.frontends:
            counts = totals.get(frontend.name, FrontendCounts(listening=False))
            yield wire.FrontendStatus(
                name=frontend.name,
                load_balancer_id=balancer.id,
                listening=counts.listening,
                bytes_in=counts.bytes_in,
                bytes_out=counts.bytes_out,
                active_connections=counts.active,
                total_connections=counts.connections,
                request_errors=counts.request_errors,
            )


def _status_without_haproxy(partition: ObservedPartition, problem: str) -> wire.PartitionStatus:
    held = dict(partition.held)
    return wire.PartitionStatus(
        name=partition.name,
        load_balancer_ids=tuple(held),
        problem=problem,
        notes=_notes(held),
        digests=dict(partition.digests),
    )


def _notes(held: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, str]:
    return {name: balancer.note for name, balancer in held.items() if balancer.note}
