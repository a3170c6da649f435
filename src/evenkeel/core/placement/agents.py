"""Agents that are fit to get shards, and the choice of one of them."""

from collections.abc import Collection, Iterable

from evenkeel.core.kit.ids import AgentId
from evenkeel.core.placement.views import AgentSnapshot, TieBreaker

REPORT_AGE_SECONDS = 6.0
"""Maximum age of an agent's report of its devices: the interval of status reports."""


def fit_agents(agents: Iterable[AgentSnapshot]) -> list[AgentSnapshot]:
    """Return the agents that may get shards, in the given order: eligible ones, without agents that reach
    fewer devices than another eligible one.

    A difference in reached devices counts only when both agents have reported it again
    :data:`REPORT_AGE_SECONDS` later: a report from before another agent lost a device, or reached it again,
    proves nothing. So a device that is briefly unreachable moves no shard, in whatever order the agents
    notice.
    """
    eligible = [agent for agent in agents if agent.eligible]
    return [agent for agent in eligible if not any(_reaches_more(other, agent) for other in eligible)]


def _reaches_more(other: AgentSnapshot, agent: AgentSnapshot) -> bool:
    if other.reachable_devices is None or agent.reachable_devices is None:
        return False
    differ_since = max(agent.reachable_since, other.reachable_since)
    both_reported_at = min(agent.reported_at, other.reported_at)
    more = other.reachable_devices > agent.reachable_devices
    return more and both_reported_at >= differ_since + REPORT_AGE_SECONDS


def session_began_after_expiry_of(agent: AgentSnapshot, silent: AgentSnapshot) -> bool:
    """Whether ``agent`` is fresh, and its session began only after that of the agent ``silent`` expired: both
    may have been cut off together, and ``silent`` may be about to come back.
    """
    return agent.fresh and agent.live_since >= silent.live_until


class AgentLoads:
    """Number of shards that each fit agent serves, and the choice of an agent by it. :meth:`count_shard`
    updates a number after each decision, so that the next decision counts it.
    """

    def __init__(self, agents: Iterable[AgentSnapshot], tie: TieBreaker[AgentSnapshot]) -> None:
        self.fit = {agent.id: agent for agent in fit_agents(agents)}
        self._load = {agent.id: agent.shards for agent in self.fit.values()}
        self._tie = tie

    def choose(
        self, *preferred: AgentId | None, other_than: AgentId | None = None, silent: AgentSnapshot | None = None
    ) -> AgentId | None:
        """Return the first of the ``preferred`` agents that is fit, else the fit agent with the fewest
        shards; None if there is none. ``other_than``: agent that is not chosen.

        ``silent``: the agent that served the shard, if it fell silent. An agent that may have been cut off
        together with it is not chosen: after an outage of the bus or the database the first agent back must
        not get all shards.
        """
        barred = {id_ for id_, agent in self.fit.items() if silent and session_began_after_expiry_of(agent, silent)} | {
            other_than
        }
        chosen = next((id_ for id_ in preferred if id_ in self.fit and id_ not in barred), None)
        return chosen or self._least_loaded(barred)

    def count_shard(self, agent_id: AgentId) -> None:
        """Count one more shard for the agent, after the decision to assign it; nothing for an agent that is
        not fit.
        """
        # An agent that is not fit may get its own shards back; it has no load here.
        if agent_id in self._load:
            self._load[agent_id] += 1

    def _least_loaded(self, barred: Collection[AgentId | None]) -> AgentId | None:
        loads = {id_: shards for id_, shards in self._load.items() if id_ not in barred}
        if not loads:
            return None
        least = min(loads.values())
        return self._tie([self.fit[id_] for id_, shards in loads.items() if shards == least]).id
