"""Conditions that must still hold when a step is committed: the store checks them in the transaction of the step.

The conditions are deliberately weaker than the rule: an agent that was the best choice a moment ago may take a shard
although another one would be chosen now. Every step of the rule passes. The store's SQL statements check the same.
"""

from evenkeel.core.placement.views import AgentSnapshot, AssignStep, HandoverStep, ShardSnapshot


def may_receive(agent: AgentSnapshot | None) -> bool:
    """Whether a shard may be handed over to the agent. None: there is no such agent in the device group."""
    return agent is not None and agent.eligible


def may_assign(
    step: AssignStep,
    shard: ShardSnapshot,
    *,
    assignee: AgentSnapshot | None,
    acting: AgentSnapshot | None,
    halted: bool,
) -> bool:
    """Whether the shard is unchanged since the plan, and unserved or its handover overdue; and ``assignee`` may take
    it: while the circuit breaker is open only the home may, and a drained agent only as the home.

    ``assignee``, ``acting``: None if there is no such agent in the device group.
    """
    if shard.epoch != step.seen_epoch or assignee is None or not assignee.acts:
        return False
    at_home = assignee.id == shard.home
    allowed = (assignee.eligible or (step.to_home and at_home)) and (at_home or not halted)
    return allowed and (acting is None or not acting.acts or shard.overdue)


def may_start_handover(
    step: HandoverStep, shard: ShardSnapshot, *, receiver: AgentSnapshot | None, acting: AgentSnapshot | None
) -> bool:
    """Whether the shard is unchanged since the plan, another agent serves it and no handover is in progress; and
    ``receiver`` may get it. ``receiver``, ``acting``: None if there is no such agent in the device group.
    """
    as_seen = shard.epoch == step.seen_epoch and shard.handover_to is None
    return as_seen and acting is not None and acting.id != step.agent_id and may_receive(receiver)
