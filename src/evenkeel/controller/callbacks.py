"""Answers the agents' messages on the shared callback queue. Any controller may answer any message.

A message is acknowledged after the answer, and answered after the commit. A message that is delivered twice
is answered twice, and does no harm the second time: the store recognises what was done already, and a
keepalive only lengthens the session.
"""

from collections.abc import Callable, Sequence

import structlog
from msgspec.structs import replace

from evenkeel.controller.adoptions import Adoptions
from evenkeel.controller.certificates import CertificateCallback
from evenkeel.controller.definitions import DefinitionReader
from evenkeel.controller.hints import Hints
from evenkeel.controller.keepalives import KeepaliveRounds
from evenkeel.controller.report_rounds import ReportRounds
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.epochs import EPOCH_MAX, is_epoch_in_range
from evenkeel.core.devices.service import ServiceDefinition, rejected_definition
from evenkeel.core.kit.errors import CallRefused, RequestError, SessionLost
from evenkeel.core.kit.message_chunks import MESSAGE_OVERHEAD_BYTES, encoded_bytes, split_by_size
from evenkeel.core.ports import OwnershipStore, ReportStore
from evenkeel.core.protocol import messages as m
from evenkeel.core.protocol.messages import LARGEST_ANSWER_BYTES
from evenkeel.metrics.controller import MESSAGE_DURATION, MESSAGES_REFUSED

log = structlog.get_logger(__name__)

MAX_SERVICES_PER_ANSWER = 200
ROUNDS_PER_TTL = 20
"""Minimum number of rounds of keepalives within a session's TTL."""


