"""Events for operators, written in the transaction of the change that they report: a rolled back change leaves no
event.
"""

from collections.abc import Sequence
from typing import TypedDict

from sqlalchemy import Connection, bindparam

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.kit.request_context import NO_REQUESTER, Requester
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema

MAX_EVENT_TEXT_CHARACTERS = 2_000


class EventRow(TypedDict):
    """An event to be recorded; all fields are texts, empty if they do not apply."""

    kind: str
    text: str
    environment: str
    agent_id: AgentId
    shard_id: ShardId
    load_balancer_id: LoadBalancerId
    user_name: str
    user_id: str
    request_id: str
    client_address: str


_INSERT_EVENT = schema.event.insert().values(
    at=db_now(), **{name: bindparam(name, type_=schema.event.c[name].type) for name in EventRow.__annotations__}
)


def event_row(
    *,
    kind: str,
    text: str,
    environment: str = "",
    agent_id: AgentId = AgentId(""),
    shard_id: ShardId = ShardId(""),
    load_balancer_id: LoadBalancerId = LoadBalancerId(""),
    by: Requester = NO_REQUESTER,
) -> EventRow:
    """Return the row of one event; ``text`` is cut to :data:`MAX_EVENT_TEXT_CHARACTERS`. ``by``: the operator
    whose act the event is.
    """
    return EventRow(
        kind=kind,
        text=text[:MAX_EVENT_TEXT_CHARACTERS],
        environment=environment,
        agent_id=agent_id,
        shard_id=shard_id,
        load_balancer_id=load_balancer_id,
        user_name=by.user,
        user_id=by.user_id,
        request_id=by.request_id,
        client_address=by.address,
    )


def record_event(
    connection: Connection,
    *,
    kind: str,
    text: str,
    environment: str = "",
    agent_id: AgentId = AgentId(""),
    shard_id: ShardId = ShardId(""),
    load_balancer_id: LoadBalancerId = LoadBalancerId(""),
    by: Requester = NO_REQUESTER,
) -> None:
    """Record one event at the database's time.

    ``kind`` is stable, ``text`` is human-readable. ``by``: the operator whose act the event is.
    """
    row = event_row(
        kind=kind,
        text=text,
        environment=environment,
        agent_id=agent_id,
        shard_id=shard_id,
        load_balancer_id=load_balancer_id,
        by=by,
    )
    record_events(connection, [row])


def record_events(connection: Connection, rows: Sequence[EventRow]) -> None:
    """Record any number of events with one statement; none without rows."""
    if rows:
        connection.execute(_INSERT_EVENT, [dict(row) for row in rows])
