"""Second level of placement: from a shard to an agent of its device group.

Each decision on one shard is a function that returns the id of the agent to get the shard, a
:class:`PlacementBlocker` (the shard should move and cannot), or None (nothing to do). The plans make steps of
the first kind; operators see the second (:mod:`evenkeel.core.placement.reasons`).
"""

from collections.abc import Sequence
from enum import Enum

from evenkeel.core.kit.ids import AgentId, ShardId
from evenkeel.core.placement.agents import AgentLoads, session_began_after_expiry_of
from evenkeel.core.placement.views import (
    AgentSnapshot,
    AssignStep,
    GroupSnapshot,
    HandoverStep,
    ShardSnapshot,
    TieBreaker,
)
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode


class PlacementBlocker(Enum):
    """Reason why a shard stays where it should not be. If several apply, operators see the first one in this order."""

    HOME_NOT_UP = "home_not_up"  # the shard's home is down or drained
    HALTED = "halted"  # the circuit breaker is open
    BOUND = "bound"  # the load balancers are bound to their host (mode never)
    BOUND_UNTIL_FORCED_DOWN = "bound_until_forced_down"  # until the host is declared dead (mode relocate)
    FAILBACK_NEVER = "failback_never"
    FAILBACK_NOT_ASKED = "failback_not_asked"  # failback is manual
    HOME_REACHES_FEWER = "home_reaches_fewer"  # the shard's home reaches fewer devices than another agent
    NO_SUCCESSOR = "no_successor"  # no other agent can take the shard
    MAY_COME_BACK = "may_come_back"  # temporary: possible assignees may have been cut off with the owner
    SETTLING = "settling"  # temporary: the shard's home has not been up for long enough


class PlacementRule:
    """Placement rule for the shards of one device group. After each decision, call ``loads.count_shard``, so
    that the next one counts it.
    """

    def __init__(self, group: GroupSnapshot, tie: TieBreaker[AgentSnapshot]) -> None:
        self.group = group
        self.agents = {agent.id: agent for agent in group.agents}
        self.loads = AgentLoads(group.agents, tie)

    def agent_to_assign(self, shard: ShardSnapshot) -> AgentId | PlacementBlocker | None:
        """Return the agent that takes a shard without a serving agent, or one that its owner does not release
        in time; the blocker if no agent can take an unserved shard; None if there is nothing to do, or no
        agent can take an overdue one.
        """
        acting = self._acting_agent(shard)
        home = self.agents.get(shard.home)
        if acting is not None and acting.acts:
            movable = shard.overdue and self.movement_blocker() is None
            return self.loads.choose(shard.handover_to, shard.home, other_than=acting.id) if movable else None
        silent = acting if acting is not None and acting.silent else None
        tied = self.home_only_blocker(home)
        if tied is not None:
            return _home_or_blocker(home, silent, tied)
        if not self.loads.fit:
            return shard.home if home is not None and home.acts else PlacementBlocker.NO_SUCCESSOR
        return self.loads.choose(shard.home, silent=silent) or PlacementBlocker.MAY_COME_BACK

    def handover_target(self, shard: ShardSnapshot) -> AgentId | PlacementBlocker | None:
        """Return the agent to which the live acting agent has to release the shard, because it is drained or
        reaches fewer devices than another; the blocker if none can take it; None if there is nothing to
        do, or a handover is in progress.
        """
        acting = self._acting_agent(shard)
        if acting is None or not acting.acts or shard.handover_to is not None or acting.id in self.loads.fit:
            return None
        if (blocker := self.movement_blocker()) is not None:
            return blocker
        return self.loads.choose(shard.home, other_than=acting.id) or PlacementBlocker.NO_SUCCESSOR

    def failback_target(self, shard: ShardSnapshot) -> AgentId | PlacementBlocker | None:
        """Return the shard's home if another, fit agent serves the shard and it has to go back; the blocker
        if it cannot; None if there is nothing to do, or a handover is in progress.
        """
        if shard.handover_to is not None or shard.acting not in self.loads.fit or shard.acting == shard.home:
            return None
        return self.failback_blocker(shard.home) or shard.home

    # -- parts of these decisions

    def _acting_agent(self, shard: ShardSnapshot) -> AgentSnapshot | None:
        return None if shard.acting is None else self.agents.get(shard.acting)

    def movement_blocker(self) -> PlacementBlocker | None:
        """Return why served shards of the group may not move; None: they may."""
        if self.group.halted:
            return PlacementBlocker.HALTED
        match self.group.reschedule:
            case RescheduleMode.CONTROL:
                return None
            case RescheduleMode.RELOCATE:
                return PlacementBlocker.BOUND_UNTIL_FORCED_DOWN
            case RescheduleMode.NEVER:
                return PlacementBlocker.BOUND

    def home_only_blocker(self, home: AgentSnapshot | None) -> PlacementBlocker | None:
        """Return why only the shard's home may take it while no agent serves it; None: other agents may, too."""
        if self.group.halted:
            return PlacementBlocker.HALTED
        bound = self.movement_blocker()
        if bound is None or home is None:
            return None
        return None if bound is PlacementBlocker.BOUND_UNTIL_FORCED_DOWN and home.forced_down else bound

    def failback_blocker(self, home_id: AgentId) -> PlacementBlocker | None:
        """Return why shards with the home ``home_id`` that other agents serve do not return to it; None: they do."""
        home = self.agents.get(home_id)
        if home is None or not home.eligible:
            return PlacementBlocker.HOME_NOT_UP
        if (fixed := self.movement_blocker()) is not None:
            return fixed
        if self.group.failback is FailbackMode.NEVER:
            return PlacementBlocker.FAILBACK_NEVER
        if self.group.failback is FailbackMode.MANUAL and not home.failback_asked:
            return PlacementBlocker.FAILBACK_NOT_ASKED
        if home_id not in self.loads.fit:
            return PlacementBlocker.HOME_REACHES_FEWER
        return None if home.settled else PlacementBlocker.SETTLING


