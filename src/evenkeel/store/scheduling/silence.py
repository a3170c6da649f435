"""Agents that fell silent or came back, and the circuit breakers that open and close because of them.

The scheduler's tick detects changes in what it reads anyway; a separate transaction records them.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, case, not_, or_, select, update

from evenkeel.core.control.agents import SessionRef
from evenkeel.core.kit.circuit_breaker import AgentHeartbeat, BreakerState, breaker_change
from evenkeel.core.kit.names import name_and_id
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.agent_views import AgentWithGroup, read_agents_with_groups, time_of_read
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema
from evenkeel.store.scheduling.rules import read_group_rules
from evenkeel.store.writing.events import record_event

FALTERING_SHARE_OF_TTL = 0.5
"""Share of the TTL; an agent with less time left has missed keepalives, and counts as silent once another agent is
silent.
"""

LATE_KEEPALIVE_SHARE_OF_TTL = 0.6
"""Share of the TTL; an agent with less time left has missed at least one keepalive: agents send three in a TTL, or
more.
"""

_agent = schema.agent
_shard = schema.shard
_environment = schema.environment

_IS_KEEPALIVE_LATE = (
    _agent.c.session_expires_at - db_now()
) < LATE_KEEPALIVE_SHARE_OF_TTL * _agent.c.session_ttl_seconds
_READ_LIVE_SESSIONS = (
    select(_agent.c.id, _agent.c.session_id, _agent.c.environment, case((_IS_KEEPALIVE_LATE, 1), else_=0).label("late"))
    .where(is_live())
    .order_by(_agent.c.id)
)


def has_unrecorded_silence(
    connection: Connection,
    agents: Sequence[AgentWithGroup],
    breakers: dict[str, BreakerState],
    window_seconds: float,
    *,
    homes: bool,
) -> bool:
    """Whether :func:`record_silence` has something to do. ``homes``: also if all shards of an agent are home
    again after an operator requested that, by one query. ``window_seconds``: time in which silent agents
    count for the circuit breaker. ``agents`` must not be empty.
    """
    now = agents[0].read_at
    if any(_is_unrecorded_change(agent) for agent in agents) or _breaker_changes(agents, breakers, now, window_seconds):
        return True
    return homes and bool(_agents_back_home(connection, agents))


def _is_unrecorded_change(agent: AgentWithGroup) -> bool:
    """Whether the agent fell silent or came back, and that is not recorded yet."""
    return agent.view.registered and agent.view.live == (agent.silent_since is not None)


def _breaker_changes(
    agents: Sequence[AgentWithGroup], breakers: dict[str, BreakerState], now: float, window_seconds: float
) -> dict[str, str]:
    """Return {environment: reason why its circuit breaker opens, empty if it closes}, where a breaker changes."""
    changes: dict[str, str] = {}
    for name, breaker in breakers.items():
        members = [agent for agent in agents if agent.environment == name and agent.view.registered]
        said = breaker_change(
            breaker, _agent_heartbeats(members, now, window_seconds), now=now, window_seconds=window_seconds
        )
        if said is not None:
            changes[name] = said
    return changes


def _agent_heartbeats(agents: Sequence[AgentWithGroup], now: float, window_seconds: float) -> list[AgentHeartbeat]:
    # An agent that an operator has declared dead is expected to be silent.
    counted = [agent for agent in agents if not agent.view.forced_down]
    somebody_silent = any(_fell_silent_lately(agent, now, window_seconds) for agent in counted)
    return [
        AgentHeartbeat(id=agent.view.id, silent_since=_silent_since(agent, now, somebody_silent)) for agent in counted
    ]


def _fell_silent_lately(agent: AgentWithGroup, now: float, window_seconds: float) -> bool:
    return not agent.view.live and abs(now - agent.view.live_until) < window_seconds


def _silent_since(agent: AgentWithGroup, now: float, others_silent: bool) -> float | None:
    if not agent.view.live:
        return agent.silent_since if agent.silent_since is not None else min(agent.view.live_until, now)
    faltering = agent.view.live_until - now < FALTERING_SHARE_OF_TTL * agent.ttl_seconds
    return now if faltering and others_silent else None


def _agents_back_home(connection: Connection, agents: Sequence[AgentWithGroup]) -> list[str]:
    """Return the ids of agents whose shards are all home again after an operator requested their return."""
    asked = [agent.view.id for agent in agents if agent.view.failback_asked]
    if not asked:
        return []
    away = or_(_shard.c.acting_agent_id.is_(None), _shard.c.acting_agent_id != _shard.c.home_agent_id)
    still = set(
        connection.scalars(
            select(_shard.c.home_agent_id).where(is_in_list(_shard.c.home_agent_id, asked), away).distinct()
        )
    )
    return [agent_id for agent_id in asked if agent_id not in still]


def record_silence(connection: Connection, breaker_window_seconds: float) -> None:
    """Record agents that fell silent or came back, open or close circuit breakers, each with an event, and
    clear requests to hand shards back that are fulfilled. ``breaker_window_seconds``: time in which silent
    agents count for the breaker.
    """
    agents = read_agents_with_groups(connection, 0.0)
    now = time_of_read(connection, agents)
    _, breakers = read_group_rules(connection, agents)
    for name, reason in _breaker_changes(agents, breakers, now, breaker_window_seconds).items():
        _set_breaker(connection, name, reason)
    for agent in agents:
        if _is_unrecorded_change(agent):
            _record_silence_change(connection, agent)
    for agent_id in _agents_back_home(connection, agents):
        connection.execute(update(_agent).where(_agent.c.id == agent_id).values(failback_asked=False))


def _record_silence_change(connection: Connection, agent: AgentWithGroup) -> None:
    back = agent.view.live
    news = (
        and_(_agent.c.silent_since.is_not(None), is_live())
        if back
        else and_(_agent.c.silent_since.is_(None), not_(is_live()))
    )
    # An expiry in the future is one from before the clock was set back.
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
            text=f"agent {name_and_id(agent.host, agent.view.id)} "
            + ("is alive again" if back else _silence_reason(connection, agent)),
            environment=agent.environment,
            agent_id=agent.view.id,
        )


def _silence_reason(connection: Connection, agent: AgentWithGroup) -> str:
    ttl = connection.scalar(select(_agent.c.session_ttl_seconds).where(_agent.c.id == agent.view.id))
    return "sent no keepalive in time; its session expired" if ttl else "is silent: its session was ended"


def _set_breaker(connection: Connection, name: str, reason: str) -> None:
    """Open the circuit breaker for ``reason``, or close it if that is empty; record an event unless another
    controller did so first.
    """
    opening = bool(reason)
    is_due = _environment.c.halted_at.is_(None) if opening else _environment.c.halted_at.is_not(None)
    changed = connection.execute(
        update(_environment)
        # Every controller finds the same verdict; only the first one changes the row and records the event.
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


def read_live_sessions(connection: Connection) -> tuple[SessionRef, ...]:
    """Return the live sessions, sorted by agent id. One query."""
    rows = connection.execute(_READ_LIVE_SESSIONS).all()
    return tuple(
        SessionRef(agent_id=row.id, session_id=row.session_id, environment=row.environment, late=bool(row.late))
        for row in rows
    )


def end_sessions(connection: Connection, sessions: Sequence[SessionRef]) -> int:
    """End those of the sessions that are still live, with an event each; return their number."""
    ended = 0
    # In order of ids: two controllers that end the same sessions must not deadlock.
    for session in sorted(sessions, key=lambda each: each.agent_id):
        changed = connection.execute(
            update(_agent)
            .where(_agent.c.id == session.agent_id, _agent.c.session_id == session.session_id, is_live())
            # no time to live: not expired, but ended
            .values(session_expires_at=db_now(), session_ttl_seconds=0.0)
        )
        if changed.rowcount == 1:
            ended += 1
            host = connection.scalar(select(_agent.c.host).where(_agent.c.id == session.agent_id)) or ""
            record_event(
                connection,
                kind="agent_vanished",
                text=f"agent {name_and_id(host, session.agent_id)} disappeared from the message bus;"
                " its session was ended",
                environment=session.environment,
                agent_id=session.agent_id,
            )
    return ended
