"""The reason on a load balancer that no device group can take now."""

from evenkeel.controller.scheduler import GROUPS_NAMED_MAX, reason_for_no_placement
from evenkeel.core.placement import AgentSnapshot, PlacementGroup

LIVE = AgentSnapshot(id="a", live=True)


def full(number: int, *at_limit: str) -> PlacementGroup:
    return PlacementGroup(number=number, capacity_score=1.0, agents=(LIVE,), at_limit=at_limit)


def test_a_full_group_is_named_with_the_metrics_at_their_limit() -> None:
    reason = reason_for_no_placement("lab", [full(1, "node_count 7 of 5", "tenant_count 10 of 10")])
    assert reason == "waiting: device group lab/1 is at capacity (node_count 7 of 5, tenant_count 10 of 10)"


def test_several_full_groups_are_all_named() -> None:
    reason = reason_for_no_placement("lab", [full(1, "tenant_count 10 of 10"), full(2)])
    assert reason == (
        "waiting: device group lab/1 is at capacity (tenant_count 10 of 10), device group lab/2 is at capacity"
    )


def test_very_many_full_groups_do_not_make_the_reason_long() -> None:
    reason = reason_for_no_placement("lab", [full(number) for number in range(50)])
    assert reason.count("device group") == GROUPS_NAMED_MAX
    assert reason.endswith(f", {50 - GROUPS_NAMED_MAX} more too")


def test_a_full_group_without_agents_is_not_the_reason() -> None:
    gone = PlacementGroup(
        number=2, capacity_score=1.0, agents=(AgentSnapshot(id="b", live=False),), at_limit=("x 1 of 1",)
    )
    assert "lab/2" not in reason_for_no_placement("lab", [full(1), gone])


def test_the_reason_in_an_availability_zone_is_its_group() -> None:
    elsewhere = PlacementGroup(number=1, capacity_score=0.0, agents=(LIVE,), in_zone=False)
    idle = PlacementGroup(number=2, capacity_score=0.0, agents=())
    assert reason_for_no_placement("lab", [elsewhere]) == (
        "waiting: no agent has registered in the device group of its availability zone in lab"
    )
    assert reason_for_no_placement("lab", [elsewhere, idle]) == (
        "waiting: no agent of device group lab/2 of its availability zone is up"
    )
    assert reason_for_no_placement("lab", [elsewhere, full(2)]) == (
        "waiting: device group lab/2 is at capacity, the one of its availability zone"
    )


def test_an_environment_without_agents_is_the_reason() -> None:
    down = PlacementGroup(number=1, capacity_score=0.0, agents=(AgentSnapshot(id="a", live=False),))
    assert reason_for_no_placement("lab", []) == "waiting: no agent has registered in environment lab"
    assert reason_for_no_placement("lab", [down]) == "waiting: no agent of environment lab is up"


def test_groups_that_are_neither_down_nor_all_full_are_not_eligible() -> None:
    assert reason_for_no_placement("lab", [full(1), PlacementGroup(number=2, capacity_score=0.0, agents=(LIVE,))]) == (
        "waiting: no eligible device group in environment lab"
    )