def _home_or_blocker(
    home: AgentSnapshot | None, silent: AgentSnapshot | None, tied: PlacementBlocker
) -> AgentId | PlacementBlocker:
    if home is None or not home.acts:
        return tied
    # After an outage the home may be back earlier than the silent owner, which would find its shard taken.
    return (
        PlacementBlocker.MAY_COME_BACK
        if silent is not None and session_began_after_expiry_of(home, silent)
        else home.id
    )


# -- plans


def plan_assignments(group: GroupSnapshot, tie: TieBreaker[AgentSnapshot]) -> list[AssignStep]:
    """Return the steps that assign unserved shards, and shards that their owners do not release in time, to
    agents: to the home if that is fit, else spread over the fit agents. Shards that no agent can take have
    no step.

    While the circuit breaker is open, and where the configuration is bound to its host, only home takes it; a host
    declared dead is replaced in mode ``relocate``, and one whose agent was deleted in every mode.
    """
    rule = PlacementRule(group, tie)
    plan: list[AssignStep] = []
    for shard in group.shards:
        chosen = rule.agent_to_assign(shard)
        if not isinstance(chosen, str):
            continue
        rule.loads.count_shard(chosen)
        rebind = group.reschedule is not RescheduleMode.CONTROL and chosen != shard.home
        to_home = chosen == shard.home and not rule.agents[chosen].eligible
        step = AssignStep(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=chosen, rebind=rebind, to_home=to_home)
        plan.append(step)
    return plan


def plan_evacuation(group: GroupSnapshot, tie: TieBreaker[AgentSnapshot], *, at_once: int) -> list[HandoverStep]:
    """Plan handovers of shards away from live agents that should not serve them (drained, or reaching fewer
    devices). ``at_once``: maximum number of handovers in progress in the group, with those planned.
    """
    rule = PlacementRule(group, tie)
    free = _free_handover_slots(group, at_once)
    plan: list[HandoverStep] = []
    for shard in group.shards:
        if len(plan) >= free:
            break
        chosen = rule.handover_target(shard)
        if isinstance(chosen, str):
            rule.loads.count_shard(chosen)
            plan.append(handover_step(shard, chosen))
    return plan


def plan_return_home(group: GroupSnapshot, *, at_once: int) -> list[HandoverStep]:
    """Plan handovers of shards to their home once that agent has settled. ``at_once``: maximum number of
    handovers in progress in the group, with those planned. Empty in groups whose load balancers are bound
    to their host.
    """
    rule = PlacementRule(group, agent_with_smallest_id)
    going = [handover_step(shard, shard.home) for shard in group.shards if isinstance(rule.failback_target(shard), str)]
    # More than `at_once` may be in progress (operators' failovers have no limit), and a negative end would count from
    # the back.
    return going[: max(0, _free_handover_slots(group, at_once))]


def plan_failover(group: GroupSnapshot, shard: ShardSnapshot, tie: TieBreaker[AgentSnapshot]) -> HandoverStep | None:
    """Plan the handover of a shard that an operator requests: to its home if the shard is away and the home
    is fit, else to the other fit agent with the fewest shards.

    None: there is no such agent, no live agent serves the shard, a handover is in progress, or the shard may
    not move.
    """
    rule = PlacementRule(group, tie)
    acting = None if shard.acting is None else rule.agents.get(shard.acting)
    if rule.movement_blocker() is not None or shard.handover_to is not None or acting is None or not acting.acts:
        return None
    chosen = rule.loads.choose(shard.home, other_than=acting.id)
    return None if chosen is None else handover_step(shard, chosen)


def ended_handovers(group: GroupSnapshot) -> list[ShardId]:
    """Return the ids of shards in handover to an agent that is no longer eligible: these handovers have to be
    cancelled, and the owners keep the shards.
    """
    eligible = {agent.id for agent in group.agents if agent.eligible}
    return [shard.id for shard in group.shards if shard.handover_to is not None and shard.handover_to not in eligible]


def agent_with_smallest_id(equals: Sequence[AgentSnapshot]) -> AgentSnapshot:
    """Return the agent with the smallest id: a deterministic value for ``tie``."""
    return min(equals, key=lambda agent: agent.id)


def _free_handover_slots(group: GroupSnapshot, at_once: int) -> int:
    return at_once - sum(shard.handover_to is not None for shard in group.shards)


def handover_step(shard: ShardSnapshot, agent_id: AgentId) -> HandoverStep:
    """Build the step that hands the shard over to the agent."""
    return HandoverStep(shard_id=shard.id, seen_epoch=shard.epoch, agent_id=agent_id)
