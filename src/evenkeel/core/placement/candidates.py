"""Agents whose shards may need a step: conditions that a database evaluates by index, without reading single
shards.

Agents are few and shards many. Every shard for which :mod:`.shards` has a step refers to an agent in one of
the lists of :class:`CandidateAgents`, in the way that the list states. The reverse is not true, so the caller
evaluates the rule for each shard found.
"""

from evenkeel.core.kit.values import Value
from evenkeel.core.placement.shards import PlacementRule, agent_with_smallest_id
from evenkeel.core.placement.views import GroupSnapshot


class CandidateAgents(Value):
    """Ids of agents whose shards may need a step, by condition."""

    not_acting: tuple[str, ...] = ()
    """Ids of agents that do not serve the shards for which they act."""
    takeable: tuple[str, ...] = ()
    """Ids of home agents whose unserved shards some agent can take."""
    leaving: tuple[str, ...] = ()
    """Ids of acting agents from which shards must move away."""
    returning: tuple[str, ...] = ()
    """Ids of home agents to which shards that are served elsewhere must return."""
    movable: tuple[str, ...] = ()
    """Ids of acting agents from which shards with an overdue handover may be taken."""
    not_receiving: tuple[str, ...] = ()
    """Ids of agents to which handovers must be cancelled."""


def candidate_agents(group: GroupSnapshot) -> CandidateAgents:
    """Return the agents of a device group whose shards may need a step, by the group's agents and settings;
    ``group.shards`` is not used.
    """
    rule = PlacementRule(group, agent_with_smallest_id)
    fit, movable = rule.loads.fit, rule.movement_blocker() is None and bool(rule.loads.fit)
    agents = rule.agents.values()
    return CandidateAgents(
        not_acting=tuple(agent.id for agent in agents if not agent.acts),
        takeable=tuple(agent.id for agent in agents if agent.acts or (fit and rule.home_only_blocker(agent) is None)),
        leaving=tuple(agent.id for agent in agents if movable and agent.acts and agent.id not in fit),
        returning=tuple(agent.id for agent in agents if rule.failback_blocker(agent.id) is None),
        movable=tuple(agent.id for agent in agents if movable),
        not_receiving=tuple(agent.id for agent in agents if not agent.eligible),
    )
