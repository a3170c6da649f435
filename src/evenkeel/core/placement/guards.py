"""What must still be so when a step is committed: the store asks for this in the transaction that takes it.

Weaker than the rule on purpose: an agent that was the best choice a moment ago may take a shard although another one
would be chosen now. Every step of the rule passes, and the store's statements say the same.
"""

from evenkeel.core.placement.views import AgentSnapshot, Assign, Handover, ShardSnapshot


def may_receive(agent: AgentSnapshot | None) -> bool:
    """A shard may be handed over to it. None: there is no such agent in the device group."""
    return agent is not None and agent.eligible


def may_assign(
    step: Assign, shard: ShardSnapshot, *, taker: AgentSnapshot | None, acting: AgentSnapshot | None, halted: bool
) -> bool:
    """The shard is as it was seen and nobody serves it, or its owner should have released it long ago; and the taker
    may have it: only its home while the circuit breaker is open, and a drained agent only as its home.

    ``taker``, ``acting``: None if there is no such agent in the device group.
    """
    if shard.epoch != step.seen_epoch or taker is None or not taker.acts:
        return False
    at_home = taker.id == shard.home
    allowed = (taker.eligible or (step.to_home and at_home)) and (at_home or not halted)
    return allowed and (acting is None or not acting.acts or shard.overdue)


def may_start_handover(
    step: Handover, shard: ShardSnapshot, *, receiver: AgentSnapshot | None, acting: AgentSnapshot | None
) -> bool:
    """The shard is as it was seen, another agent has it and was not asked for it yet; and the receiver may have it.

    ``receiver``, ``acting``: as in :func:`may_assign`.
    """
    as_seen = shard.epoch == step.seen_epoch and shard.handover_to is None
    return as_seen and acting is not None and acting.id != step.agent_id and may_receive(receiver)
