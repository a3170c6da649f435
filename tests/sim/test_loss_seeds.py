"""The database loses commits while tenants write fast, devices are slow, and the loss is found out late.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import pytest

from tests.sim.kept_runs import clean_runs
from tests.sim.run import LOSSES
from tests.sim.scenario import LOSS

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 10
SEEDS = 30
CHUNK = 10


@pytest.mark.parametrize("first", range(1, BUDGET + 1, CHUNK))
def test_devices_follow_the_remaining_database(first: int) -> None:
    check_losses(first)


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_of_what_is_left_of_the_database_is_what_devices_come_to_hold(first: int) -> None:
    check_losses(first)


def check_losses(first: int) -> None:
    """One chunk of seeds is clean, and the database lost commits in most of them."""
    results = clean_runs(LOSSES, range(first, first + CHUNK))
    assert sum(result.faults[LOSS] > 0 for result in results) > CHUNK / 2


def test_a_network_stays_for_the_partition_of_a_tenant_of_whom_nobody_can_know() -> None:
    clean_runs("", [1218])


def test_load_balancer_lost_before_its_report_leaves_the_devices() -> None:
    clean_runs("", [8455])
