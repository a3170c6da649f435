"""The steps that bring one shard's partition on its devices to the definitions of the database.

A pass waits until the lease allows writes, fetches the definitions, moves the guard to this owner if
necessary, applies and reports. Load balancers that need certificates which a device lacks are then applied
again, with the certificates' contents. Every step may fail or be repeated. What is done and what is left is
in the shard's :class:`~evenkeel.agent.work_list.WorkList`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from msgspec.structs import replace

from evenkeel.agent.certificates import (
    CertificateFetch,
    MissingCertificates,
    outcomes_of_other_services,
    services_lacking_certificates,
)
from evenkeel.agent.orphans import failed_removals, merge_removal_outcome, name_orphans_in_errors, request_verdict
from evenkeel.agent.pass_limit import PassLimit
from evenkeel.agent.received_definitions import ReceivedDefinitions
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard_client import ShardClient
from evenkeel.agent.standbys import mark_unconfirmed_standbys
from evenkeel.agent.waiting_reasons import WaitingReasons
from evenkeel.agent.work_list import TakenWork, WorkList
from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition, removal_definition
from evenkeel.core.kit.errors import BusUnavailable, CallRefused, SessionLost
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.request_context import request_ids_for_devices, request_ids_text
from evenkeel.core.kit.tracing import DeferredSpan, tracer
from evenkeel.core.ports import Clock, Device
from evenkeel.core.protocol import messages as m
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.metrics.agent import APPLIED, REPAIRED

log = structlog.get_logger(__name__)

FENCE_POLL_SECONDS = 0.1
NOTHING_MISSING = MissingCertificates((), frozenset())


class Reconciler:
    """Reconciles one shard at one epoch; its worker calls it for one pass at a time."""

    def __init__(
        self,
        assignment: m.Assignment,
        *,
        work: WorkList,
        received: ReceivedDefinitions,
        client: ShardClient,
        session: Session,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        pass_limit: PassLimit,
        on_device_trouble: Callable[[], None],
    ) -> None:
        self.trying: tuple[ServiceDefinition, ...] = ()
        """Definitions of the pass under way, or of the last one."""
        self._guarded = False
        """True: the devices hold the guard of this epoch and session, as far as is known."""
        self._guarded_before = False
        """:attr:`_guarded` when the pass under way, or the last one, began."""
        self.is_writing = False
        """True while this reconciler writes to devices (or takes over), or reports the results."""
        self.stopping = False
        """True: no further step begins."""
        self.lost = False
        """True: another agent may own the shard; the assignments must be requested."""
        self._shard_id = assignment.shard_id
        self._project_id = assignment.project_id
        self._epoch = assignment.epoch
        self._work = work
        self._received = received
        self._client = client
        self._certificates = CertificateFetch(client, session, clock)
        self._session = session
        self._device = device
        self._clock = clock
        self._settings = settings
        self._pass_limit = pass_limit
        self._on_device_trouble = on_device_trouble
        self._reasons = WaitingReasons()
        self._unreachable: tuple[str, ...] = ()
        """Devices out of reach in the last pass."""
        self._log = log.bind(shard=self._shard_id, project=self._project_id, epoch=self._epoch)

    @property
    def _is_common(self) -> bool:
        return self._project_id == COMMON_PROJECT

    async def run_pass(self, taken: TakenWork, span: DeferredSpan) -> None:
        """Make one pass: apply the taken load balancers, or the whole shard, and report. Changes that were
        not settled before an error stay unconfirmed.

        Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`, :class:`StaleOwner` and :class:`OwnershipGuardLost`
        of the devices; :class:`SessionLost`, :class:`CallRefused` and :class:`BusUnavailable` of the
        controllers.
        """
        # A pass that fails before it has fetched must not report the load balancers of the pass before as waiting.
        self.trying = ()
        self._guarded_before = self._guarded
        # The driver's cache is dropped by the pass that reads anew: a pass that was under way when the difference was
        # found has filled it since.
        if self._work.take_cache_drop_request():
            self._device.forget(self._project_id)
        async with self._pass_limit.hold_slot(self._shard_id, changed=bool(self._work.unconfirmed)):
            missing = await self._apply_taken_work(taken, span)
        # The slot was given back before: a key manager that answers slowly must not hold up other shards' passes.
        if missing.services and not self.stopping:
            await self._apply_missing_certificates(missing)

    async def _apply_taken_work(self, taken: TakenWork, span: DeferredSpan) -> MissingCertificates:
        """Fetch, apply and report the taken work; returns the load balancers left unchanged because devices
        lack certificates. Raises the same errors as :meth:`run_pass`, of devices and controllers.
        """
        services = await self._prepare_definitions(taken)
        if self.stopping:
            return NOTHING_MISSING
        new = self._work.unconfirmed
        span.set_changes({s.change_id: s.load_balancer_id for s in services if s.load_balancer_id in new})
        # A complete pass without definitions still removes what is left on the devices, unless _prepare_definitions has
        # just removed the partition and its guard.
        if not services and (not taken.complete or not self._guarded):
            return NOTHING_MISSING
        with self._mark_writing():
            return await self._write_and_report(services, complete=taken.complete)

    @contextmanager
    def _mark_writing(self) -> Iterator[None]:
        self.is_writing = True
        try:
            yield
        finally:
            self.is_writing = False

    # -- definitions and guard

    async def _prepare_definitions(self, taken: TakenWork) -> tuple[ServiceDefinition, ...]:
        """Return the definitions to write now, after moving the guard to this owner if necessary. Empty:
        there is nothing to write, or the empty partition was removed. If there are definitions, the lease
        allowed writes when this returned. Raises the same errors as :meth:`run_pass`, of devices and
        controllers.
        """
        while True:
            services = self.trying = await self._fetch_under_lease(None if taken.complete else taken.load_balancer_ids)
            # Without definitions a takeover would only make a partition that was removed again.
            if not self._guarded and (services or taken.complete):
                # A takeover counts as writing, too: a worker that is asked to end finishes it instead of leaving it
                # half-way.
                with self._mark_writing():
                    # An empty partition is removed without a takeover.
                    if taken.complete and not services and await self._retire_partition():
                        self._work.partition_removed()
                        return ()
                    with tracer().span("take over"):
                        await self._device.take_over(self._project_id, self._epoch, self._session.id)
                self._guarded = True
            found = {service.load_balancer_id for service in services}
            self._reasons.forget(self._work.definitions_found(taken, found))
            if not taken.complete:
                services = await self._report_applied_again(services)
            # Else the takeover took so long that the lease ran short: the definitions may be outdated by now.
            if not services or self._session.may_write():
                return services

    async def _fetch_under_lease(
        self, load_balancer_ids: tuple[LoadBalancerId, ...] | None
    ) -> tuple[ServiceDefinition, ...]:
        """Fetch the definitions to write now, again if the lease ran short meanwhile. ``load_balancer_ids``:
        None for all of the shard. Waits while the lease allows no write. Raises :class:`SessionLost`, also
        if the worker is stopping while it waits; :class:`CallRefused`, :class:`BusUnavailable`.
        """
        while True:
            while not self._session.may_write():
                if self.stopping:
                    raise SessionLost("asked to end, and the lease allows no write")
                # Another agent may have taken over meanwhile, which a request shows and a hint does not.
                self._received.discard_all_of_new_shard()
                await self._clock.sleep(FENCE_POLL_SECONDS)
            services = await self._fetch(load_balancer_ids)
            self._received.mark_known(service.load_balancer_id for service in services)
            # Else another agent may have taken over during the fetch.
            if self._session.may_write():
                return services

    async def _fetch(self, load_balancer_ids: tuple[LoadBalancerId, ...] | None) -> tuple[ServiceDefinition, ...]:
        history = self._session.history
        if load_balancer_ids is not None:
            inlined = self._received.take(load_balancer_ids, history)
        # A complete pass compares the devices with one full read of the database, or with all that a new shard has.
        elif (whole := self._received.take_all(history)) is not None:
            load_balancer_ids, inlined = (), whole
        else:
            inlined = ()
        with tracer().span("pull"):
            return await self._client.fetch(load_balancer_ids, inlined)

    async def _report_applied_again(self, services: tuple[ServiceDefinition, ...]) -> tuple[ServiceDefinition, ...]:
        """Report definitions that are already on the devices again, and return the others.

        So a duplicate hint, or assignments that were read while a report was under way, cause no work on
        devices. Raises :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        known = {service.load_balancer_id: service for service in services if self._work.is_applied(service)}
        await self._report_outcomes(
            tuple(Applied(load_balancer_id=lb, revision=s.revision, change_id=s.change_id) for lb, s in known.items())
        )
        return tuple(service for service in services if service.load_balancer_id not in known)

    # -- devices

    async def _write_and_report(
        self, services: tuple[ServiceDefinition, ...], *, complete: bool
    ) -> MissingCertificates:
        outcome = await self._apply_to_devices(services, complete=complete)
        last_is_gone = self._work.update_served(services, complete=complete)
        if last_is_gone:
            # A complete pass removes the partition where this pass cannot: the answer to the report may be lost.
            self._work.schedule_resync_by(self._clock.monotonic() + self._settings.retire_seconds)
        # Before the outcomes are reported, because errors of load balancers name the orphans that may occupy their
        # address.
        if outcome.orphans:
            outcome = await self._remove_judged_orphans(services, outcome)
        # A load balancer that lacks certificates is reported after its second apply only.
        missing = services_lacking_certificates(services, outcome)
        await self._record_and_report(outcome, outcomes_of_other_services(outcome.outcomes, missing.services))
        if complete and not outcome.lagging and not outcome.left:
            self._work.complete_pass_succeeded()
        # Only a complete pass gets here without definitions; a device out of reach keeps its partition until it is
        # back.
        if not services and not outcome.lagging and self._session.may_write():
            await self._retire_partition()
        if last_is_gone and not outcome.lagging and not self.stopping:
            await self._remove_unused_partition()
        return missing

    async def _remove_unused_partition(self) -> None:
        """Remove the partition in the pass that removed its last load balancer, unless the database has a
        load balancer by now. If that fails, a complete pass is queued for a retry. Raises the same errors
        as :meth:`run_pass`, of devices and controllers.
        """
        if await self._fetch_under_lease(None):
            return
        now = self._clock.monotonic()
        self._work.complete_pass_begun(now)
        try:
            await self._write_and_report((), complete=True)
        except Exception:
            # The load balancers of this pass are settled; this is what has to be repeated.
            self._work.complete_pass_failed(now)
            raise

    async def _apply_to_devices(
        self,
        services: tuple[ServiceDefinition, ...],
        *,
        complete: bool = False,
        certificates: dict[str, CertificateContent] | None = None,
    ) -> PartitionOutcome:
        batch = PartitionBatch(
            project_id=self._project_id,
            epoch=self._epoch,
            session_id=self._session.id,
            services=services,
            complete=complete,
            keeps_orphans=complete,
            certificates=certificates or {},
        )
        new = (service.change_id for service in services if service.load_balancer_id in self._work.unconfirmed)
        with request_ids_for_devices(request_ids_text(new)), tracer().span("apply to devices"):
            return mark_unconfirmed_standbys(services, await self._device.apply(batch))

    async def _remove_judged_orphans(
        self, services: tuple[ServiceDefinition, ...], outcome: PartitionOutcome
    ) -> PartitionOutcome:
        """Remove the orphans that controllers allow to remove, while the lease allows writes; returns the
        outcome of the complete pass including these removals. Orphans without a decision make another
        complete pass due. Raises :class:`StaleOwner`, :class:`OwnershipGuardLost` and :class:`DeviceUnavailable` of
        the devices, and :class:`SessionLost`.
        """
        verdict, left = await request_verdict(self._client, outcome.orphans)
        if verdict.again_seconds is not None:
            self._work.schedule_resync_by(self._clock.monotonic() + verdict.again_seconds)
        # A verdict can never name a load balancer for removal that the devices were not seen to hold as an orphan.
        removed = frozenset(verdict.remove) & frozenset(outcome.orphans)
        # The lease may have run short during the call.
        if removed and self._session.may_write():
            gone = tuple(removal_definition(one, self._project_id) for one in sorted(removed))
            removal_outcome = await self._apply_to_devices((*gone, *services), complete=True)
            if self._is_common:  # load balancers may use the network still
                left += failed_removals(removal_outcome, removed)
            outcome = merge_removal_outcome(outcome, removal_outcome, removed)
        else:
            left += tuple(sorted(removed))
        # What is left makes the next complete pass due, which requests the verdict again.
        outcome = replace(outcome, left=outcome.left + left)
        return outcome if self._is_common else name_orphans_in_errors(outcome, verdict.kept)

    async def _retire_partition(self) -> bool:
        """Remove the tenant's empty partition and its guard from the devices. Returns False if a reachable
        device still has something in it; unreachable devices make a complete pass due. Raises
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        retirement = await self._device.retire(self._project_id, self._epoch, self._session.id)
        if retirement.left:
            return False
        # The guard was removed with the partition: a new load balancer needs a takeover first.
        self._guarded = False
        if retirement.lagging:
            self.note_unreachable(retirement.lagging)
            self._work.complete_pass_failed(self._clock.monotonic())
        else:
            self._work.complete_pass_succeeded()
        return True

    async def _apply_missing_certificates(self, missing: MissingCertificates) -> None:
        """Fetch missing certificates, and apply and report the load balancers that need them. The slot is
        free while the key manager is awaited. Raises :class:`StaleOwner`, :class:`OwnershipGuardLost` and
        :class:`DeviceUnavailable` of the devices; :class:`SessionLost`, :class:`CallRefused` and
        :class:`BusUnavailable` of the controllers.
        """
        # Otherwise a repeated hint for one of them would be answered from memory, although a device lacks its
        # certificates.
        self._work.record_not_applied(missing.services)
        supply = await self._certificates.fetch(missing)
        self._work.requeue_services(supply.later, self._clock.monotonic())
        self._record_outcomes(supply.refused)
        await self._client.report(supply.refused)
        self._work.retry_services_later(supply.unanswered, self._clock.monotonic())
        await self._report_waiting(supply.unanswered, supply.reason)
        if not supply.ready:
            return
        self.trying = supply.ready
        async with self._pass_limit.hold_slot(self._shard_id):
            # The wait for contents and for a slot may have outlived the lease.
            if not self._session.may_write():
                self._work.requeue_services(supply.ready, self._clock.monotonic())
                return
            with self._mark_writing():
                outcome = await self._apply_to_devices(supply.ready, certificates=supply.contents)
                await self._record_and_report(outcome, outcome.outcomes)

    # -- results

    async def _record_and_report(self, result: PartitionOutcome, outcomes: tuple[Applied, ...]) -> None:
        """Record in the work list, and report to controllers, those ``outcomes`` of a pass that will not
        change any more. ``result``: result of the pass on the whole partition, with unreachable devices
        and repairs. Raises :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        # Recorded before the report: if its answer is lost, the load balancer still shows as unconfirmed, and the next
        # pass over it reports again without a write.
        self._record_outcomes(outcomes)
        self.note_unreachable(result.lagging)
        if result.lagging:
            # After _record_outcomes, which recorded the outcomes as applied: the lagging devices hold none of them.
            self._log.warning("devices are not up to date", devices=result.lagging)
            self._work.forget_applied_definitions()
        if result.lagging or result.left:
            self._work.complete_pass_failed(self._clock.monotonic())
        with tracer().span("report"):
            await self._report_outcomes(outcomes)
        REPAIRED.inc(len(result.repaired))
        await self._client.report_repaired(result.repaired)

    def _record_outcomes(self, outcomes: tuple[Applied, ...]) -> None:
        now = self._clock.monotonic()
        for outcome in outcomes:
            APPLIED.labels("refused" if outcome.error else "applied").inc()
            if outcome.error:
                self._log.warning(
                    "load balancer refused",
                    load_balancer=outcome.load_balancer_id,
                    error=outcome.error,
                    request_id=request_ids_text((outcome.change_id,)),
                )
            else:
                if outcome.load_balancer_id in self._work.unconfirmed:
                    self._log.info(
                        "load balancer applied",
                        load_balancer=outcome.load_balancer_id,
                        revision=outcome.revision,
                        request_id=request_ids_text((outcome.change_id,)),
                    )
                self._reasons.forget((outcome.load_balancer_id,))
            self._work.record_outcome(outcome, now)

    async def _report_outcomes(self, outcomes: tuple[Applied, ...]) -> None:
        """Report outcomes to controllers. If the database does not know some of the load balancers, a
        complete pass is queued: their definitions may have come with hints, or have been read before the
        database lost them. Raises :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        if lost := self._work.served & await self._client.report(outcomes):
            self._log.warning("load balancers are unknown to the database; checking everything", count=len(lost))
            self._work.resync_requested()

    def note_unreachable(self, devices: tuple[str, ...]) -> None:
        """Record the names of the devices that are out of reach; calls ``on_device_trouble`` if they have
        changed.
        """
        if devices != self._unreachable:
            self._unreachable = devices
            self._on_device_trouble()

    async def report_waiting(self, reason: str) -> None:
        """Report why the load balancers of the pass stay PENDING, unless this reason was the last one
        reported for the change. Failures of the report are logged; a lost session is recorded as the loss
        of the shard.
        """
        await self._report_waiting(self.trying, reason)

    async def _report_waiting(self, services: tuple[ServiceDefinition, ...], reason: str) -> None:
        waiting = self._reasons.services_without_reported_reason(services, reason, self._work.unconfirmed)
        try:
            await self._client.report(
                tuple(
                    Applied(
                        load_balancer_id=service.load_balancer_id,
                        revision=service.revision,
                        change_id=service.change_id,
                        error=reason,
                        waiting=True,
                    )
                    for service in waiting
                )
            )
        except SessionLost as error:
            # Not raised: the caller is already settling a failed pass, and the worker's loop ends by the flag.
            self.record_shard_loss(error)
        except (BusUnavailable, CallRefused) as error:
            # The reason is not recorded as reported, so the next failed try reports it again.
            self._log.info("reason not reported", error=str(error))
        else:
            self._reasons.record_reported(waiting, reason)

    def record_guard_loss(self) -> bool:
        """Record that a device does not hold the guard, so that the next pass takes over first; returns
        whether the guard was held when this pass began.
        """
        # Whoever finds the guard gone cannot know the devices' state: the next pass takes over before it writes.
        self._guarded = False
        return self._guarded_before

    def record_shard_loss(self, error: SessionLost) -> None:
        """Record and log that another agent may own the shard, so that the worker ends."""
        self._log.info("shard lost", reason=str(error))
        self.lost = True
