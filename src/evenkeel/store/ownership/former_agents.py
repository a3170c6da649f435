"""Deleted agents: the number of keepalives that was confirmed to each.

The process of a deleted agent may still run and register again. The number of keepalives that it remembers then proves
no loss of commits, unless it is higher than the stored number; so the agent's new row continues counting from there.
"""

from sqlalchemy import Connection, delete, select

from evenkeel.core.kit.ids import AgentId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

FORMER_AGENTS_MAX = 10_000
"""Maximum number of deleted agents whose keepalive counts are stored; the oldest counts are removed first. If the
process of an agent still runs and registers again after its count was removed, the database begins a new history, and
all agents check everything.
"""

_agent = schema.agent
_former_agent = schema.former_agent


def store_keepalive_count(connection: Connection, agent_id: AgentId) -> None:
    """Store the number of keepalives that was confirmed to an agent, in the transaction that deletes the
    agent's row; the oldest counts beyond :data:`FORMER_AGENTS_MAX` are deleted. No effect if the agent does not
    exist.
    """
    keepalives = connection.scalar(select(_agent.c.keepalives).where(_agent.c.id == agent_id))
    if keepalives is None:
        return
    # deleted first: insert_if_absent would keep an older count of the same agent
    connection.execute(delete(_former_agent).where(_former_agent.c.id == agent_id))
    insert_if_absent(connection, _former_agent, {"id": agent_id, "keepalives": keepalives, "deleted_at": db_now()})
    oldest = connection.scalar(
        select(_former_agent.c.deleted_at)
        .order_by(_former_agent.c.deleted_at.desc())
        .limit(1)
        .offset(FORMER_AGENTS_MAX)
    )
    if oldest is not None:
        connection.execute(delete(_former_agent).where(_former_agent.c.deleted_at <= oldest))


def take_keepalive_count(connection: Connection, agent_id: AgentId) -> int:
    """Return and delete the number of keepalives that was stored when the agent was deleted; 0 if there is none."""
    keepalives = connection.scalar(select(_former_agent.c.keepalives).where(_former_agent.c.id == agent_id))
    if keepalives is None:
        return 0
    connection.execute(delete(_former_agent).where(_former_agent.c.id == agent_id))
    return int(keepalives)
