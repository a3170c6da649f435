"""BIG-IPs with a history hold, and do, the same as those that are configured from nothing.

A failure prints the history and what was different; ``python -m tests.equivalence --device bigip --seed SEED
--shrink`` repeats it.
"""

from pathlib import Path

import pytest

from tests.equivalence.bigip import BIGIP, tried
from tests.equivalence.history import draw

SEEDS = ("1", "2", "3", "4")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_bigip_with_a_history_equals_a_new_one(tmp_path: Path, seed: str) -> None:
    verdict = await tried(draw(seed, BIGIP), tmp_path)
    assert not verdict.differences, f"repeat with python -m tests.equivalence --device bigip --seed {seed}\n{verdict}"
