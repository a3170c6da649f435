"""Events of the control plane."""

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.kit.values import Value


class Event(Value):
    """An event for operators. ``kind`` is a stable word, ``text`` is human-readable; ``id`` grows with each
    stored event, ``at``: time by the database's clock, seconds since 1970. Ids of concerned objects are
    empty where there is none.
    """

    kind: str
    text: str
    id: int = 0
    at: float = 0.0
    environment: str = ""
    agent_id: AgentId = AgentId("")
    shard_id: ShardId = ShardId("")
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    user_name: str = ""
    """Name, or else id, of the operator who caused the event. Empty: the operator has neither, or the event has another
    cause.
    """
    user_id: str = ""
    request_id: str = ""
    """Id of the operator's API request; empty: the event is no operator's act."""
    client_address: str = ""
    """IP address from which the operator's request came."""
