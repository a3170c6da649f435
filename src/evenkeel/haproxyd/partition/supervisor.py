"""One partition: its guard, its contents, and the task that applies changes, pass after pass.

A pass applies together all changes that arrived during the previous one. The held contents change only after
HAProxy runs them and they are on disk. A takeover changes the guard first: from then on no change of an older
owner is applied. A HAProxy that ends is restarted after a short pause, which doubles with each failure up to
a maximum.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

import msgspec
import structlog

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import HaproxyDown, PartitionFailed
from evenkeel.haproxyd.haproxy.old_workers import OldWorkers
from evenkeel.haproxyd.haproxy.runner import HaproxyRunner
from evenkeel.haproxyd.partition.applier import ChangeApplier, HostResources
from evenkeel.haproxyd.partition.availability import HaproxyAvailability
from evenkeel.haproxyd.partition.change_queue import ApplyPass, ChangeQueue, PartitionBusy, QueuedChange
from evenkeel.haproxyd.partition.guard import UNGUARDED_EPOCH
from evenkeel.haproxyd.partition.merge import MergedChanges
from evenkeel.haproxyd.partition.repairs import PendingRepairTexts
from evenkeel.haproxyd.ports import OnEvent, PartitionEvent, WorkerCli

log = structlog.get_logger(__name__)

# An empty HAProxy is looked at so often until its last connections have ended.
RETIRE_CHECK_SECONDS = 1.0
REPAIR_RETRY_SECONDS = 60.0
DRIFT_LOGGED_MAX = 5


class PartitionSupervisor:
    """Serves one partition: holds its guard and contents, applies changes, and restarts its HAProxy. Created
    by :class:`~evenkeel.haproxyd.partition.manager.PartitionManager`.
    """

    def __init__(
        self,
        name: str,
        storage: PartitionStorage,
        host: HostResources,
        *,
        state_id: Callable[[], str],
        make_runner: Callable[[Callable[[], None]], HaproxyRunner],
        on_event: OnEvent,
    ) -> None:
        self.name = name
        self._host = host
        self._settings = host.settings
        self._storage = storage
        self._state_id = state_id
        self._on_event = on_event
        self._runner = make_runner(self._on_haproxy_exit)
        self._applier = ChangeApplier(name, storage, host, self._runner)
        self._guard = self._applier.guard
        self._held = self._applier.held
        self._queue = ChangeQueue(name)
        self._current_pass: ApplyPass | None = None
        self._passes = 0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pass_due = False
        """Whether a pass is due although no change is queued."""
        self._files_missing = False
        """Whether files that were removed have to be written again."""
        self._verify_next = True
        """Whether the next pass compares everything; so the first one, because an earlier daemon may have
        ended during a change.
        """
        self._last_repair: tuple[float, tuple[str, ...]] = (0.0, ())
        """Time until which the same manual changes are not repaired again, in the event loop's seconds, and
        those changes.
        """
        self._started = False
        self._closing = False
        self._waits_for_owner = False
        """Whether HAProxy is left unchanged until the partition's owner has sent the configuration."""
        self._availability = HaproxyAvailability(name, host.settings, on_event)
        self._repairs = PendingRepairTexts()
        self._log = log.bind(partition=name)

    # -- state for other modules

    @property
    def problem(self) -> str:
        """Return the reason, for operators, why HAProxy does not run as configured; empty if it does."""
        return self._availability.problem

    @problem.setter
    def problem(self, text: str) -> None:
        self._availability.problem = text

    @property
    def epoch(self) -> int:
        """Return the epoch of the guard; -1 if the partition never had an owner."""
        return self._guard.epoch

    @property
    def session_id(self) -> str:
        """Return the session of the newest owner; empty if the partition never had an owner."""
        return self._guard.session_id

    @property
    def owner(self) -> str:
        """Return the environment and device group that own the partition; empty: not known."""
        return self._guard.owner

    @property
    def peers(self) -> tuple[wire.HaproxyPeer, ...]:
        """Return the other hosts' HAProxys with which this one shares its stick tables; empty: none."""
        return self._guard.peers

    @property
    def peer(self) -> wire.HaproxyPeer | None:
        """Return this HAProxy's own entry for its peers' configuration; None if it has no address, port or
        key for peers.
        """
        return self._guard.peer

    @property
    def held(self) -> Mapping[str, wire.LoadBalancerConfig]:
        """Return ``{id: load balancer}`` of the accepted load balancers."""
        return self._held.by_id

    @property
    def digests(self) -> Mapping[str, str]:
        """Return ``{load balancer id: digest}`` of all held load balancers."""
        return self._held.digests

    @property
    def cli(self) -> WorkerCli:
        """Return the runtime API of this partition's HAProxy workers."""
        return self._runner.process.cli

    @property
    def worker_pid(self) -> int | None:
        """Return the pid of the current worker; None if there is none."""
        return self._runner.process.worker_pid

    @property
    def old_workers(self) -> OldWorkers:
        """Return the workers that reloads have replaced and that only finish their connections."""
        return self._runner.process.old_workers

    def is_worker(self, pid: int) -> bool:
        """Whether the process with this pid is the current worker, or a worker that is about to be."""
        return self._runner.process.is_worker(pid)

    @property
    def master_pid(self) -> int | None:
        """Return the pid of the master; None if there is none."""
        return self._runner.process.master_pid if self.is_running else None

    @property
    def is_running(self) -> bool:
        """Whether the partition's HAProxy runs, as far as is known; an empty partition needs none."""
        return self._runner.process.is_running

    @property
    def in_use(self) -> bool:
        """Whether the partition holds a load balancer or its HAProxy runs."""
        return bool(self._held) or self.is_running

    @property
    def _is_new(self) -> bool:
        """Whether the partition has nothing yet, not even an owner."""
        return self._guard.epoch == UNGUARDED_EPOCH and not self.in_use

    # -- start and end

    async def load(self) -> None:
        """Read the partition's directory; whatever can be read is loaded, and its addresses are reserved.

        Raises :class:`~evenkeel.haproxyd.disk.files.StorageBroken` or :class:`OSError` if a file cannot be
        read, and then the partition is loaded in part.
        """
        await self._applier.load()

    async def reserve_running_binds(self) -> None:
        """Reserve the addresses on which this partition's HAProxy may be listening according to its last
        record on disk.
        """
        self._host.binds.reserve_unknown(self.name, (await asyncio.to_thread(self._storage.read_running)).places)

    async def start(self) -> None:
        """Adopt a running HAProxy, or run the first pass, which starts a HAProxy if load balancers are held;
        nothing happens in a partition that never had an owner. Why a pass failed is in ``problem``; an
        adoption that fails raises :class:`OSError`.

        An adopted HAProxy is left unchanged until its owner sends the configuration, or for
        ``owner_wait_seconds`` if there is a record of what it runs: the disk may be an older copy.
        """
        try:
            await self._runner.adopt(self._applier.current_config())
        finally:
            # Also after a failure: changes that arrive may succeed, and must not be answered with `busy` for ever.
            self._started = True
            self._applier.drains.start()
        self._waits_for_owner = self.is_running
        if self._is_new:
            return  # nothing is to be done before its first owner comes
        if not self._waits_for_owner:
            self._pass_due = True
            await self._run_passes()
        # without a record it is not known what HAProxy runs: only the owner's configuration may replace it
        elif not self._runner.state_lost:
            self._set_timer(self._settings.owner_wait_seconds)

    async def close(self) -> None:
        """Finish the current pass and stop; HAProxy keeps running."""
        await self._finish_task()
        self._runner.process.detach()

    async def stop(self) -> None:
        """Finish the current pass, end the partition's tasks, and terminate its HAProxy with all connections."""
        await self._finish_task()
        await self._runner.stop()

    async def _finish_task(self) -> None:
        self._closing = True
        self._cancel_timer()
        await self._applier.drains.close()
        if self._task is not None:
            # The pass has reported its errors to its changes; only its end matters here.
            await asyncio.gather(self._task, return_exceptions=True)

    def trim_log(self) -> None:
        """Rotate HAProxy's output log if it has more than 4 MiB. Blocks; may be called from any thread.
        Raises :class:`OSError`.
        """
        self._storage.trim_log()

    # -- repair of manual changes and removed files

    def describe_missing_files(self) -> str:
        """Return a text, for operators, that names a missing file of the partition or another obstacle to a
        reload of HAProxy; empty if none was found.

        Blocks shortly.
        """
        missing = self._storage.describe_missing_files()
        # While HAProxy is left unchanged for its owner, an obstacle to a reload is no reason to replace it.
        return missing or ("" if self._waits_for_owner else self._runner.process.reload_blocker())

    def restore(self, missing: str) -> bool:
        """Begin a pass that writes all files again from memory. ``missing``: what is missing, for logs and
        receipts. Returns False if that is not possible now, because the partition is being started or
        stopped.
        """
        if self._closing or not self._started:
            return False
        self._log.error("partition lost what it needs; restoring it", reason=missing)
        self._repairs.add_to_all(missing, self.held)
        self._files_missing = self._verify_next = self._pass_due = True
        self._run_passes()
        return True

    @property
    def settled_pass_count(self) -> int | None:
        """Return the number of passes so far; None before the start, during a pass, or while an adopted
        HAProxy is left unchanged for its owner.
        """
        working = self._task is not None and not self._task.done()
        return None if working or self._waits_for_owner or not self._started else self._passes

    def report_connection_count(self, current: int) -> None:
        """Begin a pass that starts a larger worker if ``current`` connections come near the number for which
        the worker is sized.
        """
        if not self._closing and self._runner.request_growth(current):
            self._pass_due = True
            self._run_passes()

    def repair_drift(self, drift_texts: Sequence[str]) -> None:
        """Begin a pass that undoes manual changes of the running HAProxy, and emit an event. ``drift_texts``: the
        changes, for operators; the same ones are not repaired again within 60 s.
        """
        now = asyncio.get_running_loop().time()
        if self._closing or (tuple(drift_texts) == self._last_repair[1] and now < self._last_repair[0]):
            return
        self._last_repair = (now + REPAIR_RETRY_SECONDS, tuple(drift_texts))
        self._log.warning("repairing manual changes", found=drift_texts[:DRIFT_LOGGED_MAX], count=len(drift_texts))
        self._on_event(PartitionEvent(partition=self.name, text=f"changed manually, repaired: {drift_texts[0]}"))
        self._verify_next = self._pass_due = True
        self._run_passes()

    # -- changes

    async def take_over(self, wanted: wire.GuardState) -> wire.GuardState:
        """Make the sender of ``wanted`` the owner, first on disk; wait until changes of an older owner in
        progress have ended, and return the new guard with owner, ``state_id`` and ``empty``.

        Raises ``StaleOwner``, ``EpochJumpTooLarge`` or ``ForeignPartition`` if the sender may not become its
        owner; :class:`PartitionBusy` if those changes take longer than ``guard_timeout_seconds``,
        :class:`OSError`.
        """
        # first on disk, then wait: a change admitted before the move may still be writing, a later one is refused
        await self._guard.set_owner(wanted)
        if self._current_pass is not None and self._current_pass.has_other_owner(wanted.epoch, wanted.session_id):
            await self._current_pass.wait_until_ended(self._settings.guard_timeout_seconds)
        at_rest = not self._queue and (self._current_pass is None or self._current_pass.has_ended)
        empty = at_rest and not self._held
        return msgspec.structs.replace(wanted, owner=self._guard.owner, state_id=self._state_id(), empty=empty)

    async def change(self, change: wire.PartitionChange, *, complete: bool) -> wire.Receipt:
        """Queue a validated change, and return its receipt once a pass has applied it. ``complete``: it
        replaces the whole contents.

        Raises ``StaleOwner`` or ``NotPartitionOwner`` if the sender is not the owner; :class:`PartitionFailed` if
        the pass fails, :class:`PartitionBusy` if the queue is full or the partition is being started or
        stopped, ``InvalidChange`` for too many load balancers.
        """
        self.admit(change)
        if self._closing or not self._started:
            raise PartitionBusy(f"the daemon is {'ending' if self._closing else 'beginning'}; try again later")
        queued = self._queue.add(change, complete=complete)
        self._run_passes()
        # a client that disconnects must not cancel a pass that other changes share
        return await asyncio.shield(queued.receipt)

    def admit(self, change: wire.PartitionChange) -> None:
        """Check that the sender of the change owns the partition; raises ``StaleOwner`` or ``NotPartitionOwner`` if
        not.
        """
        self._guard.admit(change, self._state_id())

    # -- passes

    def _run_passes(self) -> asyncio.Task[None]:
        # Only one task works at a time, so passes of a partition never overlap; it also takes changes that arrive
        # meanwhile.
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._process_queue(), name=f"partition {self.name}")
        return self._task

    async def _process_queue(self) -> None:
        while self._queue or self._pass_due:
            # Reset before the pass, because a reason for another one may arise while it runs.
            self._pass_due = False
            changes = self._queue.take_all()
            try:
                await self._run_pass(changes)
            # Whatever a pass raises must reach the clients that wait, and must not end the partition's task.
            except Exception as error:
                failure = error if isinstance(error, PartitionFailed) else self._on_failure(error)
                for queued in changes:
                    queued.refuse(failure)
        # No await lies between the loop's last check and the task's end: a change queued later finds the task done and
        # begins another.
        self._schedule_next_pass()

    def _on_failure(self, error: Exception) -> PartitionFailed:
        if not isinstance(error, (EvenKeelError, OSError)):
            self._log.exception("applying changes failed")
        text = str(error) if isinstance(error, EvenKeelError) else type(error).__name__
        if isinstance(error, OSError):
            text = error.strerror or text
        self._availability.record_failure(text, is_down=self._is_down())
        failure = PartitionFailed(f"partition {self.name}: {text}")
        failure.__cause__ = error
        return failure

    async def _run_pass(self, changes: list[QueuedChange]) -> None:
        # The next reload reads these files, so they are restored before anything is applied.
        if self._files_missing or self._storage.keys_missing:
            await self._applier.rewrite_files()
            self._files_missing = False
        # Missing files were written above; HAProxy itself is left unchanged until its owner comes.
        if not changes and self._waits_for_owner:
            return
        # the guard may have moved while the changes waited in the queue
        merged = self._applier.select_admitted(changes, self.admit)
        left_alone = self._waits_for_owner
        self._waits_for_owner = self._waits_for_owner and not merged.changes
        self._passes += 1
        # No await lies between the admission of the changes and this line: a guard that moves later sees this pass and
        # waits for its end.
        self._current_pass = ApplyPass(merged.changes)
        try:
            merged.merge()
            # Every change was refused. A pass that had no changes from the start is a repair, and goes on.
            if not merged.changes and changes:
                return
            # applying would stop load balancers whose certificates the daemon lost but the running HAProxy still has
            if left_alone and self.is_running and self._applier.would_drop_incomplete(merged):
                self._postpone_changes(merged)
                return
            verify = self._verify_next or any(queued.complete for queued in merged.changes)
            applied = await self._applier.apply(merged, verify=verify)
            # After a failure it is not known what HAProxy runs, so the next pass verifies again.
            self._verify_next = False
        finally:
            # Before the receipts: when a client reads that a load balancer was removed, its addresses must be free.
            if merged.moved:
                self._held.keep_only_held_binds()
            # A takeover may be waiting for the end of the pass, also of one that failed.
            self._current_pass.end()
        left_out = self._applier.describe_left_out(merged, applied)
        self._availability.record_pass(left_out, is_down=self._is_down(), is_up=self.is_running)
        self._repairs.add(applied.repaired)
        for queued in merged.changes:
            # The driver reads no repairs from the receipt of a change of peers alone, so they wait for the next one.
            repaired = self._repairs.take_texts(self.held) if queued.names_load_balancers else {}
            queued.complete_with_receipt(applied.how, merged.errors, merged.lacking, self.peer, self.peers, repaired)
        # The receipts are complete, so an error from here on fails no change.
        await self._applier.finish_deferred_work()

    def _postpone_changes(self, merged: MergedChanges) -> None:
        """Complete the changes without applying them, because HAProxy runs load balancers that the daemon has
        lost; each load balancer that would change gets an error.

        Ends when the owner sends the lost ones again, or ``owner_wait_seconds`` have passed.
        """
        self._waits_for_owner = True
        waits = "left as it is until certificates that were lost are sent; try again later"
        held = self.held
        errors = {name: waits for name in merged.named if merged.wanted.get(name) != held.get(name)} | merged.errors
        for queued in merged.changes:
            queued.complete_with_receipt("nothing", errors, merged.lacking, self.peer, self.peers, {})

    # -- when HAProxy is down or not needed

    def _on_haproxy_exit(self) -> None:
        self._waits_for_owner = False  # there is nothing left that could be left unchanged
        # After close() nothing would cancel a timer that is set here.
        if not self._closing:
            self._set_timer(self._availability.record_exit(self._runner.process.last_alert()))

    def _is_down(self) -> bool:
        """Whether HAProxy does not run although load balancers are held."""
        return bool(self._held) and not self.is_running

    def _schedule_next_pass(self) -> None:
        """Set the timer for later work when no change is queued: another attempt after a failure, or the end
        of an empty HAProxy.
        """
        if self._closing or self._waits_for_owner:
            return
        if self.is_running and not self._held:
            self._set_timer(RETIRE_CHECK_SECONDS, retire=True)
        # A timer that is already set keeps its time; otherwise each pass would postpone the restart.
        elif (self.problem or self._is_down()) and (self._timer is None or self._timer.cancelled()):
            pause_seconds = self._availability.restarts.pause_seconds
            # If HAProxy serves and only lacks something, another attempt is not urgent.
            self._set_timer(self._settings.restart_max_seconds if self.is_running else pause_seconds)

    def _set_timer(self, seconds: float, *, retire: bool = False) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer, retire)

    def _on_timer(self, retire: bool) -> None:
        self._timer = None
        self._waits_for_owner = False  # also if a pass is in progress, so that it ends with HAProxy as configured
        if self._closing or (self._task is not None and not self._task.done()):
            return  # the task sets the timer again when it ends
        if retire:
            self._task = asyncio.create_task(self._retire_partition(), name=f"partition {self.name} retires")
            return
        self._pass_due = True
        self._run_passes()

    async def _retire_partition(self) -> None:
        if not self._queue and not self._held:
            # After an error, `_process_queue` below schedules the next attempt.
            with contextlib.suppress(HaproxyDown, OSError):
                if await self._runner.stop_if_idle():
                    await self._applier.release_resources()
        # Changes that arrived meanwhile found this task at work and began no pass of their own.
        await self._process_queue()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
