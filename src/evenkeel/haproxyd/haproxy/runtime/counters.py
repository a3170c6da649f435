"""Totals of frontends across reloads, crashes of HAProxy and restarts of the daemon.

Each worker counts from zero. The daemon keeps, for each frontend, a base (the counts of workers that have ended) and
the last counts read from each existing worker, identified by its pid and start time; the total is their sum. An old
worker keeps counting while its connections last, so it is held (:mod:`haproxy.runtime.held_worker`) until they have
ended and all is read. One that an earlier daemon held is only queried as long as it answers: what its last connection
transferred since then is lost. Totals are written to disk after each reload, and otherwise at most every
:data:`SAVE_EVERY_SECONDS`: a crash of HAProxy loses what it counted since the last query; if the daemon dies too, what
was counted since the last save.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.processes import start_ticks
from evenkeel.haproxyd.haproxy.runtime.held_worker import SHOW_INFO, HeldWorkerConnection, worker_pid
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_FRONTENDS, FrontendCounts, frontend_counts
from evenkeel.haproxyd.ports import WorkerCli

log = structlog.get_logger(__name__)

SAVE_EVERY_SECONDS = 10.0
FOLLOW_SECONDS_MIN, FOLLOW_SECONDS_MAX = 0.05, 5.0
"""Pause between two reads of an old worker's counters: most have no connections, and end at once.

HAProxy itself adds the transfer of open connections every 5 s (``option contstats``)."""
FRONTENDS_KEPT_MAX = 10_000
"""Number of frontends with totals of ended workers above which those of removed frontends are dropped; until then a
frontend that is enabled again continues its totals.
"""
COUNTERS_FILE = "counters.json"
_NO_COUNTS = FrontendCounts(listening=False)

CountsByFrontend = Mapping[str, FrontendCounts]


class SavedCounters(Value):
    """Content of the file that keeps counters over restarts. ``base``: counts of ended workers, by frontend."""

    base: dict[str, FrontendCounts] = {}
    workers: dict[str, dict[str, FrontendCounts]] = {}
    """Counters by worker, whose key is ``pid-start time``."""


def add_counts(first: FrontendCounts, second: FrontendCounts) -> FrontendCounts:
    """Return the sum of two sets of counters; it is listening if one of them is."""
    return FrontendCounts(
        bytes_in=first.bytes_in + second.bytes_in,
        bytes_out=first.bytes_out + second.bytes_out,
        connections=first.connections + second.connections,
        request_errors=first.request_errors + second.request_errors,
        active=first.active + second.active,
        listening=first.listening or second.listening,
    )


def has_counter_decreased(before: CountsByFrontend, after: CountsByFrontend) -> bool:
    """Whether connections or bytes received of any frontend decreased, because the counters were cleared or
    another process counts.
    """
    return any(
        after[name].connections < was.connections or after[name].bytes_in < was.bytes_in
        for name, was in before.items()
        if name in after
    )


class CounterTotals:
    """Totals of frontends, from the counts of ended workers (``base``) and the last counts of existing
    workers, without I/O.
    """

    def __init__(self, saved: SavedCounters | None = None) -> None:
        self.base = dict(saved.base) if saved else {}
        self.workers: dict[str, CountsByFrontend] = dict(saved.workers) if saved else {}
        self.version = 0
        """Number of changes; while it is the same, so are the totals."""

    def record_counts(self, worker: str, counts: CountsByFrontend) -> None:
        """Record the counts, by frontend, of a worker since its start. If a count decreased, the counts
        before the decrease are added to the base.
        """
        self.version += 1
        before = self.workers.get(worker, {})
        if has_counter_decreased(before, counts):
            self.add_to_base(worker)
        # a frontend that the worker no longer has keeps the counts it had
        self.workers[worker] = {**self.workers.get(worker, {}), **counts}

    def add_to_base(self, worker: str) -> None:
        """Add the counts of a worker that will not be queried again to the base."""
        self.version += 1
        for name, counts in self.workers.pop(worker, {}).items():
            ended = msgspec.structs.replace(counts, active=0, listening=False)
            self.base[name] = add_counts(self.base.get(name, _NO_COUNTS), ended)

    def frontend_total(self, name: str) -> FrontendCounts:
        """Return the frontend's total over all workers; zeros for an unknown frontend."""
        total = self.base.get(name, _NO_COUNTS)
        for counts in self.workers.values():
            total = add_counts(total, counts.get(name, _NO_COUNTS))
        return total

    def drop_removed_totals(self, frontend_names: Collection[str], limit: int) -> None:
        """Drop the totals of ended workers for frontends that are not in ``frontend_names``, if there are totals of
        more than ``limit`` frontends.
        """
        if len(self.base) > limit:
            self.version += 1
            self.base = {name: counts for name, counts in self.base.items() if name in frontend_names}

    def state_to_save(self) -> SavedCounters:
        """Return a copy of the counts, to be written to disk."""
        return SavedCounters(
            base=dict(self.base), workers={worker: dict(counts) for worker, counts in self.workers.items()}
        )


