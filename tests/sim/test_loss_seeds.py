"""The database loses commits while tenants write fast, devices are slow, and the loss is found out late."""

import pytest

from tests.sim.run import LOSSES, run_seed
from tests.sim.scenario import LOSS

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

SEEDS = 30
CHUNK = 10


@pytest.mark.parametrize("first", range(1, SEEDS + 1, CHUNK))
def test_what_is_left_of_the_database_is_what_devices_come_to_hold(first: int) -> None:
    results = [run_seed(f"{LOSSES}{seed}") for seed in range(first, first + CHUNK)]
    failed = [f"{result.command}\n{chr(10).join(result.violations)}" for result in results if result.violations]
    assert not failed, "\n\n".join(failed)
    assert sum(result.faults[LOSS] > 0 for result in results) > CHUNK / 2
