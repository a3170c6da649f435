"""Balance of homes: if a device group's agents are home to very different numbers of shards, planned handovers change
homes one by one.

A new shard's home is the agent that is home to the fewest, but many tenants that arrive at the same time are placed by
several controllers from the same counts, and an agent that is added later is home to none.
"""

from evenkeel.core.kit.ids import AgentId
from evenkeel.core.placement.shards import PlacementRule, agent_with_smallest_id, handover_step
from evenkeel.core.placement.views import GroupSnapshot, HandoverStep
from evenkeel.core.resources.statuses import FailbackMode

DIFFERENCE_MIN = 3
"""Minimum difference between the highest and lowest number of homes of an agent for which a home is changed."""
SHARE_MIN = 0.1
"""Minimum difference for which a home is changed, as a share of the average number of homes of an agent."""


def skewed_homes(group: GroupSnapshot) -> tuple[AgentId, AgentId] | None:
    """Return (agent that is home to the most shards, agent that is home to the fewest) if a home has to move
    from the first to the second; else None.

    Only fit agents that could get their own shards back count: nothing is taken from the others, which may be
    on their way back. None, too, where shards do not return home automatically or may not move: an operator
    decides about homes there.
    """
    rule = PlacementRule(group, agent_with_smallest_id)
    if rule.movement_blocker() is not None or group.failback is not FailbackMode.AUTO:
        return None
    # Sorted, so that of agents with equal numbers every controller chooses the same ones.
    settled = sorted((agent for agent in rule.loads.fit.values() if agent.settled), key=lambda agent: agent.id)
    if len(settled) < 2:
        return None
    most, least = max(settled, key=lambda agent: agent.homed), min(settled, key=lambda agent: agent.homed)
    average = sum(agent.homed for agent in settled) / len(settled)
    return (most.id, least.id) if most.homed - least.homed >= max(DIFFERENCE_MIN, SHARE_MIN * average) else None


def plan_balance(group: GroupSnapshot) -> list[HandoverStep]:
    """Plan a handover of one shard from the agent with the most homes, which serves it as home, to the agent
    with the fewest. Empty if the homes are balanced, there is no such shard, or a handover is in progress.
    """
    skewed = skewed_homes(group)
    if skewed is None or any(shard.handover_to is not None for shard in group.shards):
        return []
    most, least = skewed
    return [handover_step(shard, least) for shard in group.shards if shard.home == shard.acting == most][:1]
