"""Load balancers that wait for a pass."""

from evenkeel.agent.waiting import Waiting
from evenkeel.core.kit.ids import LoadBalancerId
from tests.clock import HandClock

A, B, C = (LoadBalancerId(name) for name in "abc")


def test_the_age_is_that_of_the_one_that_waits_longest() -> None:
    clock = HandClock()
    waiting = Waiting(clock.monotonic, [A])
    clock.now += 2.0
    waiting.update([A, B])
    clock.now += 3.0
    assert (len(waiting), waiting.oldest_seconds) == (2, 5.0)
    waiting.difference_update([A, C])
    assert (set(waiting), waiting.oldest_seconds) == ({B}, 3.0)
    waiting.clear()
    assert not waiting and waiting.oldest_seconds == 0.0


def test_it_is_a_set_to_others() -> None:
    waiting = Waiting(HandClock().monotonic, [A, B])
    assert {A, C} - waiting == {C}
    assert {A, C} & waiting == {A} == waiting & {A}
    assert {C} | waiting == {A, B, C}
    both = {A, C}
    both &= waiting
    assert both == {A} and isinstance(both, set)
