import pytest

from evenkeel.core.resources.limits import (
    PLURALS_OF_LIMITED_KINDS,
    LoadBalancerLimits,
    ObjectLimitReached,
    check_limits,
    limited_kinds_with_additions,
)

LIMITS = LoadBalancerLimits(listener=2, member=3)


def test_every_kind_has_a_limit_and_a_name_for_people() -> None:
    assert set(PLURALS_OF_LIMITED_KINDS) == set(LoadBalancerLimits.__struct_fields__)


def test_only_what_grows_is_looked_at() -> None:
    assert limited_kinds_with_additions({"member": 1, "listener": 2, "pool": 0, "l7rule": -1, "health_monitor": 5}) == (
        "listener",
        "member",
    )


@pytest.mark.parametrize(("there", "more"), [(0, 2), (1, 1), (2, 0), (9, 0), (9, -3)])
def test_up_to_the_limit_and_what_takes_nothing_is_allowed(there: int, more: int) -> None:
    check_limits("lb", LIMITS, {"listener": there}, {"listener": more})  # type: ignore[arg-type]


def test_more_is_refused_with_limit_what_is_there_and_what_was_requested() -> None:
    with pytest.raises(ObjectLimitReached) as refused:
        check_limits("lb", LIMITS, {"member": 2}, {"listener": 1, "member": 2})  # type: ignore[arg-type]
    assert str(refused.value) == "Load balancer lb may have at most 3 members: it has 2, and 2 more were requested."
    assert refused.value.code == "limit_met"
