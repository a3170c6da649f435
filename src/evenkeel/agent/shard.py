"""One shard's worker: reconciles the tenant's partition with the database, and reports.

Work is keyed by load balancer, never by event: however many changes arrive during a pass, the next pass applies the
newest revision once. Every step of a pass may fail or be repeated; the next pass starts from the then current state of
database and device.
"""

import asyncio
import random
from collections.abc import Callable

import structlog

from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.pass_limit import PassLimit
from evenkeel.agent.received_definitions import ReceivedDefinitions
from evenkeel.agent.reconciler import Reconciler
from evenkeel.agent.retries import Retries
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard_client import ShardClient
from evenkeel.agent.work_list import TakenWork, WorkList
from evenkeel.core.kit.backoff import with_jitter
from evenkeel.core.kit.errors import (
    BusUnavailable,
    CallRefused,
    DeviceRejected,
    DeviceUnavailable,
    OwnershipGuardLost,
    SessionLost,
    StaleOwner,
)
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.tracing import Attributes, tracer
from evenkeel.core.ports import Clock, Device
from evenkeel.core.protocol import messages as m
from evenkeel.metrics.agent import FENCED, PASS_DURATION

log = structlog.get_logger(__name__)

# Keeps a retry that is due right now from making the loop spin.
WAIT_SECONDS_MIN = 0.01