class Callbacks:
    """Handler of the callback queue: answers agents' calls and reports from the database."""

    def __init__(
        self,
        ownership: OwnershipStore,
        reports: ReportStore,
        hints: Hints,
        settings: ControllerSettings,
        *,
        certificates: CertificateCallback,
        definitions: DefinitionReader,
        adoptions: Adoptions,
        on_unserved: Callable[[], None] = lambda: None,
        on_moved: Callable[[], None] = lambda: None,
        on_departure: Callable[[m.Departure], None] = lambda _: None,
    ) -> None:
        """``on_unserved`` is called when shards may need another agent, ``on_moved`` when an agent reports
        that Neutron moved ports of networks, ``on_departure`` when the bus reports that an agent's
        connection has ended.
        """
        self._ownership = ownership
        self._reports = reports
        self._hints = hints
        self._settings = settings
        self._certificates = certificates
        self._definitions = definitions
        self._adoptions = adoptions
        self._on_unserved = on_unserved
        self._on_moved = on_moved
        self._keepalives = KeepaliveRounds(
            ownership,
            ttl_seconds=settings.session_ttl_seconds,
            # The wait for a round shortens the agent's lease, so it is bounded by the TTL, whatever is configured.
            round_seconds=min(settings.keepalive_round_seconds, settings.session_ttl_seconds / ROUNDS_PER_TTL),
        )
        self._applied = ReportRounds(reports, tell=hints.notify_change)
        self._on_departure = on_departure

    async def handle(self, message: m.AnyMessage) -> m.AnyReply | None:
        """Handle one message; returns the reply, None for a message without one. Refusals become replies of
        type :class:`Refused`; errors that a redelivery may overcome, such as :class:`StoreUnavailable`,
        are raised.
        """
        kind = type(message).__name__
        with MESSAGE_DURATION.labels(kind).time():
            reply = await self._reply_or_refusal(message)
        if isinstance(reply, m.Refused):
            MESSAGES_REFUSED.labels(kind, reply.code).inc()
        elif isinstance(reply, m.ReportReceipt) and reply.stale:
            MESSAGES_REFUSED.labels(kind, "stale").inc()
        return reply

    async def _reply_or_refusal(self, message: m.AnyMessage) -> m.AnyReply | None:
        try:
            return await self._dispatch_message(message)
        except SessionLost as error:
            return m.Refused(code=m.SESSION_LOST, reason=str(error))
        except CallRefused as error:
            return m.Refused(code=error.code, reason=str(error), retry_after_seconds=error.retry_after_seconds)
        except RequestError as error:  # values that no database can store
            return m.Refused(code=error.code, reason=str(error))

    async def _dispatch_message(self, message: m.AnyMessage) -> m.AnyReply | None:
        # Before anything is read: an epoch outside of the range must reach neither a comparison nor the database.
        check_epochs(message)
        ownership, ttl = self._ownership, self._settings.session_ttl_seconds
        match message:
            case m.Keepalive():
                return await self._keepalives.answer(message)
            case m.ReportApplied():
                return await self._applied.record(message)
            case m.GetServices():
                return await self._read_services(message)
            case m.GetCertificates():
                return await self._certificates.answer(message)
            case m.GetAssignments():
                return await ownership.assignments(
                    message.agent_id,
                    message.session_id,
                    work_limit=self._settings.work_per_sync,
                    served=message.served,
                    after_id=message.after_id,
                    limit=min(message.limit, self._settings.assignments_per_answer) if message.limit > 0 else None,
                    shard_ids=message.shard_ids,
                )
            case m.JudgeOrphans():
                return await self._reports.decide_orphans(
                    message,
                    grace_seconds=self._settings.orphan_grace_seconds,
                    limit=self._settings.orphans_per_answer,
                )
            case m.AdoptNetworks():
                return await self._adoptions.adopt_networks(message)
            case m.KeepIrules():
                return await self._adoptions.keep_irules(message)
            case m.ReportStatus():
                return await self._record_observation(message)
            case m.ReportPlan():
                await self._reports.record_plan(message)
                return m.Done()
            case m.ReportState():
                await ownership.record_state(message)
                if message.moved_networks:
                    self._on_moved()
                return m.Done()
            case m.Register():
                opened = await ownership.register(message, ttl_seconds=ttl)
                # A new agent may take unserved shards, and the shards of its former session were freed.
                self._on_unserved()
                return opened
            case m.ReleaseShards():
                await self._release_shards(message)
                return m.Done()
            case m.RaiseEpoch():
                return await self._raise_epoch(message)
            case m.Departure():
                self._on_departure(message)
                # A will has no caller; without a reply the message is just acknowledged.
                return None
            case m.EndSession():
                await ownership.end_session(message.agent_id, message.session_id)
                self._on_unserved()
                return m.Done()
            case _:
                log.warning("message is not for controllers", type=type(message).__name__)
                # A refusal instead of an error: redelivery would not make the message fit.
                return m.Refused(code="unexpected", reason=f"{type(message).__name__} is not for controllers")

    async def _read_services(self, call: m.GetServices) -> m.ServiceDefinitions:
        found = await self._definitions.read(call, limit=min(call.limit, MAX_SERVICES_PER_ANSWER))
        kept = self._services_that_fit(found.services, self._answer_bytes_max(takes_parts=call.takes_parts))
        # What was cut off here is requested again, after the last one that was sent.
        more = found.more or len(kept) < len(found.services)
        return replace(found, services=kept, more=more)

    def _services_that_fit(
        self, services: Sequence[ServiceDefinition], largest_bytes: int
    ) -> tuple[ServiceDefinition, ...]:
        """Return the first of ``services`` that fit into an answer, at least one if there is any.

        A definition of more than ``largest_bytes`` is replaced by :func:`within_message_size`.
        """
        max_bytes = min(self._settings.answer_bytes, self._settings.max_message_bytes - MESSAGE_OVERHEAD_BYTES)
        sent = (within_message_size(service, largest_bytes) for service in services)
        return next(split_by_size(sent, max_bytes=max_bytes, max_values=MAX_SERVICES_PER_ANSWER), ())

    def _answer_bytes_max(self, *, takes_parts: bool) -> int:
        return (LARGEST_ANSWER_BYTES if takes_parts else self._settings.max_message_bytes) - MESSAGE_OVERHEAD_BYTES

    async def _record_observation(self, report: m.ReportStatus) -> m.ReportReceipt:
        """Record an observation of devices, its findings first: load balancers that are present again get
        their status from the same report. A request for the expected load balancers is answered instead of
        recording statuses. Raises :class:`CallRefused`, :class:`StoreUnavailable`.
        """
        # Each part is a transaction of its own; a redelivery after a crash in between repeats parts that are
        # idempotent.
        for look in await self._reports.record_findings(report) if has_findings(report) else ():
            self._hints.notify_recheck(look)
        if report.tenants:
            await self._reports.record_orphaned_tenants(report)
        if report.expected_after is not None:
            return await self._reports.read_expected_load_balancers(report, limit=self._settings.expected_per_answer)
        return await self._reports.record_observed(report)

    async def _release_shards(self, call: m.ReleaseShards) -> None:
        for shard in call.shards:
            # A shard at another epoch is skipped by the store, so a repeated release does nothing.
            owner = await self._ownership.release_shard(call.agent_id, call.session_id, shard.shard_id, shard.epoch)
            if owner is not None:
                self._hints.notify_assignments(owner)
            else:
                self._on_unserved()

    async def _raise_epoch(self, call: m.RaiseEpoch) -> m.AnyReply:
        owned = await self._ownership.raise_epoch(
            call.agent_id, call.session_id, call.shard_id, call.epoch, call.seen_epoch
        )
        if owned:
            return m.Done()
        return m.Refused(code=m.SESSION_LOST, reason=f"shard {call.shard_id} is not owned at epoch {call.epoch}")


def within_message_size(service: ServiceDefinition, largest_bytes: int) -> ServiceDefinition:
    """Return the definition; if its encoding exceeds ``largest_bytes``, log that and return a rejected
    definition with the reason.
    """
    size = encoded_bytes(service)
    if size <= largest_bytes:
        return service
    log.error("load balancer is too large", load_balancer=service.load_balancer_id, size_bytes=size)
    return rejected_definition(service, f"its definition has {size} bytes; its agent accepts at most {largest_bytes}")


def check_epochs(message: m.AnyMessage) -> None:
    """Raise :class:`CallRefused` if an epoch in the message is outside the accepted range, so that it is
    neither compared nor stored.
    """
    shards = message.shards if isinstance(message, m.ReleaseShards) else ()
    named = {"epoch": getattr(message, "epoch", 0), "seen_epoch": getattr(message, "seen_epoch", 0)}
    for name, epoch in (*named.items(), *(("shards.epoch", shard.epoch) for shard in shards)):
        if not is_epoch_in_range(epoch):
            raise CallRefused(m.IMPLAUSIBLE_EPOCH, f"{name}: {epoch} is no epoch; allowed are 0 to {EPOCH_MAX}")


def has_findings(report: m.ReportStatus) -> bool:
    """Return whether the report names load balancers or devices that differ from what was applied."""
    renewed = report.renewed or report.renewed_before
    return bool(report.absent or report.present or report.changed or report.lacking or renewed)
