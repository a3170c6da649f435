"""Many seeds: whatever happens while faults last, everything holds and comes to rest."""

import pytest

from tests.sim.run import clean_runs, run_seed

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

SEEDS = 200
CHUNK = 10


@pytest.mark.parametrize("first", range(1, SEEDS + 1, CHUNK))
def test_faults_end_and_everything_is_as_it_was_asked_for(first: int) -> None:
    clean_runs("", range(first, first + CHUNK))


def test_the_faults_are_real() -> None:
    """A simulation in which nothing happens would pass too."""
    results = [run_seed(seed) for seed in range(1, 21)]
    assert sum(result.counts["writes acknowledged"] for result in results) > 200
    assert sum(result.counts["takeovers"] for result in results) > 50
    assert sum(result.counts["errors"] for result in results) > 20
    assert sum(result.counts["reports"] for result in results) > 200
    assert len({kind for result in results for kind in result.faults}) > 25
