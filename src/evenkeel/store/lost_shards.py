"""Shards that the database lost: made again for the agent that served them, so that what is on the devices has an owner
who removes it, or does with it what the database says.

The agent is believed only for a while after a new history has begun: at other times a shard that the database does not
know was never there.
"""

import uuid
from collections.abc import Sequence

from sqlalchemy import Connection, select

from evenkeel.core.epochs import next_epoch, plausible
from evenkeel.core.ids import COMMON_PROJECT
from evenkeel.core.messages import ServedShard
from evenkeel.store import schema
from evenkeel.store.clock import db_now
from evenkeel.store.events import record_event
from evenkeel.store.ownership_sessions import session_lost
from evenkeel.store.ownership_sql import insert_if_absent, shard_title, tell_agents

RESTORING_SECONDS = 600.0
"""After a new history has begun."""
RESTORED_MAX = 500
"""At once."""

_agent = schema.agent
_history = schema.history
_shard = schema.shard


def restore_shards(connection: Connection, agent_id: str, session_id: str, served: Sequence[ServedShard]) -> None:
    """Make those that are not there, above the epochs they had. Raises :class:`SessionLost`."""
    agent = connection.execute(
        select(_agent.c.environment, _agent.c.group_number, _agent.c.host).where(
            _agent.c.id == agent_id, _agent.c.session_id == session_id
        )
    ).first()
    if agent is None:
        raise session_lost(agent_id)
    age = connection.scalar(select(db_now() - _history.c.begun_at).where(_history.c.number == 1))
    if age is None or not -RESTORING_SECONDS < age < RESTORING_SECONDS:
        return
    for lost in sorted(served[:RESTORED_MAX], key=lambda each: each.project_id):
        if lost.project_id != COMMON_PROJECT and plausible(lost.epoch):
            _restore(connection, agent_id, agent, lost)
    tell_agents(connection, [agent_id])


def _restore(connection: Connection, agent_id: str, agent: object, lost: ServedShard) -> None:
    place = {name: getattr(agent, name) for name in ("environment", "group_number")}
    row = {
        "id": str(uuid.uuid4()),
        **place,
        "project_id": lost.project_id,
        "home_agent_id": agent_id,
        "acting_agent_id": agent_id,
        "epoch": next_epoch(0, lost.epoch),
        "created_at": db_now(),
    }
    if insert_if_absent(connection, _shard, row):
        record_event(
            connection,
            kind="shard_restored",
            text=f"{shard_title(lost.project_id)} was served by {getattr(agent, 'host', agent_id)} and lost by the"
            " database; it is made again",
            environment=str(place["environment"]),
            agent_id=agent_id,
            shard_id=str(row["id"]),
        )
