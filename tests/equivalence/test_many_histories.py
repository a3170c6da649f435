"""More histories than every run has: see :mod:`.test_histories` and :mod:`.test_bigip_histories`."""

from pathlib import Path

import pytest

from tests.equivalence.bigip import BIGIP, tried
from tests.equivalence.history import draw
from tests.equivalence.host import possible_here
from tests.equivalence.test_histories import SEEDS, Trials, trials

__all__ = ["trials"]
HAPROXY_SEEDS, BIGIP_SEEDS = range(len(SEEDS) + 1, 201), range(5, 31)


@pytest.mark.parametrize("seed", HAPROXY_SEEDS)
def test_a_haproxy_with_a_history_equals_a_new_one(trials: Trials, seed: int) -> None:
    verdict = trials.loop.run(trials.rig.run(draw(str(seed), possible_here())))
    assert not verdict.differences, f"repeat with python -m tests.equivalence --seed {seed}\n{verdict}"


@pytest.mark.parametrize("seed", BIGIP_SEEDS)
async def test_a_bigip_with_a_history_equals_a_new_one(tmp_path: Path, seed: int) -> None:
    verdict = await tried(draw(str(seed), BIGIP), tmp_path)
    assert not verdict.differences, f"repeat with python -m tests.equivalence --device bigip --seed {seed}\n{verdict}"
