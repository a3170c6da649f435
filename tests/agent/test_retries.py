"""Waits grow, are asked for once, and are forgotten when things go well."""

import random

from evenkeel.agent.retries import Retries
from evenkeel.core.kit.backoff import Backoff


def test_waits_double_up_to_the_maximum() -> None:
    retries = Retries(Backoff(initial_seconds=1.0, max_seconds=4.0, jitter=(0.75, 1.25)), random.Random(1))
    waits = [retries.record_failure("a", 0.0) for _ in range(5)]
    assert all(0.75 * base <= wait <= 1.25 * base for wait, base in zip(waits, [1, 2, 4, 4, 4], strict=True))


def test_due_retry_is_taken_once_until_the_next_failure() -> None:
    retries = Retries(Backoff(initial_seconds=1.0, max_seconds=4.0, jitter=(0.75, 1.25)), random.Random(1))
    retries.record_failure("a", 0.0)
    assert retries.is_waiting("a", 0.1)
    assert retries.take_due(0.1) == []
    assert retries.take_due(2.0) == ["a"]
    assert retries.take_due(9.0) == []
    assert not retries.is_waiting("a", 9.0)
    retries.record_failure("a", 9.0)
    assert retries.take_due(9.0 + 2.6) == ["a"]


def test_success_and_absence_are_forgotten() -> None:
    retries = Retries(Backoff(initial_seconds=1.0, max_seconds=4.0, jitter=(0.75, 1.25)), random.Random(1))
    for key in "abc":
        retries.record_failure(key, 0.0)
    retries.record_success("a")
    retries.forget_others({"b"})
    assert retries.take_due(9.0) == ["b"]
