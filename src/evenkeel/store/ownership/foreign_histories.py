"""Unknown histories: ids of database histories that agents saw and this database never had, which proves that it was
replaced by another one.

A *history* is a span of commits without loss, with a random id (:mod:`evenkeel.store.ownership.histories`). An agent's
process keeps the id of the last history it received, and sends it with each keepalive and registration. A database
contains the ids of all its histories. An id that an agent names and the database lacks belongs to another database: an
empty one, a foreign one, or a copy from before that history began was put in its place. Such a database lacks load
balancers that devices serve, so nothing is removed from devices until an operator has accepted each unknown history by
its id.
"""

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, func, select, update

from evenkeel.core.control.histories import UnknownHistory
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.protocol.messages import ConfirmedState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import UNKNOWN_HISTORY
from evenkeel.store.writing.events import record_event
from evenkeel.store.writing.operator_actions import record_operator_action_event

FORMER_HISTORY = "former"
"""Kind of a stored history: this database had it."""
ACCEPTED_HISTORY = "accepted"
"""Kind of a stored history: another database had it, and an operator has confirmed that this database is the
right one.
"""

UNKNOWN_HISTORIES_MAX = 20
"""Maximum number of recorded unknown histories, so that an agent with invented ids fills no table."""
ID_CHARACTERS_MAX = 36

_other_history = schema.other_history


class AnsweredKeepalive(Protocol):
    """A keepalive with its answer: the state that was confirmed to the agent, and the database's history in the
    answer.
    """

    @property
    def agent_id(self) -> AgentId:
        """Id of the agent."""
        ...

    @property
    def seen(self) -> ConfirmedState | None:
        """State that the database has confirmed to the agent; None before the first confirmation."""
        ...

    @property
    def history(self) -> str:
        """Id of the database's current history in the answer; empty if unknown."""
        ...


def store_former_history(connection: Connection, history_id: str) -> None:
    """Record that the database had this history, in the transaction that begins the next history."""
    insert_if_absent(
        connection, _other_history, {"id": history_id, "kind": FORMER_HISTORY, "noted_at": db_now(), "agent_id": None}
    )


def record_unknown_histories(connection: Connection, answered: Sequence[AnsweredKeepalive]) -> None:
    """Record histories that agents saw and this database never had, at most :data:`UNKNOWN_HISTORIES_MAX`, with an
    event for each new one. No statement if all agents saw the current history.
    """
    named: dict[str, AgentId] = {}
    for each in answered:
        seen = each.seen.history if each.seen is not None else ""
        if each.history and seen != each.history and 0 < len(seen) <= ID_CHARACTERS_MAX:
            named.setdefault(seen, each.agent_id)
    if not named:
        return
    known = set(connection.scalars(select(_other_history.c.id).where(is_in_list(_other_history.c.id, sorted(named)))))
    new = {id_: agent_id for id_, agent_id in named.items() if id_ not in known}
    if not new:
        return
    # Counted only when a new id was named, which is rare; keepalives come every second.
    room = UNKNOWN_HISTORIES_MAX - (
        connection.scalar(select(func.count()).where(_other_history.c.kind == UNKNOWN_HISTORY)) or 0
    )
    for id_, agent_id in list(new.items())[: max(0, room)]:
        row = {"id": id_, "kind": UNKNOWN_HISTORY, "noted_at": db_now(), "agent_id": agent_id}
        # Several controllers may see the same id at once; only the one that stores it records the event.
        if insert_if_absent(connection, _other_history, row):
            record_event(
                connection,
                kind="history_unknown",
                text=f"agent {name_and_id(_host_of_agent(connection, agent_id), agent_id)} saw history {id_},"
                " which this database never had: it is another database, or an older copy; nothing is removed from"
                f" devices until evenkeel database accept-history {id_}",
                agent_id=agent_id,
            )


def _host_of_agent(connection: Connection, agent_id: AgentId) -> str:
    return connection.scalar(select(schema.agent.c.host).where(schema.agent.c.id == agent_id)) or ""


def read_unknown_histories(connection: Connection) -> tuple[UnknownHistory, ...]:
    """Return the unknown histories that no operator has accepted yet, longest known first."""
    rows = connection.execute(
        select(_other_history, schema.agent.c.host)
        .select_from(_other_history.outerjoin(schema.agent, schema.agent.c.id == _other_history.c.agent_id))
        .where(_other_history.c.kind == UNKNOWN_HISTORY)
        .order_by(_other_history.c.noted_at, _other_history.c.id)
    )
    return tuple(
        UnknownHistory(id=row.id, noted_at=row.noted_at, agent_id=row.agent_id or "", host=row.host or "")
        for row in rows
    )


def accept_history(connection: Connection, history_id: str) -> None:
    """Record an operator's confirmation that this database is the right one, although agents saw this history
    of another one. Repeating it is harmless. Raises :class:`NotFound` unless the history is an unknown or
    accepted one.
    """
    here = _other_history.c.id == history_id
    changed = connection.execute(
        update(_other_history).where(here, _other_history.c.kind == UNKNOWN_HISTORY).values(kind=ACCEPTED_HISTORY)
    ).rowcount
    if changed:
        record_operator_action_event(
            connection,
            kind="history_accepted",
            done=f"history {history_id}, which this database never had, was accepted",
            details=": it is the right database",
        )
    # A repeated request, whose first answer was lost, finds the history accepted and succeeds.
    elif connection.scalar(select(_other_history.c.kind).where(here)) != ACCEPTED_HISTORY:
        raise NotFound("Unknown history", history_id)
