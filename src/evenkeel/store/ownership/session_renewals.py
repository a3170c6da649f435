"""Renews sessions by keepalives: all of a round in one statement on PostgreSQL, one statement each elsewhere.

Each keepalive sets columns of its agent's row only, so the order within a round does not matter.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    Double,
    Integer,
    String,
    Update,
    and_,
    bindparam,
    case,
    column,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from evenkeel.core.kit.ids import AgentId
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import ConfirmedState, SessionState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.ownership.histories import KeepaliveToCheck, check_confirmed_states, history_id_expression
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema

MAX_KEEPALIVES = 2**62
"""Limit of plausible numbers of keepalives: this number and higher ones are ignored."""

_agent = schema.agent
CONFIRMED_STATE_COLUMNS = (_agent.c.assignments_revision, _agent.c.keepalives, history_id_expression().label("history"))
"""Columns that a renewal returns for the answer to the keepalive."""
_TTL: BindParameter[float] = bindparam("b_ttl", type_=Double())


class OpenedSession(NamedTuple):
    """State of a session that was opened or renewed, for the answer to the agent."""

    state: SessionState
    lost: str
    """Proof that the database lost commits; empty if there is none."""


class RenewedSession(NamedTuple):
    """Row of a session that was renewed or opened, with the state that the agent remembers."""

    agent_id: AgentId
    row: Any
    seen: ConfirmedState | None


def build_opened_sessions(
    connection: Connection, renewed: Sequence[RenewedSession], ttl_seconds: float
) -> list[OpenedSession]:
    """Return the state of sessions that were renewed or opened, in the order of ``renewed``, for the answers
    to agents. No statement unless changes were recently confirmed to an agent, a shard recently left its
    assignments, or it saw another history.
    """
    states = [
        SessionState(
            ttl_seconds=ttl_seconds,
            assignments_revision=int(row.assignments_revision),
            history=row.history or "",
            keepalives=int(row.keepalives),
        )
        for _, row, _ in renewed
    ]
    asked = [
        KeepaliveToCheck(each.agent_id, each.seen, state.history, state.keepalives)
        for each, state in zip(renewed, states, strict=True)
    ]
    checks = check_confirmed_states(connection, asked)
    return [
        OpenedSession(msgspec.structs.replace(state, unknown_in=check.unknown_in), check.lost)
        for state, check in zip(states, checks, strict=True)
    ]


def renew_sessions(
    connection: Connection,
    arrived: Sequence[ArrivedKeepalive],
    ttl_seconds: float,
    *,
    supports_skip_locked: bool = False,
) -> list[OpenedSession | None]:
    """Renew sessions for ``ttl_seconds``, and return their states in the order of ``arrived``; None for a
    session that was ended or replaced. Several keepalives of one session renew it once.

    ``supports_skip_locked``: on PostgreSQL all renewals are one statement, and a session whose row is locked is None,
    too. An expired session becomes live again, and has to settle again; but a session whose process was gone,
    and that was ended after its keepalive arrived, stays ended.
    """
    newest: dict[tuple[str, str], ArrivedKeepalive] = {}
    for each in arrived:
        key = (each.call.agent_id, each.call.session_id)
        # The newest one has the highest confirmed number, with which the database is compared.
        if key not in newest or seen_keepalives(each.call.seen) >= seen_keepalives(newest[key].call.seen):
            newest[key] = each
    rows = _renew_rows(
        connection, sorted(newest.values(), key=lambda each: each.call.agent_id), ttl_seconds, supports_skip_locked
    )
    found = [RenewedSession(newest[key].call.agent_id, row, newest[key].call.seen) for key, row in rows.items()]
    answers = dict(zip(rows, build_opened_sessions(connection, found, ttl_seconds), strict=True))
    return [answers.get((each.call.agent_id, each.call.session_id)) for each in arrived]


def _renew_rows(
    connection: Connection, arrived: Sequence[ArrivedKeepalive], ttl_seconds: float, supports_skip_locked: bool
) -> dict[tuple[str, str], Any]:
    calls = [each.call for each in arrived]
    # One array for each column, so that the text of the statement is the same for any number of agents.
    if supports_skip_locked and connection.dialect.name == "postgresql":
        parameters = {
            "b_ids": [call.agent_id for call in calls],
            "b_sessions": [call.session_id for call in calls],
            "b_seens": [seen_keepalives(call.seen) for call in calls],
            "b_reported": [int(call.as_reported) for call in calls],
            "b_waits": [each.waited_seconds for each in arrived],
            "b_ttl": float(ttl_seconds),
        }
        return {(row.id, row.session_id): row for row in connection.execute(_RENEW_SESSIONS, parameters)}
    rows = {}
    for each in arrived:
        call = each.call
        row = _RENEW_SESSION.first_row(
            connection,
            {
                "b_id": call.agent_id,
                "b_session": call.session_id,
                "b_ttl": float(ttl_seconds),
                "b_seen": seen_keepalives(call.seen),
                "b_reported": int(call.as_reported),
                "b_waited": float(each.waited_seconds),
            },
        )
        if row is not None:
            rows[(str(call.agent_id), str(call.session_id))] = row
    return rows


def seen_keepalives(state: ConfirmedState | None) -> int:
    """Return the number of the last keepalive that was confirmed to the agent; 0 if ``state`` has no plausible one."""
    return state.keepalives if state is not None and 0 <= state.keepalives < MAX_KEEPALIVES else 0


def _renewing_update(statement: Update, seen: Any, reported: Any) -> Update:
    """Return the UPDATE with the assignments that renew a session.

    ``seen``: number of keepalives that the agent remembers; ``reported``: condition that its last state report still
    holds. ``session_started_at`` is set before the expiry on which it depends, because MariaDB evaluates assignments
    from left to right.
    """
    # not while it is behind what was confirmed: the difference must remain visible until a new history has begun
    counted = case((_agent.c.keepalives < seen, _agent.c.keepalives), else_=_agent.c.keepalives + 1)
    return statement.ordered_values(
        (_agent.c.session_started_at, case((is_live(), _agent.c.session_started_at), else_=db_now())),
        (_agent.c.session_expires_at, db_now() + _TTL),
        (_agent.c.session_ttl_seconds, _TTL),
        (_agent.c.keepalives, counted),
        (_agent.c.reported_at, case((reported == 1, db_now()), else_=_agent.c.reported_at)),
    )


def _is_not_ended_since(waited: Any) -> Any:
    """Return the SQL condition that the session was not ended (by
    :func:`evenkeel.store.scheduling.silence.end_sessions`) after the keepalive arrived.

    ``waited``: seconds since the arrival. A process whose session was ended later had sent the keepalive before it
    disappeared. An end in the future proves nothing: the clock was set back.
    """
    ended_at, now = _agent.c.session_expires_at, db_now()
    return or_(is_live(), _agent.c.session_ttl_seconds > 0, ended_at < now - waited, ended_at > now)


# built once: building them costs more than running them, and every agent sends a keepalive every second
_RENEW_SESSION = update_returning(
    _renewing_update(
        update(_agent).where(
            _agent.c.id == bindparam("b_id"),
            _agent.c.session_id == bindparam("b_session"),
            _is_not_ended_since(bindparam("b_waited", type_=Double())),
        ),
        bindparam("b_seen", type_=BigInteger()),
        bindparam("b_reported", type_=Integer()),
    ),
    *CONFIRMED_STATE_COLUMNS,
    by=_agent.c.id == bindparam("b_id"),
)
_given_keepalives = (
    func.unnest(
        bindparam("b_ids", type_=ARRAY(String())),
        bindparam("b_sessions", type_=ARRAY(String())),
        bindparam("b_seens", type_=ARRAY(BigInteger())),
        bindparam("b_reported", type_=ARRAY(Integer())),
        bindparam("b_waits", type_=ARRAY(Double())),
    )
    .table_valued(
        column("id", String),
        column("session_id", String),
        column("seen", BigInteger),
        column("reported", Integer),
        column("waited", Double),
    )
    .render_derived(name="given")
)
_free_agent = _agent.alias("free_agent")
_renewable_sessions = (
    select(
        _free_agent.c.id,
        _free_agent.c.session_id,
        _given_keepalives.c.seen,
        _given_keepalives.c.reported,
        _given_keepalives.c.waited,
    )
    .join_from(
        _given_keepalives,
        _free_agent,
        and_(_free_agent.c.id == _given_keepalives.c.id, _free_agent.c.session_id == _given_keepalives.c.session_id),
    )
    # Skipped rows get no answer in this round; their keepalives are renewed one by one, so that a lock delays only its
    # own agent.
    .with_for_update(of=_free_agent, skip_locked=True)
    .subquery("renewable")
)
_RENEW_SESSIONS = _renewing_update(
    update(_agent).where(
        _agent.c.id == _renewable_sessions.c.id,
        _agent.c.session_id == _renewable_sessions.c.session_id,
        _is_not_ended_since(_renewable_sessions.c.waited),
    ),
    _renewable_sessions.c.seen,
    _renewable_sessions.c.reported,
).returning(_agent.c.id, _agent.c.session_id, *CONFIRMED_STATE_COLUMNS)
"""Renews all sessions except for locked rows: the transaction that holds a lock may be that of a suspended process."""
