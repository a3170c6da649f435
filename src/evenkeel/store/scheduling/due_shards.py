"""What the scheduler's tick looks for: shards that need a decision, agents that fell silent, circuit breakers.

Agents are few and shards many, so the agents are read and judged here, and the shards are found by index through
the ids of those agents whose shards must move.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    and_,
    case,
    func,
    literal,
    not_,
    or_,
    select,
    update,
)

from evenkeel.core.circuit_breaker import AgentHeartbeat, BreakerState, verdict
from evenkeel.core.control import SessionRef, Stock
from evenkeel.core.placement import AgentView, fit_agents, tied_to_home, wants_home
from evenkeel.core.reach import Reach, ReachKind, judge
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import in_bound_list, in_list
from evenkeel.store.options import Part
from evenkeel.store.ownership.sql import fresh, handover_overdue, live, settled, sight_since
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

FALTERING_SHARE_OF_TTL = 0.5
"""An agent with less of its session left has missed keepalives; it counts as silent once another one is."""

_agent = schema.agent
_group = schema.device_group
_shard = schema.shard
_environment = schema.environment


_names = msgspec.json.Decoder(tuple[str, ...])


class AgentStock(Value):
    """An agent as the tick judges it."""

    view: AgentView
    environment: str
    group_number: int
    host: str
    silent_since: float | None
    ttl_seconds: float
    read_at: float
    """The database's time then."""


class GroupRules(Value):
    """What decides over the shards of one group."""

    reschedule: RescheduleMode
    failback: FailbackMode
    halted: bool
    reach: Reach


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
        rows = await self._db.query(lambda connection: connection.execute(_SESSIONS).all())
        return tuple(
            SessionRef(agent_id=row.id, session_id=row.session_id, environment=row.environment) for row in rows
        )

    async def suspect(self, sessions: Sequence[SessionRef]) -> int:
        """See :meth:`evenkeel.core.ports.OwnershipStore.suspect`."""
        return await self._db.write(lambda connection: _suspect(connection, sessions))


def read_agents(
    connection: Connection,
    settle_seconds: float,
    *,
    environment: str | None = None,
    group_number: int | None = None,
    loads: bool = False,
) -> list[AgentStock]:
    """All agents, or those of an environment, or of one of its groups, by id. One statement; ``loads`` costs as much
    as there are shards."""
    statement = _agents_statement(settle_seconds, loads)
    if environment is not None:
        statement = statement.where(_agent.c.environment == environment)
    if group_number is not None:
        statement = statement.where(_agent.c.group_number == group_number)
    return [_agent_stock(row) for row in connection.execute(statement)]


def by_group(agents: Iterable[AgentStock]) -> dict[tuple[str, int], list[AgentView]]:
    """The agents of each group, as placement sees them."""
    found: dict[tuple[str, int], list[AgentView]] = {}
    for agent in agents:
        found.setdefault((agent.environment, agent.group_number), []).append(agent.view)
    return found


# Building a statement costs more than running it: those of every look are built once.


_SESSIONS = select(_agent.c.id, _agent.c.session_id, _agent.c.environment).where(live()).order_by(_agent.c.id)


@cache
def _agents_statement(settle_seconds: float, loads: bool) -> Select[Any]:
    columns = (
        _agent.c.id,
        _agent.c.environment,
        _agent.c.group_number,
        _agent.c.host,
        _agent.c.admin_state_up,
        _agent.c.forced_down,
        _agent.c.failback_asked,
        _agent.c.reachable_devices,
        _agent.c.away_devices,
        sight_since().label("sight_since"),
        _agent.c.reported_at,
        _agent.c.session_id,
        _agent.c.silent_since,
        _agent.c.session_started_at,
        _agent.c.session_expires_at,
        _agent.c.session_ttl_seconds,
    )
    judged = (live().label("live"), fresh().label("fresh"), settled(settle_seconds).label("settled"))
    acting = _count_of(_shard.c.acting_agent_id) if loads else literal(0)
    homed = _count_of(_shard.c.home_agent_id) if loads else literal(0)
    loaded = (acting.label("acting"), homed.label("homed"))
    return select(*columns, *judged, *loaded, db_now().label("now")).order_by(_agent.c.id)


def _count_of(column: ColumnElement[Any]) -> ScalarSelect[int]:
    """How many shards name the agent; each count reads one index and no shard."""
    return select(func.count()).select_from(_shard).where(column == _agent.c.id).scalar_subquery()


