from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.resources.statuses import OperatingStatus as S
from evenkeel.core.status import health

member = st.sampled_from([S.ONLINE, S.ERROR, S.DRAINING, S.OFFLINE, S.NO_MONITOR])
members = st.lists(member, max_size=8)
parts = st.lists(st.sampled_from([S.ONLINE, S.DEGRADED, S.ERROR, S.OFFLINE]), max_size=8)
RANK = {S.ONLINE: 0, S.DEGRADED: 1, S.ERROR: 2}


def test_members() -> None:
    assert health.member_status(enabled=False, draining=True, monitored=True, up=True) is S.OFFLINE
    assert health.member_status(enabled=True, draining=True, monitored=True, up=False) is S.ERROR
    assert health.member_status(enabled=True, draining=True, monitored=True, up=True) is S.DRAINING
    assert health.member_status(enabled=True, draining=True, monitored=False, up=False) is S.DRAINING
    assert health.member_status(enabled=True, draining=False, monitored=False, up=False) is S.NO_MONITOR
    assert health.member_status(enabled=True, draining=False, monitored=True, up=True) is S.ONLINE
    assert health.member_status(enabled=True, draining=False, monitored=True, up=False) is S.ERROR


def test_pools() -> None:
    assert health.pool_status([]) is S.ONLINE
    assert health.pool_status([S.ERROR, S.ONLINE]) is S.DEGRADED
    assert health.pool_status([S.ERROR, S.ERROR]) is S.ERROR
    assert health.pool_status([S.DRAINING, S.OFFLINE]) is S.ERROR
    assert health.pool_status([S.NO_MONITOR, S.OFFLINE]) is S.ONLINE
    assert health.pool_status([S.ONLINE], in_use=False) is S.OFFLINE


def test_listeners_and_load_balancers() -> None:
    assert health.listener_status(enabled=False) is S.OFFLINE
    assert health.listener_status(enabled=True, connections=9, connection_limit=9) is S.DEGRADED
    assert health.listener_status(enabled=True, connections=9) is S.ONLINE
    assert health.load_balancer_status([]) is S.ONLINE
    assert health.load_balancer_status([S.OFFLINE]) is S.ONLINE
    assert health.load_balancer_status([S.ERROR], enabled=False) is S.OFFLINE


@given(members)
def test_order_of_members_does_not_matter(statuses: list[S]) -> None:
    assert health.pool_status(statuses) is health.pool_status(reversed(statuses))


@given(members, st.data())
def test_a_member_that_fails_never_makes_a_pool_better(statuses: list[S], data: st.DataObject) -> None:
    if statuses:
        place = data.draw(st.integers(0, len(statuses) - 1))
        worse = [*statuses[:place], S.ERROR, *statuses[place + 1 :]]
        assert RANK[health.pool_status(worse)] >= RANK[health.pool_status(statuses)]


@given(parts, parts)
def test_a_load_balancer_is_as_bad_as_its_worst_part(one: list[S], other: list[S]) -> None:
    both = RANK[health.load_balancer_status(one + other)]
    assert both == max(RANK[health.load_balancer_status(one)], RANK[health.load_balancer_status(other)])


@given(members.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))), st.booleans())
def test_neither_order_nor_repetition_of_members_makes_another_pool(
    orders: tuple[list[S], list[S]], in_use: bool
) -> None:
    first, second = orders
    assert health.pool_status(first, in_use=in_use) is health.pool_status([*second, *first], in_use=in_use)


@given(parts.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))), st.booleans())
def test_neither_order_nor_repetition_of_parts_makes_another_load_balancer(
    orders: tuple[list[S], list[S]], enabled: bool
) -> None:
    first, second = orders
    once = health.load_balancer_status(first, enabled=enabled)
    assert once is health.load_balancer_status([*second, *first], enabled=enabled)
