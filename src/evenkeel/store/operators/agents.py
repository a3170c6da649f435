"""Agents as operators see them, and the flags that operators set: drained, dead, failback requested. The scheduler acts
on the flags.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, func, select, update

from evenkeel.core.control.agents import Agent, AgentLiveness
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import AgentId, ShardId
from evenkeel.core.placement import GroupSnapshot, PlacementReasons, ShardSnapshot
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from evenkeel.store.engine.clock import db_now
from evenkeel.store.ownership.agent_views import agent_snapshot, read_agents_with_groups
from evenkeel.store.records import schema
from evenkeel.store.records.rows import AGENT_COLUMNS, agent_from_row
from evenkeel.store.writing.operator_actions import record_operator_action_event

_agent, _shard, _load_balancer = schema.agent, schema.shard, schema.load_balancer
_environment, _device_group = schema.environment, schema.device_group

DeviceGroupKey = tuple[str, int]
"""Environment and number of a device group."""


def set_agent_admin_state(connection: Connection, agent_id: AgentId, up: bool) -> Agent:
    """Drain the agent (``up`` False: its shards are handed over), or end the drain; return the agent. Records
    the operator's act unless the state was so already. Raises :class:`NotFound`.
    """
    kind, told = ("agent_undrained", "undrained") if up else ("agent_drained", "drained")
    return _set_agent_flag(connection, agent_id, _agent.c.admin_state_up, up, kind, told)


def force_agent_down(connection: Connection, agent_id: AgentId, down: bool) -> Agent:
    """Declare the agent's host dead (``down``), so that its shards move at once, or withdraw that; return the
    agent. Records the operator's act unless the state was so already. Raises :class:`NotFound`.
    """
    kind, told = ("agent_forced_down", "marked down") if down else ("agent_allowed_up", "marked up")
    return _set_agent_flag(connection, agent_id, _agent.c.forced_down, down, kind, told)


# -- flags


def _set_agent_flag(
    connection: Connection, agent_id: AgentId, column: Column[bool], value: bool, kind: str, done_text: str
) -> Agent:
    """Set a flag of the agent; record an event of ``kind`` with the words ``done_text`` if the flag changed.
    Return the agent. Raises :class:`NotFound`.
    """
    changed = connection.execute(
        update(_agent).where(_agent.c.id == agent_id, column != value).values({column.name: value})
    )
    agent = read_agent(connection, agent_id)
    # A repeated request changes nothing, and is no second act.
    if changed.rowcount:
        record_operator_action_event(
            connection,
            kind=kind,
            done=f"{agent.title} was {done_text}",
            environment=agent.environment,
            agent_id=agent_id,
        )
    return agent


def request_failback(connection: Connection, agent_id: AgentId) -> Agent:
    """Request that the agent's shards return to it from other agents, record the operator's act, and return
    the agent; no change if none is away or unserved. Raises :class:`NotFound`, :class:`Conflict` if the
    environment's failback is ``never``.
    """
    agent = read_agent(connection, agent_id)
    if agent.failback is FailbackMode.NEVER:
        raise Conflict(
            f"Shards of agent {agent_id} do not come back: failback of environment {agent.environment} is never."
            " Set it to manual or auto first."
        )
    # With nothing away the next tick would clear the flag, and the event would report an act without effect.
    if not agent.away_shards and not agent.unserved_shards:
        return agent
    told = "asked to take its shards back"
    return _set_agent_flag(connection, agent_id, _agent.c.failback_asked, True, "agent_failback", told)


# -- reads


def read_agent(connection: Connection, agent_id: AgentId) -> Agent:
    """Return one agent with its present number of load balancers. Raises :class:`NotFound`.

    Reads all agents of the agent's device group, because the reasons why shards stay depend on them. Four
    queries.
    """
    place = connection.execute(
        select(_agent.c.environment, _agent.c.group_number).where(_agent.c.id == agent_id)
    ).first()
    for agent in (
        read_agents(connection, _count_home_load_balancers(connection, agent_id), *place) if place is not None else ()
    ):
        if agent.id == agent_id:
            return agent
    raise NotFound("Agent", agent_id)


def read_agents(
    connection: Connection,
    home_counts: Mapping[str, int],
    environment: str | None = None,
    group_number: int | None = None,
) -> tuple[Agent, ...]:
    """Return agents with their load, of all environments (None), of one, or of one device group of it; sorted
    by environment, group and host. Two queries. ``home_counts``: {agent id: number of load balancers whose home
    it is}.
    """
    rows = _agent_rows(connection, environment, group_number)
    shards = _shards_grouped_by_placement(connection, environment, group_number)
    reasons = _reasons_of_groups(rows, shards)
    loads = _shard_counts_by_agent(shards)
    return tuple(
        _agent_from_row(
            row, reasons[row.environment, row.group_number], loads.get(row.id, {}), home_counts.get(row.id, 0)
        )
        for row in rows
    )


def read_agents_liveness(connection: Connection) -> tuple[AgentLiveness, ...]:
    """Return the liveness of all agents, sorted by id. One query."""
    return tuple(
        AgentLiveness(
            id=seen.view.id,
            host=seen.host,
            alive=seen.view.live,
            silent=seen.view.registered and not seen.view.live and not seen.view.forced_down,
            environment=seen.environment,
            group_number=seen.group_number,
        )
        for seen in read_agents_with_groups(connection, 0.0)
    )


def _agent_rows(connection: Connection, environment: str | None, group_number: int | None) -> Sequence[Any]:
    group = and_(_device_group.c.environment == _agent.c.environment, _device_group.c.number == _agent.c.group_number)
    return connection.execute(
        select(
            *AGENT_COLUMNS,
            _agent.c.session_ttl_seconds,
            _agent.c.away_devices,
            _agent.c.sight_since,
            _environment.c.failback,
            _environment.c.halted_at,
            _environment.c.halted_reason,
            _device_group.c.reschedule,
            db_now().label("now"),
        )
        .select_from(
            _agent.outerjoin(_environment, _environment.c.name == _agent.c.environment).outerjoin(_device_group, group)
        )
        .where(*_device_group_conditions(_agent, environment, group_number))
        .order_by(_agent.c.environment, _agent.c.group_number, _agent.c.host, _agent.c.id)
    ).fetchall()


def _device_group_conditions(
    table: Table, environment: str | None, group_number: int | None
) -> list[ColumnElement[bool]]:
    wanted = {"environment": environment, "group_number": group_number}
    return [table.c[name] == value for name, value in wanted.items() if value is not None]


def _shards_grouped_by_placement(
    connection: Connection, environment: str | None, group_number: int | None
) -> Sequence[Any]:
    """Return a row with the number of shards for each combination of home, acting agent and handover target
    in a device group.
    """
    kind = (
        _shard.c.environment,
        _shard.c.group_number,
        _shard.c.home_agent_id,
        _shard.c.acting_agent_id,
        _shard.c.handover_to,
    )
    within = _device_group_conditions(_shard, environment, group_number)
    return connection.execute(select(*kind, func.count().label("shards")).where(*within).group_by(*kind)).fetchall()


def _reasons_of_groups(rows: Sequence[Any], shards: Iterable[Any]) -> dict[DeviceGroupKey, PlacementReasons]:
    """Return {device group: reasons why its shards stay where they should not be}, for the groups of the
    agents in ``rows``.
    """
    alike: dict[DeviceGroupKey, list[ShardSnapshot]] = {}
    for shard in shards:
        alike.setdefault((shard.environment, shard.group_number), []).append(_shard_snapshot(shard))
    members: dict[DeviceGroupKey, list[Any]] = {}
    for row in rows:
        members.setdefault((row.environment, row.group_number), []).append(row)
    return {
        place: PlacementReasons(
            GroupSnapshot(
                shards=tuple(alike.get(place, ())),
                agents=tuple(agent_snapshot(row) for row in group),
                reschedule=_reschedule_mode(group[0]),
                failback=_failback_mode(group[0]),
                halted=group[0].halted_at is not None,
            )
        )
        for place, group in members.items()
    }


def _shard_snapshot(shard: Any) -> ShardSnapshot:
    return ShardSnapshot(
        id=ShardId(""), home=shard.home_agent_id, acting=shard.acting_agent_id, epoch=0, handover_to=shard.handover_to
    )


def _reschedule_mode(row: Any) -> RescheduleMode:
    return RescheduleMode(row.reschedule or RescheduleMode.CONTROL)


def _failback_mode(row: Any) -> FailbackMode:
    return FailbackMode(row.failback or FailbackMode.AUTO)


def _agent_from_row(row: Any, reasons: PlacementReasons, load: Mapping[str, int], load_balancers: int) -> Agent:
    return agent_from_row(
        row[: len(AGENT_COLUMNS)],
        alive=agent_snapshot(row).live,
        fit=reasons.is_fit(row.id),
        successors=reasons.successor_count(row.id),
        waiting_blocker=reasons.waiting_blocker(row.id),
        away_blocker=reasons.away_blocker(row.id),
        reschedule=_reschedule_mode(row),
        failback=_failback_mode(row),
        halted_reason="" if row.halted_at is None else row.halted_reason or "it was opened",
        load_balancers=load_balancers,
        **load,
    )


def _shard_counts_by_agent(shards: Iterable[Any]) -> dict[str, Counter[str]]:
    """Return {agent id: counters of its shards}; agents without shards are missing. Counter names:
    ``home_shards``, ``unserved_shards``, ``acting_shards``, ``handing_over``, ``away_shards``.
    """
    loads: dict[str, Counter[str]] = defaultdict(Counter)
    for shard in shards:
        home, acting = loads[shard.home_agent_id], shard.acting_agent_id
        home["home_shards"] += shard.shards
        if acting is None:
            home["unserved_shards"] += shard.shards
            continue
        loads[acting]["acting_shards"] += shard.shards
        if shard.handover_to is not None:
            loads[acting]["handing_over"] += shard.shards
        if acting != shard.home_agent_id:
            home["away_shards"] += shard.shards
    return loads


def _count_home_load_balancers(connection: Connection, agent_id: AgentId) -> dict[str, int]:
    """Return {``agent_id``: number of load balancers on shards whose home is this agent}, one entry."""
    statement = (
        select(func.count())
        .select_from(_load_balancer.join(_shard, _shard.c.id == _load_balancer.c.shard_id))
        .where(_shard.c.home_agent_id == agent_id)
    )
    return {agent_id: connection.scalar(statement) or 0}
