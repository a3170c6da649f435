"""What the scheduler's tick looks for: shards that need a decision, agents that fell silent, circuit breakers.

Agents are few and shards many, so the agents are read and judged here, and the shards are found by index through
the ids of those agents whose shards must move.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, not_, or_, select, update

from evenkeel.core.breaker import AgentPulse, BreakerState, verdict
from evenkeel.core.control import SessionRef, Stock
from evenkeel.core.placement import AgentView, fit_agents, wants_home
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value
from evenkeel.store import schema
from evenkeel.store.among import among
from evenkeel.store.clock import db_now
from evenkeel.store.events import record_event
from evenkeel.store.ownership_sql import handover_overdue, live, settled
from evenkeel.store.part import Part

FALTERING_SHARE_OF_TTL = 0.5
"""An agent with less of its session left has missed keepalives; it counts as silent once another one is."""

_agent = schema.agent
_group = schema.device_group
_shard = schema.shard
_environment = schema.environment


class AgentStock(Value):
    """An agent as the tick judges it."""

    view: AgentView
    environment: str
    group_number: int
    host: str
    registered: bool
    silent_since: float | None
    expires_at: float
    ttl_seconds: float


class GroupRules(Value):
    """What decides over the shards of one group."""

    reschedule: RescheduleMode
    failback: FailbackMode
    halted: bool


class StockPart(Part):
    """Implements the cheap looks of :class:`evenkeel.core.ports.OwnershipStore`."""

    async def take_stock(self, *, settle_seconds: float, breaker_window_seconds: float, homes: bool) -> Stock:
        """See :meth:`evenkeel.core.ports.OwnershipStore.take_stock`."""
        return await self._db.read(
            lambda connection: _take_stock(connection, settle_seconds, breaker_window_seconds, homes)
        )

    async def note_silence(self, *, breaker_window_seconds: float) -> None:
        """See :meth:`evenkeel.core.ports.OwnershipStore.note_silence`."""
        await self._db.write(lambda connection: _note_silence(connection, breaker_window_seconds))

    async def sessions(self) -> tuple[SessionRef, ...]:
        """See :meth:`evenkeel.core.ports.OwnershipStore.sessions`."""
        statement = select(_agent.c.id, _agent.c.session_id, _agent.c.environment).where(live()).order_by(_agent.c.id)
        rows = await self._db.query(lambda connection: connection.execute(statement).all())
        return tuple(
            SessionRef(agent_id=row.id, session_id=row.session_id, environment=row.environment) for row in rows
        )

    async def suspect(self, sessions: Sequence[SessionRef]) -> int:
        """See :meth:`evenkeel.core.ports.OwnershipStore.suspect`."""
        return await self._db.write(lambda connection: _suspect(connection, sessions))


def read_agents(connection: Connection, settle_seconds: float) -> tuple[list[AgentStock], float]:
    """All agents without their loads, and the database's time. One statement."""
    columns = (
        _agent.c.id,
        _agent.c.environment,
        _agent.c.group_number,
        _agent.c.host,
        _agent.c.admin_state_up,
        _agent.c.forced_down,
        _agent.c.failback_asked,
        _agent.c.reachable_devices,
        _agent.c.sight_since,
        _agent.c.reported_at,
        _agent.c.session_id,
        _agent.c.silent_since,
        _agent.c.session_expires_at,
        _agent.c.session_ttl_seconds,
    )
    statement = select(*columns, live().label("live"), settled(settle_seconds).label("settled"), db_now().label("now"))
    rows = connection.execute(statement.order_by(_agent.c.id)).all()
    now = rows[0].now if rows else connection.scalar(select(db_now()))
    return [_agent_stock(row) for row in rows], float(now or 0.0)


def _agent_stock(row: Any) -> AgentStock:
    view = AgentView(
        id=row.id,
        live=bool(row.live),
        admin_state_up=row.admin_state_up,
        forced_down=row.forced_down,
        settled=bool(row.settled),
        failback_asked=row.failback_asked,
        sight=row.reachable_devices,
        sight_since=row.sight_since or 0.0,
        sight_at=row.reported_at or 0.0,
    )
    return AgentStock(
        view=view,
        environment=row.environment,
        group_number=row.group_number,
        host=row.host,
        registered=row.session_id is not None,
        silent_since=row.silent_since,
        expires_at=row.session_expires_at or 0.0,
        ttl_seconds=row.session_ttl_seconds,
    )


