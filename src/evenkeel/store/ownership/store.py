"""Implements :class:`evenkeel.core.ports.OwnershipStore` in SQL.

Any two operations may run at the same time in different controllers; each transaction names the state that it
read, and only the database's clock decides what has expired.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType

from msgspec.structs import replace
from sqlalchemy import Connection

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.networking.attachment import DevicePort
from evenkeel.core.ports.ownership import ArrivedKeepalive, FoundServices
from evenkeel.core.protocol.messages import (
    EPOCHS_USED_UP,
    Assignments,
    FormerShard,
    Register,
    SessionState,
)
from evenkeel.store.engine.database import Database
from evenkeel.store.engine.operations import read_operation, write_operation
from evenkeel.store.networks.network_attachment import allocate_addresses
from evenkeel.store.ownership import adoption, readers, services, sessions, shards
from evenkeel.store.ownership.histories import Histories
from evenkeel.store.ownership.lost_shards import restore_shards
from evenkeel.store.ownership.networks import read_changed_networks
from evenkeel.store.ownership.register import open_session
from evenkeel.store.ownership.session_renewals import OpenedSession, renew_sessions
from evenkeel.store.ownership.sql import ConcurrentUpdate

NO_PROBLEMS: Mapping[LoadBalancerId, str] = MappingProxyType({})
ADDRESSES_NOT_ALLOCATED_PROBLEM = "its networks changed while addresses on the devices were allocated"


class SqlOwnership:
    """Stores sessions of agents and ownership of shards in SQL; implements the port ``OwnershipStore``."""

    def __init__(self, database: Database, histories: Histories, *, bare_tags: bool = False) -> None:
        """``bare_tags``: whether listeners' tags without prefix may name enhanced services."""
        self._db = database
        self._bare_tags = bare_tags
        self._histories = histories
        self._beginning = False
        """True while this process starts a new history."""

    async def register(self, call: Register, *, ttl_seconds: float) -> SessionState:
        opened = await self._db.write(lambda connection: open_session(connection, call, ttl_seconds))
        return (await self._states_in_history([call.agent_id], [opened]))[0]

    async def renew_session(self, arrived: ArrivedKeepalive, *, ttl_seconds: float) -> SessionState:
        # in a transaction, whose connections are many: it may wait for the lock of the agent's row
        renewed = await self._db.write(
            lambda connection: renew_sessions(connection, [arrived], ttl_seconds), urgent=True
        )
        (state,) = await self._keepalive_answers([arrived], renewed)
        if state is None:
            agent_id, session_id = arrived.call.agent_id, arrived.call.session_id
            known = await self._db.query(lambda connection: sessions.read_session_id(connection, agent_id))
            # An agent that still has this session need not give it up: its next keepalive revives the session.
            raise (
                sessions.session_ended_error(agent_id) if known == session_id else sessions.session_lost_error(agent_id)
            )
        return state

    async def renew_sessions(
        self, arrived: Sequence[ArrivedKeepalive], *, ttl_seconds: float
    ) -> list[SessionState | None]:
        if not self._db.supports_skip_locked:
            return [None] * len(arrived)
        # a renewal that is repeated, or committed though its answer is lost, only lengthens a session
        renewed = await self._db.autocommit(
            lambda connection: renew_sessions(connection, arrived, ttl_seconds, supports_skip_locked=True)
        )
        return await self._keepalive_answers(arrived, renewed)

    async def _keepalive_answers(
        self, arrived: Sequence[ArrivedKeepalive], renewed: Sequence[OpenedSession | None]
    ) -> list[SessionState | None]:
        lives = [at for at, opened in enumerate(renewed) if opened is not None]
        agents = [arrived[at].call.agent_id for at in lives]
        states = await self._states_in_history(agents, [opened for opened in renewed if opened is not None])
        answers: list[SessionState | None] = [None] * len(arrived)
        for at, state in zip(lives, states, strict=True):
            answers[at] = state
        return answers

    async def _states_in_history(
        self, agents: Sequence[AgentId], opened: Sequence[OpenedSession]
    ) -> list[SessionState]:
        """Return the states for the answers to keepalives, in the order of ``opened``; begin a new history if
        an agent proves that commits were lost, whose id the states then have.

        A new history begins in a transaction of its own, because it locks load balancers, which come before
        agents. The transaction may take long with many load balancers, and all agents detect the loss: one
        call waits for it, the others are answered and detect it again at their next keepalive.
        """
        states = [each.state for each in opened]
        at = next((at for at, each in enumerate(opened) if each.lost), None)
        # Only an optimisation within this process; among processes the update of the history's row decides.
        if at is None or self._beginning:
            return states
        self._beginning = True
        try:
            history = await self._histories.begin_history(states[at].history, agents[at], opened[at].lost)
            return [replace(state, history=history) for state in states]
        finally:
            self._beginning = False

    record_state = write_operation(sessions.record_state_report)

    async def end_session(self, agent_id: AgentId, session_id: SessionId) -> None:
        with suppress(ConcurrentUpdate):  # the session was replaced meanwhile: it has ended
            await self._db.write(lambda connection: sessions.end_session(connection, agent_id, session_id))

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
        looked_at = not served or await self._restore_lost(agent_id, session_id, served)
        page = shards.ShardPage(after_id=after_id, limit=limit, ids=tuple(shard_ids))
        # After the restoring transaction, so that the page contains the restored shards.
        found = await self._db.read(
            lambda connection: shards.read_assignments(connection, agent_id, session_id, work_limit, page)
        )
        return found if looked_at else replace(found, served_ignored=True)

    async def _restore_lost(self, agent_id: AgentId, session_id: SessionId, served: Sequence[FormerShard]) -> bool:
        """Recreate lost shards that the agent served. False: nothing was checked, so the agent must name the
        shards again. Raises :class:`SessionLost`.
        """
        try:
            return await self._db.write(lambda connection: restore_shards(connection, agent_id, session_id, served))
        except ConcurrentUpdate:  # too many at once
            return False

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
        unattachable: Mapping[LoadBalancerId, str] = NO_PROBLEMS,
        knows_standby: bool = False,
    ) -> FoundServices:
        problems = dict(unattachable)

        def run_transaction(connection: Connection) -> services.DefinitionsPage:
            return services.read_services(
                connection,
                agent_id,
                session_id,
                shard_id,
                epoch,
                load_balancer_ids=load_balancer_ids,
                after_id=after_id,
                limit=limit,
                unattachable=problems,
                bare_tags=self._bare_tags,
                knows_standby=knows_standby,
            )

        ports: dict[LoadBalancerId, tuple[DevicePort, ...]] = {}
        while (found := await self._db.read(run_transaction)).unallocated.keys() - ports.keys():
            # at most once for each load balancer
            wanted = {id_: subnets for id_, subnets in found.unallocated.items() if id_ not in ports}
            lacks = await self._db.write(partial(allocate_addresses, location=found.location, wanted=wanted))
            ports |= lacks.ports
            # Whatever could not be allocated gets a reason and is not tried again here, so the loop ends.
            problems |= (
                dict.fromkeys(wanted.keys() - lacks.ports.keys(), ADDRESSES_NOT_ALLOCATED_PROBLEM) | lacks.problems
            )
        lacking = {id_: each for id_, each in ports.items() if id_ in found.unallocated}
        awaited: tuple[Change, ...] = ()
        if found.awaited:
            awaited = await self._db.read(lambda connection: read_changed_networks(connection, shard_id, found.awaited))
        return FoundServices(page=found.page, needs=replace(found.needs, ports=lacking), awaited=awaited)

    ports_to_adopt = read_operation(adoption.find_addresses_needing_ports)

    adopt_networks = write_operation(adoption.adopt_networks)

    certificate_reader = read_operation(readers.read_certificate_reader)

    release_shard = write_operation(shards.release_shard)

    async def raise_epoch(
        self, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int, seen_epoch: int
    ) -> bool:
        raised = await self._db.write(
            lambda connection: shards.raise_epoch(connection, agent_id, session_id, shard_id, epoch, seen_epoch)
        )
        if raised is None:
            raise CallRefused(EPOCHS_USED_UP, f"shard {shard_id} has no epoch above {epoch}")
        return raised
