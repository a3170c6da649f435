"""Old workers: workers that a reload has replaced, and that live as long as their connections.

The number of old workers in one partition and their memory on the host are bounded: HAProxy 2.6 cannot list
more than 186 of them, and each has the memory of a whole configuration (6 to 10 MB and more). Beyond a bound,
the worker with the fewest connections is ended first, and of several the oldest. Old workers perform no
health checks (measured with 2.6 and 3.2).
"""

import asyncio
import os
import select
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import structlog

from evenkeel.core.kit.values import Value
from evenkeel.core.kit.words import count_with_noun
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.processes import start_ticks
from evenkeel.haproxyd.ports import OnEvent, PartitionEvent, WorkerCli
from evenkeel.metrics.haproxyd import OLD_WORKERS, OLD_WORKERS_ENDED, OLD_WORKERS_MEMORY

log = structlog.get_logger(__name__)

MIB = 1024 * 1024
END_TIMEOUT_SECONDS = 5.0
MEMORY_SHARE = 4
"""Divisor: old workers may use the host's memory divided by this number if no limit is configured."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CONNECTIONS_UNKNOWN = 2**31
"""Number of connections assumed of a worker that does not answer: it may be busy, so others are ended first."""


class OldWorker(Value):
    """An old worker with its number of connections. ``started``: start time in clock ticks after boot, which
    with the pid identifies the process, because pids are reused.
    """

    pid: int
    started: int
    connections: int = 0


def fewest_connections_first(workers: Iterable[OldWorker]) -> list[OldWorker]:
    """Sort workers in the order in which they are to be ended: by number of connections, then the oldest
    first.
    """
    return sorted(workers, key=lambda one: (one.connections, one.started))


def memory_limit_bytes(configured_mib: int) -> int:
    """Return the limit, in bytes, for the memory of all old workers of the host: ``configured_mib`` MiB, or
    for 0 a quarter of the host's memory.
    """
    if configured_mib:
        return configured_mib * MIB
    return os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES // MEMORY_SHARE


def private_memory_bytes(pid: int) -> int:
    """Return a process's resident memory that it does not share with files, in bytes; 0: no such process.
    Source: proc(5), statm; readable also if the process runs as another user.
    """
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid:d}/statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * _PAGE_BYTES


class OldWorkers:
    """The old workers of one partition's HAProxy. ``on_event`` gets an event for each worker that is ended."""

    def __init__(self, partition: str, cli: WorkerCli, on_event: OnEvent) -> None:
        self._partition = partition
        self._cli = cli
        self._on_event = on_event
        self._started: Mapping[int, int] = {}
        """``{pid: start time}`` of old workers."""

    def __contains__(self, pid: int) -> bool:
        return pid in self._started

    def add(self, pids: Iterable[int], current: int | None) -> None:
        """Record the workers ``pids``, except ``current``, as replaced by a reload, and forget workers that have
        ended.
        """
        known = {one.pid: one.started for one in self.living_workers()}
        found = {**{pid: start_ticks(pid) for pid in pids}, **known}
        self._started = {pid: started for pid, started in found.items() if pid != current}

    def living_workers(self) -> tuple[OldWorker, ...]:
        """Return the old workers whose processes still run, without their numbers of connections."""
        return tuple(
            OldWorker(pid=pid, started=started)
            for pid, started in self._started.items()
            # A start time of 0 was recorded for a process that had ended by then; it would equal that of any ended
            # process.
            if started and start_ticks(pid) == started
        )

    def memory_bytes(self) -> int:
        """Return the private memory of all old workers that still run, in bytes."""
        return sum(private_memory_bytes(one.pid) for one in self.living_workers())

    async def end_surplus_workers(self, count_max: int) -> None:
        """Try to end as many old workers, those with the fewest connections first, as exceed ``count_max``. A
        worker that does not end in time is left.
        """
        surplus = len(self.living_workers()) - count_max
        if surplus > 0:
            await self.end_workers(surplus, "count", f"the limit is {count_max} of a project")

    async def end_workers(self, count: int, limit: str, reason: str) -> int:
        """Terminate up to ``count`` old workers, those with the fewest connections first, with an event for
        each that ended in time, and return how many did. ``limit``: name of the exceeded limit, for the
        metric; ``reason``: for operators.
        """
        ended = 0
        for one in fewest_connections_first(
            await asyncio.gather(*map(self._read_connection_count, self.living_workers()))
        )[:count]:
            if await asyncio.to_thread(_terminate_and_wait, one):
                ended += 1
                OLD_WORKERS_ENDED.labels(limit).inc()
                self._report_ended(one, reason)
        return ended

    def _report_ended(self, worker: OldWorker, reason: str) -> None:
        known = worker.connections != _CONNECTIONS_UNKNOWN
        connections = count_with_noun(worker.connections, "connection") if known else "an unknown number of connections"
        text = f"an old worker with {connections} was ended: {reason}"
        log.warning(
            "old worker ended", partition=self._partition, pid=worker.pid, connections=connections, reason=reason
        )
        self._on_event(PartitionEvent(partition=self._partition, text=text))

    async def _read_connection_count(self, worker: OldWorker) -> OldWorker:
        try:
            answer = await self._cli.command_to_worker(worker.pid, "show info")
            connections = int(answer.partition("CurrConns: ")[2].split()[0])
        except (HaproxyDown, ValueError, IndexError):
            connections = _CONNECTIONS_UNKNOWN
        return OldWorker(pid=worker.pid, started=worker.started, connections=connections)


async def limit_memory(partitions: Sequence[OldWorkers], limit_bytes: int) -> None:
    """End old workers until those of all partitions together are within ``limit_bytes``, then set the
    metrics; gives up, with the metrics unchanged, if one does not end.

    The partition whose old workers need most memory loses the first one, so that a project with many changes
    does not end the connections of others.
    """
    used = await asyncio.to_thread(lambda: {partition: partition.memory_bytes() for partition in partitions})
    reason = f"old workers need {sum(used.values()) // MIB} MiB; old_workers_memory_max is {limit_bytes // MIB}"
    while sum(used.values()) > limit_bytes:
        largest = max(used, key=used.__getitem__)
        if not await largest.end_workers(1, "memory", reason):
            return  # the worker does not end: the next check tries again
        used[largest] = await asyncio.to_thread(largest.memory_bytes)
    OLD_WORKERS.set(sum(len(partition.living_workers()) for partition in partitions))
    OLD_WORKERS_MEMORY.set(sum(used.values()))


def _terminate_and_wait(worker: OldWorker) -> bool:
    """Terminate a worker, and wait up to 5 s for its end, because its memory counts until then. Returns False
    if it had ended before, or does not end.

    The master continues: it expects that old workers end.
    """
    try:
        descriptor = os.pidfd_open(worker.pid)
    except OSError:
        return False
    try:
        # The start time is read after the pidfd was opened, so that a process that reuses the pid is not signalled.
        if start_ticks(worker.pid) != worker.started:
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(END_TIMEOUT_SECONDS * 1000))
    except OSError as error:
        log.warning("old worker not ended", pid=worker.pid, reason=error.strerror)
        return False
    finally:
        os.close(descriptor)