def _agent_stock(row: Any) -> AgentStock:
    view = AgentView(
        id=row.id,
        live=bool(row.live),
        admin_state_up=row.admin_state_up,
        forced_down=row.forced_down,
        registered=row.session_id is not None,
        fresh=bool(row.fresh),
        live_since=row.session_started_at or 0.0,
        live_until=row.session_expires_at or 0.0,
        settled=bool(row.settled),
        failback_asked=row.failback_asked,
        sight=row.reachable_devices,
        away=_names.decode(row.away_devices),
        sight_since=row.sight_since,
        sight_at=row.reported_at or 0.0,
        shards=row.acting,
        homed=row.homed,
    )
    return AgentStock(
        view=view,
        environment=row.environment,
        group_number=row.group_number,
        host=row.host,
        silent_since=row.silent_since,
        ttl_seconds=row.session_ttl_seconds,
        read_at=row.now,
    )


def reach_of(row: Any) -> Reach:
    """What is known of the reach of a row's device group."""
    return Reach(kind=ReachKind(row.reach), away=_names.decode(row.away_devices))


_RULES = select(
    _environment.c.name,
    _environment.c.failback,
    _environment.c.breaker_share,
    _environment.c.breaker_agents,
    _environment.c.halted_at,
    _environment.c.resumed_at,
    _group.c.number,
    _group.c.reschedule,
    _group.c.reach,
    _group.c.away_devices,
).select_from(_environment.outerjoin(_group, _group.c.environment == _environment.c.name))


