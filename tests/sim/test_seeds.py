"""Many seeds: whatever happens while faults last, everything holds and comes to rest.

Every run has :data:`BUDGET` of them, the release tier the others."""

import pytest

from tests.sim.kept_runs import clean_runs

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

COUNTED = 24
BUDGET = 40
SEEDS = 200
CHUNK = 10


@pytest.mark.parametrize(("first", "takeovers", "errors"), [(1, 20, 13), (2, 30, 7)], ids=["odd", "even"])
def test_the_faults_are_real_and_end_and_everything_is_as_it_was_requested(
    first: int, takeovers: int, errors: int
) -> None:
    """A simulation in which nothing happens would pass too. Each half of the seeds has limits of its own."""
    results = clean_runs("", range(first, COUNTED + 1, 2))
    assert sum(result.counts["writes acknowledged"] for result in results) > 100
    assert sum(result.counts["takeovers"] for result in results) > takeovers
    assert sum(result.counts["errors"] for result in results) > errors
    assert sum(result.counts["reports"] for result in results) > 100
    assert len({kind for result in results for kind in result.faults}) > 25


@pytest.mark.parametrize("first", range(COUNTED + 1, BUDGET + 1, CHUNK))
def test_faults_end_and_everything_is_as_it_was_requested(first: int) -> None:
    clean_runs("", range(first, min(first + CHUNK, BUDGET + 1)))


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_faults_end_and_everything_is_as_it_was_requested(first: int) -> None:
    clean_runs("", range(first, first + CHUNK))
