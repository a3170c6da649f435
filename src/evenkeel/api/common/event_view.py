"""View of events, for lists and the event stream."""

from evenkeel.api.responses.timestamps import format_time
from evenkeel.core.control.events import Event
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.kit.values import Value


class EventView(Value):
    """An event for operators."""

    id: int
    at: str
    kind: str
    text: str
    environment: str
    agent_id: AgentId
    shard_id: ShardId
    load_balancer_id: LoadBalancerId
    user_name: str
    """Name, or else id, of the operator who caused the event. Empty: the operator is unnamed, or the event has another
    cause.
    """
    user_id: str
    request_id: str
    """Id of the operator's API request; empty: the event is no operator's act."""
    client_address: str
    """IP address from which the operator's request came; behind a proxy the proxy's address."""


def event_view(row: Event) -> EventView:
    return EventView(
        id=row.id,
        at=format_time(row.at),
        kind=row.kind,
        text=row.text,
        environment=row.environment,
        agent_id=row.agent_id,
        shard_id=row.shard_id,
        load_balancer_id=row.load_balancer_id,
        user_name=row.user_name,
        user_id=row.user_id,
        request_id=row.request_id,
        client_address=row.client_address,
    )
