"""Recreates shards that the database lost, for the agents that served them.

Then their configuration on the devices has an owner again, which removes or updates it. Agents' claims are accepted
only for a while after a new history of the database has begun: at other times a shard that the database lacks never
existed.
"""

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from evenkeel.core.control.epochs import is_epoch_in_range, next_epoch
from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId, ProjectId, SessionId, ShardId
from evenkeel.core.protocol.messages import FormerShard
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.ownership.sessions import session_lost_error
from evenkeel.store.ownership.sql import ConcurrentUpdate, mark_assignments_changed, shard_title
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

RESTORATION_WINDOW_SECONDS = 600.0
"""Time after the start of a history in which lost shards are restored."""
RESTORED_SHARDS_MAX = 500
"""Maximum number of shards restored by one call."""
RESTORED_SHARDS_TOTAL_MAX = 5_000
"""Maximum number of shards restored for one agent in one history, as many as an agent remembers. All shards created for
the agent since the history began count.
"""
SHARDS_NAMED_MAX = 3
"""Maximum number of shards that an event ``shard_restored`` names; it counts the others."""

_agent = schema.agent
_history = schema.history
_shard = schema.shard


def restore_shards(
    connection: Connection, agent_id: AgentId, session_id: SessionId, served: Sequence[FormerShard]
) -> bool:
    """Create those of the first :data:`RESTORED_SHARDS_MAX` shards of ``served`` that are missing, with
    higher epochs than they had, and assign them to the agent, which then requests its shards. Common
    shards, implausible epochs, and shards beyond :data:`RESTORED_SHARDS_TOTAL_MAX` are left out.

    False: the history began more than :data:`RESTORATION_WINDOW_SECONDS` ago, or there is none, so nothing
    was checked. Raises :class:`SessionLost`; :class:`ConcurrentUpdate` if concurrent calls of the same agent
    created too many.
    """
    agent = connection.execute(
        select(_agent.c.environment, _agent.c.group_number, _agent.c.host).where(
            _agent.c.id == agent_id, _agent.c.session_id == session_id
        )
    ).first()
    if agent is None:
        raise session_lost_error(agent_id)
    age = connection.scalar(select(db_now() - _history.c.begun_at).where(_history.c.number == 1))
    # A negative age is that of a history begun before the database's clock was set back.
    if age is None or not -RESTORATION_WINDOW_SECONDS < age < RESTORATION_WINDOW_SECONDS:
        return False
    may_make = RESTORED_SHARDS_TOTAL_MAX - _count_shards_restored_since(connection, agent_id)
    made: dict[ShardId, ProjectId] = {}
    # Sorted, because rows of one table are inserted in one order by all: two agents may name the same projects.
    for lost in sorted(served[:RESTORED_SHARDS_MAX], key=lambda each: each.project_id):
        if len(made) < may_make and lost.project_id != COMMON_PROJECT and is_epoch_in_range(lost.epoch):
            made |= _restore_shard(connection, agent_id, agent, lost)
    if not made:
        return True
    mark_assignments_changed(connection, [agent_id])  # from here on, its other calls wait for this one
    # Counted again under the lock of the agent's row: concurrent calls have each counted without the others' shards.
    if _count_shards_restored_since(connection, agent_id) > RESTORED_SHARDS_TOTAL_MAX:
        raise ConcurrentUpdate
    _record_restored_shards(connection, agent_id, agent, made)
    return True


def _count_shards_restored_since(connection: Connection, agent_id: AgentId) -> int:
    """Return the number of shards created for the agent since the history began."""
    begun_at = select(_history.c.begun_at).where(_history.c.number == 1).scalar_subquery()
    statement = select(func.count()).where(_shard.c.home_agent_id == agent_id, _shard.c.created_at >= begun_at)
    return connection.scalar(statement) or 0


def _restore_shard(
    connection: Connection, agent_id: AgentId, agent: Any, lost: FormerShard
) -> dict[ShardId, ProjectId]:
    """Recreate a shard that the database lost; return {shard id: project id}, empty if it exists."""
    shard_id = ShardId(str(uuid.uuid4()))
    row = {
        "id": shard_id,
        "environment": agent.environment,
        "group_number": agent.group_number,
        "project_id": lost.project_id,
        "home_agent_id": agent_id,
        "acting_agent_id": agent_id,
        "epoch": next_epoch(0, lost.epoch),
        "created_at": db_now(),
    }
    return {shard_id: lost.project_id} if insert_if_absent(connection, _shard, row) else {}


def _record_restored_shards(
    connection: Connection, agent_id: AgentId, agent: Any, made: dict[ShardId, ProjectId]
) -> None:
    named = ", ".join(shard_title(project_id) for project_id in list(made.values())[:SHARDS_NAMED_MAX])
    more = f" and {len(made) - SHARDS_NAMED_MAX} more" if len(made) > SHARDS_NAMED_MAX else ""
    record_event(
        connection,
        kind="shard_restored",
        text=f"shards served by {agent.host} and lost by the database were restored: {named}{more}",
        environment=agent.environment,
        agent_id=agent_id,
        shard_id=next(iter(made)) if len(made) == 1 else ShardId(""),
    )
