"""The same faults for tenants of LBaaS v1, whose load balancers come to a VIP and lose it again.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import pytest

from tests.sim.run import POOLS, clean_runs

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 10
SEEDS = 40
CHUNK = 10


@pytest.mark.parametrize("first", range(1, BUDGET + 1, CHUNK))
def test_addresses_come_and_go_and_nobody_holds_anothers(first: int) -> None:
    check_addresses(first)


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_addresses_come_and_go_and_nobody_holds_anothers(first: int) -> None:
    check_addresses(first)


def check_addresses(first: int) -> None:
    """One chunk of seeds is clean, and addresses were given up and refused in it."""
    results = clean_runs(POOLS, range(first, first + CHUNK))
    assert sum(result.counts["vips deleted"] for result in results) > 3
    assert sum(result.counts["refused vip_exists"] for result in results) > 0
    assert sum(result.counts["refused address_taken"] for result in results) > 0
