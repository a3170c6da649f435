"""A limit of the account keeps all projects from orders for a while, and that of one project only itself."""

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.rate_limits import HELD_SECONDS_MAX, RateLimits

ONE, TWO, THREE = map(ProjectId, ("p1", "p2", "p3"))


def test_a_project_alone_keeps_no_other_from_orders() -> None:
    limits = RateLimits()
    for _ in range(9):
        limits.refused("default", ONE, until=200.0, at=100.0)
    assert limits.rate_limited_until("default", at=100.0) == 0.0


def test_refusals_of_two_projects_hold_orders_until_the_first_may_be_repeated() -> None:
    limits = RateLimits()
    limits.refused("default", ONE, until=200.0, at=100.0)
    limits.refused("default", TWO, until=300.0, at=100.0)
    assert limits.rate_limited_until("default", at=199.0) == 200.0
    assert limits.rate_limited_until("other", at=199.0) == 0.0
    assert limits.rate_limited_until("default", at=200.0) == 0.0
    # the one that is tried then is refused, too
    limits.refused("default", THREE, until=500.0, at=200.0)
    assert limits.rate_limited_until("default", at=201.0) == 300.0


def test_an_accepted_order_ends_it_and_no_delay_is_longer_than_an_hour() -> None:
    limits = RateLimits()
    for project in (ONE, TWO):
        limits.refused("default", project, until=1e9, at=100.0)
    assert limits.rate_limited_until("default", at=100.0) == 100.0 + HELD_SECONDS_MAX
    limits.accepted("default")
    assert limits.rate_limited_until("default", at=100.0) == 0.0
