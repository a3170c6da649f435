"""Operators' inquiries, which the acting agent of a shard answers, and the hints that carry them."""

from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import AdoptionHint, PlanHint


class Inquiry(Value):
    """An operator's inquiry about a load balancer or, without one, about the adoption of the shard's partition."""

    inquiry_id: str
    load_balancer_id: LoadBalancerId = LoadBalancerId("")
    apply: bool = False
    """Whether to carry out the adoption, or with ``give_back`` the way back; False: only report what would change."""
    give_back: bool = False
    """Whether it is about making the partition the other program's again."""
    keep_irules: bool = False
    """Whether the iRules of operators stay on the virtual servers with the adoption."""


def hint_of(inquiry: Inquiry, shard_id: ShardId) -> PlanHint | AdoptionHint:
    """Return the hint that carries an inquiry to an agent; one that agents of earlier versions understand, if they can
    answer it.
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


def inquiry_of(hint: PlanHint | AdoptionHint) -> Inquiry:
    """Return the inquiry that a hint carries."""
    if isinstance(hint, AdoptionHint):
        return Inquiry(
            inquiry_id=hint.inquiry_id, apply=hint.apply, give_back=hint.give_back, keep_irules=hint.keep_irules
        )
    return Inquiry(inquiry_id=hint.inquiry_id, load_balancer_id=hint.load_balancer_id, apply=hint.adopt)
