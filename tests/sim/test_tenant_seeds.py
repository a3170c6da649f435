"""New tenants come one after the other, hints about them are late and repeated, and the database loses some of them.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import pytest

from tests.sim.kept_runs import clean_runs
from tests.sim.run import TENANTS
from tests.sim.scenario import LOSS

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 10
SEEDS = 30
CHUNK = 10


@pytest.mark.parametrize("first", range(1, BUDGET + 1, CHUNK))
def test_shards_that_hints_bring_are_served_by_their_owners_alone(first: int) -> None:
    check_tenants(first)


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_shards_that_hints_bring_are_served_by_their_owners_alone(first: int) -> None:
    check_tenants(first)


def check_tenants(first: int) -> None:
    """One chunk of seeds is clean. In them shards begin by hints, commits are lost, and epochs at which devices were
    written are given to others."""
    results = clean_runs(TENANTS, range(first, first + CHUNK))
    assert sum(result.counts["shards begun by hints"] for result in results) > 3 * CHUNK
    assert sum(result.faults[LOSS] > 0 for result in results) > CHUNK / 2
    assert sum(result.counts["epochs in use given again"] for result in results) > 0
