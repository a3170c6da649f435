"""The database is replaced by an empty one, another cloud's, or an older one, while agents and devices live on.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import pytest

from tests.sim.replacement import WAYS
from tests.sim.run import REPLACED, clean_runs

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 6
SEEDS = 30
CHUNK = 3


@pytest.mark.parametrize("first", range(1, BUDGET + 1, CHUNK))
def test_replaced_database_removes_nothing_until_an_operator_accepts_it(first: int) -> None:
    check_replacement(first)


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_replaced_databases_remove_nothing_until_an_operator_accepts_them(first: int) -> None:
    check_replacement(first)


def check_replacement(first: int) -> None:
    """One chunk of seeds is clean, each way was taken, and most databases did not know what devices served."""
    results = clean_runs(REPLACED, range(first, first + CHUNK))
    assert {way for result in results for way in WAYS if result.faults[f"{way} database"]} == set(WAYS)
    assert sum(result.counts["load balancers of a replaced database"] > 0 for result in results) > CHUNK / 2
