"""Shared parts of the ownership statements: conditions on agents, row locks and their order, and the error of
a lost race.

Locks are taken in this order, so that operations do not deadlock: environment, shards, load balancers, their
children, certificates, agents, device groups; within a table by id. Registrations are an exception: they may
end sessions of other agents before they free shards.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    update,
)

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.ids import AgentId, ProjectId, SessionId
from evenkeel.core.placement import HANDOVER_PATIENCE_SECONDS, SESSIONS_AHEAD_MAX
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.writing.events import event_row, record_events

EPOCHS_USED_UP_EVENT = "epochs_used_up"
"""Kind of the event that no epoch is left."""


class ConcurrentUpdate(Exception):
    """Another transaction was first: raised in an operation to undo what it has written so far."""


@cache
def is_live(agent: FromClause = schema.agent) -> ColumnElement[bool]:
    """Return the SQL condition that the agent's session has not expired, by the database's clock.

    The condition equals :func:`evenkeel.core.placement.is_live`, for statements that must write only while
    the session is live.
    """
    return and_(
        agent.c.session_id.is_not(None),
        agent.c.session_expires_at > db_now(),
        # An expiry far ahead was stored before the clock was set back; such a session would otherwise never expire.
        agent.c.session_expires_at <= db_now() + SESSIONS_AHEAD_MAX * agent.c.session_ttl_seconds,
    )


def is_current_session(agent_id: AgentId, session_id: SessionId) -> ColumnElement[bool]:
    """Return the SQL condition that the session is the agent's current one: not ended or replaced, but perhaps
    expired.
    """
    agent = schema.agent
    return exists().where(agent.c.id == agent_id, agent.c.session_id == session_id)


@cache
def is_acting(agent: FromClause = schema.agent) -> ColumnElement[bool]:
    """Return the SQL condition that the agent serves the shards for which it acts: its session is live, and
    no operator declared it dead. The condition equals :attr:`evenkeel.core.placement.AgentSnapshot.acts`.
    """
    return and_(is_live(agent), not_(agent.c.forced_down))


@cache
def is_eligible(agent: FromClause = schema.agent) -> ColumnElement[bool]:
    """Return the SQL condition that shards may be assigned to the agent: it is live, neither declared dead
    nor drained. The condition equals :attr:`evenkeel.core.placement.AgentSnapshot.eligible`.
    """
    return and_(is_acting(agent), agent.c.admin_state_up)


@cache
def eligible_agent_ids_query() -> Select[tuple[str]]:
    """Return a query for the ids of eligible agents, for ``IN``; evaluated once per statement."""
    return select(schema.agent.c.id).where(is_eligible())


@cache
def acting_agent_ids_query() -> Select[tuple[str]]:
    """Return a query for the ids of agents that serve their shards, for ``IN``; evaluated once per statement."""
    return select(schema.agent.c.id).where(is_acting())


FREED_SHARD_VALUES: Mapping[str, Any] = {"acting_agent_id": None, "handover_to": None, "handover_at": None}
"""Values of the columns of a shard when it is freed: no agent acts for it, and there is no handover."""


def is_handover_overdue() -> ColumnElement[bool]:
    """Return the SQL condition that the acting agent has not released the shard in the time for a handover.

    The condition equals :func:`evenkeel.core.placement.handover_overdue`.
    """
    asked_at = schema.shard.c.handover_at
    patience = HANDOVER_PATIENCE_SECONDS
    # The second term is for a clock that was set back.
    long_ago = or_(asked_at < db_now() - patience, asked_at > db_now() + patience)
    return func.coalesce(and_(schema.shard.c.handover_to.is_not(None), long_ago), false())


def lock_agents_and_read_hosts(connection: Connection, agent_ids: Iterable[AgentId | None]) -> dict[str, str]:
    """Lock agents until the end of the transaction; return {agent id: host} of those that exist. None among
    the ids is ignored. Waits for keepalives that are being written; the next statement sees their result.
    """
    ids = sorted({agent_id for agent_id in agent_ids if agent_id is not None})
    agent = schema.agent
    # In order of ids: two transactions that lock the same agents do not wait for each other in a circle.
    statement = (
        select(agent.c.id, agent.c.host).where(is_in_list(agent.c.id, ids)).order_by(agent.c.id).with_for_update()
    )
    return {row.id: row.host for row in connection.execute(statement)}


def mark_assignments_changed(connection: Connection, agent_ids: Iterable[AgentId | None]) -> None:
    """Raise the assignments revision of each agent, so that it requests its shards after its next keepalive.
    None among the ids is ignored.
    """
    ids = sorted({agent_id for agent_id in agent_ids if agent_id is not None})
    if ids:
        connection.execute(MARK_ASSIGNMENTS_CHANGED, [{"b_agent": agent_id} for agent_id in ids])


MARK_ASSIGNMENTS_CHANGED = (
    update(schema.agent)
    .where(schema.agent.c.id == bindparam("b_agent"))
    .values(assignments_revision=schema.agent.c.assignments_revision + 1)
)
"""The statement of :func:`mark_assignments_changed`, for the agent ``b_agent``."""


def owner_from_row(shard: Any, host: str) -> ShardOwner:
    """Build the owner of a shard from the shard's row and the host of its acting agent."""
    return ShardOwner(shard_id=shard.id, environment=shard.environment, group_number=shard.group_number, host=host)


def shard_title(project_id: ProjectId) -> str:
    """Return the name of a project's shard in event texts."""
    return f"shard of project {project_id}" if project_id else "common shard"


def record_epochs_used_up(connection: Connection, shards: Iterable[Any]) -> None:
    """Record an event that these shards cannot get another owner, because no epoch is left: once per shard."""
    event, rows = schema.event, list(shards)
    said = select(event.c.shard_id).where(
        event.c.kind == EPOCHS_USED_UP_EVENT, is_in_list(event.c.shard_id, [shard.id for shard in rows])
    )
    known = set(connection.scalars(said))
    text = "no epoch is left above {epoch}; the shard cannot change owner until an operator resets it"
    record_events(
        connection,
        [
            event_row(
                kind=EPOCHS_USED_UP_EVENT,
                text=f"{shard_title(shard.project_id)}: {text.format(epoch=shard.epoch)}",
                environment=shard.environment,
                shard_id=shard.id,
            )
            for shard in rows
            if shard.id not in known
        ],
    )
