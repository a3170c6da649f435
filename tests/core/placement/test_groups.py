"""A tenant stays where it is; a new one goes where somebody is up."""

from evenkeel.core.placement import AgentSnapshot, PlacementGroup, choose_group
from tests.core.placement.test_shards import first

UP, DOWN = AgentSnapshot(id="a", live=True), AgentSnapshot(id="b", live=False)


def test_a_tenant_stays_on_its_group_while_no_agent_is_up_there() -> None:
    down = PlacementGroup(number=1, capacity_score=0.9, agents=(DOWN,), holds_tenant=True)
    up = PlacementGroup(number=2, capacity_score=0.0, agents=(UP,))
    assert choose_group([down, up], first) == down
    full = PlacementGroup(number=1, capacity_score=1.0, agents=(UP,), holds_tenant=True)
    assert choose_group([full, up], first) == up


def test_a_tenant_on_several_groups_goes_to_the_emptiest_of_them() -> None:
    groups = [
        PlacementGroup(number=number, capacity_score=score, agents=(UP,), holds_tenant=held)
        for number, score, held in ((1, 0.5, True), (2, 0.3, True), (3, 0.0, False))
    ]
    assert choose_group(groups, first) == groups[1]
