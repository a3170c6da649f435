"""Inquiries survive their way in a hint."""

import pytest

from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.protocol.inquiries import Inquiry, hint_for_inquiry, inquiry_in_hint
from evenkeel.core.protocol.messages import AdoptionHint, PlanHint


@pytest.mark.parametrize(
    ("inquiry", "kind"),
    [
        (Inquiry(inquiry_id="q", load_balancer_id=LoadBalancerId("lb-1")), PlanHint),
        (Inquiry(inquiry_id="q", apply=True), PlanHint),
        (Inquiry(inquiry_id="q", give_back=True), AdoptionHint),
        (Inquiry(inquiry_id="q", apply=True, keep_irules=True), AdoptionHint),
    ],
    ids=["plan", "adoption", "plan of the way back", "adoption with iRules"],
)
def test_hint_carries_the_whole_inquiry(inquiry: Inquiry, kind: type) -> None:
    hint = hint_for_inquiry(inquiry, ShardId("shard-1"))
    assert isinstance(hint, kind)
    assert hint.shard_id == "shard-1"
    assert inquiry_in_hint(hint) == inquiry
