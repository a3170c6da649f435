"""One shard's worker: reconciles the tenant's partition with the database, and reports.

Work is keyed by load balancer, never by event: however many changes arrive during a pass, the next pass applies the
newest revision once. The steps of a pass: fence check, guard, fetch, apply, report; then a second apply, with their
content, for load balancers whose certificates a device lacks. Every step may fail or be repeated; the next pass starts
from the then current state of database and device.
"""

import asyncio
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from msgspec.structs import replace

from evenkeel.agent.certificates import CertificateFetch, MissingCertificates, lacking, without
from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.orphans import after_removal, refused, verdict_on, with_orphans_named
from evenkeel.agent.pass_limit import PassLimit
from evenkeel.agent.received_definitions import ReceivedDefinitions
from evenkeel.agent.retries import Retries
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard_client import ShardClient
from evenkeel.agent.waiting import Waiting
from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition, removal
from evenkeel.core.kit.backoff import spread
from evenkeel.core.kit.errors import (
    BusUnavailable,
    CallRefused,
    DeviceRejected,
    DeviceUnavailable,
    GuardLost,
    SessionLost,
    StaleOwner,
)
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.request_context import request_ids, writing
from evenkeel.core.kit.tracing import Attributes, DeferredSpan, tracer
from evenkeel.core.ports import Clock, Device
from evenkeel.core.protocol import messages as m
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.metrics.agent import APPLIED, FENCED, PASS_DURATION, REPAIRED

log = structlog.get_logger(__name__)

COMPLETE = "*"
"""The key under which a complete pass is retried."""
FENCE_POLL_SECONDS = 0.1

Identity = tuple[int, str]
"""Identity of a definition: revision and change id. A revision alone is ambiguous if the database lost commits."""


