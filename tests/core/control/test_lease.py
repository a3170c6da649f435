"""The agent's own view of its session never outlives the database's."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.control.lease import Lease, later_lease

moments = st.integers(0, 1_000_000)


@given(moments, st.floats(0.1, 60), st.floats(0, 30), moments)
def test_a_lease_ends_before_the_databases_whatever_the_delays(
    asked: float, ttl: float, delay: float, now: float
) -> None:
    lease = Lease(asked_at_seconds=asked, ttl_seconds=ttl)
    database_ends = asked + delay + ttl  # the database started counting when the keepalive arrived
    if lease.allows(now, 0.001):
        assert now < database_ends


@given(moments, moments)
def test_answers_out_of_order_never_shorten_the_lease(first: float, second: float) -> None:
    one, two = (Lease(asked_at_seconds=moment, ttl_seconds=5.0) for moment in (first, second))
    assert later_lease(one, two) == later_lease(two, one) or first == second
    assert later_lease(one, two).asked_at_seconds == max(first, second)
    assert later_lease(None, one) == one


def test_nothing_is_allowed_after_the_end() -> None:
    lease = Lease(asked_at_seconds=10.0, ttl_seconds=5.0)
    assert lease.allows(12.0, 3.0)
    assert not lease.allows(12.1, 3.0)
    assert lease.remaining_seconds(99.0) == 0.0


# Milliseconds: sums of floats would differ by a rounding, which is not what is asked here.
keepalives = st.lists(
    st.tuples(st.integers(0, 20_000), st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1, max_size=12
)
"""(sent, time to the database, time of the answer back) of keepalives that overlap at will."""


@given(keepalives, st.integers(1, 10_000), st.sets(st.integers(0, 11)))
def test_no_order_delay_or_loss_of_answers_lets_the_lease_outlive_the_session(
    sent: list[tuple[int, int, int]], ttl: int, lost: set[int]
) -> None:
    commits = sorted(asked + there for asked, there, _ in sent)
    answers = sorted(
        (asked + there + back, asked) for place, (asked, there, back) in enumerate(sent) if place not in lost
    )
    lease: Lease | None = None
    for now, asked in answers:
        lease = later_lease(lease, Lease(asked_at_seconds=asked, ttl_seconds=ttl))
        session_ends = max(commit for commit in commits if commit <= now) + ttl  # the last one committed said it
        assert lease.asked_at_seconds + lease.ttl_seconds <= session_ends
        assert lease.remaining_seconds(now) >= 0
        assert lease.remaining_seconds(session_ends) == 0
        assert not lease.allows(session_ends, 1)


leases = st.builds(Lease, asked_at_seconds=st.integers(0, 20_000), ttl_seconds=st.integers(1, 10_000))


@given(st.lists(leases, min_size=1, max_size=8).flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_the_newest_of_many_answers_does_not_depend_on_their_order(orders: tuple[list[Lease], list[Lease]]) -> None:
    ends = [
        reduce(later_lease, order).remaining_seconds(0) for order in (orders[0], orders[1], [*orders[1], *orders[0]])
    ]
    assert ends == [max(one.remaining_seconds(0) for one in orders[0])] * 3


@given(leases, st.integers(0, 50_000), st.integers(0, 50_000))
def test_time_never_gives_a_lease_back(lease: Lease, one: int, other: int) -> None:
    earlier, later = sorted((one, other))
    assert lease.remaining_seconds(earlier) >= lease.remaining_seconds(later) >= 0
