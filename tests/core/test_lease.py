"""The agent's own view of its session never outlives the database's."""

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.lease import Lease, newer

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
    assert newer(one, two) == newer(two, one) or first == second
    assert newer(one, two).asked_at_seconds == max(first, second)
    assert newer(None, one) == one


def test_nothing_is_allowed_after_the_end() -> None:
    lease = Lease(asked_at_seconds=10.0, ttl_seconds=5.0)
    assert lease.allows(12.0, 3.0)
    assert not lease.allows(12.1, 3.0)
    assert lease.remaining_seconds(99.0) == 0.0
