"""Store port for sessions and shards."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.adoption import FoundAddress, TakenNetworks
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.attachment import Needs
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.protocol.messages import (
    AdoptNetworks,
    Assignments,
    FormerShard,
    Keepalive,
    Register,
    ReportState,
    ServiceDefinitions,
    SessionState,
    WantedCertificate,
)
from evenkeel.core.tls.certificates import CertificateReader


class FoundServices(Value):
    """Service definitions of load balancers, and requests to the network service that have to be made first."""

    page: ServiceDefinitions
    needs: Needs = Needs()
    awaited: tuple[Change, ...] = ()
    """Changes of networks that projects share, for which load balancers of the page wait; the group's common shard has
    to serve them first.
    """


class ArrivedKeepalive(Value):
    """A keepalive, with the number of seconds since a controller received it."""

    call: Keepalive
    waited_seconds: float = 0.0


class OwnershipStore(Protocol):
    """Store port for sessions of agents, and ownership of shards. Every write is compare-and-set; sessions expire by
    the database's clock.
    """

    async def register(self, call: Register, *, ttl_seconds: float) -> SessionState:
        """Open the session. Raises :class:`CallRefused` with code ``unknown_environment``, ``contradiction`` (device
        driver, HA type or endpoints differ from the environment's or group's), ``bad_sealing_key`` (longer than keys
        are) or ``duplicate`` (another session of that (environment, group, host) or agent id is live). Creates the
        group's common shard if there is none.
        """
        ...

    async def renew_session(self, arrived: ArrivedKeepalive, *, ttl_seconds: float) -> SessionState:
        """Renew a session; updates one row. Raises :class:`SessionLost` if it was ended or replaced, and
        :class:`CallRefused` if it was ended because its process was gone, after the keepalive had arrived: a running
        process sends another one. A new history begins if the database does not contain what was confirmed to the
        agent.

        An expired session becomes live again: shards taken from it meanwhile have another epoch, and it still owns all
        others. So an outage of the bus or the database alone moves no shard.
        """
        ...

    async def renew_sessions(
        self, arrived: Sequence[ArrivedKeepalive], *, ttl_seconds: float
    ) -> list[SessionState | None]:
        """Renew many sessions at once, like :meth:`keepalive`; the answers are in the order of ``arrived``. None: not
        renewed, because the row is locked, the session was ended, or the database cannot do this; :meth:`keepalive`
        gives the reason.
        """
        ...

    async def record_state(self, call: ReportState) -> None:
        """Store an agent's state report. Raises :class:`SessionLost`."""
        ...

    async def end_session(self, agent_id: AgentId, session_id: SessionId) -> None:
        """End a session and release its shards. Idempotent."""
        ...

    async def assignments(
        self,
        agent_id: AgentId,
        session_id: SessionId,
        *,
        work_limit: int,
        served: Sequence[FormerShard] = (),
        after_id: str = "",
        limit: int | None = None,
        shard_ids: Sequence[ShardId] = (),
    ) -> Assignments:
        """Return the session's shards and their unconfirmed load balancers: at most ``limit`` shards after
        ``after_id``, of ``shard_ids`` only if there are any. ``served``: see :class:`GetAssignments`; accepted for a
        while after a new history has begun. Raises :class:`SessionLost`.
        """
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
        unattachable: Mapping[LoadBalancerId, str] = ...,
        knows_standby: bool = False,
    ) -> FoundServices:
        """Return a page of service definitions of a shard.

        ``unattachable``: {load balancer: reason why the network service has no answer about its networks};
        ``knows_standby``: see :class:`GetServices`. Raises :class:`SessionLost` if the agent does not own the shard at
        that epoch, or the session is not the agent's.
        """
        ...

    async def ports_to_adopt(self, call: AdoptNetworks) -> tuple[tuple[str, FoundAddress], ...]:
        """Return (network id, address) of those addresses in ``call`` that need a port: their subnet is one of the
        network service, and they do not belong to the shard yet. Raises :class:`SessionLost` if the agent does not own
        the shard at that epoch, or the session is not the agent's.
        """
        ...

    async def adopt_networks(self, call: AdoptNetworks, ports: Mapping[FoundAddress, PortClaim]) -> TakenNetworks:
        """Reserve the route domain for the shard, and assign the addresses to it; without ``apply`` only return what
        that would be.

        ``ports``: addresses with ports at the network service, with a new claim each. Repeating it changes nothing.
        Another shard of the group that has the number, and whose load balancers no device has had yet, gets another
        number. Raises :class:`Conflict` with the reason if the shard cannot have the route domain, :class:`SessionLost`
        like :meth:`services`.
        """
        ...

    async def certificate_reader(
        self,
        agent_id: AgentId,
        session_id: SessionId,
        shard_id: ShardId,
        epoch: int,
        wanted: Sequence[WantedCertificate],
    ) -> CertificateReader:
        """Return the certificates out of ``wanted`` that the session may read, at most :data:`CERTIFICATES_PER_CALL`:
        those that load balancers of the shard refer to. Raises :class:`SessionLost` like :meth:`services`.
        """
        ...

    async def release_shard(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
    ) -> ShardOwner | None:
        """Release a shard, or assign it to its ``handover_to`` agent with the next epoch; return that agent, None if no
        agent got the shard.

        Does nothing if the epoch is old. Raises :class:`SessionLost` if the session is not the agent's.
        """
        ...

    async def raise_epoch(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int, seen_epoch: int
    ) -> bool:
        """Raise the epoch of the agent's shard above ``seen_epoch``, which a device has, by at most one jump.

        False if the agent no longer owns the shard at ``epoch`` in that session. Raises :class:`CallRefused` if there
        is no higher epoch.
        """
        ...
