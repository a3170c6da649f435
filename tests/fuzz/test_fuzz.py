"""Strangers for some seconds; ``python -m tests.fuzz`` lets them stay for longer."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import patient as patient
from tests.fuzz.rig import Rig

SESSION_SECONDS = 30.0
"""A machine that is busy with other tests may stand still for longer than the default."""

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(600)]


async def test_strangers_cost_honest_clients_and_agents_nothing_but_time(tmp_path: Path) -> None:
    rig = Rig(tmp_path, session_ttl=SESSION_SECONDS)
    try:
        await rig.start()
        outcome = await rig.run(seconds=10.0, connections=100, seed=1)
        assert outcome.asked and not outcome.problems(), outcome
    finally:
        await rig.close()
