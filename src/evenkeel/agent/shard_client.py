"""One shard's calls to the controllers: definitions and outcomes, split into messages."""

from msgspec.structs import replace

from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.devices.device import Repair
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import SessionLost
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.message_chunks import MESSAGE_OVERHEAD_BYTES, split_by_size
from evenkeel.core.protocol import messages as m
from evenkeel.core.status.outcomes import Applied

OUTCOMES_PER_REPORT = 500
REASON_CHARACTERS_MAX = 1000
"""Length to which a driver's error text is cut in reports."""


class ShardClient:
    """Calls for one shard at one epoch in one session.

    Every method raises :class:`SessionLost` if the agent no longer owns the shard, :class:`CallRefused` or
    :class:`BusUnavailable`.
    """

    def __init__(
        self,
        assignment: m.Assignment,
        *,
        session: Session,
        controllers: ControllerClient,
        settings: AgentSettings,
        carries_traffic: bool,
    ) -> None:
        self.shard_id = assignment.shard_id
        self.epoch = assignment.epoch
        self._session = session
        self._controllers = controllers
        self.agent_id = settings.agent_id
        self._settings = settings
        self._carries_traffic = carries_traffic
        self._history = session.history
        """History of the database at the last request for definitions."""
        self._common = assignment.project_id == COMMON_PROJECT
        self._removed: frozenset[LoadBalancerId] = frozenset()
        """Deleted load balancers among the last fetched definitions."""

    async def fetch(
        self, load_balancer_ids: tuple[LoadBalancerId, ...] | None, known: tuple[ServiceDefinition, ...] = ()
    ) -> tuple[ServiceDefinition, ...]:
        """Fetch the definitions of these load balancers, or of the whole shard (None), page by page. Load
        balancers without a definition are missing in the result; deleted ones are marked. Raises
        :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.

        ``known``: definitions that need not be requested; they are part of the result.
        """
        # The history from before the first page: if a new one begins in between, the report names the old one and
        # proves nothing.
        self._history = self._session.history
        found = list(known)
        wanted = load_balancer_ids
        if wanted is not None:
            # Sorted, because pages continue after the last id of the page before.
            wanted = tuple(sorted(set(wanted) - {service.load_balancer_id for service in known}))
        after = ""
        while wanted is None or wanted:
            answer = await self._controllers.services(
                m.GetServices(
                    agent_id=self._settings.agent_id,
                    session_id=self._session.id,
                    shard_id=self.shard_id,
                    epoch=self.epoch,
                    load_balancer_ids=wanted,
                    after_id=after,
                    takes_parts=True,
                    knows_standby=True,
                )
            )
            found.extend(answer.services)
            # An answer that promises more and holds nothing would repeat the same request for ever.
            if not answer.more or not answer.services:
                break
            after = answer.services[-1].load_balancer_id
            # Pages of large definitions may be shorter than requested: only what is left is requested again.
            if wanted is not None:
                had = {service.load_balancer_id for service in found} | set(answer.missing)
                wanted = tuple(lb for lb in wanted if lb not in had)
        self._removed = frozenset(service.load_balancer_id for service in found if service.deleted)
        return tuple(found)

    async def certificates(self, wanted: tuple[m.WantedCertificate, ...]) -> m.Certificates:
        """Request sealed contents of certificates, at most ``CERTIFICATES_PER_CALL``. Raises
        :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        return await self._controllers.certificates(
            m.GetCertificates(
                agent_id=self._settings.agent_id,
                session_id=self._session.id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                wanted=wanted,
                takes_parts=True,
            )
        )

    async def judge_orphans(self, load_balancer_ids: tuple[LoadBalancerId, ...]) -> m.OrphanVerdict:
        """Request the controllers' decision on load balancers on devices without a definition; only the first
        ``ORPHANS_PER_CALL`` are named. Raises :class:`SessionLost`, :class:`CallRefused`,
        :class:`BusUnavailable`.
        """
        return await self._controllers.judge_orphans(
            m.JudgeOrphans(
                agent_id=self._settings.agent_id,
                session_id=self._session.id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                load_balancer_ids=load_balancer_ids[: m.ORPHANS_PER_CALL],
            )
        )

    async def report(self, outcomes: tuple[Applied, ...]) -> frozenset[LoadBalancerId]:
        """Report outcomes of fetched definitions; error texts are cut to :data:`REASON_CHARACTERS_MAX`
        characters. Returns the load balancers that the database does not contain although their
        definitions were not deleted. Raises :class:`SessionLost`, :class:`CallRefused`,
        :class:`BusUnavailable`.
        """
        unknown: set[LoadBalancerId] = set()
        max_bytes = self._settings.max_message_bytes - MESSAGE_OVERHEAD_BYTES
        bounded = map(_limit_errors, outcomes)
        for portion in split_by_size(bounded, max_bytes=max_bytes, max_values=OUTCOMES_PER_REPORT):
            unknown.update((await self._send_report(outcomes=portion)).unknown)
        # A deleted load balancer's row may already be gone when its removal is reported; that is no loss of the
        # database.
        return frozenset(unknown - self._removed)

    async def report_repaired(self, repairs: tuple[Repair, ...]) -> None:
        """Report differences that were found on devices and corrected. Raises :class:`SessionLost`,
        :class:`CallRefused`, :class:`BusUnavailable`.
        """
        max_bytes = self._settings.max_message_bytes - MESSAGE_OVERHEAD_BYTES
        found = (m.Repaired(load_balancer_id=r.load_balancer_id, device=r.device, found=r.found) for r in repairs)
        for portion in split_by_size(found, max_bytes=max_bytes, max_values=OUTCOMES_PER_REPORT):
            await self._send_report(repaired=portion)

    async def raise_epoch(self, seen_epoch: int) -> None:
        """Request an epoch of the shard above ``seen_epoch``, that of a device's guard. Raises
        :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        await self._controllers.raise_epoch(
            m.RaiseEpoch(
                agent_id=self._settings.agent_id,
                session_id=self._session.id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                seen_epoch=seen_epoch,
            )
        )

    async def _send_report(
        self, *, outcomes: tuple[Applied, ...] = (), repaired: tuple[m.Repaired, ...] = ()
    ) -> m.ReportReceipt:
        confirmed = self._session.database_history
        # Before the call, because its answer may be lost although the row was deleted.
        confirmed.record_removals(self._removed)
        receipt = await self._controllers.report_applied(
            m.ReportApplied(
                agent_id=self._settings.agent_id,
                session_id=self._session.id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                outcomes=outcomes,
                repaired=repaired,
                history=self._history,
                carries_traffic=self._carries_traffic,
            )
        )
        if receipt.stale:
            raise SessionLost("the report's epoch is old")
        if not self._common:  # its networks are no load balancers
            shard = ShardEpoch(shard_id=self.shard_id, epoch=self.epoch)
            confirmed.confirm(self._history, outcomes, shard, removed=self._removed)
        return receipt


def _limit_errors(outcome: Applied) -> Applied:
    if len(outcome.error) <= REASON_CHARACTERS_MAX:
        return outcome
    return replace(outcome, error=outcome.error[:REASON_CHARACTERS_MAX])
