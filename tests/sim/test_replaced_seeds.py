"""The database is replaced by an empty one, another cloud's, or an older one, while agents and devices live on.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import pytest

from tests.sim.kept_runs import clean_runs
from tests.sim.replacement import WAYS
from tests.sim.run import REPLACED

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 8
SEEDS = 30
CHUNK = 12


def test_replaced_database_removes_nothing_until_an_operator_accepts_it() -> None:
    check_replacement(range(1, BUDGET + 1))


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_replaced_databases_remove_nothing_until_an_operator_accepts_them(first: int) -> None:
    check_replacement(range(first, first + CHUNK))


def check_replacement(seeds: range) -> None:
    """Seeds are clean, each way was taken, and most databases did not know what devices served.

    Which database knows everything is chance, one in five: among a few seeds that says nothing about the simulation."""
    results = clean_runs(REPLACED, seeds)
    assert {way for result in results for way in WAYS if result.faults[f"{way} database"]} == set(WAYS)
    assert sum(result.counts["load balancers of a replaced database"] > 0 for result in results) > len(seeds) / 2
