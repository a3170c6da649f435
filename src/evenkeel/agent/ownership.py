"""Maintains the shards that the agent's session owns, each with a worker."""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import structlog

from evenkeel.agent.assignment_round import AssignmentRound
from evenkeel.agent.common_shard import CommonShardWorker
from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.hinted_shards import HintedShards
from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.agent.pass_limit import PassLimit
from evenkeel.agent.plans import PlanService
from evenkeel.agent.retries import Retries
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard import ShardWorker
from evenkeel.core.control.epochs import FIRST_EPOCH, ShardEpoch
from evenkeel.core.devices.device import DeviceState
from evenkeel.core.kit.errors import BusUnavailable, CallRefused, SessionLost
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.ports import Clock, Device
from evenkeel.core.protocol import messages as m

log = structlog.get_logger(__name__)

# Bounds the size of the state report.
SERVING_REPORTED = 500

Worker = ShardWorker | CommonShardWorker


class Ownership:
    """Starts and ends the workers of the session's shards so that they match the last assignments, and passes
    work to them.
    """

    def __init__(
        self,
        session: Session,
        *,
        controllers: ControllerClient,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        database_history: DatabaseHistory,
        rng: random.Random,
        request_assignments: Callable[[], None],
        on_device_trouble: Callable[[], None],
        incarnations: DeviceIncarnations,
    ) -> None:
        self._session = session
        self._controllers = controllers
        self._device = device
        self._clock = clock
        self._settings = settings
        self._database_history = database_history
        self._rng = rng
        self._request_assignments = request_assignments
        self._on_device_trouble = on_device_trouble
        self._incarnations = incarnations
        self._pass_limit = PassLimit(settings.passes_at_once, clock)
        self._restarts = Retries(settings.retry, rng)
        self._workers: dict[ShardId, tuple[Worker, asyncio.Task[None]]] = {}
        self._plans = PlanService(session, controllers=controllers, device=device, settings=settings)
        self._begun: dict[ShardId, int] = {}
        """The last epoch at which a worker of this session has served each shard."""
        self._releases: set[asyncio.Task[None]] = set()
        self._releasing: set[ShardId] = set()
        self._history = database_history.history
        self._hinted = HintedShards()

    @property
    def revision(self) -> int:
        """Assignments revision up to which all changes are known; -1 before the first complete round and
        after a new database history, so that the next answer to a keepalive leads to a round.
        """
        return self._hinted.revision

    def follow_history(self) -> bool:
        """Make every worker check everything again if the database has a new history; returns whether it has."""
        if self._database_history.history == self._history:
            return False
        log.warning("the database lost changes; checking everything", history=self._database_history.history)
        self._history = self._database_history.history
        self._hinted = HintedShards()
        self.request_full_resync()
        for worker, _ in self._workers.values():
            if isinstance(worker, CommonShardWorker):
                worker.report_all_again()
        return True

    def apply_assignments(self, page: m.Assignments) -> None:
        """Serve the shards of a page of assignments: a new shard, one with a new epoch, or one whose worker
        has ended gets a new worker (after a failure only when its pause is over), a running worker gets
        the pending work, and a shard in handover is released. Workers of shards that the page does not
        name continue.
        """
        self._hinted.answer_received(page.revision)
        for shard in page.shards:
            entry = self._workers.get(shard.shard_id)
            if entry is not None and (shard.epoch != entry[0].epoch or entry[1].done()):
                # Dropped first, so that _serve_shard below starts a worker for the new epoch, or in place of one that
                # ended.
                self._forget_worker(shard.shard_id)
        # shards with pending work first, because thousands may be taken over at once
        for shard in sorted(page.shards, key=lambda shard: not shard.work):
            if shard.handover:
                self._hand_over_shard(shard)
            else:
                self._serve_shard(shard)

    def begin_round(self) -> None:
        """Record that a complete round of the assignments begins."""
        self._hinted.round_begun()

    def end_unassigned(self, assigned: AssignmentRound) -> None:
        """Cancel the workers of shards that a complete round of assignments did not name, and record the
        round's revision. Workers of shards that hints named during the round, and that were created after
        its revision, continue.
        """
        self._restarts.forget_others({_restart_key(shard_id, epoch) for shard_id, epoch in assigned.epochs.items()})
        newer = self._hinted.round_completed(assigned.revision)
        for shard_id in [shard_id for shard_id in self._workers if shard_id not in assigned.epochs]:
            if shard_id not in newer:
                self._forget_worker(shard_id)

    def begin_shard(self, hint: m.ApplyHint) -> bool:
        """Start a worker for the new shard that a hint describes. Returns False if the hint describes none or
        may be old: the shard's assignment has to be requested then.

        Like an assignment that was read, a new hint may be outdated by now: then the devices' guard and the
        report's epoch refuse what the worker does.
        """
        new = hint.new_shard
        if new is None or not self._may_begin(hint.shard_id, new):
            return False
        self._hinted.add(hint.shard_id, new.revision)
        assignment = m.Assignment(
            shard_id=hint.shard_id, project_id=new.project_id, epoch=FIRST_EPOCH, work=hint.load_balancer_ids
        )
        self._start_worker(assignment, hint.inlined)
        return True

    def _may_begin(self, shard_id: ShardId, new: m.NewShard) -> bool:
        """Return whether a hint, which may be late or repeated, still shows that the tenant's shard is this
        session's: it names this session and the present history, no answer shows a later change of the
        assignments, and no worker of this session has served the shard.
        """
        session = self._session
        return (
            new.session_id == session.id
            and new.history == self._history == self._database_history.history
            and shard_id not in self._begun
            and new.project_id != COMMON_PROJECT
            and session.assignments_revision <= new.revision
            and self._hinted.may_begin(new.revision)
            # Lost shards have to be named to controllers first, in a complete round.
            and not self._database_history.lost_shards()
        )

    def _serve_shard(self, assignment: m.Assignment) -> None:
        entry = self._workers.get(assignment.shard_id)
        if entry is None:
            # A worker that failed starts again after a pause; a shard in handover must not start here again.
            resting = self._restarts.is_waiting(
                _restart_key(assignment.shard_id, assignment.epoch), self._clock.monotonic()
            )
            if assignment.shard_id not in self._releasing and not resting:
                self._start_worker(assignment)
        elif (writer := _writing_worker(entry[0])) is not None:
            writer.add_work(assignment.work)

    def _start_worker(self, assignment: m.Assignment, definitions: m.InlinedDefinitions | None = None) -> None:
        """Start the worker of an assignment in a task. ``definitions``: all definitions of a new shard, which
        came with a hint; None: the worker requests them.
        """
        worker: Worker
        if assignment.project_id == COMMON_PROJECT:
            worker = CommonShardWorker(
                assignment,
                writer=self._make_shard_worker(assignment) if self._device.facts.network_layout.adjacent else None,
                session_id=self._session.id,
                controllers=self._controllers,
                device=self._device,
                clock=self._clock,
                settings=self._settings,
                on_device_trouble=self._on_device_trouble,
                on_device_back=self.request_full_resync,
                # A copy: the observer and the periodic check both have to notice a device that lost its state.
                incarnations=self._incarnations.copy(),
            )
        else:
            worker = self._make_shard_worker(assignment, definitions)
        log.info("serving shard", shard=assignment.shard_id, project=assignment.project_id, epoch=assignment.epoch)
        task = asyncio.create_task(worker.run(), name=f"shard {assignment.shard_id}")
        # Keyed by epoch, so that a worker of a new epoch does not wait for failures of the former one.
        task.add_done_callback(partial(self._handle_worker_end, _restart_key(worker.shard_id, worker.epoch)))
        self._workers[assignment.shard_id] = (worker, task)

    def _make_shard_worker(
        self, assignment: m.Assignment, definitions: m.InlinedDefinitions | None = None
    ) -> ShardWorker:
        # Only the first worker of an epoch can know all definitions it was sent; see ReceivedDefinitions.
        first = self._begun.get(assignment.shard_id) != assignment.epoch
        self._begun[assignment.shard_id] = assignment.epoch
        return ShardWorker(
            assignment,
            session=self._session,
            controllers=self._controllers,
            device=self._device,
            clock=self._clock,
            settings=self._settings,
            rng=self._rng,
            pass_limit=self._pass_limit,
            on_device_trouble=self._on_device_trouble,
            first=first,
            definitions=definitions,
        )

    def request_full_resync(self) -> None:
        """Make every worker that writes do a complete pass, because devices or the database may have missed
        or lost changes; the driver's cached states are dropped.
        """
        for writer in self._writing_workers():
            writer.invalidate((), complete=True)

    def _writing_workers(self) -> Iterator[ShardWorker]:
        for worker, _ in self._workers.values():
            if (writer := _writing_worker(worker)) is not None:
                yield writer

    def force_reapply(self, due: Mapping[ProjectId, tuple[LoadBalancerId, ...]]) -> None:
        """Apply load balancers again whose enhanced services changed. ``due``: load balancers by project;
        projects that this agent does not serve are ignored.
        """
        for worker, _ in self._workers.values():
            if isinstance(worker, ShardWorker) and (ids := due.get(worker.project_id)):
                worker.force_reapply(ids)

    def resync_shard(self, shard: ShardEpoch) -> None:
        """Make a complete pass over the shard, if it is served at that epoch: the database does not contain a
        load balancer that was confirmed for it. Keepalives no longer name the shard.

        If the load balancer's creation was lost, the devices hold an orphan.
        """
        worker = self._workers[shard.shard_id][0] if shard.shard_id in self._workers else None
        if isinstance(worker, ShardWorker) and worker.epoch == shard.epoch:
            log.info(
                "the database does not know a confirmed load balancer; making a complete pass", shard=shard.shard_id
            )
            worker.request_full_resync()
        self._database_history.note_complete_pass(shard)

    def _handle_worker_end(self, key: str, task: asyncio.Task[None]) -> None:
        """Request the assignments after a worker has lost its shard or failed, now and after a growing delay.
        Only then is a new worker started, if the agent still owns the shard at the same epoch. Does
        nothing for a cancelled worker.
        """
        # Cancelled by _drop_worker, a handover or the end of the session, which know what comes next.
        if task.cancelled():
            return
        if task.exception() is not None:
            log.error("worker failed", worker=task.get_name(), exc_info=task.exception())
        now = self._clock.monotonic()
        again_at = self._restarts.record_failure(key, now)
        # At once, because another agent may own the shard; and after the pause, in which no worker is started for it.
        self._request_assignments()
        asyncio.get_running_loop().call_later(again_at - now, self._request_assignments)

    def _forget_worker(self, shard_id: ShardId) -> None:
        worker, task = self._workers.pop(shard_id)
        self._database_history.record_left_shard(worker.project_id, worker.epoch, worker.shard_id)
        task.cancel()

    def _hand_over_shard(self, assignment: m.Assignment) -> None:
        """Start a task that ends the worker after its writes, and releases the shard to controllers."""
        if assignment.shard_id in self._releasing:
            return
        self._releasing.add(assignment.shard_id)
        task = asyncio.create_task(self._finish_and_release(assignment))
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)

    async def _finish_and_release(self, assignment: m.Assignment) -> None:
        try:
            # Without an entry the worker has ended already, and the release is merely repeated.
            entry = self._workers.pop(assignment.shard_id, None)
            if entry is not None:
                worker, task = entry
                self._database_history.record_left_shard(worker.project_id, worker.epoch, worker.shard_id)
                _finish_worker(worker, task)
                try:
                    await asyncio.wait({task}, timeout=self._settings.stop_timeout_seconds)
                finally:
                    # A write that takes longer is abandoned: the next owner's guard decides whether it still counts.
                    task.cancel()
            shard = ShardEpoch(shard_id=assignment.shard_id, epoch=assignment.epoch)
            await self._controllers.release_shards(
                m.ReleaseShards(agent_id=self._settings.agent_id, session_id=self._session.id, shards=(shard,))
            )
            log.info("shard released", shard=assignment.shard_id, epoch=assignment.epoch)
        except (BusUnavailable, CallRefused, SessionLost) as error:
            log.warning("shard not released yet", shard=assignment.shard_id, error=str(error))
        finally:
            # If the release did not arrive, the shard is still assigned to this agent, and is released again.
            self._releasing.discard(assignment.shard_id)
            self._request_assignments()

    def pass_hint(self, hint: m.ShardHint) -> bool:
        """Pass the work of a hint to the shard's worker. Returns False if the agent does not serve the shard;
        True also if the worker has nothing to do for it.
        """
        entry = self._workers.get(hint.shard_id)
        if entry is None:
            return False
        worker = entry[0]
        writer = _writing_worker(worker)
        match hint:
            case m.ReportAgainHint() | m.ResyncHint() if isinstance(worker, CommonShardWorker):
                worker.report_all_again()
            case m.ResyncHint() if writer is not None:
                writer.invalidate((), complete=True)
            case m.RecheckHint() if writer is not None:
                writer.invalidate(hint.load_balancer_ids, complete=False)
            case m.ApplyHint() if writer is not None:
                writer.add_hinted_work(hint.load_balancer_ids, hint.inlined)
        # An agent that serves the shard but has nothing to do for this hint need not request its assignments.
        return True

    def answer_inquiry(self, hint: m.PlanHint | m.AdoptionHint) -> None:
        """Answer an operator's inquiry in the background, if this agent serves the shard; otherwise it is
        ignored.
        """
        entry = self._workers.get(hint.shard_id)
        if entry is not None and isinstance(entry[0], ShardWorker):
            worker = entry[0]
            shard = m.Assignment(shard_id=worker.shard_id, project_id=worker.project_id, epoch=worker.epoch)
            self._plans.answer_inquiry(hint, shard, worker.request_full_resync, turn=worker.turn)
        elif entry is not None and isinstance(entry[0], CommonShardWorker):
            observer = entry[0]
            shard = m.Assignment(shard_id=observer.shard_id, project_id=observer.project_id, epoch=observer.epoch)
            self._plans.report_unexpected(hint, shard, observer.unexpected_load_balancers)

    @property
    def queue_depth(self) -> int:
        """Number of load balancers that wait for a pass, in all shards."""
        return sum(writer.queue_depth for writer in self._writing_workers())

    @property
    def queue_oldest_seconds(self) -> float:
        """Longest time, in seconds, for which a load balancer of a tenant has waited for a pass; 0 if none
        waits.
        """
        workers = (worker for worker, _ in self._workers.values() if isinstance(worker, ShardWorker))
        return max((worker.queue_oldest_seconds for worker in workers), default=0.0)

    @property
    def busy(self) -> bool:
        """Whether work of any shard waits to be done or retried; what is under way does not count."""
        return any(writer.busy for writer in self._writing_workers())

    @property
    def served_shards(self) -> tuple[ShardEpoch, ...]:
        """The shards served now, for the state report; at most :data:`SERVING_REPORTED`."""
        served = [worker for worker, task in self._workers.values() if not task.done()][:SERVING_REPORTED]
        return tuple(ShardEpoch(shard_id=worker.shard_id, epoch=worker.epoch) for worker in served)

    @property
    def observed_devices(self) -> tuple[DeviceState, ...] | None:
        """The device states that the common shard's worker last read; None if this agent is not the observer,
        or has not reached the devices in its last observation.
        """
        for worker, _ in self._workers.values():
            if isinstance(worker, CommonShardWorker) and worker.devices:
                return worker.devices
        return None

    async def end_workers(self, *, graceful: bool) -> None:
        """End all workers and cancel inquiries, and wait for their ends. ``graceful``: writes that are under
        way get ``stop_timeout_seconds`` to complete, and releases as well; otherwise all are cancelled at
        once.
        """
        self._plans.end()
        entries = list(self._workers.values())
        # Cleared first, so that hints and syncs that arrive during the wait find no worker to pass work to.
        self._workers.clear()
        for worker, _ in entries:
            self._database_history.record_left_shard(worker.project_id, worker.epoch, worker.shard_id)
        tasks = {task for _, task in entries} | self._releases
        try:
            if graceful and tasks:
                for worker, task in entries:
                    _finish_worker(worker, task)
                await asyncio.wait(tasks, timeout=self._settings.stop_timeout_seconds)
        finally:  # also when the session is lost meanwhile: none of its workers may go on
            for task in tasks:
                task.cancel()
        # Waits for the cancelled tasks, so that none writes after this method has returned.
        await asyncio.gather(*tasks, return_exceptions=True)


def _writing_worker(worker: Worker) -> ShardWorker | None:
    """Return the part of a worker that writes to devices; None if the worker only observes."""
    return worker.writer if isinstance(worker, CommonShardWorker) else worker


def _finish_worker(worker: Worker, task: asyncio.Task[None]) -> None:
    """Make a worker end after a write that is under way; without one it is cancelled at once, because the
    shard's next owner repeats reads and waits.
    """
    worker.finish()
    # A worker that only reads or waits has nothing to lose; cancelling it makes handovers fast.
    if not worker.is_writing:
        task.cancel()


def _restart_key(shard_id: ShardId, epoch: int) -> str:
    return f"{shard_id}@{epoch}"
