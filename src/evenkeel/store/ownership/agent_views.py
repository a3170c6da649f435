"""Agents in the form that :mod:`evenkeel.core.placement` reads. Only this module makes snapshots from agents' rows."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, bindparam, func, literal, select

from evenkeel.core.kit.values import Value
from evenkeel.core.placement import AgentRecord, AgentSnapshot, agent_snapshot_of_record
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema

_agent = schema.agent
_shard = schema.shard

name_list_decoder = msgspec.json.Decoder(tuple[str, ...])
"""Decoder of columns that hold a list of names."""

_COLUMNS = (
    _agent.c.id,
    _agent.c.environment,
    _agent.c.group_number,
    _agent.c.host,
    _agent.c.admin_state_up,
    _agent.c.forced_down,
    _agent.c.failback_asked,
    _agent.c.reachable_devices,
    _agent.c.away_devices,
    _agent.c.sight_since,
    _agent.c.reported_at,
    _agent.c.session_id,
    _agent.c.silent_since,
    _agent.c.session_started_at,
    _agent.c.session_expires_at,
    _agent.c.session_ttl_seconds,
)


class AgentWithGroup(Value):
    """An agent with its group and environment, as read at one moment; ``silent_since`` None: it is not
    recorded as silent.
    """

    view: AgentSnapshot
    environment: str
    group_number: int
    host: str
    silent_since: float | None
    ttl_seconds: float
    read_at: float
    """The database's time when the agent was read."""


def read_agents_with_groups(
    connection: Connection,
    settle_seconds: float,
    *,
    environment: str | None = None,
    group_number: int | None = None,
    loads: bool = False,
) -> list[AgentWithGroup]:
    """Return all agents, or the agents of an environment or of one of its device groups; sorted by id. One
    statement.

    ``settle_seconds``: seconds that an agent must be up before it gets its shards back. ``loads``: also count
    each agent's shards, at a cost that grows with their number.
    """
    wanted = {"b_environment": environment, "b_group": group_number}
    given = {name: value for name, value in wanted.items() if value is not None}
    rows = connection.execute(_agents_query(loads, frozenset(given)), given)
    return [_agent_with_group_from_row(row, settle_seconds) for row in rows]


def snapshots_by_group(agents: Iterable[AgentWithGroup]) -> dict[tuple[str, int], list[AgentSnapshot]]:
    """Return {(environment, group number): snapshots of the group's agents, in the order of ``agents``};
    groups without agents are missing.
    """
    found: dict[tuple[str, int], list[AgentSnapshot]] = {}
    for agent in agents:
        found.setdefault((agent.environment, agent.group_number), []).append(agent.view)
    return found


def time_of_read(connection: Connection, agents: Sequence[AgentWithGroup]) -> float:
    """Return the database's time, in seconds since the epoch, when the agents were read; without agents, one
    statement reads the time.
    """
    return agents[0].read_at if agents else float(connection.scalar(select(db_now())) or 0.0)


@cache  # building a statement costs more than running it
def _agents_query(loads: bool, given: frozenset[str]) -> Select[Any]:
    """Return the statement of :func:`read_agents_with_groups`. ``given``: names of the parameters by which agents are
    selected.
    """
    # Two scalar subqueries and no join: each reads one index, and agents without shards still have a row.
    acting = _count_shards_referring(_shard.c.acting_agent_id) if loads else literal(0)
    homed = _count_shards_referring(_shard.c.home_agent_id) if loads else literal(0)
    counts = (acting.label("acting_shards"), homed.label("home_shards"))
    columns = {"b_environment": _agent.c.environment, "b_group": _agent.c.group_number}
    where = [column == bindparam(name) for name, column in columns.items() if name in given]
    return select(*_COLUMNS, *counts, db_now().label("now")).where(*where).order_by(_agent.c.id)


def _count_shards_referring(column: ColumnElement[Any]) -> ScalarSelect[int]:
    """Return a subquery that counts the shards that refer to the agent in ``column``; it reads only an index."""
    return select(func.count()).select_from(_shard).where(column == _agent.c.id).scalar_subquery()


def _agent_with_group_from_row(row: Any, settle_seconds: float) -> AgentWithGroup:
    return AgentWithGroup(
        view=agent_snapshot(
            row, settle_seconds=settle_seconds, acting_shards=row.acting_shards, home_shards=row.home_shards
        ),
        environment=row.environment,
        group_number=row.group_number,
        host=row.host,
        silent_since=row.silent_since,
        ttl_seconds=row.session_ttl_seconds,
        read_at=row.now,
    )


def agent_snapshot(
    row: Any, *, settle_seconds: float = 0.0, acting_shards: int = 0, home_shards: int = 0
) -> AgentSnapshot:
    """Return the snapshot of an agent from its row, which also has ``now``, the database's time when it was
    read. ``settle_seconds``: seconds that the agent must be up before it gets its shards back;
    ``acting_shards``, ``home_shards``: its load.
    """
    record = AgentRecord(
        id=row.id,
        registered=row.session_id is not None,
        session_started_at=row.session_started_at,
        session_expires_at=row.session_expires_at,
        session_ttl_seconds=row.session_ttl_seconds,
        admin_state_up=row.admin_state_up,
        forced_down=row.forced_down,
        failback_asked=row.failback_asked,
        reachable_devices=row.reachable_devices,
        unreachable_devices=name_list_decoder.decode(row.away_devices),
        reachable_since=row.sight_since,
        reported_at=row.reported_at,
        acting_shards=acting_shards,
        home_shards=home_shards,
    )
    return agent_snapshot_of_record(record, now=row.now, settle_seconds=settle_seconds)