def read_rules(connection: Connection) -> tuple[dict[tuple[str, int], GroupRules], dict[str, BreakerState]]:
    """The rules of every group, and every environment's circuit breaker. One statement."""
    rows = connection.execute(
        select(
            _environment.c.name,
            _environment.c.failback,
            _environment.c.breaker_share,
            _environment.c.breaker_agents,
            _environment.c.halted_at,
            _environment.c.resumed_at,
            _group.c.number,
            _group.c.reschedule,
        ).select_from(_environment.outerjoin(_group, _group.c.environment == _environment.c.name))
    ).all()
    rules = {
        (row.name, row.number): GroupRules(
            reschedule=RescheduleMode(row.reschedule),
            failback=FailbackMode(row.failback),
            halted=row.halted_at is not None,
        )
        for row in rows
        if row.number is not None
    }
    breakers = {
        row.name: BreakerState(
            share=row.breaker_share, agents=row.breaker_agents, halted_at=row.halted_at, resumed_at=row.resumed_at
        )
        for row in rows
    }
    return rules, breakers


# -- what is due


def _take_stock(connection: Connection, settle_seconds: float, window_seconds: float, homes: bool) -> Stock:
    agents, now = read_agents(connection, settle_seconds)
    if not agents:
        return Stock(now_seconds=now)
    rules, breakers = read_rules(connection)
    statement = (
        select(_shard.c.environment, _shard.c.group_number)
        .where(needs_decision(agents, rules, homes=homes))
        .distinct()
        .order_by(_shard.c.environment, _shard.c.group_number)
    )
    groups = tuple((row.environment, row.group_number) for row in connection.execute(statement))
    silence = any(_is_news(agent) for agent in agents) or bool(_verdicts(agents, breakers, now, window_seconds))
    silence = silence or (homes and bool(_came_home(connection, agents)))
    return Stock(now_seconds=now, groups=groups, silence=silence)


def needs_decision(
    agents: Sequence[AgentStock], rules: dict[tuple[str, int], GroupRules], *, homes: bool
) -> ColumnElement[bool]:
    """Shards that nobody serves, that are to leave their acting agent, or whose handover gets nowhere; and (only if
    ``homes``, for that reads every shard's index entry) that are away from a home that wants them."""
    movers, wanting = _movers(agents, rules)
    unfit = [agent.view.id for agent in agents if not agent.view.eligible]
    free = _shard.c.handover_to.is_(None)
    terms = [
        _shard.c.acting_agent_id.is_(None),
        and_(free, among(_shard.c.acting_agent_id, movers)),
        and_(_shard.c.handover_to.is_not(None), or_(among(_shard.c.handover_to, unfit), handover_overdue())),
        among(_shard.c.acting_agent_id, [agent.view.id for agent in agents if not agent.view.acts]),
    ]
    if homes:
        away = _shard.c.home_agent_id != _shard.c.acting_agent_id
        terms.append(and_(free, among(_shard.c.home_agent_id, wanting), away))
        terms.append(_shard.c.acting_agent_id.not_in(select(_agent.c.id)))
    return or_(*terms)


def _movers(agents: Sequence[AgentStock], rules: dict[tuple[str, int], GroupRules]) -> tuple[list[str], list[str]]:
    """Ids of agents whose shards must go, and of homes whose shards should come."""
    by_group: dict[tuple[str, int], list[AgentView]] = {}
    for agent in agents:
        by_group.setdefault((agent.environment, agent.group_number), []).append(agent.view)
    movers: list[str] = []
    wanting: list[str] = []
    for place, views in by_group.items():
        rule = rules.get(place)
        fit = fit_agents(views)
        may_move = rule is not None and not rule.halted and rule.reschedule is RescheduleMode.CONTROL and bool(fit)
        fit_ids = {view.id for view in fit}
        movers += [view.id for view in views if not view.acts or (may_move and view.id not in fit_ids)]
        if may_move and rule is not None:
            wanting += [view.id for view in fit if wants_home(view, rule.failback)]
    return movers, wanting


# -- silence and circuit breakers


def _is_news(agent: AgentStock) -> bool:
    """It fell silent, or is heard of again, and nobody has said so yet."""
    return agent.registered and agent.view.live == (agent.silent_since is not None)


