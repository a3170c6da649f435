"""One session: registration, keepalives and the lease."""

from collections.abc import Mapping

import structlog

from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.settings import AgentSettings
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.control.lease import Lease, later_lease
from evenkeel.core.devices.device import DeviceFacts
from evenkeel.core.kit.errors import BusUnavailable, CallRefused
from evenkeel.core.kit.ids import SessionId
from evenkeel.core.ports import Clock
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.sealing import BoxKeyPair

log = structlog.get_logger(__name__)

DUPLICATE = "duplicate"


class Session:
    """A session of the agent process: registration, keepalives, and the lease that permits writes. A lost
    session is never used again.
    """

    def __init__(
        self,
        session_id: SessionId,
        controllers: ControllerClient,
        facts: DeviceFacts,
        clock: Clock,
        settings: AgentSettings,
        *,
        database_history: DatabaseHistory,
        key_pair: BoxKeyPair,
        capacity: Mapping[str, CapacityFigure] | None = None,
        identities: Mapping[str, str] | None = None,
    ) -> None:
        self.id = session_id
        self._controllers = controllers
        self._facts = facts
        self._clock = clock
        self._settings = settings
        self._capacity = dict(capacity or {})
        self._identities = dict(identities or {})
        self.database_history = database_history
        """Confirmed changes, across all sessions of the process."""
        self.key_pair = key_pair
        """The process's key pair: controllers seal private keys for it."""
        self._lease: Lease | None = None
        self.assignments_revision = -1
        """Highest assignments revision received in the database's present history; -1 before the first."""
        self._as_reported = False

    @property
    def history(self) -> str:
        """Id of the database's newest known history (timeline); empty before the first answer."""
        return self.database_history.history

    def may_write(self) -> bool:
        """Return whether a batch of device writes may be started now: at least ``write_budget_seconds`` of
        the lease are left (self-fencing).
        """
        lease = self._lease
        return lease is not None and lease.allows(self._clock.monotonic(), self._settings.write_budget_seconds)

    @property
    def writable_seconds(self) -> float:
        """Seconds for which the agent may start batches of device writes; negative if it must not."""
        remaining = self._lease.remaining_seconds(self._clock.monotonic()) if self._lease else 0.0
        return remaining - self._settings.write_budget_seconds

    @property
    def keepalive_age_seconds(self) -> float:
        """Seconds since the newest answered keepalive or registration was sent; -1 before the first."""
        return self._clock.monotonic() - self._lease.asked_at_seconds if self._lease else -1.0

    @property
    def ttl_seconds(self) -> float:
        """Session TTL in seconds, as the controllers sent it last; 0 before the session is open."""
        return self._lease.ttl_seconds if self._lease else 0.0

    async def open(self) -> None:
        """Register, waiting while controllers are unreachable.

        Raises :class:`CallRefused` if controllers refuse; for a duplicate only after
        ``duplicate_patience_seconds``, because the other session may be that of a killed predecessor.
        """
        give_way_at = self._clock.monotonic() + self._settings.duplicate_patience_seconds
        while True:
            asked_at = self._clock.monotonic()
            try:
                self._record_renewal(asked_at, await self._controllers.register(self._registration_call()))
                return
            except BusUnavailable as error:
                log.warning(
                    "no controller answers for this environment; check its name and that a controller runs",
                    environment=self._settings.environment,
                    error=str(error),
                )
            except CallRefused as error:
                if error.code != DUPLICATE or self._clock.monotonic() > give_way_at:
                    raise
                log.info("another session of this agent is live; waiting for it to end", reason=str(error))
            await self._clock.sleep(self._settings.keepalive_interval_seconds)

    def _registration_call(self) -> m.Register:
        settings, facts = self._settings, self._facts
        return m.Register(
            agent_id=settings.agent_id,
            session_id=self.id,
            environment=settings.environment,
            group_number=settings.group_number,
            host=settings.host,
            device_driver=facts.driver,
            ha_type=facts.ha_type,
            reschedule=facts.reschedule,
            endpoints=facts.endpoints,
            identities=self._identities,
            exclusive=facts.exclusive,
            network_layout=facts.network_layout,
            capacity=self._capacity,
            sealing_key=self.key_pair.public_key,
            seen=self.database_history.state_to_confirm(),
        )

    async def renew(self) -> ShardEpoch | None:
        """Send one keepalive, and extend the lease by its answer. Returns the shard that needs a complete
        pass, because the database has lost what was confirmed for it; None: none does. Raises
        :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        asked_at = self._clock.monotonic()  # before it is sent: the lease must end before the session in the database
        # Confirmed once for each report; the next full report makes up for a lost keepalive.
        as_reported, self._as_reported = self._as_reported, False
        call = m.Keepalive(
            agent_id=self._settings.agent_id,
            session_id=self.id,
            seen=self.database_history.state_to_confirm(),
            as_reported=as_reported,
        )
        state = await self._controllers.keepalive(call, timeout_seconds=self._keepalive_timeout())
        self._record_renewal(asked_at, state)
        return state.unknown_in

    def confirm_report(self) -> None:
        """Confirm, with the next keepalive, that the last state report is still valid."""
        self._as_reported = True

    def _keepalive_timeout(self) -> float:
        ttl = self._lease.ttl_seconds if self._lease else self._settings.call_timeout_seconds
        # A keepalive that fails after half of the TTL leaves time for another one before the session expires.
        return max(self._settings.keepalive_interval_seconds, ttl / 2)

    def _record_renewal(self, asked_at: float, state: m.SessionState) -> None:
        before = self.database_history.history
        is_current = self.database_history.record_history(state.history, asked_at=asked_at, keepalives=state.keepalives)
        if self.database_history.history != before:
            self.assignments_revision = -1  # its shards may have changed
        # Keepalives overlap, and their answers may arrive out of order: the lease never gets shorter.
        self._lease = later_lease(self._lease, Lease(asked_at_seconds=asked_at, ttl_seconds=state.ttl_seconds))
        # A late answer of the previous history must not bring back its revision.
        if is_current:
            self.assignments_revision = max(self.assignments_revision, state.assignments_revision)
