"""Agents that were deleted: how many keepalives were confirmed to each.

The process of a deleted agent may live and come back. The number that it knows then proves no loss of commits, unless
it is higher than the one that was kept; so its new row goes on counting there.
"""

from sqlalchemy import Connection, delete, select

from evenkeel.core.ids import AgentId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

KEPT_MAX = 10_000
"""The oldest go first. An agent that comes back after that begins a new history, which costs a look at everything."""

_agent = schema.agent
_former = schema.former_agent


def keep_count(connection: Connection, agent_id: AgentId) -> None:
    """Before the agent's row is removed, in the same transaction."""
    keepalives = connection.scalar(select(_agent.c.keepalives).where(_agent.c.id == agent_id))
    if keepalives is None:
        return
    connection.execute(delete(_former).where(_former.c.id == agent_id))
    insert_if_absent(connection, _former, {"id": agent_id, "keepalives": keepalives, "deleted_at": db_now()})
    oldest = connection.scalar(
        select(_former.c.deleted_at).order_by(_former.c.deleted_at.desc()).limit(1).offset(KEPT_MAX)
    )
    if oldest is not None:
        connection.execute(delete(_former).where(_former.c.deleted_at <= oldest))


def take_count(connection: Connection, agent_id: AgentId) -> int:
    """Of the agent that is back; 0 if it was never there. Not kept any longer: its row has it."""
    keepalives = connection.scalar(select(_former.c.keepalives).where(_former.c.id == agent_id))
    if keepalives is None:
        return 0
    connection.execute(delete(_former).where(_former.c.id == agent_id))
    return int(keepalives)