def _verdicts(
    agents: Sequence[AgentStock], breakers: dict[str, BreakerState], now: float, window_seconds: float
) -> dict[str, str]:
    """What is to change, by environment: see :func:`evenkeel.core.breaker.verdict`."""
    changes: dict[str, str] = {}
    for name, breaker in breakers.items():
        members = [agent for agent in agents if agent.environment == name and agent.registered]
        said = verdict(breaker, _pulses(members, now), now=now, window_seconds=window_seconds)
        if said is not None:
            changes[name] = said
    return changes


def _pulses(agents: Sequence[AgentStock], now: float) -> list[AgentPulse]:
    counted = [agent for agent in agents if not agent.view.forced_down]
    somebody_silent = any(not agent.view.live for agent in counted)
    return [AgentPulse(id=agent.view.id, silent_since=_silent_since(agent, now, somebody_silent)) for agent in counted]


def _silent_since(agent: AgentStock, now: float, somebody_silent: bool) -> float | None:
    if not agent.view.live:
        return agent.silent_since if agent.silent_since is not None else min(agent.expires_at, now)
    faltering = agent.expires_at - now < FALTERING_SHARE_OF_TTL * agent.ttl_seconds
    return now if faltering and somebody_silent else None


def _came_home(connection: Connection, agents: Sequence[AgentStock]) -> list[str]:
    """Agents whose shards an operator wanted home, and none of them is away any more."""
    asked = [agent.view.id for agent in agents if agent.view.failback_asked]
    if not asked:
        return []
    away = or_(_shard.c.acting_agent_id.is_(None), _shard.c.acting_agent_id != _shard.c.home_agent_id)
    still = set(
        connection.scalars(select(_shard.c.home_agent_id).where(among(_shard.c.home_agent_id, asked), away).distinct())
    )
    return [agent_id for agent_id in asked if agent_id not in still]


def _note_silence(connection: Connection, window_seconds: float) -> None:
    agents, now = read_agents(connection, 0.0)
    _, breakers = read_rules(connection)
    for name, reason in _verdicts(agents, breakers, now, window_seconds).items():
        _set_breaker(connection, name, reason)
    for agent in agents:
        if _is_news(agent):
            _say(connection, agent)
    for agent_id in _came_home(connection, agents):
        connection.execute(update(_agent).where(_agent.c.id == agent_id).values(failback_asked=False))


def _say(connection: Connection, agent: AgentStock) -> None:
    back = agent.view.live
    news = (
        and_(_agent.c.silent_since.is_not(None), live())
        if back
        else and_(_agent.c.silent_since.is_(None), not_(live()))
    )
    expired_at = case((_agent.c.session_expires_at < db_now(), _agent.c.session_expires_at), else_=db_now())
    changed = connection.execute(
        update(_agent)
        .where(_agent.c.id == agent.view.id, _agent.c.session_id.is_not(None), news)
        .values(silent_since=None if back else expired_at)
    )
    if changed.rowcount == 1:
        record_event(
            connection,
            kind="agent_back" if back else "agent_silent",
            text=f"agent {agent.view.id} on {agent.host}: "
            + ("heard of again" if back else "silent, its session expired"),
            environment=agent.environment,
            agent_id=agent.view.id,
        )


def _set_breaker(connection: Connection, name: str, reason: str) -> None:
    """Open it for ``reason``, or close it if that is empty."""
    opening = bool(reason)
    is_due = _environment.c.halted_at.is_(None) if opening else _environment.c.halted_at.is_not(None)
    changed = connection.execute(
        update(_environment)
        .where(_environment.c.name == name, is_due)
        .values(halted_at=db_now() if opening else None, halted_reason=reason)
    )
    if changed.rowcount == 1:
        text = f"{reason}: no shard moves until they are back or an operator resumes" if opening else "agents are back"
        record_event(
            connection,
            kind="environment_halted" if opening else "environment_resumed",
            text=f"environment {name}: {text}",
            environment=name,
        )


def _suspect(connection: Connection, sessions: Sequence[SessionRef]) -> int:
    ended = 0
    for session in sorted(sessions, key=lambda each: each.agent_id):
        changed = connection.execute(
            update(_agent)
            .where(_agent.c.id == session.agent_id, _agent.c.session_id == session.session_id, live())
            .values(session_expires_at=db_now())
        )
        if changed.rowcount == 1:
            ended += 1
            record_event(
                connection,
                kind="agent_vanished",
                text=f"the process of agent {session.agent_id} has gone from the bus: its session ends now",
                environment=session.environment,
                agent_id=session.agent_id,
            )
    return ended
