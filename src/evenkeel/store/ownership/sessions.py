"""Sessions of agents: one per agent, however many shards it owns. Only the database's clock decides whether
an agent is live.
"""

from sqlalchemy import Connection, case, select, update

from evenkeel.core.kit.errors import CallRefused, SessionLost
from evenkeel.core.kit.ids import AgentId, SessionId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.protocol.messages import MOVED_NETWORKS_MAX, ReportState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.engine.statements import json_text
from evenkeel.store.networks.facts import make_network_facts_due_for_agent
from evenkeel.store.ownership.capacity import store_figures_of_report
from evenkeel.store.ownership.sql import FREED_SHARD_VALUES, ConcurrentUpdate
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

_agent = schema.agent
_shard = schema.shard


def session_lost_error(agent_id: AgentId) -> SessionLost:
    """Return the error for a call of an agent whose session has ended."""
    return SessionLost(f"the session of agent {agent_id} has ended")


def session_ended_error(agent_id: AgentId) -> CallRefused:
    """Return the error for a keepalive that arrived before its session was ended because the process was gone."""
    return CallRefused("ended_meanwhile", f"the session of agent {agent_id} was ended after this keepalive had come")


def read_session_id(connection: Connection, agent_id: AgentId) -> str | None:
    """Return the id of the agent's session, live or not; None if it has none."""
    return connection.scalar(select(schema.agent.c.session_id).where(schema.agent.c.id == agent_id))


def record_state_report(connection: Connection, call: ReportState) -> None:
    """Store an agent's state report, with its capacity figures, and make the first :data:`MOVED_NETWORKS_MAX`
    networks that the agent saw change due to be read again. Raises :class:`SessionLost`.
    """
    offered = call.enhanced_services
    # None, not 0: an agent that reports no devices has not seen them unreachable.
    reachable = sum(device.reachable for device in call.devices) if call.devices else None
    statement = (
        update(_agent)
        .where(_agent.c.id == call.agent_id, _agent.c.session_id == call.session_id)
        .values(
            reported_at=db_now(),
            # before reachable_devices, as in the table: MariaDB evaluates assignments from left to right
            sight_since=case(
                (_agent.c.reachable_devices.is_distinct_from(reachable), db_now()), else_=_agent.c.sight_since
            ),
            reachable_devices=reachable,
            away_devices=json_text(sorted({device.name for device in call.devices if not device.reachable})),
            configurations=json_text(call.configurations),
            devices=json_text(call.devices),
            serving=json_text(call.serving),
            queue_depth=call.queue_depth,
            capacity_score=call.capacity_score,
            **({} if call.capacity_unknown else {"capacity": json_text(call.capacity)}),
            # Sent only when it changed; a report without it must not erase it.
            **({} if offered is None else {"enhanced_services": json_text(offered)}),
        )
    )
    place = update_returning(
        statement, _agent.c.environment, _agent.c.group_number, by=_agent.c.id == call.agent_id
    ).first_row(connection)
    if place is None:
        raise session_lost_error(call.agent_id)
    store_figures_of_report(connection, place.environment, place.group_number, call)
    if call.moved_networks:
        make_network_facts_due_for_agent(connection, call.agent_id, call.moved_networks[:MOVED_NETWORKS_MAX])


def end_session(connection: Connection, agent_id: AgentId, session_id: SessionId) -> None:
    """End the agent's session, free its shards, and record an event; nothing happens if the session has ended
    already. Raises :class:`ConcurrentUpdate` if another session replaced it meanwhile.
    """
    agent = connection.execute(
        select(_agent.c.host, _agent.c.environment).where(_agent.c.id == agent_id, _agent.c.session_id == session_id)
    ).first()
    if agent is None:
        return
    # Shards before the agent's row, in the order of locks; if the session was replaced meanwhile, this is rolled back.
    connection.execute(update(_shard).where(_shard.c.acting_agent_id == agent_id).values(**FREED_SHARD_VALUES))
    ended = connection.execute(
        update(_agent)
        .where(_agent.c.id == agent_id, _agent.c.session_id == session_id)
        .values(session_id=None, silent_since=None, assignments_revision=_agent.c.assignments_revision + 1)
    )
    if ended.rowcount == 0:
        raise ConcurrentUpdate
    record_event(
        connection,
        kind="agent_stopped",
        text=f"agent {name_and_id(agent.host, agent_id)} stopped",
        environment=agent.environment,
        agent_id=agent_id,
    )
