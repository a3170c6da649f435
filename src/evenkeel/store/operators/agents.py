"""Agents as operators see them, and what operators say of them: drained, dead, to have their shards back.

Saying it writes one flag; the scheduler does what follows from it.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, case, exists, func, select, update

from evenkeel.core.control import Agent
from evenkeel.core.errors import Conflict, NotFound
from evenkeel.core.placement import AgentView, fit_agents
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.store.options import Part
from evenkeel.store.ownership.sql import live, sight_since
from evenkeel.store.records import schema
from evenkeel.store.records.rows import AGENT_COLUMNS, agent_of
from evenkeel.store.writing.events import record_event

_agent, _shard, _root = schema.agent, schema.shard, schema.load_balancer
_environment, _group = schema.environment, schema.device_group


class AgentsPart(Part):
    """The agents of :class:`evenkeel.core.ports.OperatorStore`."""

    async def agents(self, *, environment: str | None = None) -> tuple[Agent, ...]:
        """All agents with their load, by environment, group and host. Four queries."""
        conditions = [] if environment is None else [_agent.c.environment == environment]
        return await self._db.read(lambda connection: read_agents(connection, *conditions))

    async def agent(self, agent_id: str) -> Agent:
        """Raises :class:`NotFound`."""
        return await self._db.read(lambda connection: read_agent(connection, agent_id))

    async def set_agent_admin_state(self, agent_id: str, up: bool) -> Agent:
        """See :meth:`evenkeel.core.ports.OperatorStore.set_agent_admin_state`."""
        kind, told = ("agent_undrained", "back in service") if up else ("agent_drained", "to be drained")
        return await self._db.write(lambda c: _set_flag(c, agent_id, _agent.c.admin_state_up, up, kind, told))

    async def force_agent_down(self, agent_id: str, down: bool) -> Agent:
        """See :meth:`evenkeel.core.ports.OperatorStore.force_agent_down`."""
        kind, told = ("agent_forced_down", "to be dead") if down else ("agent_allowed_up", "not to be dead any more")
        return await self._db.write(lambda c: _set_flag(c, agent_id, _agent.c.forced_down, down, kind, told))

    async def ask_failback(self, agent_id: str) -> Agent:
        """See :meth:`evenkeel.core.ports.OperatorStore.ask_failback`. With nothing away there is nothing to ask."""
        return await self._db.write(lambda connection: _ask_failback(connection, agent_id))


# -- what they say


def _set_flag(connection: Connection, agent_id: str, column: Column[bool], value: bool, kind: str, told: str) -> Agent:
    """Set it, and say so if it was not set so already."""
    changed = connection.execute(
        update(_agent).where(_agent.c.id == agent_id, column != value).values({column.name: value})
    )
    agent = read_agent(connection, agent_id)
    if changed.rowcount:
        record_event(
            connection,
            kind=kind,
            text=f"Agent {agent_id} on {agent.host} was said by an operator {told}.",
            environment=agent.environment,
            agent_id=agent_id,
        )
    return agent


def _ask_failback(connection: Connection, agent_id: str) -> Agent:
    agent = read_agent(connection, agent_id)
    if agent.failback is FailbackMode.NEVER:
        raise Conflict(
            f"Shards of agent {agent_id} do not come back: failback of environment {agent.environment} is never."
            " Set it to manual or auto first."
        )
    if not agent.away_shards and not agent.unserved_shards:
        return agent
    told = "to get its shards back"
    return _set_flag(connection, agent_id, _agent.c.failback_asked, True, "agent_failback", told)


# -- what they see


def read_agent(connection: Connection, agent_id: str) -> Agent:
    """One agent, by way of its whole group: what becomes of its shards depends on the others. Four queries.

    Raises :class:`NotFound`.
    """
    this = _agent.alias()
    in_group = exists().where(
        this.c.id == agent_id,
        this.c.environment == _agent.c.environment,
        this.c.group_number == _agent.c.group_number,
    )
    for agent in read_agents(connection, in_group):
        if agent.id == agent_id:
            return agent
    raise NotFound("Agent", agent_id)


def read_agents(connection: Connection, *conditions: ColumnElement[bool]) -> tuple[Agent, ...]:
    """Agents with their load. The conditions must not divide a device group."""
    group = and_(_group.c.environment == _agent.c.environment, _group.c.number == _agent.c.group_number)
    statement = (
        select(
            *AGENT_COLUMNS,
            live().label("alive"),
            sight_since().label("sight_since"),
            _environment.c.failback,
            _environment.c.halted_at,
            _environment.c.halted_reason,
            _group.c.reschedule,
        )
        .select_from(
            _agent.outerjoin(_environment, _environment.c.name == _agent.c.environment).outerjoin(_group, group)
        )
        .where(*conditions)
        .order_by(_agent.c.environment, _agent.c.group_number, _agent.c.host, _agent.c.id)
    )
    rows = connection.execute(statement).fetchall()
    acting = _acting(connection, *conditions)
    homed = _homed(connection, *conditions)
    bound = _bound(connection, *conditions)
    fit = _fit_by_group(rows)
    return tuple(
        _agent_of(
            row,
            fit[row.environment, row.group_number],
            acting.get(row.id, {}) | homed.get(row.id, {}) | bound.get(row.id, {}),
        )
        for row in rows
    )


def _fit_by_group(rows: Iterable[Any]) -> dict[tuple[str, int], frozenset[str]]:
    """The agents of each group that may be given shards, as placement sees it."""
    groups: dict[tuple[str, int], list[AgentView]] = {}
    for row in rows:
        view = AgentView(
            id=row.id,
            live=bool(row.alive),
            admin_state_up=row.admin_state_up,
            forced_down=row.forced_down,
            sight=row.reachable_devices,
            sight_since=row.sight_since,
            sight_at=row.reported_at or 0.0,
        )
        groups.setdefault((row.environment, row.group_number), []).append(view)
    return {place: frozenset(agent.id for agent in fit_agents(views)) for place, views in groups.items()}


def _agent_of(row: Any, fit: frozenset[str], load: dict[str, int]) -> Agent:
    return agent_of(
        row[: len(AGENT_COLUMNS)],
        alive=bool(row.alive),
        fit=row.id in fit,
        heirs=len(fit - {row.id}),
        # an agent of no environment or group has no shards that rules could apply to
        reschedule=RescheduleMode(row.reschedule or RescheduleMode.CONTROL),
        failback=FailbackMode(row.failback or FailbackMode.AUTO),
        halted_reason="" if row.halted_at is None else row.halted_reason or "it was opened",
        **load,
    )


Loads = dict[str, dict[str, int]]
"""Counts by attribute, by agent."""


def _acting(connection: Connection, *conditions: ColumnElement[bool]) -> Loads:
    acting = _shard.c.acting_agent_id
    counts = (func.count().label("acting_shards"), func.count(_shard.c.handover_to).label("handing_over"))
    statement = select(acting.label("id"), *counts).join(_agent, _agent.c.id == acting)
    return _loads(connection, statement.where(*conditions).group_by(acting))


def _homed(connection: Connection, *conditions: ColumnElement[bool]) -> Loads:
    home, acting = _shard.c.home_agent_id, _shard.c.acting_agent_id
    counts = (
        func.count().label("home_shards"),
        func.count(case((acting != home, 1))).label("away_shards"),
        func.count(case((acting.is_(None), 1))).label("unserved_shards"),
    )
    statement = select(home.label("id"), *counts).join(_agent, _agent.c.id == home)
    return _loads(connection, statement.where(*conditions).group_by(home))


def _bound(connection: Connection, *conditions: ColumnElement[bool]) -> Loads:
    """Load balancers by home agent."""
    home = _shard.c.home_agent_id
    statement = (
        select(home.label("id"), func.count().label("load_balancers"))
        .select_from(_root.join(_shard, _shard.c.id == _root.c.shard_id).join(_agent, _agent.c.id == home))
        .where(*conditions)
        .group_by(home)
    )
    return _loads(connection, statement)


def _loads(connection: Connection, statement: Select[Any]) -> Loads:
    return {
        row.id: {name: value for name, value in row._mapping.items() if name != "id"}
        for row in connection.execute(statement)
    }
