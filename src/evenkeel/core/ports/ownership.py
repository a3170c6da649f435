"""Store port for sessions and shards."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.adoption import AdoptedNetworks, FoundAddress
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.attachment import NetworkRequestsNeeded
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
    """A page of a shard's service definitions, with the requests to the network service that have to be made
    before the page is complete.
    """

    page: ServiceDefinitions
    needs: NetworkRequestsNeeded = NetworkRequestsNeeded()
    awaited: tuple[Change, ...] = ()
    """Changes of networks that projects share, for which load balancers of the page wait; the group's common shard has
    to serve them first.
    """


class ArrivedKeepalive(Value):
    """A keepalive, with the number of seconds since a controller received it."""

    call: Keepalive
    waited_seconds: float = 0.0


class OwnershipStore(Protocol):
    """Store port for sessions of agents, and ownership of shards. A write that depends on who owns a session
    or shard is compare-and-set; sessions expire by the database's clock. Every method may raise
    :class:`StoreUnavailable`.
    """

    async def register(self, call: Register, *, ttl_seconds: float) -> SessionState:
        """Open an agent's session, or renew it if the call's session is the live one; it expires after
        ``ttl_seconds`` without keepalive. Creates the device group's common shard if there is none, and
        frees the shards of the agent's former session.

        Raises :class:`CallRefused` with code ``unknown_environment``, ``bad_sealing_key`` (longer than keys
        are), ``duplicate`` (another session of that (environment, group, host) or agent id is live; with the
        seconds until it ends), or ``contradiction``: a setting differs from that of the environment or of the
        group's live agents, a device belongs to another group or is named twice, or shards are bound to the
        agent in another group, or to another agent id of the host.
        """
        ...

    async def renew_session(self, arrived: ArrivedKeepalive, *, ttl_seconds: float) -> SessionState:
        """Renew the session of a keepalive for ``ttl_seconds``; updates one row. An expired session becomes live again:
        shards taken from it meanwhile have another epoch, and it still owns all others. So an outage of the bus or the
        database alone moves no shard. A new history begins if the database does not contain what it once confirmed to
        the agent.

        Raises :class:`SessionLost` if the session was ended or replaced, and :class:`CallRefused` if it was ended
        because its process was gone, after the keepalive had arrived: a running process sends another one.
        """
        ...

    async def renew_sessions(
        self, arrived: Sequence[ArrivedKeepalive], *, ttl_seconds: float
    ) -> list[SessionState | None]:
        """Renew the sessions of many keepalives for ``ttl_seconds``; return their states in the order of
        ``arrived``. None for a session that was not renewed: its row is locked, it was ended or replaced,
        or the database cannot renew many at once; :meth:`renew_session` finds the reason.
        """
        ...

    async def record_state(self, call: ReportState) -> None:
        """Store an agent's state report. Raises :class:`SessionLost` if the session is not the agent's
        current one.
        """
        ...

    async def end_session(self, agent_id: AgentId, session_id: SessionId) -> None:
        """End a session and release its shards. Does nothing if the session has ended or was replaced."""
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
        """Return the session's shards in the order of their ids, with at most ``work_limit`` load balancers
        whose newest revision is not confirmed. The page has at most ``limit`` shards (None: all) with ids
        after ``after_id``, only those of ``shard_ids`` if that is not empty.

        ``served``: shards that the agent served and that this database may have lost; they are restored
        within ten minutes after a new history has begun. :attr:`Assignments.served_ignored` is true if they
        were not checked, because that time is over or there are too many. Raises :class:`SessionLost` if the
        session is not the agent's current one.
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
        """Return a page of at most ``limit`` service definitions of a shard, in the order of ids after
        ``after_id``: of the load balancers ``load_balancer_ids``, or (None) of all. Large load balancers
        make the page shorter.

        ``unattachable``: {load balancer: reason why the network service has no answer about its networks}.
        ``knows_standby``: the agent supports definitions of copies that must not answer for their VIPs yet.
        Raises :class:`SessionLost` if the agent does not own the shard at that epoch, or the session is not
        the agent's.
        """
        ...

    async def ports_to_adopt(self, call: AdoptNetworks) -> tuple[tuple[str, FoundAddress], ...]:
        """Return (network id, address) for each address in ``call`` that needs a port: its subnet is one of
        the network service, and the shard does not have the address yet.

        Raises :class:`SessionLost` if the agent does not own the shard at that epoch, or the session is not
        the agent's; :class:`Conflict` for numbers of route domains out of range, or too many addresses.
        """
        ...

    async def adopt_networks(self, call: AdoptNetworks, ports: Mapping[FoundAddress, PortClaim]) -> AdoptedNetworks:
        """Reserve the route domains in ``call`` for the shard, and assign the addresses to it; without
        ``call.apply`` only return what would be taken over. A repetition changes nothing. Another shard of
        the group that has the number, and whose load balancers no device has had yet, gets another number.

        ``ports``: {address: new claim on its port at the network service}, of those that have ports. Raises
        :class:`Conflict` with the reason if the shard cannot have a route domain, :class:`SessionLost` if the
        agent does not own the shard at that epoch, or the session is not the agent's.
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
        """Return which certificates out of the first :data:`CERTIFICATES_PER_CALL` of ``wanted`` the session
        may read, because load balancers of the shard refer to them, and the session's public key (empty,
        with no certificates: it was registered without one). Raises :class:`SessionLost` if the agent does
        not own the shard at that epoch, or the session is not the agent's.
        """
        ...

    async def release_shard(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
    ) -> ShardOwner | None:
        """Release a shard, or assign it to its ``handover_to`` agent with the next epoch; return that agent
        as the new owner, None if the shard has no owner now.

        Does nothing, and returns None, if the agent no longer owns the shard at ``epoch``. Raises
        :class:`SessionLost` if the session is not the agent's.
        """
        ...

    async def raise_epoch(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int, seen_epoch: int
    ) -> bool:
        """Raise the epoch of the agent's shard above ``seen_epoch``, which a device has, but at most
        :data:`EPOCH_JUMP_MAX` above ``epoch``. Returns False if the agent no longer owns the shard at
        ``epoch`` in that session. Raises :class:`CallRefused` with code ``epochs_used_up`` if there is no
        higher epoch.
        """
        ...
