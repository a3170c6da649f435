"""First level of placement: from a tenant's new load balancer to a device group, and from a new shard to its
home agent.
"""

from collections.abc import Iterable

from evenkeel.core.placement.agents import fit_agents
from evenkeel.core.placement.views import AgentSnapshot, PlacementGroup, TieBreaker


def choose_group(groups: Iterable[PlacementGroup], tie: TieBreaker[PlacementGroup]) -> PlacementGroup | None:
    """Choose the device group for a tenant's new load balancer: a group that the tenant is on and that has
    capacity, else an eligible one; of several, one with the lowest capacity score, by ``tie``. None: no
    group qualifies.

    The tenant stays on its group even while no agent of the group is up: agents may be restarting, and its
    configuration is on those devices.
    """
    groups = list(groups)
    preferred = [group for group in groups if group.keeps_tenant] or [group for group in groups if group.eligible]
    if not preferred:
        return None
    lowest = min(group.capacity_score for group in preferred)
    return tie([group for group in preferred if group.capacity_score == lowest])


def choose_home(agents: Iterable[AgentSnapshot], tie: TieBreaker[AgentSnapshot]) -> AgentSnapshot | None:
    """Choose the home of a new shard: the fit agent that is home to the fewest shards, of several the one
    that serves the fewest, then by ``tie``. None if no agent is fit.
    """
    fit = fit_agents(agents)
    if not fit:
        return None
    least = min((agent.homed, agent.shards) for agent in fit)
    return tie([agent for agent in fit if (agent.homed, agent.shards) == least])