def read_rules(
    connection: Connection, environment: str | None = None
) -> tuple[dict[tuple[str, int], GroupRules], dict[str, BreakerState]]:
    """The rules of every group, and every environment's circuit breaker; or of one environment. One statement."""
    statement = _RULES if environment is None else _RULES.where(_environment.c.name == environment)
    rows = connection.execute(statement).all()
    rules = {
        (row.name, row.number): GroupRules(
            reschedule=RescheduleMode(row.reschedule),
            failback=FailbackMode(row.failback),
            halted=row.halted_at is not None,
            reach=reach_of(row),
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
    agents = read_agents(connection, settle_seconds)
    now = _time_of(connection, agents)
    if not agents:
        return Stock(now_seconds=now)
    rules, breakers = read_rules(connection)
    due = connection.execute(_DUE_GROUPS[homes], movers_of(agents, rules))
    groups = tuple((row.environment, row.group_number) for row in due)
    silence = any(_is_news(agent) for agent in agents) or bool(_verdicts(agents, breakers, now, window_seconds))
    silence = silence or (homes and bool(_came_home(connection, agents)))
    return Stock(now_seconds=now, groups=groups, silence=silence, reach=_reach_news(agents, rules, now))


def _reach_news(
    agents: Sequence[AgentStock], rules: dict[tuple[str, int], GroupRules], now: float
) -> tuple[tuple[str, int], ...]:
    """Groups of which more, or less, can be reached than was noted."""
    seen = by_group(agents)
    return tuple(place for place, rule in rules.items() if judge(rule.reach, seen.get(place, ()), now) != rule.reach)


def _time_of(connection: Connection, agents: Sequence[AgentStock]) -> float:
    """The database's time when the agents were read; asking for it costs a statement only if there are none."""
    return agents[0].read_at if agents else float(connection.scalar(select(db_now())) or 0.0)


def _needs_decision(*, homes: bool) -> ColumnElement[bool]:
    acting, home, handover_to = _shard.c.acting_agent_id, _shard.c.home_agent_id, _shard.c.handover_to
    free = handover_to.is_(None)
    unserved = or_(acting.is_(None), in_bound_list(acting, "b_dead"))
    overdue = and_(handover_overdue(), in_bound_list(acting, "b_movable"))
    terms = [
        and_(unserved, in_bound_list(home, "b_takeable")),
        and_(free, in_bound_list(acting, "b_leaving")),
        and_(handover_to.is_not(None), or_(in_bound_list(handover_to, "b_unfit"), overdue)),
    ]
    if homes:
        known = select(_agent.c.id)
        terms.append(and_(free, in_bound_list(home, "b_wanting"), home != acting))
        terms.append(and_(unserved, home.not_in(known)))
        terms.append(acting.not_in(known))
    return or_(*terms)


NEEDS_DECISION = {homes: _needs_decision(homes=homes) for homes in (False, True)}
"""Shards that nobody serves and somebody can take, that are to leave their acting agent, or whose handover gets
nowhere; and with True, which reads every shard's index entry, those that are away from a home that wants them or whose
agents were deleted. Parameters: :func:`movers_of`."""

_DUE_GROUPS = {
    homes: select(_shard.c.environment, _shard.c.group_number)
    .where(due)
    .distinct()
    .order_by(_shard.c.environment, _shard.c.group_number)
    for homes, due in NEEDS_DECISION.items()
}


def movers_of(agents: Sequence[AgentStock], rules: dict[tuple[str, int], GroupRules]) -> dict[str, list[str]]:
    """The agents that ``NEEDS_DECISION`` asks for, by parameter."""
    found: dict[str, list[str]] = {
        "b_dead": [agent.view.id for agent in agents if not agent.view.acts],
        "b_unfit": [agent.view.id for agent in agents if not agent.view.eligible],
        "b_takeable": [],
        "b_movable": [],
        "b_leaving": [],
        "b_wanting": [],
    }
    for place, views in by_group(agents).items():
        if (rule := rules.get(place)) is not None:
            _add_movers(found, views, rule)
    return found


def _add_movers(found: dict[str, list[str]], views: Sequence[AgentView], rule: GroupRules) -> None:
    """``b_takeable``: homes whose unserved shards somebody can take now."""
    fit = fit_agents(views)
    for view in views:
        tied = tied_to_home(rule.reschedule, view, halted=rule.halted)
        if view.acts or (fit and not tied):
            found["b_takeable"].append(view.id)
    if rule.halted or rule.reschedule is not RescheduleMode.CONTROL or not fit:
        return
    fit_ids = {view.id for view in fit}
    found["b_movable"] += [view.id for view in views]
    found["b_leaving"] += [view.id for view in views if view.acts and view.id not in fit_ids]
    found["b_wanting"] += [view.id for view in fit if wants_home(view, rule.failback)]


# -- silence and circuit breakers


def _is_news(agent: AgentStock) -> bool:
    """It fell silent, or is heard of again, and nobody has said so yet."""
    return agent.view.registered and agent.view.live == (agent.silent_since is not None)


def _verdicts(
    agents: Sequence[AgentStock], breakers: dict[str, BreakerState], now: float, window_seconds: float
) -> dict[str, str]:
    """What is to change, by environment: see :func:`evenkeel.core.circuit_breaker.verdict`."""
    changes: dict[str, str] = {}
    for name, breaker in breakers.items():
        members = [agent for agent in agents if agent.environment == name and agent.view.registered]
        said = verdict(breaker, _pulses(members, now, window_seconds), now=now, window_seconds=window_seconds)
        if said is not None:
            changes[name] = said
    return changes


def _pulses(agents: Sequence[AgentStock], now: float, window_seconds: float) -> list[AgentHeartbeat]:
    counted = [agent for agent in agents if not agent.view.forced_down]
    somebody_silent = any(_fell_silent_lately(agent, now, window_seconds) for agent in counted)
    return [
        AgentHeartbeat(id=agent.view.id, silent_since=_silent_since(agent, now, somebody_silent)) for agent in counted
    ]


def _fell_silent_lately(agent: AgentStock, now: float, window_seconds: float) -> bool:
    return not agent.view.live and abs(now - agent.view.live_until) < window_seconds


def _silent_since(agent: AgentStock, now: float, somebody_silent: bool) -> float | None:
    if not agent.view.live:
        return agent.silent_since if agent.silent_since is not None else min(agent.view.live_until, now)
    faltering = agent.view.live_until - now < FALTERING_SHARE_OF_TTL * agent.ttl_seconds
    return now if faltering and somebody_silent else None


def _came_home(connection: Connection, agents: Sequence[AgentStock]) -> list[str]:
    """Agents whose shards an operator wanted home, and none of them is away any more."""
    asked = [agent.view.id for agent in agents if agent.view.failback_asked]
    if not asked:
        return []
    away = or_(_shard.c.acting_agent_id.is_(None), _shard.c.acting_agent_id != _shard.c.home_agent_id)
    still = set(
        connection.scalars(
            select(_shard.c.home_agent_id).where(in_list(_shard.c.home_agent_id, asked), away).distinct()
        )
    )
    return [agent_id for agent_id in asked if agent_id not in still]


def _note_silence(connection: Connection, window_seconds: float) -> None:
    agents = read_agents(connection, 0.0)
    now = _time_of(connection, agents)
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
