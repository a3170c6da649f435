"""Each planted bug is found by the simulation, by a recorded seed that is clean without it.

No test looks for a seed: ``python -m tests.sim.bugs NAME`` does."""

import shlex
from functools import cache

import pytest

from tests.sim.bugs import BUGS, first_seed
from tests.sim.run import Result, run_seed

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives


@cache  # many bugs are found by the same seed
def without_bugs(seed: str) -> Result:
    """The run of a seed with the product as it is, without its event log."""
    return run_seed(seed)._replace(trace=[])


@pytest.mark.parametrize("name", BUGS)
def test_the_simulation_finds_it(name: str) -> None:
    bug = BUGS[name]
    found = first_seed(name, [bug.found_at])
    assert found is not None, (
        f"seed {bug.seed(bug.found_at)} no longer finds that {bug.text}; record in BUGS what this command finds: "
        f"python -m tests.sim.bugs {shlex.quote(name)}"
    )
    _, violation = found
    clean = without_bugs(bug.seed(bug.found_at))
    assert not clean.violations, f"{clean.command} fails without the bug too: {clean.violations[0]}; with: {violation}"


def test_there_are_many_of_them() -> None:
    assert len(BUGS) >= 14
