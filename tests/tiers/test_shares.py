"""No test is lost or run twice, and workers that have run out of tests take over those of others."""

from tests.tiers.shares import Shares, share_size


def taken(shares: Shares, worker: int, number: int) -> list[int | None]:
    return [shares.take(worker) for _ in range(number)]


def test_each_worker_has_consecutive_tests() -> None:
    assert [share_size(11, 3, number) for number in range(3)] == [3, 4, 4]
    shares = Shares(11, 3)
    assert [taken(shares, worker, 3) for worker in range(3)] == [[0, 1, 2], [3, 4, 5], [7, 8, 9]]


def test_a_worker_without_tests_takes_over_the_last_half_of_the_longest_share() -> None:
    shares = Shares(12, 3)
    assert taken(shares, 0, 4) == [0, 1, 2, 3]
    assert taken(shares, 1, 2) == [4, 5]
    assert taken(shares, 0, 2) == [10, 11]
    assert taken(shares, 0, 1) == [7]
    assert taken(shares, 1, 1) == [6]
    assert sorted(test for test in taken(shares, 2, 4) if test is not None) == [8, 9]


def test_every_test_is_taken_once_whoever_asks() -> None:
    for workers in range(1, 6):
        shares = Shares(50, workers)
        found = [shares.take(number * number % workers) for number in range(51)]
        assert sorted(test for test in found if test is not None) == list(range(50))
        assert found[-1] is None


def test_a_test_that_was_given_back_is_the_next() -> None:
    shares = Shares(4, 2)
    assert taken(shares, 0, 2) == [0, 1]
    shares.give_back(0, 1)
    assert taken(shares, 0, 2) == [1, 3]
