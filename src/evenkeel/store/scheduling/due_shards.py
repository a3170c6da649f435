"""What the scheduler's tick looks for: shards that need a decision, agents that fell silent, circuit breakers.

Agents are few and shards many, so the agents are read and judged here, and the shards are found by index through
the ids of those agents whose shards must move.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    not_,
    or_,
    select,
    update,
)

from evenkeel.core.circuit_breaker import AgentHeartbeat, BreakerState, verdict
from evenkeel.core.control import DueWork, SessionRef
from evenkeel.core.placement import Candidates, GroupSnapshot, candidates
from evenkeel.core.reach import Reach, ReachKind, judge
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import in_bound_list, in_list
from evenkeel.store.ownership.agent_views import SeenAgent, by_group, names, read_agents
from evenkeel.store.ownership.sql import handover_overdue, live
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

FALTERING_SHARE_OF_TTL = 0.5
"""An agent with less of its session left has missed keepalives; it counts as silent once another one is."""

_agent = schema.agent
_group = schema.device_group
_shard = schema.shard
_environment = schema.environment


class GroupRules(Value):
    """What decides over one group: its settings and agents, and what is known of its devices."""

    group: GroupSnapshot
    """Without its shards."""
    reach: Reach


# Building a statement costs more than running it: those of every look are built once.


_SESSIONS = select(_agent.c.id, _agent.c.session_id, _agent.c.environment).where(live()).order_by(_agent.c.id)


def reach_of(row: Any) -> Reach:
    """What is known of the reach of a row's device group."""
    return Reach(kind=ReachKind(row.reach), away=names.decode(row.away_devices))


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
    connection: Connection, agents: Iterable[SeenAgent], environment: str | None = None
) -> tuple[dict[tuple[str, int], GroupRules], dict[str, BreakerState]]:
    """The rules of every group, with those of the agents that are in it, and every environment's circuit breaker; or of
    one environment. One statement."""
    seen = by_group(agents)
    statement = _RULES if environment is None else _RULES.where(_environment.c.name == environment)
    rows = connection.execute(statement).all()
    rules = {
        (row.name, row.number): GroupRules(
            group=GroupSnapshot(
                agents=tuple(seen.get((row.name, row.number), ())),
                reschedule=RescheduleMode(row.reschedule),
                failback=FailbackMode(row.failback),
                halted=row.halted_at is not None,
            ),
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


def read_due_work(connection: Connection, settle_seconds: float, window_seconds: float, homes: bool) -> DueWork:
    """Groups with a shard that needs a decision, and whether an agent fell silent. Two small queries, one by index."""
    agents = read_agents(connection, settle_seconds)
    now = _time_of(connection, agents)
    if not agents:
        return DueWork(now_seconds=now)
    rules, breakers = read_rules(connection, agents)
    due = connection.execute(_DUE_GROUPS[homes], looked_for(each.group for each in rules.values()))
    groups = tuple((row.environment, row.group_number) for row in due)
    silence = any(_is_news(agent) for agent in agents) or bool(_verdicts(agents, breakers, now, window_seconds))
    silence = silence or (homes and bool(_came_home(connection, agents)))
    return DueWork(now_seconds=now, groups=groups, silence=silence, reach=_reach_news(rules, now))


def _reach_news(rules: Mapping[tuple[str, int], GroupRules], now: float) -> tuple[tuple[str, int], ...]:
    """Groups of which more, or less, can be reached than was noted."""
    return tuple(place for place, each in rules.items() if judge(each.reach, each.group.agents, now) != each.reach)


def _time_of(connection: Connection, agents: Sequence[SeenAgent]) -> float:
    """The database's time when the agents were read; asking for it costs a statement only if there are none."""
    return agents[0].read_at if agents else float(connection.scalar(select(db_now())) or 0.0)


def _needs_decision(*, homes: bool) -> ColumnElement[bool]:
    """See :class:`evenkeel.core.placement.Candidates`; whose agents were deleted, no agent can be looked for by."""
    acting, home, handover_to = _shard.c.acting_agent_id, _shard.c.home_agent_id, _shard.c.handover_to
    free = handover_to.is_(None)
    unserved = or_(acting.is_(None), in_bound_list(acting, "b_not_acting"))
    overdue = and_(handover_overdue(), in_bound_list(acting, "b_movable"))
    terms = [
        and_(unserved, in_bound_list(home, "b_takeable")),
        and_(free, in_bound_list(acting, "b_leaving")),
        and_(handover_to.is_not(None), or_(in_bound_list(handover_to, "b_not_receiving"), overdue)),
    ]
    if homes:
        known = select(_agent.c.id)
        terms.append(and_(free, in_bound_list(home, "b_returning"), home != acting))
        terms.append(and_(unserved, home.not_in(known)))
        terms.append(or_(acting.not_in(known), handover_to.not_in(known)))
    return or_(*terms)


NEEDS_DECISION = {homes: _needs_decision(homes=homes) for homes in (False, True)}
"""Shards that nobody serves and somebody can take, that are to leave their acting agent, or whose handover gets
nowhere; and with True, which reads every shard's index entry, those that are away from a home that wants them or whose
agents were deleted. Parameters: :func:`looked_for`."""

_DUE_GROUPS = {
    homes: select(_shard.c.environment, _shard.c.group_number)
    .where(due)
    .distinct()
    .order_by(_shard.c.environment, _shard.c.group_number)
    for homes, due in NEEDS_DECISION.items()
}


def looked_for(groups: Iterable[GroupSnapshot]) -> dict[str, list[str]]:
    """The parameters of ``NEEDS_DECISION``: the agents of these groups that the rule names, by what is looked for."""
    found: dict[str, list[str]] = {f"b_{name}": [] for name in Candidates.__struct_fields__}
    for group in groups:
        named = candidates(group)
        for name in Candidates.__struct_fields__:
            found[f"b_{name}"] += getattr(named, name)
    return found


# -- silence and circuit breakers


def _is_news(agent: SeenAgent) -> bool:
    """It fell silent, or is heard of again, and nobody has said so yet."""
    return agent.view.registered and agent.view.live == (agent.silent_since is not None)


def _verdicts(
    agents: Sequence[SeenAgent], breakers: dict[str, BreakerState], now: float, window_seconds: float
) -> dict[str, str]:
    """What is to change, by environment: see :func:`evenkeel.core.circuit_breaker.verdict`."""
    changes: dict[str, str] = {}
    for name, breaker in breakers.items():
        members = [agent for agent in agents if agent.environment == name and agent.view.registered]
        said = verdict(breaker, _pulses(members, now, window_seconds), now=now, window_seconds=window_seconds)
        if said is not None:
            changes[name] = said
    return changes


def _pulses(agents: Sequence[SeenAgent], now: float, window_seconds: float) -> list[AgentHeartbeat]:
    counted = [agent for agent in agents if not agent.view.forced_down]
    somebody_silent = any(_fell_silent_lately(agent, now, window_seconds) for agent in counted)
    return [
        AgentHeartbeat(id=agent.view.id, silent_since=_silent_since(agent, now, somebody_silent)) for agent in counted
    ]


def _fell_silent_lately(agent: SeenAgent, now: float, window_seconds: float) -> bool:
    return not agent.view.live and abs(now - agent.view.live_until) < window_seconds


def _silent_since(agent: SeenAgent, now: float, somebody_silent: bool) -> float | None:
    if not agent.view.live:
        return agent.silent_since if agent.silent_since is not None else min(agent.view.live_until, now)
    faltering = agent.view.live_until - now < FALTERING_SHARE_OF_TTL * agent.ttl_seconds
    return now if faltering and somebody_silent else None


def _came_home(connection: Connection, agents: Sequence[SeenAgent]) -> list[str]:
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


def note_silence(connection: Connection, window_seconds: float) -> None:
    """Record agents that fell silent or came back, and open or close circuit breakers."""
    agents = read_agents(connection, 0.0)
    now = _time_of(connection, agents)
    _, breakers = read_rules(connection, agents)
    for name, reason in _verdicts(agents, breakers, now, window_seconds).items():
        _set_breaker(connection, name, reason)
    for agent in agents:
        if _is_news(agent):
            _say(connection, agent)
    for agent_id in _came_home(connection, agents):
        connection.execute(update(_agent).where(_agent.c.id == agent_id).values(failback_asked=False))


def _say(connection: Connection, agent: SeenAgent) -> None:
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
            text=f"agent {agent.view.id} on {agent.host} "
            + ("is alive again" if back else "sent no keepalive in time; its session expired"),
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


def read_sessions(connection: Connection) -> tuple[SessionRef, ...]:
    """The sessions that stand now. One query."""
    rows = connection.execute(_SESSIONS).all()
    return tuple(SessionRef(agent_id=row.id, session_id=row.session_id, environment=row.environment) for row in rows)


def end_sessions(connection: Connection, sessions: Sequence[SessionRef]) -> int:
    """End these sessions now; how many were live."""
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
                text=f"agent {session.agent_id} disappeared from the message bus; its session was ended",
                environment=session.environment,
                agent_id=session.agent_id,
            )
    return ended
