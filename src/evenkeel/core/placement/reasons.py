"""Reasons why shards stay where they should not be, for operators.

Temporary conditions are not reported: an agent that has just come back becomes eligible soon. So the
placement rule is evaluated as if the present state had lasted for long enough.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from evenkeel.core.kit.ids import AgentId
from evenkeel.core.placement.shards import PlacementBlocker, PlacementRule, agent_with_smallest_id
from evenkeel.core.placement.views import AgentSnapshot, GroupSnapshot, ShardSnapshot

_POSITIONS_OF_BLOCKERS = {blocker: position for position, blocker in enumerate(PlacementBlocker)}


class PlacementReasons:
    """Reasons why the shards of one device group stay where they should not be. Shards with equal home,
    acting agent and handover may be given as one.
    """

    def __init__(self, group: GroupSnapshot) -> None:
        self._rule = PlacementRule(group_after_settling(group), agent_with_smallest_id)
        self._acted: dict[AgentId | None, list[ShardSnapshot]] = {}
        self._homed: dict[AgentId, list[ShardSnapshot]] = {}
        for shard in self._rule.group.shards:
            self._acted.setdefault(shard.acting, []).append(shard)
            self._homed.setdefault(shard.home, []).append(shard)

    def is_fit(self, agent_id: AgentId) -> bool:
        """Whether shards may be assigned to the agent."""
        return agent_id in self._rule.loads.fit

    def successor_count(self, agent_id: AgentId) -> int:
        """Return the number of agents, without this one, to which shards of the group may be assigned."""
        return len(self._rule.loads.fit.keys() - {agent_id})

    def waiting_blocker(self, agent_id: AgentId) -> PlacementBlocker | None:
        """Return why shards that an agent should not serve do not move to other agents; None: there are no such shards,
        or the rule has a step for them.

        Such shards are those the agent acts for, and unserved shards whose home is the agent, unless the agent is
        eligible.
        """
        agent = self._rule.agents.get(agent_id)
        if agent is None or agent.eligible:
            return None
        return min(self._waiting_blockers(agent), key=_POSITIONS_OF_BLOCKERS.__getitem__, default=None)

    def _waiting_blockers(self, agent: AgentSnapshot) -> Iterator[PlacementBlocker]:
        unserved = [shard for shard in self._homed.get(agent.id, ()) if shard.acting is None]
        for shard in (*self._acted.get(agent.id, ()), *unserved):
            # a shard that is being handed over has no blocker: neither decision applies to it
            decided = self._rule.agent_to_assign(shard) or self._rule.handover_target(shard)
            if isinstance(decided, PlacementBlocker):
                yield decided

    def away_blocker(self, agent_id: AgentId) -> PlacementBlocker | None:
        """Return why shards with the agent as home that other agents serve do not return home; None: there are no such
        shards, or they return.
        """
        away = (shard for shard in self._homed.get(agent_id, ()) if shard.acting not in (None, agent_id))
        if all(self._returns_home(shard) for shard in away):
            return None
        return self._rule.failback_blocker(agent_id)

    def _returns_home(self, shard: ShardSnapshot) -> bool:
        """True if a step of the rule brings the shard home, now or after a handover to another agent has
        ended.
        """
        acting = None if shard.acting is None else self._rule.agents.get(shard.acting)
        if acting is not None and acting.acts and shard.handover_to == shard.home:
            return True
        alone = replace(shard, handover_to=None, overdue=False)
        rule = self._rule
        return (rule.agent_to_assign(alone) or rule.handover_target(alone) or rule.failback_target(alone)) == shard.home


def group_after_settling(group: GroupSnapshot) -> GroupSnapshot:
    """Return the group as it would be after all agents have been up, or silent, for long enough, and
    handovers to agents that are not eligible have been cancelled.
    """
    agents = tuple(replace(agent, fresh=False, settled=agent.eligible) for agent in group.agents)
    receivers = {agent.id for agent in agents if agent.eligible}
    shards = tuple(
        shard if shard.handover_to in receivers else replace(shard, handover_to=None, overdue=False)
        for shard in group.shards
    )
    return replace(group, agents=agents, shards=shards)
