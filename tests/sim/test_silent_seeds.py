"""Devices fall silent among other faults: neither they nor their load balancers are shown as up longer than promised.

Every run has :data:`BUDGET` seeds, the release tier the others."""

import pytest

from tests.sim.kept_runs import clean_runs
from tests.sim.run import SILENT
from tests.sim.scenario import SILENCE

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

BUDGET = 5
SEEDS = 30
CHUNK = 5


@pytest.mark.parametrize("first", range(1, BUDGET + 1, CHUNK))
def test_silent_devices_are_reported_in_time_and_served_again_afterwards(first: int) -> None:
    check_silence(first)


@pytest.mark.parametrize("first", range(BUDGET + 1, SEEDS + 1, CHUNK))
def test_more_silent_devices_are_reported_in_time_and_served_again_afterwards(first: int) -> None:
    check_silence(first)


def check_silence(first: int) -> None:
    """One chunk of seeds is clean, and devices fell silent during changes in all of them but one at most: which faults
    a run has is drawn."""
    results = clean_runs(SILENT, range(first, first + CHUNK))
    assert sum(result.faults[SILENCE] > 0 for result in results) >= CHUNK - 1
