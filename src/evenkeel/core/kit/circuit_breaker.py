"""Circuit breaker of an environment: when many agents fall silent at the same time, the fault is more likely in what
they share (the network, the bus, the database's clock) than in each of them, and moving their shards to the few
remaining agents would make it worse. So no shard moves until agents come back or an operator closes the breaker.
"""

import math
from collections.abc import Iterable

from evenkeel.core.kit.ids import AgentId
from evenkeel.core.kit.values import Value


class AgentHeartbeat(Value):
    """An agent, and since when it is silent.

    ``silent_since``: start of the silence by the database's clock; None: the agent sends keepalives.
    """

    id: AgentId
    silent_since: float | None = None


class BreakerState(Value):
    """Stored state of an environment's circuit breaker. ``share``, ``agents``: the breaker opens when more
    than this share of the agents, and at least this number, are silent. ``halted_at``: database time at
    which it opened; None: it is closed. ``resumed_at``: time at which an operator last closed it; None:
    never.
    """

    share: float
    agents: int
    halted_at: float | None = None
    resumed_at: float | None = None


def breaker_change(
    breaker: BreakerState, heartbeats: Iterable[AgentHeartbeat], *, now: float, window_seconds: float
) -> str | None:
    """Decide whether an environment's circuit breaker changes at database time ``now`` (seconds): a reason
    opens it, an empty text closes it, None leaves it.

    Only silence that began in the last ``window_seconds`` counts, and none from before an operator closed the
    breaker: agents that died one by one over weeks did not fail together. While the breaker is open, the
    silence that opened it keeps counting. While it is closed, times more than ``window_seconds`` in the
    future, recorded before the database's clock was set back, are ignored.
    """
    since = now - window_seconds if breaker.halted_at is None else breaker.halted_at - window_seconds
    # later times were recorded before the database's clock was set back
    until = now + window_seconds if breaker.halted_at is None else math.inf
    if breaker.resumed_at is not None and breaker.resumed_at <= until:
        since = max(since, breaker.resumed_at)
    agents = list(heartbeats)
    live = sum(agent.silent_since is None for agent in agents)
    silent = sum(agent.silent_since is not None and since < agent.silent_since <= until for agent in agents)
    # Both limits: a share alone would halt an environment of two agents for one failure, a number alone one of
    # hundreds.
    too_many = silent >= breaker.agents and silent > breaker.share * (live + silent)
    if breaker.halted_at is None:
        return f"{silent} of {live + silent} agents fell silent at once" if too_many else None
    return None if too_many else ""