class ShardWorker:
    """Serves one shard at one epoch; a new epoch gets a new worker."""

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
    ) -> None:
        """``first``: see :class:`ReceivedDefinitions`."""
        self.shard_id = assignment.shard_id
        self.project_id = assignment.project_id
        self.epoch = assignment.epoch
        self._session = session
        self._client = ShardClient(
            assignment,
            session=session,
            controllers=controllers,
            settings=settings,
            carries_traffic=device.facts.carries_traffic,
        )
        self._received = ReceivedDefinitions(session.id, assignment.epoch, first=first)
        self._certificates = CertificateFetch(self._client, session, clock)
        self._device = device
        self._clock = clock
        self._settings = settings
        self._rng = rng
        self._pass_limit = pass_limit
        self._on_device_trouble = on_device_trouble
        self._dirty = Waiting(clock.monotonic, assignment.work)
        self._unconfirmed: set[LoadBalancerId] = set(assignment.work)
        """Load balancers with changes that are not known to be on the devices."""
        self._trying: tuple[ServiceDefinition, ...] = ()
        self._reported_reasons: dict[LoadBalancerId, tuple[Identity, str]] = {}
        """Changes that could not be tried, and the reason last reported."""
        self._trouble: tuple[str, ...] = ()
        """Devices unreachable in the last pass."""
        self._complete = True  # the previous owner may have left any state
        self._forget = False
        """The driver must drop its cached state of the partition before the next pass."""
        self._guarded = False
        self._applied: dict[LoadBalancerId, Identity] = {}
        """Applied by this worker and not in doubt since."""
        self._served: set[LoadBalancerId] = set()
        """Load balancers that the devices should hold after the last passes."""
        self._doubted: set[LoadBalancerId] = set()
        """Load balancers invalidated during the current pass, which may have read the devices before that."""
        self._retries = Retries(settings.retry, rng)
        self._wake = asyncio.Event()
        self._wake.set()
        self.turn = asyncio.Lock()
        """Held from before a pass fetches definitions until it has written them, so that an adoption does not come
        between.
        """
        self.writes = False
        """True while devices are written, and while the results are reported."""
        self._stopping = False
        self._lost = False
        self._next_resync = clock.monotonic() + self._resync_interval()
        self._log = log.bind(shard=self.shard_id, project=self.project_id, epoch=self.epoch)
        self._traced: Attributes = {
            "evenkeel.agent.id": settings.agent_id,
            "evenkeel.shard.id": self.shard_id,
            "evenkeel.shard.epoch": self.epoch,
        }

    @property
    def _is_common(self) -> bool:
        return self.project_id == COMMON_PROJECT

    def _resync_interval(self) -> float:
        return spread(self._settings.resync_interval_seconds, self._rng.uniform)

    @property
    def queue_depth(self) -> int:
        """Load balancers waiting here."""
        return len(self._dirty)

    @property
    def queue_oldest_seconds(self) -> float:
        """Longest time, in seconds, for which a load balancer has waited for a pass; 0 if none waits."""
        return self._dirty.oldest_seconds

    @property
    def busy(self) -> bool:
        """Whether work waits to be done or retried; what is under way does not count."""
        retry_at = self._retries.next_due()
        return self._complete or bool(self._dirty) or (retry_at is not None and retry_at < math.inf)

    def add_work(self, load_balancer_ids: tuple[LoadBalancerId, ...]) -> None:
        """Queue load balancers that may have newer revisions; after a recent failure they wait for their retry."""
        now = self._clock.monotonic()
        self._note_changed(load_balancer_ids)
        fresh = {lb for lb in load_balancer_ids if not self._retries.waiting(lb, now)}
        self._received.drop(load_balancer_ids)
        if fresh - self._dirty:
            self._dirty.update(fresh)
            self._wake.set()

    def hint(self, load_balancer_ids: tuple[LoadBalancerId, ...], carried: m.InlinedDefinitions | None = None) -> None:
        """Queue load balancers that have just changed: they are applied at once, even after a recent failure.

        ``carried``: definitions that came with the hint.
        """
        for load_balancer_id in load_balancer_ids:
            self._retries.succeeded(load_balancer_id)
        self._received.drop(load_balancer_ids)
        self._received.offer(carried, queued=self._dirty)
        self._dirty.update(load_balancer_ids)
        self._note_changed(load_balancer_ids)
        self._wake.set()

    def _note_changed(self, load_balancer_ids: tuple[LoadBalancerId, ...]) -> None:
        self._unconfirmed.update(load_balancer_ids)
        if load_balancer_ids:
            self._pass_limit.prioritize(self.shard_id)

    def force_reapply(self, load_balancer_ids: tuple[LoadBalancerId, ...]) -> None:
        """Apply these load balancers again, even after a recent failure: the driver renders the same definitions
        differently now.
        """
        for load_balancer_id in load_balancer_ids:
            self._retries.succeeded(load_balancer_id)
            self._applied.pop(load_balancer_id, None)
        self._doubted.update(load_balancer_ids)
        self._received.drop(load_balancer_ids)
        self._dirty.update(load_balancer_ids)
        self._wake.set()

    def request_full_resync(self) -> None:
        """Make a complete pass: the devices' state may have changed."""
        self._complete = True
        self._wake.set()

    def invalidate(self, load_balancer_ids: tuple[LoadBalancerId, ...], *, complete: bool) -> None:
        """Read and apply these load balancers, or the whole partition, again: the observer found them changed on the
        devices.

        A load balancer that failed recently keeps its retry time.
        """
        self._forget = True
        self._doubted.update(load_balancer_ids)
        self._received.drop(load_balancer_ids)
        for load_balancer_id in load_balancer_ids:
            self._applied.pop(load_balancer_id, None)
        now = self._clock.monotonic()
        self._dirty.update(lb for lb in load_balancer_ids if not self._retries.waiting(lb, now))
        self._complete = self._complete or complete
        self._wake.set()

    def finish(self) -> None:
        """End after the writes that are under way."""
        self._stopping = True
        self._wake.set()

    @property
    def lost(self) -> bool:
        """Whether the worker found that another agent may own the shard; the assignments must be requested."""
        return self._lost

    async def run(self) -> None:
        """Serve until :meth:`finish`, cancellation, or the shard is found lost."""
        try:
            while not self._stopping and not self._lost:
                await self._wait_for_work()
                if self._stopping:
                    return
                async with self.turn:
                    await self._pass()
        finally:
            self._pass_limit.forget(self.shard_id)
            self._device.forget(self.project_id)

    async def _wait_for_work(self) -> None:
        self._collect_due()
        while not self._wake.is_set():
            moments = [self._next_resync]
            if (due := self._retries.next_due()) is not None:
                moments.append(due)
            seconds = max(0.01, min(moments) - self._clock.monotonic())
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                self._collect_due()
        self._wake.clear()

    def _collect_due(self) -> None:
        now = self._clock.monotonic()
        due = self._retries.take_due(now)
        if now >= self._next_resync or COMPLETE in due:
            self._complete = True
            self._next_resync = now + self._resync_interval()
        self._dirty.update(LoadBalancerId(key) for key in due if key != COMPLETE)
        if self._complete or self._dirty:
            self._wake.set()

    async def _pass(self) -> None:
        """One pass over the waiting load balancers. On any failure they are queued for a retry."""
        complete, taken = self._take()
        if not complete and not taken:
            return
        self._trying = ()
        was_guarded = self._guarded
        if self._forget:
            self._forget = False
            self._device.forget(self.project_id)
        begun, result = self._clock.monotonic(), "error"
        try:
            with tracer().deferred_span("reconcile", attributes=self._traced) as work:
                async with self._pass_limit.of(self.shard_id, changed=bool(self._unconfirmed)):
                    left = await self._reconcile(complete, taken, work)
                if left.services and not self._stopping:
                    await self._supply(left)
            result = "done"
        except StaleOwner as error:
            result = "fenced"
            FENCED.labels("newer_owner").inc()
            await self._stale(error)
        except GuardLost as error:
            result = "fenced"
            FENCED.labels("guard_lost").inc()
            self._log.warning("device does not hold the guard; writing everything again", device=error.device)
            self._start_over(at_once=was_guarded)
            if not was_guarded:  # and it may get lost again
                await self._report_waiting(self._trying, str(error))
        except SessionLost as error:
            result = "fenced"
            FENCED.labels("session_lost").inc()
            self._log.info("shard lost", reason=str(error))
            self._lost = True
        except (DeviceUnavailable, DeviceRejected, BusUnavailable, CallRefused) as error:
            result = "error" if isinstance(error, DeviceRejected) else "unavailable"
            self._put_back(complete, taken)
            self._log.warning("pass failed; trying again", error=str(error), complete=complete, waiting=len(taken))
            if isinstance(error, DeviceUnavailable):
                self._note_trouble((error.device,))
            if isinstance(error, DeviceUnavailable | DeviceRejected):
                await self._report_waiting(self._trying, str(error))
        except Exception:  # a bug triggered by one load balancer must not cause a storm of restarts
            self._put_back(complete, taken)
            self._log.exception(
                "pass failed on an unexpected error; trying again", complete=complete, waiting=len(taken)
            )
        finally:
            scope = "complete" if complete else "partial"
            PASS_DURATION.labels(scope, result).observe(self._clock.monotonic() - begun)

    def _take(self) -> tuple[bool, tuple[LoadBalancerId, ...]]:
        # Cleared before the devices are read: what is invalidated from here on may have been changed after the read.
        self._doubted.clear()
        if self._complete:
            self._complete = False
            self._dirty.clear()
            self._applied.clear()
            return True, ()
        taken = tuple(sorted(self._dirty))[: self._settings.batch_load_balancers]
        self._dirty.difference_update(taken)
        if self._dirty:
            self._wake.set()
        return False, taken

    def _start_over(self, *, at_once: bool) -> None:
        """Move the guard and make a complete pass, because a device lost its state.

        ``at_once``: without a pause, if the guard was present before the pass that found it lost. A guard lost right
        after it was moved is moved again only after a pause, because it may get lost repeatedly.
        """
        self._guarded = False
        self._put_back(True, ())
        if at_once:
            self.request_full_resync()

    def _put_back(self, complete: bool, taken: tuple[LoadBalancerId, ...]) -> None:
        now = self._clock.monotonic()
        # A failed pass may have written a part: only a new comparison shows what the devices hold.
        self._applied.clear()
        for key in (COMPLETE,) if complete else taken:
            self._retries.failed(key, now)

    async def _reconcile(
        self, complete: bool, taken: tuple[LoadBalancerId, ...], work: DeferredSpan
    ) -> MissingCertificates:
        """Apply the waiting load balancers; returns the load balancers left unchanged because devices lack
        certificates.
        """
        services = await self._prepare(complete, taken)
        if self._stopping:
            return MissingCertificates((), frozenset())
        work.concerns({s.change_id: s.load_balancer_id for s in services if s.load_balancer_id in self._unconfirmed})
        if not services and (not complete or not self._guarded):
            return MissingCertificates((), frozenset())
        with self._writing():
            return await self._write(services, complete=complete)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self.writes = True
        try:
            yield
        finally:
            self.writes = False

    async def _write(self, services: tuple[ServiceDefinition, ...], *, complete: bool) -> MissingCertificates:
        outcome = await self._apply(services, complete=complete)
        self._note_served(services, complete=complete)  # also if the answer to the report is lost
        if outcome.orphans:
            outcome = await self._judge(services, outcome)
        left = lacking(services, outcome)
        await self._settle(outcome, without(outcome.outcomes, left.services))
        if complete and not outcome.lagging and not outcome.left:
            self._retries.succeeded(COMPLETE)
        if not services and not outcome.lagging and self._session.may_write():
            await self._retire()
        return left

    async def _judge(self, services: tuple[ServiceDefinition, ...], outcome: PartitionOutcome) -> PartitionOutcome:
        """Remove the orphans that controllers allow to remove; returns the outcome of the complete pass including
        that.
        """
        verdict, left = await verdict_on(self._client, outcome.orphans)
        if verdict.again_seconds is not None:
            self._next_resync = min(self._next_resync, self._clock.monotonic() + verdict.again_seconds)
        removed = frozenset(verdict.remove) & frozenset(outcome.orphans)
        # The lease may have run short during the call.
        if removed and self._session.may_write():
            gone = tuple(removal(one, self.project_id) for one in sorted(removed))
            removal_outcome = await self._apply((*gone, *services), complete=True)
            if self._is_common:  # load balancers may use the network still
                left += refused(removal_outcome, removed)
            outcome = after_removal(outcome, removal_outcome, removed)
        else:
            left += tuple(sorted(removed))
        outcome = replace(outcome, left=outcome.left + left)
        return outcome if self._is_common else with_orphans_named(outcome, verdict.kept)

    def _note_served(self, services: tuple[ServiceDefinition, ...], *, complete: bool) -> None:
        """Update the served load balancers; after the last one is gone, a complete pass soon removes the partition."""
        if complete:
            self._served.clear()
        served = bool(self._served)
        self._served.update(service.load_balancer_id for service in services if not service.deleted)
        self._served.difference_update(service.load_balancer_id for service in services if service.deleted)
        if not self._served and (served or services):
            self._next_resync = min(self._next_resync, self._clock.monotonic() + self._settings.retire_seconds)

    async def _retire(self) -> bool:
        """Remove the tenant's empty partition from the devices. Returns True if no reachable device has one any
        more.
        """
        retirement = await self._device.retire(self.project_id, self.epoch, self._session.id)
        if retirement.left:
            return False
        # The guard was removed with the partition: a new load balancer needs a takeover first.
        self._guarded = False
        if retirement.lagging:
            self._note_trouble(retirement.lagging)
            self._retries.failed(COMPLETE, self._clock.monotonic())
        else:
            self._retries.succeeded(COMPLETE)
        return True

    async def _supply(self, left: MissingCertificates) -> None:
        """Fetch missing certificates and apply their load balancers. No other pass waits for the key manager
        meanwhile.
        """
        self._forget_applied(left.services)
        supply = await self._certificates.fetch(left)
        self._take_again(supply.later)
        self._note(supply.refused)
        await self._client.report(supply.refused)
        now = self._clock.monotonic()
        for service in supply.unanswered:
            self._retries.failed(service.load_balancer_id, now)
        await self._report_waiting(supply.unanswered, supply.reason)
        if not supply.ready:
            return
        self._trying = supply.ready
        async with self._pass_limit.of(self.shard_id):
            # The wait for contents and for a slot may have outlived the lease.
            if not self._session.may_write():
                self._take_again(supply.ready)
                return
            with self._writing():
                outcome = await self._apply(supply.ready, certificates=supply.contents)
                await self._settle(outcome, outcome.outcomes)

    async def _apply(
        self,
        services: tuple[ServiceDefinition, ...],
        *,
        complete: bool = False,
        certificates: dict[str, CertificateContent] | None = None,
    ) -> PartitionOutcome:
        batch = PartitionBatch(
            project_id=self.project_id,
            epoch=self.epoch,
            session_id=self._session.id,
            services=services,
            complete=complete,
            keeps_orphans=complete,
            certificates=certificates or {},
        )
        new = (service.change_id for service in services if service.load_balancer_id in self._unconfirmed)
        with writing(request_ids(new)), tracer().span("apply to devices"):
            return await self._device.apply(batch)

    async def _settle(self, outcome: PartitionOutcome, outcomes: tuple[Applied, ...]) -> None:
        """Record and report ``outcomes``, the outcomes of ``outcome`` that are final."""
        self._note(outcomes)
        self._note_trouble(outcome.lagging)
        if outcome.lagging:
            self._log.warning("devices are not up to date", devices=outcome.lagging)
            self._applied.clear()
        if outcome.lagging or outcome.left:
            self._retries.failed(COMPLETE, self._clock.monotonic())
        with tracer().span("report"):
            await self._report(outcomes)
        REPAIRED.inc(len(outcome.repaired))
        await self._client.report_repaired(outcome.repaired)

    def _forget_applied(self, services: tuple[ServiceDefinition, ...]) -> None:
        for service in services:
            self._applied.pop(service.load_balancer_id, None)

    def _take_again(self, services: tuple[ServiceDefinition, ...]) -> None:
        """Queue these load balancers for the next pass and start it at once."""
        self._dirty.update(service.load_balancer_id for service in services)
        if services:
            self._wake.set()

    async def _prepare(self, complete: bool, taken: tuple[LoadBalancerId, ...]) -> tuple[ServiceDefinition, ...]:
        """The definitions to write now; the guard is held, and the lease was valid when this returned."""
        while True:
            services = self._trying = await self._fetch_fenced(None if complete else taken)
            if not self._guarded:
                with self._writing():
                    # An empty partition is removed without a takeover, which would only create it again.
                    if complete and not services and await self._retire():
                        self._unconfirmed &= self._dirty
                        return ()
                    with tracer().span("take over"):
                        await self._device.take_over(self.project_id, self.epoch, self._session.id)
                self._guarded = True
            found = {service.load_balancer_id for service in services}
            if complete:
                self._retries.keep(found | {COMPLETE})
                self._unconfirmed &= found | self._dirty
            else:
                for load_balancer_id in set(taken) - found:  # removed meanwhile: the report arrived
                    self._retries.succeeded(load_balancer_id)
                    self._unconfirmed.discard(load_balancer_id)
                    self._reported_reasons.pop(load_balancer_id, None)
                services = await self._report_known(services)
            # Else the takeover took so long that the lease ran short: the definitions may be outdated by now.
            if not services or self._session.may_write():
                return services

    async def _fetch_fenced(
        self, load_balancer_ids: tuple[LoadBalancerId, ...] | None
    ) -> tuple[ServiceDefinition, ...]:
        """The definitions to write now; fetched again if the lease ran short meanwhile."""
        while True:
            while not self._session.may_write():
                if self._stopping:
                    raise SessionLost("asked to end, and the lease allows no write")
                await self._clock.sleep(FENCE_POLL_SECONDS)
            carried = self._received.take(load_balancer_ids or (), self._session.history)
            with tracer().span("pull"):
                services = await self._client.fetch(load_balancer_ids, carried)
            self._received.mark_known(service.load_balancer_id for service in services)
            # Else another agent may have taken over during the fetch.
            if self._session.may_write():
                return services

    async def _report_known(self, services: tuple[ServiceDefinition, ...]) -> tuple[ServiceDefinition, ...]:
        """Report definitions that are already on the devices again, and return the others.

        So a duplicate hint, or a sync that crossed a report, causes no work on devices.
        """
        known = {s.load_balancer_id: s for s in services if self._applied.get(s.load_balancer_id) == _identity(s)}
        await self._report(
            tuple(Applied(load_balancer_id=lb, revision=s.revision, change_id=s.change_id) for lb, s in known.items())
        )
        return tuple(service for service in services if service.load_balancer_id not in known)

    async def _report(self, outcomes: tuple[Applied, ...]) -> None:
        """Report outcomes. If the database has lost some of the load balancers, a complete pass finds out what is to
        become of them: the definitions may have come with hints, or have been read before the loss.
        """
        if lost := self._served & await self._client.report(outcomes):
            self._log.warning("load balancers are unknown to the database; looking at everything", count=len(lost))
            self.request_full_resync()

    def _note(self, outcomes: tuple[Applied, ...]) -> None:
        now = self._clock.monotonic()
        for outcome in outcomes:
            APPLIED.labels("refused" if outcome.error else "applied").inc()
            if outcome.error:
                self._applied.pop(outcome.load_balancer_id, None)
                self._retries.failed(outcome.load_balancer_id, now)
                self._log.warning(
                    "load balancer refused",
                    load_balancer=outcome.load_balancer_id,
                    error=outcome.error,
                    request_id=request_ids((outcome.change_id,)),
                )
            else:
                if outcome.load_balancer_id in self._unconfirmed:
                    self._log.info(
                        "load balancer applied",
                        load_balancer=outcome.load_balancer_id,
                        revision=outcome.revision,
                        request_id=request_ids((outcome.change_id,)),
                    )
                # One that was invalidated during this pass may have been changed after it was written.
                if outcome.load_balancer_id not in self._doubted:
                    self._applied[outcome.load_balancer_id] = _identity(outcome)
                self._unconfirmed.discard(outcome.load_balancer_id)
                self._reported_reasons.pop(outcome.load_balancer_id, None)
                self._retries.succeeded(outcome.load_balancer_id)

    def _note_trouble(self, devices: tuple[str, ...]) -> None:
        """Notify the agent of every change of the devices that are unreachable."""
        if devices != self._trouble:
            self._trouble = devices
            self._on_device_trouble()

    async def _report_waiting(self, services: tuple[ServiceDefinition, ...], reason: str) -> None:
        """Report why load balancers stay PENDING: once per change and reason, not at every try."""
        waiting = [
            service
            for service in services
            if service.load_balancer_id in self._unconfirmed
            and self._reported_reasons.get(service.load_balancer_id) != (_identity(service), reason)
        ]
        try:
            await self._client.report(
                tuple(
                    Applied(
                        load_balancer_id=s.load_balancer_id,
                        revision=s.revision,
                        change_id=s.change_id,
                        error=reason,
                        waiting=True,
                    )
                    for s in waiting
                )
            )
        except SessionLost as error:
            self._log.info("shard lost", reason=str(error))
            self._lost = True
        except (BusUnavailable, CallRefused) as error:
            self._log.info("reason not reported", error=str(error))
        else:
            self._reported_reasons.update((s.load_balancer_id, (_identity(s), reason)) for s in waiting)

    async def _stale(self, error: StaleOwner) -> None:
        """Stop because of a device's newer guard; request an epoch above it in case this agent still owns the shard."""
        self._log.warning("device is guarded by a newer owner", seen_epoch=error.seen_epoch)
        self._lost = True
        # A higher epoch helps only against a guard whose epoch is known and not below this agent's.
        if error.seen_epoch is None or error.seen_epoch < self.epoch:
            return
        try:
            await self._client.raise_epoch(error.seen_epoch)
        except (SessionLost, CallRefused, BusUnavailable) as refusal:
            self._log.info("epoch not raised", reason=str(refusal))


def _identity(of: ServiceDefinition | Applied) -> Identity:
    return of.revision, of.change_id
