"""Health and totals of all partitions, with a constant number of commands to each HAProxy.

After an event only its partition is read, with those that were not read lately. Partitions are read concurrently, a
bounded number at a time, each with a timeout: one whose HAProxy hangs or is down delays no other, and reports its
problem. Concurrent requests share one observation.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.haproxy.config.loaded import LoadedPartsCache
from evenkeel.haproxyd.haproxy.runtime.worker_state import (
    SHOW_SERVERS_CONNECTIONS,
    SHOW_SERVERS_STATE,
    FrontendCounts,
    ServerKey,
    ServerState,
    remove_change_times,
    server_connections,
    server_states,
)
from evenkeel.haproxyd.health.observed_partition import ObservedPartition, ObservedPartitions
from evenkeel.haproxyd.health.statuses import (
    IsPinged,
    ServerStatuses,
    datagram_statuses,
    frontend_statuses,
    load_balancer_notes,
    manual_changes,
    status_without_haproxy,
)
from evenkeel.haproxyd.layer4.totals import DatagramTotals
from evenkeel.haproxyd.ports import WorkerCli

log = structlog.get_logger(__name__)

CONCURRENT_PARTITIONS_MAX = 32
PARTITION_TIMEOUT_SECONDS = 6.0
"""Timeout for reading one partition as a whole; each command has a timeout of its own."""


class ObservedDatagrams(Protocol):
    """Listeners that the host's kernel serves instead of HAProxy."""

    @property
    def problem(self) -> str:
        """Return the reason why the kernel serves no listener; empty if there is none."""
        ...

    def observe(self, partition: str, states: Mapping[ServerKey, bool]) -> None:
        """Record which servers of the partition are up: ``{(backend, server): up}``."""
        ...

    def down_servers(self, partition: str) -> Collection[ServerKey]:
        """Return (backend, server) of the partition's servers that checks found down."""
        ...

    async def collect_totals(self) -> None:
        """Read the kernel's counters of all listeners, for :meth:`partition_totals`."""
        ...

    def partition_totals(self, partition: str) -> Mapping[str, DatagramTotals]:
        """Return ``{listener: totals}`` of the partition at the last reading."""
        ...

    def active_flows_by_listener(self, partition: str) -> Mapping[str, int]:
        """Return ``{listener: number of flows}`` of the partition at the last count."""
        ...


class FrontendTotals(Protocol):
    """Source of a partition's counters, which continue over reloads and restarts."""

    async def collect(
        self, cli: WorkerCli, pid: int, frontend_names: tuple[str, ...], *others: str
    ) -> tuple[Mapping[str, FrontendCounts], tuple[str, ...]]:
        """Return ``{frontend: totals}`` of the frontends ``frontend_names``, and the answers of the worker ``pid`` to
        the commands ``others``. Raises :class:`HaproxyDown` if the worker does not answer.
        """
        ...


class _StatusInputs(NamedTuple):
    """Input from which a partition's status is derived, beside the partition's configuration; an equal input
    gives an equal status.
    """

    servers: str
    """The worker's answer about its servers, without times."""
    connections: str
    """The worker's answer to ``show servers conn``: the servers' connections."""
    totals: Mapping[str, FrontendCounts]
    datagrams: Mapping[str, DatagramTotals]
    flows: Mapping[str, int]
    forwarding: bool
    """Whether the kernel forwards datagrams."""
    pinged: frozenset[ServerKey]
    """Servers that the daemon checks and has a result for."""


class _CachedStatus(NamedTuple):
    """Status of a partition with the input that it was derived from. ``basis`` None: the status cannot be
    used again, even if nothing changes.
    """

    status: wire.PartitionStatus
    basis: _StatusInputs | None = None
    states: Mapping[ServerKey, ServerState] = {}


class _LastObservation(NamedTuple):
    """Last observation of a partition: when it began (monotonic seconds), the newest event then,
    :func:`_change_marker`, the held load balancers, and the result.
    """

    at_seconds: float
    event: int
    state: tuple[int | None, int | None, str]
    held: Mapping[str, wire.LoadBalancerConfig]
    result: _CachedStatus


