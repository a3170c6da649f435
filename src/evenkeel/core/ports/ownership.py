"""The store port for sessions and shards."""

from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.certificates import CertificateReader
from evenkeel.core.control import ShardOwner
from evenkeel.core.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.messages import (
    Assignments,
    FormerShard,
    Register,
    ReportState,
    Seen,
    ServiceDefinitions,
    SessionState,
    WantedCertificate,
)


class OwnershipStore(Protocol):
    """Sessions of agents and shards: where two processes meet. Everything is compare-and-set; expiry is by the
    database's clock."""

    async def register(self, call: Register, *, ttl_seconds: float) -> SessionState:
        """Open the session. Raises :class:`CallRefused` with code ``unknown_environment``, ``contradiction`` (device
        driver, HA type or endpoints differ from the environment's or group's), ``bad_sealing_key`` (longer than keys
        are) or ``duplicate`` (another session of that (environment, group, host) or agent id is live). Makes the
        group's common shard if there is none."""
        ...

    async def keepalive(
        self, agent_id: AgentId, session_id: SessionId, *, ttl_seconds: float, seen: Seen | None = None
    ) -> SessionState:
        """Renew, one row. Raises :class:`SessionLost` if it was ended or replaced. A new history begins if the database
        does not know what was confirmed to the agent (``seen``).

        One that has expired lives again: whatever was taken from it meanwhile has another epoch, and what was not
        is still its own. So an outage of the bus or the database moves nothing by itself.
        """
        ...

    async def record_state(self, call: ReportState) -> None:
        """Store a state report. Raises :class:`SessionLost`."""
        ...

    async def end_session(self, agent_id: AgentId, session_id: SessionId) -> None:
        """End it and free its shards. Harmless if it has ended."""
        ...

    async def assignments(
        self, agent_id: AgentId, session_id: SessionId, *, work_limit: int, served: Sequence[FormerShard] = ()
    ) -> Assignments:
        """The session's shards and their unconfirmed load balancers. ``served``: see :class:`GetAssignments`; taken for
        a while after a new history has begun. Raises :class:`SessionLost`."""
        ...

    async def services(
        self,
        agent_id: AgentId,
        session_id: SessionId,
        shard_id: ShardId,
        epoch: int,
        *,
        load_balancer_ids: Sequence[LoadBalancerId] | None,
        after_id: str,
        limit: int,
    ) -> ServiceDefinitions:
        """Definitions of a shard. Raises :class:`SessionLost` if the agent does not own it at that epoch, or the
        session is not the agent's."""
        ...

    async def certificate_reader(
        self,
        agent_id: AgentId,
        session_id: SessionId,
        shard_id: ShardId,
        epoch: int,
        wanted: Sequence[WantedCertificate],
    ) -> CertificateReader:
        """Which of ``wanted`` the session may have, at most :data:`CERTIFICATES_PER_CALL` of them: those that load
        balancers of the shard refer to. The rest is left out. Raises :class:`SessionLost` as :meth:`services`."""
        ...

    async def release(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
    ) -> ShardOwner | None:
        """Free a shard, or pass it to ``handover_to`` with the next epoch; that agent is returned. None if nothing
        changed hands. Harmless if the epoch is old. Raises :class:`SessionLost` if the session is not the agent's."""
        ...

    async def raise_epoch(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int, seen_epoch: int
    ) -> bool:
        """Lift the shard's epoch above ``seen_epoch``, by at most one jump, still owned by the agent. False if it no
        longer owns it at ``epoch`` in that session. Raises :class:`CallRefused` if there is no higher one."""
        ...
