"""Each planted fault is found by a trial, whose history shows nothing without it.

``python -m tests.equivalence --fault NAME --steps 6 --histories 200 --until-different`` looks for another history.
"""

import asyncio
import tempfile
from pathlib import Path

import pytest

from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from tests.equivalence import traffic, trial
from tests.equivalence.faults import FAULTS, IN_THE_KERNEL
from tests.equivalence.history import draw
from tests.equivalence.host import possible_here
from tests.equivalence.trial import rig
from tests.equivalence.verdict import Verdict

AGREE_SECONDS = 3.0


def tried(seed: str, steps: int, fault: str) -> Verdict:
    """The verdict on one history, with a rig of its own."""

    async def run(folder: Path) -> Verdict:
        async with rig(folder, fault) as made:
            return await made.run(draw(seed, possible_here(), steps=steps))

    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY_DIR) as folder:
        return asyncio.run(run(Path(folder)))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    if name in IN_THE_KERNEL and not possible_here().riders:
        pytest.skip("the kernel cannot forward here")
    clean = tried(fault.seed, fault.steps, "")
    for module in (trial, traffic):  # what differs will not become equal
        monkeypatch.setattr(module, "AGREE_SECONDS", AGREE_SECONDS)
    found = tried(fault.seed, fault.steps, name)
    assert found.differences, f"not found: {fault.text}"
    assert not clean.differences, f"different without the fault, too: {clean}"
