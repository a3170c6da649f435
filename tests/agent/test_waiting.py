"""Load balancers that wait for a pass."""

from evenkeel.agent.waiting import WaitingLoadBalancers
from evenkeel.core.kit.ids import LoadBalancerId

A, B, C = (LoadBalancerId(name) for name in "abc")


def test_the_age_is_that_of_the_one_that_waits_longest() -> None:
    waiting = WaitingLoadBalancers()
    waiting.update([A], 10.0)
    waiting.update([A, B], 12.0)
    assert (len(waiting), waiting.oldest_seconds(15.0)) == (2, 5.0)
    waiting.difference_update([A, C])
    assert (set(waiting), waiting.oldest_seconds(15.0)) == ({B}, 3.0)
    waiting.clear()
    assert not waiting and waiting.oldest_seconds(15.0) == 0.0


def test_waiting_load_balancers_are_a_set_in_expressions_with_others() -> None:
    waiting = WaitingLoadBalancers()
    waiting.update([A, B], 0.0)
    assert {A, C} - waiting == {C}
    assert {A, C} & waiting == {A} == waiting & {A}
    assert {C} | waiting == {A, B, C}
    both = {A, C}
    both &= waiting
    assert both == {A} and isinstance(both, set)