class PartitionObserver:
    """Reads status and counters of all partitions, and keeps the last status of each for as long as it is
    valid.
    """

    def __init__(
        self,
        partitions: ObservedPartitions,
        totals: Mapping[str, FrontendTotals],
        *,
        newest_event: Callable[[], int],
        newest_event_of: Callable[[str], int],
        state_id: Callable[[], str],
        is_pinged: IsPinged,
        datagrams: ObservedDatagrams,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._partitions = partitions
        self._totals = totals
        self._newest_event = newest_event
        self._newest_event_of = newest_event_of
        self._state_id = state_id
        self._is_pinged = is_pinged
        self._datagrams = datagrams
        self._slots = asyncio.Semaphore(CONCURRENT_PARTITIONS_MAX)
        self._next: dict[float, asyncio.Task[wire.DaemonObservation]] = {}
        """Observations about to begin, by the maximum age in seconds of partitions' statuses in them."""
        self._last: dict[str, _LastObservation] = {}
        self._loaded: dict[str, LoadedPartsCache] = {}
        self._monotonic = monotonic
        self._began_at_seconds = float("-inf")

    async def observe(self, within_seconds: float = 0.0) -> wire.DaemonObservation:
        """Return an observation that begins after this call; concurrent callers share one.

        ``within_seconds``: maximum age of the status of a partition that had neither an event nor a change since.
        """
        if within_seconds not in self._next:
            self._next[within_seconds] = asyncio.create_task(self._observe_all(within_seconds))
        # A caller that disconnects must not cancel the observation that others share.
        return await asyncio.shield(self._next[within_seconds])

    async def observe_unless_recent(self, seconds: float) -> None:
        """Observe all partitions, unless an observation that uses no earlier status began within the last
        ``seconds``.
        """
        if self._monotonic() - self._began_at_seconds >= seconds:
            await self.observe()

    async def _observe_all(self, within_seconds: float) -> wire.DaemonObservation:
        await asyncio.sleep(0)  # callers in the same iteration of the event loop share the observation
        del self._next[within_seconds]
        now = self._monotonic()
        if not within_seconds:
            self._began_at_seconds = now
        # taken before the observation: an event during it is delivered again, and never lost
        event, state_id = self._newest_event(), self._state_id()
        await self._datagrams.collect_totals()
        names = self._partitions.names()
        self._last = {name: self._last[name] for name in names if name in self._last}
        self._loaded = {name: self._loaded[name] for name in names if name in self._loaded}
        recent = {name: one for name in names if (one := self._recent_status(name, now - within_seconds)) is not None}
        read = [name for name in names if name not in recent]
        found: dict[str, wire.PartitionStatus | None] = dict(recent)
        # the tasks share one iterator, because a task for each partition would cost more than its observation
        left = iter(read)
        for some in await asyncio.gather(*(self._observe_partitions(left) for _ in range(CONCURRENT_PARTITIONS_MAX))):
            found |= some
        partitions = tuple(status for name in names if (status := found[name]) is not None)
        return wire.DaemonObservation(event=event, state_id=state_id, partitions=partitions)

    def _recent_status(self, name: str, since_seconds: float) -> wire.PartitionStatus | None:
        """Return the partition's last status if it was read after ``since_seconds`` (monotonic), and there
        was neither an event nor a change since; else None.
        """
        last = self._last.get(name)
        if last is None or last.at_seconds <= since_seconds or self._newest_event_of(name) > last.event:
            return None
        try:
            partition = self._partitions.get(name)
        except PartitionUnknown:
            return None
        same = (
            partition.held is last.held
            and _change_marker(partition) == last.state
            and partition.settled_pass_count is not None
        )
        return last.result.status if same else None

    async def _observe_partitions(self, names: Iterator[str]) -> dict[str, wire.PartitionStatus | None]:
        """Observe partitions from ``names`` one after the other, until the iterator, which several tasks
        share, is exhausted. Returns ``{partition: status}``; None: the partition is gone.
        """
        return {name: await self._observe_partition(name) for name in names}

    async def _observe_partition(self, name: str) -> wire.PartitionStatus | None:
        async with self._slots:
            try:
                partition = self._partitions.get(name)
            except PartitionUnknown:
                return None
            began = self._monotonic(), self._newest_event_of(name), _change_marker(partition), partition.held
            last = self._last.get(name)
            try:
                # The time begins with the slot, so that waiting for it does not count.
                async with asyncio.timeout(PARTITION_TIMEOUT_SECONDS):
                    known = last.result if last is not None and last[1:4] == began[1:] else None
                    result = await self._read_status(partition, known)
                self._last[name] = _LastObservation(*began, result)
                return result.status
            except HaproxyDown as error:
                return self._status_without_haproxy(partition, partition.problem or str(error))
            except (ValueError, KeyError) as error:
                log.error("haproxy answer not understood", partition=name, exc_info=error)
                return self._status_without_haproxy(
                    partition, "HAProxy reports a state that this daemon does not understand"
                )
            except TimeoutError:
                return self._status_without_haproxy(
                    partition, f"HAProxy did not answer in {PARTITION_TIMEOUT_SECONDS:g} s"
                )

    def _status_without_haproxy(self, partition: ObservedPartition, problem: str) -> wire.PartitionStatus:
        return status_without_haproxy(
            partition,
            problem,
            totals=self._datagrams.partition_totals(partition.name),
            active=self._datagrams.active_flows_by_listener(partition.name),
            down=self._datagrams.down_servers(partition.name),
            serving=not self._datagrams.problem,
        )

    async def _read_status(self, partition: ObservedPartition, cached: _CachedStatus | None) -> _CachedStatus:
        """Read a partition's status from its HAProxy and the kernel. ``cached``: the last status, if the
        configuration and events are the same since. Raises :class:`HaproxyDown`; :class:`ValueError` or
        :class:`KeyError` for an answer in an unexpected form.
        """
        held, digests = partition.held, partition.digests
        pid, settled = partition.worker_pid, partition.settled_pass_count
        if pid is None:
            absent = "HAProxy does not run" if held else ""
            return _CachedStatus(self._status_without_haproxy(partition, partition.problem or absent))
        names = tuple(frontend.name for balancer in held.values() for frontend in balancer.frontends)
        totals, (answer, connections) = await self._totals[partition.name].collect(
            partition.cli, pid, names, SHOW_SERVERS_STATE, SHOW_SERVERS_CONNECTIONS
        )
        servers = remove_change_times(answer)
        before = cached.basis if cached is not None else None
        states = cached.states if cached and before and before.servers == servers else server_states(answer)
        basis = _StatusInputs(
            servers=servers,
            connections=connections,
            totals=totals,
            datagrams=self._datagrams.partition_totals(partition.name),
            flows=self._datagrams.active_flows_by_listener(partition.name),
            forwarding=not self._datagrams.problem,
            pinged=frozenset(server for server in states if self._is_pinged(partition.name, *server)),
        )
        # Only if no pass ran meanwhile: during one, HAProxy may differ from its configuration without a manual change.
        is_settled = settled is not None and settled == partition.settled_pass_count
        if cached is not None and before == basis and is_settled:
            return cached
        running = self._loaded.setdefault(partition.name, LoadedPartsCache()).loaded_parts(held)
        drifted = is_settled and self._report_settled_partition(partition, running, states, basis)
        status = _build_status(partition, held, digests, running, states, basis)
        return _CachedStatus(status, basis if is_settled and not drifted else None, states)

    def _report_settled_partition(
        self,
        partition: ObservedPartition,
        running: Mapping[str, wire.LoadBalancerConfig],
        states: Mapping[ServerKey, ServerState],
        basis: _StatusInputs,
    ) -> bool:
        """Report manual changes and the number of connections to a partition that no pass changes, and its
        servers' health to the datagrams' balancer. Returns whether there are manual changes.
        """
        found = manual_changes(running, states, basis.totals, pinged=basis.pinged)
        if found:
            partition.repair_drift(found)
        partition.report_connection_count(sum(one.active for one in basis.totals.values()))
        self._datagrams.observe(partition.name, {server: state.up for server, state in states.items()})
        return bool(found)


def _build_status(
    partition: ObservedPartition,
    held: Mapping[str, wire.LoadBalancerConfig],
    digests: Mapping[str, str],
    running: Mapping[str, wire.LoadBalancerConfig],
    states: Mapping[ServerKey, ServerState],
    basis: _StatusInputs,
) -> wire.PartitionStatus:
    servers = ServerStatuses(states, server_connections(basis.connections), basis.pinged)
    return wire.PartitionStatus(
        name=partition.name,
        load_balancer_ids=tuple(held),
        frontends=(
            *frontend_statuses(held.values(), basis.totals),
            *datagram_statuses(held.values(), basis.datagrams, basis.flows, serving=basis.forwarding),
        ),
        backends=tuple(servers.backend_statuses(held.values(), running)),
        problem=partition.problem,
        notes=load_balancer_notes(held),
        digests=dict(digests),
    )


def _change_marker(partition: ObservedPartition) -> tuple[int | None, int | None, str]:
    """Return a value that differs after the daemon has changed the partition's HAProxy: pass number, worker's
    pid and problem.
    """
    return partition.settled_pass_count, partition.worker_pid, partition.problem
