"""Operators' acts, recorded as events with the user, the request and the client's address, in the transaction of the
act itself.
"""

from sqlalchemy import Connection

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.kit.request_context import requester
from evenkeel.store.writing.events import record_event


def record_operator_action_event(
    connection: Connection,
    *,
    kind: str,
    done: str,
    details: str = "",
    environment: str = "",
    agent_id: AgentId = AgentId(""),
    shard_id: ShardId = ShardId(""),
    load_balancer_id: LoadBalancerId = LoadBalancerId(""),
) -> None:
    """Record what the user of the current request did, as an event. The event's text is ``done``, ``by USER``
    and ``details``. Outside of a request, as when a controller adds its configured environment, the event
    names no user.
    """
    by = requester()
    record_event(
        connection,
        kind=kind,
        text=" ".join(filter(None, (done, by.by_text))) + details,
        environment=environment,
        agent_id=agent_id,
        shard_id=shard_id,
        load_balancer_id=load_balancer_id,
        by=by,
    )
