"""Delays grow by their factor up to their maximum; the jitter is the caller's."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.backoff import Backoff, with_jitter


def test_the_delay_doubles_up_to_its_maximum():
    backoff = Backoff(initial_seconds=0.1, max_seconds=5.0)
    assert [backoff.nominal_seconds(n) for n in range(1, 9)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_before_the_first_failure_it_is_the_initial_delay():
    assert Backoff(initial_seconds=2.0, max_seconds=30.0).nominal_seconds(0) == 2.0


def test_an_initial_delay_above_the_maximum_is_cut():
    assert Backoff(initial_seconds=60.0, max_seconds=10.0).nominal_seconds(1) == 10.0


@pytest.mark.parametrize("failures", [1_000, 10**6])
def test_no_count_of_failures_is_too_large(failures: int):
    assert Backoff(initial_seconds=0.1, max_seconds=5.0, factor=3.0).nominal_seconds(failures) == 5.0


def test_jitter_is_drawn_once_and_from_the_callers_randomness():
    drawn: list[tuple[float, float]] = []

    def highest(low: float, high: float) -> float:
        drawn.append((low, high))
        return high

    backoff = Backoff(initial_seconds=1.0, max_seconds=4.0, jitter=(0.75, 1.25))
    assert backoff.delay_seconds(9, highest) == 5.0
    assert drawn == [(0.75, 1.25)]


@given(failures=st.integers(0, 100), seed=st.integers(0, 2**32))
def test_the_delay_is_within_its_bounds(failures: int, seed: int):
    backoff = Backoff(initial_seconds=0.2, max_seconds=2.0, jitter=(0.0, 1.0), min_seconds=0.05)
    assert 0.05 <= backoff.delay_seconds(failures, random.Random(seed).uniform) <= 2.0


@pytest.mark.parametrize(
    ("field", "wrong"), [("initial_seconds", -1.0), ("factor", 0.5), ("jitter", (1.0, 0.5)), ("jitter", (-1.0, 0.5))]
)
def test_delays_that_would_shrink_are_refused_by_name(field: str, wrong: object):
    with pytest.raises(ValueError, match=field):
        Backoff(**{"initial_seconds": 1.0, "max_seconds": 2.0, field: wrong})


def test_intervals_of_many_processes_are_spread_around_what_was_asked():
    uniform = random.Random(1).uniform
    found = [with_jitter(10.0, uniform) for _ in range(100)]
    assert 8.0 <= min(found) < 9.0 < 11.0 < max(found) <= 12.0
