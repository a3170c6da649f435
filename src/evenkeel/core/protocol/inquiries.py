"""Operators' inquiries to the agent that acts for a shard, and the hints (messages) that carry them."""

from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import AdoptionHint, PlanHint


class Inquiry(Value):
    """An operator's inquiry to the agent of a shard, about a load balancer or, without one, about the adoption of the
    shard's partition.
    """

    inquiry_id: str
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    apply: bool = False
    """True: carry out the adoption, or with ``give_back`` its reversal; False: only report what would change."""
    give_back: bool = False
    """True: the inquiry is about returning the adopted partition to the other program."""
    keep_irules: bool = False
    """True: the iRules of operators stay on the virtual servers when the partition is adopted."""


def hint_for_inquiry(inquiry: Inquiry, shard_id: ShardId) -> PlanHint | AdoptionHint:
    """Return the hint that carries an inquiry to an agent: an :class:`AdoptionHint` if it is about giving a
    partition back or keeping iRules, else a :class:`PlanHint`, which agents of earlier versions
    understand, too.
    """
    if inquiry.give_back or inquiry.keep_irules:
        return AdoptionHint(
            shard_id=shard_id,
            inquiry_id=inquiry.inquiry_id,
            apply=inquiry.apply,
            give_back=inquiry.give_back,
            keep_irules=inquiry.keep_irules,
        )
    return PlanHint(
        shard_id=shard_id,
        load_balancer_id=inquiry.load_balancer_id,
        inquiry_id=inquiry.inquiry_id,
        adopt=inquiry.apply,
    )


def inquiry_in_hint(hint: PlanHint | AdoptionHint) -> Inquiry:
    """Return the inquiry that a hint from :func:`hint_for_inquiry` carries. An adoption hint carries no load
    balancer.
    """
    if isinstance(hint, AdoptionHint):
        return Inquiry(
            inquiry_id=hint.inquiry_id, apply=hint.apply, give_back=hint.give_back, keep_irules=hint.keep_irules
        )
    return Inquiry(inquiry_id=hint.inquiry_id, load_balancer_id=hint.load_balancer_id, apply=hint.adopt)