class _CollectedTotals(NamedTuple):
    """Totals of one query, and what they depend on: the worker's key and its answer, the frontends' names,
    and the version of :class:`CounterTotals`.
    """

    worker: str
    answer: str
    kept: Collection[str]
    version: int
    totals: CountsByFrontend


class _HeldWorkerAnswers(NamedTuple):
    """Connection to a worker, the worker's pid and key, and its answers: about frontends, and to other
    commands.
    """

    worker: HeldWorkerConnection
    pid: int
    key: str
    frontends: str
    answers: tuple[str, ...]


class PartitionCounters:
    """Totals of one partition's frontends, kept in a file. Errors that concern only counters, such as a full
    disk, are logged and not raised.
    """

    def __init__(self, name: str, directory: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._file = directory / COUNTERS_FILE
        self._monotonic = monotonic
        self._saved_at_seconds = monotonic()
        self._totals = CounterTotals(_read_saved_counters(self._file, name))
        self._saved = b""
        """Bytes of the last write; equal content is not written again."""
        self._lock = asyncio.Lock()
        self._followed: dict[str, asyncio.Task[None]] = {}
        """Tasks, by worker key, that keep old workers from ending before they are counted."""
        self._last: _CollectedTotals | None = None
        self._connected: tuple[object, str] | None = None
        """Connection to a worker, and the worker's key, which is read once for each connection."""

    @contextlib.asynccontextmanager
    async def carry_over(
        self, cli: WorkerCli, worker_socket: Path, pid: int | None, *reads: str
    ) -> AsyncIterator[tuple[str, ...]]:
        """Return a context around a reload: on entry the counts of the worker ``pid`` are read and saved;
        after a reload that succeeded, the replaced worker is followed until its connections have ended.

        The context yields the worker's answers to the commands ``reads``; an empty tuple if that worker does
        not answer over its own socket.
        """
        with contextlib.ExitStack() as kept:
            async with self._lock:  # answers are recorded in the order in which they were given
                # before the reload: afterwards the new worker listens on this socket
                held = await self._open_worker(worker_socket, reads)
                if held:
                    kept.callback(held.worker.close)
                answers = await self._read_before_reload(cli, held, pid)
            await self._save_totals()
            yield answers
            # the reload succeeded: the connection stays open until the old worker has been counted
            kept.pop_all()
        if held:
            self._follow_worker(held)

    async def _open_worker(self, worker_socket: Path, reads: Sequence[str]) -> _HeldWorkerAnswers | None:
        try:
            worker, (info, frontends, *answers) = await HeldWorkerConnection.open(
                worker_socket, SHOW_INFO, SHOW_FRONTENDS, *reads
            )
            with contextlib.ExitStack() as failed:
                failed.callback(worker.close)
                pid = worker_pid(info)
                failed.pop_all()
        except HaproxyDown as error:
            log.warning("last counters of the worker may be lost", partition=self._name, reason=str(error))
            return None
        return _HeldWorkerAnswers(worker, pid, worker_key(pid), frontends, tuple(answers))

    async def _read_before_reload(
        self, cli: WorkerCli, held: _HeldWorkerAnswers | None, pid: int | None
    ) -> tuple[str, ...]:
        """Record the current worker's counts, and return the answers in ``held``; empty if ``held`` is None
        or another worker than ``pid``. A missing answer is logged.
        """
        try:
            if held is not None and held.pid == pid:
                self._totals.record_counts(held.key, frontend_counts(held.frontends))
                return held.answers
            await self._record_worker(cli, worker_pid(await cli.command(SHOW_INFO)))
        except HaproxyDown as error:
            # A worker that does not answer must not prevent the reload.
            log.warning("counters not carried over", partition=self._name, reason=str(error))
        return ()

    def _follow_worker(self, held: _HeldWorkerAnswers) -> None:
        # This connection leads to the replaced worker, although the new one listens on the socket by now.
        task = asyncio.create_task(self._follow_until_idle(held.worker, held.key), name=f"counters of {held.key}")
        self._followed[held.key] = task
        task.add_done_callback(lambda _: self._followed.pop(held.key, None))

    async def _follow_until_idle(self, held: HeldWorkerConnection, worker: str) -> None:
        pause_seconds = FOLLOW_SECONDS_MIN
        try:
            while await self._is_active(held, worker):
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, FOLLOW_SECONDS_MAX)
        except HaproxyDown as error:
            log.debug("old worker not followed any more", partition=self._name, worker=worker, reason=str(error))
        except Exception:
            log.exception("counters of an old worker not understood")
        finally:
            held.close()

    async def _is_active(self, held: HeldWorkerConnection, worker: str) -> bool:
        """Read and record the worker's counts, and return whether it still has connections. Raises
        :class:`HaproxyDown` if it does not answer.
        """
        async with self._lock:  # answers are recorded in the order in which they were given
            counts = frontend_counts(await held.command(SHOW_FRONTENDS))
            self._totals.record_counts(worker, counts)
        return any(one.active for one in counts.values())

    async def collect(
        self, cli: WorkerCli, pid: int, frontend_names: Collection[str], *others: str
    ) -> tuple[Mapping[str, FrontendCounts], tuple[str, ...]]:
        """Return the current totals of the frontends ``frontend_names``, and the worker's answers to the commands
        ``others``.

        The totals are the same object as before if nothing was counted since. All commands are sent at once. Raises
        :class:`HaproxyDown` if the worker does not answer.
        """
        async with self._lock:
            current, (answer, *answers) = await self._query_worker(cli, pid, SHOW_FRONTENDS, *others)
            # Followed workers are read over connections of their own.
            leaving = [worker for worker in self._totals.workers if worker != current and worker not in self._followed]
            known = self._last
            if leaving or known is None or known[:4] != (current, answer, frontend_names, self._totals.version):
                known = self._last = await self._collect_totals(cli, current, answer, frontend_names, leaving)
        if self._monotonic() - self._saved_at_seconds >= SAVE_EVERY_SECONDS:
            await self._save_totals()
        return known.totals, tuple(answers)

    async def _query_worker(self, cli: WorkerCli, pid: int, *texts: str) -> tuple[str, tuple[str, ...]]:
        """Send commands that change nothing to the worker ``pid``; return the worker's key and one answer per
        command. Raises :class:`HaproxyDown` if it does not answer.
        """
        before = cli.connection_to(pid)
        is_known = self._connected is not None and self._connected[0] is before
        # before the query, because it cannot be determined any more once the process has ended
        key = self._connected[1] if self._connected is not None and is_known else worker_key(pid)
        answers = await cli.query(pid, *texts)
        connection = cli.connection_to(pid)
        if is_known and connection is not before:  # which may lead to another process, if the pid was reused
            key = worker_key(pid)
        self._connected = (connection, key) if connection is not None else None
        return key, answers

    async def _collect_totals(
        self, cli: WorkerCli, current: str, answer: str, frontend_names: Collection[str], leaving_workers: Iterable[str]
    ) -> _CollectedTotals:
        self._totals.record_counts(current, frontend_counts(answer))
        await asyncio.gather(*(self._record_leaving_worker(cli, worker) for worker in leaving_workers))
        self._totals.drop_removed_totals(frontend_names, FRONTENDS_KEPT_MAX)
        # Old workers do not listen any more, so only the current worker's answer counts.
        listening = self._totals.workers[current]
        totals = {
            name: msgspec.structs.replace(
                self._totals.frontend_total(name), listening=listening.get(name, _NO_COUNTS).listening
            )
            for name in frontend_names
        }
        return _CollectedTotals(current, answer, frontend_names, self._totals.version, totals)

    async def close(self) -> None:
        """Stop following old workers, so that they can end, and write all totals to disk."""
        # A copy, because each task removes itself from the mapping when it ends.
        followed = tuple(self._followed.values())
        for task in followed:
            task.cancel()
        await asyncio.gather(*followed, return_exceptions=True)
        await self._save_totals()

    async def _record_worker(self, cli: WorkerCli, pid: int) -> None:
        """Read and record the counts of the worker ``pid``, current or old. Raises :class:`HaproxyDown` if it
        does not answer.
        """
        worker = worker_key(pid)  # cannot be determined any more once the process has ended
        self._totals.record_counts(worker, frontend_counts(await cli.command_to_worker(pid, SHOW_FRONTENDS)))

    async def _record_leaving_worker(self, cli: WorkerCli, worker: str) -> None:
        pid = int(worker.partition("-")[0])
        try:
            if worker_key(pid) != worker:
                raise HaproxyDown("another process has its pid")
            await self._record_worker(cli, pid)
        except HaproxyDown:
            self._totals.add_to_base(worker)

    async def _save_totals(self) -> None:
        # Set also if the write fails, so that a full disk is not tried again at each observation.
        self._saved_at_seconds = self._monotonic()
        content = msgspec.json.encode(self._totals.state_to_save())
        if content == self._saved and self._file.exists():
            return
        try:
            await asyncio.to_thread(_write_atomically, self._file, content)
            self._saved = content
        except OSError as error:
            log.warning("counters not saved", partition=self._name, reason=error.strerror)


def worker_key(pid: int) -> str:
    """Return pid and start time of a process as one text, because the kernel reuses pids; ``gone`` in place
    of the time if the process has ended.
    """
    return f"{pid}-{start_ticks(pid) or 'gone'}"


def _read_saved_counters(file: Path, name: str) -> SavedCounters | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=SavedCounters)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("counters not read; they begin at zero", partition=name, reason=type(error).__name__)
        return None


def _write_atomically(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(file)
