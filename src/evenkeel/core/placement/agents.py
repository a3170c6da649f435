"""Which agents may be given shards, and which of them gets the next one."""

from collections.abc import Collection, Iterable

from evenkeel.core.ids import AgentId
from evenkeel.core.placement.views import AgentSnapshot, Tie

REPORT_AGE_SECONDS = 6.0
"""How much later: what an agent reports of its devices it may have seen a status interval ago."""


def fit_agents(agents: Iterable[AgentSnapshot]) -> list[AgentSnapshot]:
    """Eligible agents, without those that reach fewer devices than another one does.

    What one said before another lost a device, or found it again, proves nothing: it may see the same when it looks. So
    a difference counts when both have said so again some time later, and a device that goes away and comes back moves
    nothing, in whatever order they notice.
    """
    eligible = [agent for agent in agents if agent.eligible]
    return [agent for agent in eligible if not any(_reaches_more(other, agent) for other in eligible)]


def _reaches_more(other: AgentSnapshot, agent: AgentSnapshot) -> bool:
    if other.reachable_devices is None or agent.reachable_devices is None:
        return False
    differ_since = max(agent.reachable_since, other.reachable_since)
    both_said_so_at = min(agent.reported_at, other.reported_at)
    more = other.reachable_devices > agent.reachable_devices
    return more and both_said_so_at >= differ_since + REPORT_AGE_SECONDS


def back_first(agent: AgentSnapshot, silent: AgentSnapshot) -> bool:
    """It came back only after the other one fell silent, and that may be about to come back too."""
    return agent.fresh and agent.live_since >= silent.live_until


class Loads:
    """Fit agents by id with the shards they serve; each that is given one counts it."""

    def __init__(self, agents: Iterable[AgentSnapshot], tie: Tie[AgentSnapshot]) -> None:
        self.fit = {agent.id: agent for agent in fit_agents(agents)}
        self._load = {agent.id: agent.shards for agent in self.fit.values()}
        self._tie = tie

    def choose(
        self, *preferred: AgentId | None, other_than: AgentId | None = None, silent: AgentSnapshot | None = None
    ) -> AgentId | None:
        """The first preferred one that is fit, else the one with the fewest shards; None if there is none.

        Not from a ``silent`` agent by one that may have been cut off together with it: after an outage of the bus or
        the database the first one back must not get everybody's shards.
        """
        barred = {id_ for id_, agent in self.fit.items() if silent and back_first(agent, silent)} | {other_than}
        chosen = next((id_ for id_ in preferred if id_ in self.fit and id_ not in barred), None)
        return chosen or self._least(barred)

    def give(self, agent_id: AgentId) -> None:
        """It has one shard more."""
        if agent_id in self._load:
            self._load[agent_id] += 1

    def _least(self, barred: Collection[AgentId | None]) -> AgentId | None:
        loads = {id_: shards for id_, shards in self._load.items() if id_ not in barred}
        if not loads:
            return None
        least = min(loads.values())
        return self._tie([self.fit[id_] for id_, shards in loads.items() if shards == least]).id