class ShardWorker:
    """Reconciles one shard at one epoch with the database; a new epoch gets a new worker."""

    def __init__(
        self,
        assignment: m.Assignment,
        *,
        session: Session,
        controllers: ControllerClient,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        rng: random.Random,
        pass_limit: PassLimit,
        on_device_trouble: Callable[[], None],
        first: bool = False,
        definitions: m.InlinedDefinitions | None = None,
    ) -> None:
        """``first``: True if no other worker has served the shard in this session at this epoch.
        ``definitions``: all definitions of a shard that was created just now; None: they are requested.
        """
        self.shard_id = assignment.shard_id
        self.project_id = assignment.project_id
        self.epoch = assignment.epoch
        self._device = device
        self._clock = clock
        self._pass_limit = pass_limit
        self._received = ReceivedDefinitions(session.id, assignment.epoch, first=first)
        self._received.offer_all(definitions, of=assignment.work)
        self._work = WorkList(
            assignment.work,
            clock.monotonic(),
            retries=Retries(settings.retry, rng),
            resync_interval=lambda: with_jitter(settings.resync_interval_seconds, rng.uniform),
            batch_max=settings.batch_load_balancers,
        )
        self._client = ShardClient(
            assignment,
            session=session,
            controllers=controllers,
            settings=settings,
            carries_traffic=device.facts.carries_traffic,
        )
        self._reconciler = Reconciler(
            assignment,
            work=self._work,
            received=self._received,
            client=self._client,
            session=session,
            device=device,
            clock=clock,
            settings=settings,
            pass_limit=pass_limit,
            on_device_trouble=on_device_trouble,
        )
        self._wake = asyncio.Event()
        self.turn = asyncio.Lock()
        """Held from before a pass fetches definitions until it has written them, so that an adoption does not come
        between.
        """
        self._log = log.bind(shard=self.shard_id, project=self.project_id, epoch=self.epoch)
        self._traced: Attributes = {
            "evenkeel.agent.id": settings.agent_id,
            "evenkeel.shard.id": self.shard_id,
            "evenkeel.shard.epoch": self.epoch,
        }

    # -- state

    @property
    def queue_depth(self) -> int:
        """Number of load balancers that wait for a pass."""
        return len(self._work.queued)

    @property
    def queue_oldest_seconds(self) -> float:
        """Longest time, in seconds, for which a load balancer has waited for a pass; 0 if none waits."""
        return self._work.oldest_seconds(self._clock.monotonic())

    @property
    def busy(self) -> bool:
        """Whether work waits to be done or retried; what is under way does not count."""
        return self._work.is_busy

    @property
    def is_writing(self) -> bool:
        """Return whether the worker is writing to devices now (or taking over), or reporting the results."""
        return self._reconciler.is_writing

    @property
    def lost(self) -> bool:
        """Whether the worker found that another agent may own the shard; the assignments must be requested."""
        return self._reconciler.lost

    # -- events

    def add_work(self, load_balancer_ids: tuple[LoadBalancerId, ...]) -> None:
        """Queue load balancers that may have newer revisions; those that failed recently wait for their
        retry.
        """
        self._received.discard(load_balancer_ids)
        self._work.found_work(load_balancer_ids, self._clock.monotonic())
        self._prioritize_pass(load_balancer_ids)
        self._wake_up()

    def add_hinted_work(
        self, load_balancer_ids: tuple[LoadBalancerId, ...], definitions: m.InlinedDefinitions | None = None
    ) -> None:
        """Queue load balancers that have just changed, even after a recent failure.

        ``definitions``: definitions that came with the hint; None: they have to be requested.
        """
        self._received.discard(load_balancer_ids)
        # Before the load balancers are queued, because a definition is kept only for one that does not already wait.
        self._received.offer(definitions, queued=self._work.queued)
        self._work.hint_received(load_balancer_ids, self._clock.monotonic())
        self._prioritize_pass(load_balancer_ids)
        self._wake_up()

    def _prioritize_pass(self, changed: tuple[LoadBalancerId, ...]) -> None:
        if changed:
            self._pass_limit.prioritize(self.shard_id)

    def force_reapply(self, load_balancer_ids: tuple[LoadBalancerId, ...]) -> None:
        """Queue these load balancers, even after a recent failure, although their definitions are unchanged:
        the driver renders them differently now.
        """
        self._received.discard(load_balancer_ids)
        self._work.rendering_changed(load_balancer_ids, self._clock.monotonic())
        self._wake_up()

    def invalidate(self, load_balancer_ids: tuple[LoadBalancerId, ...], *, complete: bool) -> None:
        """Queue these load balancers, and with ``complete`` a complete pass, because devices were seen to
        hold something else than was written; the driver's cached state is dropped. A load balancer that
        failed recently waits for its retry.
        """
        self._received.discard(load_balancer_ids)
        self._work.devices_differ(load_balancer_ids, self._clock.monotonic(), complete=complete)
        self._wake_up()

    def request_full_resync(self) -> None:
        """Queue a complete pass, because the devices' state may have changed."""
        self._received.discard_all_of_new_shard()
        self._work.resync_requested()
        self._wake_up()

    def finish(self) -> None:
        """Make :meth:`run` end after the writes that are under way."""
        self._reconciler.stopping = True
        self._wake.set()

    def _wake_up(self) -> None:
        if self._work.has_work:
            self._wake.set()

    # -- the loop

    async def run(self) -> None:
        """Make passes when there is work, until :meth:`finish`, cancellation, or the shard is found lost.
        Failed passes are retried.
        """
        try:
            while not self.lost:
                await self._wait_for_work()
                if self._reconciler.stopping:
                    return
                async with self.turn:
                    await self._make_pass()
        finally:
            self._pass_limit.forget(self.shard_id)
            # Another agent may write the partition from now on, so nothing cached about it would hold when the shard
            # comes back.
            self._device.forget(self.project_id)

    async def _wait_for_work(self) -> None:
        self._work.collect_due(self._clock.monotonic())
        while not self._work.has_work and not self._reconciler.stopping:
            # No await stands between the check above and this line, so no event can be lost here.
            self._wake.clear()
            seconds = max(WAIT_SECONDS_MIN, self._work.next_due - self._clock.monotonic())
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                self._work.collect_due(self._clock.monotonic())

    async def _make_pass(self) -> None:
        """Make one pass over the queued work; if it fails, the work is queued for a retry or the worker gives
        up the shard.
        """
        # Taken before the definitions are read: a change that arrives later is queued again, never lost with this pass.
        taken = self._work.take()
        begun, result = self._clock.monotonic(), "error"
        try:
            with tracer().deferred_span("reconcile", attributes=self._traced) as span:
                await self._reconciler.run_pass(taken, span)
            result = "done"
        # A cancelled worker settles nothing: the next owner, or the next worker, begins with a complete pass.
        except Exception as error:
            result = await self._settle_failure(taken, error)
        finally:
            scope = "complete" if taken.complete else "partial"
            PASS_DURATION.labels(scope, result).observe(self._clock.monotonic() - begun)

    async def _settle_failure(self, taken: TakenWork, error: Exception) -> str:
        """Handle the error that ended a pass; returns the pass's result for metrics: ``fenced``,
        ``unavailable`` or ``error``.
        """
        match error:
            case StaleOwner():
                FENCED.labels("newer_owner").inc()
                await self._handle_stale_owner(error)
                return "fenced"
            case OwnershipGuardLost():
                FENCED.labels("guard_lost").inc()
                await self._handle_guard_loss(error)
                return "fenced"
            case SessionLost():
                FENCED.labels("session_lost").inc()
                self._reconciler.record_shard_loss(error)
                return "fenced"
            case DeviceUnavailable() | DeviceRejected() | BusUnavailable() | CallRefused():
                await self._handle_unavailable(taken, error)
                return "error" if isinstance(error, DeviceRejected) else "unavailable"
            case _:  # a bug triggered by one load balancer must not cause a storm of restarts
                self._queue_retry(taken)
                self._log.exception(
                    "pass failed on an unexpected error; trying again",
                    exc_info=error,
                    complete=taken.complete,
                    waiting=len(taken.load_balancer_ids),
                )
                return "error"

    def _queue_retry(self, taken: TakenWork) -> None:
        self._work.pass_failed(taken, self._clock.monotonic())

    async def _handle_unavailable(self, taken: TakenWork, error: Exception) -> None:
        self._queue_retry(taken)
        self._log.warning(
            "pass failed; trying again", error=str(error), complete=taken.complete, waiting=len(taken.load_balancer_ids)
        )
        if isinstance(error, DeviceUnavailable):
            # Other agents of the group may reach the device; the agent's state report lets controllers decide.
            self._reconciler.note_unreachable((error.device,))
        # A failed call to controllers is no news for the user, and its report would take the same broken way.
        if isinstance(error, DeviceUnavailable | DeviceRejected):
            await self._reconciler.report_waiting(str(error))

    async def _handle_guard_loss(self, error: OwnershipGuardLost) -> None:
        """Queue a complete pass, which moves the guard first, because a device lost its state.

        The pass is made at once if the guard was held before the pass that found it lost. A guard lost right
        after it was moved is moved again only after a pause, because it may get lost repeatedly.
        """
        self._log.warning("device does not hold the guard; writing everything again", device=error.device)
        # A complete pass also covers whatever the failed pass had taken.
        self._queue_retry(TakenWork(complete=True))
        if self._reconciler.record_guard_loss():
            self._work.resync_requested()
        else:
            await self._reconciler.report_waiting(str(error))

    async def _handle_stale_owner(self, error: StaleOwner) -> None:
        """Mark the shard as lost, because a device's guard is newer, and request an epoch above the guard's
        in case this agent still owns the shard.
        """
        self._log.warning("device is guarded by a newer owner", seen_epoch=error.seen_epoch)
        # Set before the call below: this worker must not write again, even if no controller answers.
        self._reconciler.lost = True
        # A higher epoch helps only against a guard whose epoch is known and not below this agent's.
        if error.seen_epoch is None or error.seen_epoch < self.epoch:
            return
        try:
            await self._client.raise_epoch(error.seen_epoch)
        except (SessionLost, CallRefused, BusUnavailable) as refusal:
            # The assignments, requested as soon as this worker ends, decide whether the agent still owns the shard.
            self._log.info("epoch not raised", reason=str(refusal))
