"""Each planted bug is found by the simulation, by a recorded seed that is clean without it.

No run but the release tier's looks for a seed: ``python -m tests.sim.bugs NAME`` does."""

import shlex

import pytest

from tests.sim.bugs import BUGS, EXCEPTION, SEEDS, clean_seed, first_seed, is_clean, seconds_to_rest
from tests.sim.kept_runs import result_of

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives

RECORDED = {name: bug.found_at for name, bug in BUGS.items() if bug.found_at is not None}
UNRECORDED = [name for name in BUGS if name not in RECORDED]


@pytest.mark.parametrize("name", RECORDED)
def test_the_simulation_finds_it(name: str) -> None:
    bug = BUGS[name]
    found = first_seed(name, [RECORDED[name]])
    assert found is not None, (
        f"seed {bug.seed(RECORDED[name])} no longer finds that {bug.text}; record in BUGS what this command finds: "
        f"python -m tests.sim.bugs {shlex.quote(name)}"
    )
    _, violation = found
    clean = result_of(bug.seed(RECORDED[name]))
    assert not clean.violations, f"{clean.command} fails without the bug too: {clean.violations[0]}; with: {violation}"
    assert EXCEPTION not in violation, f"the plant itself fails: {violation}"
    assert is_clean(clean, violation), f"{clean.command} needs {seconds_to_rest(clean):.0f} s without the bug"


@pytest.mark.parametrize("name", UNRECORDED)
def test_more_seeds_find_a_bug_of_which_none_is_recorded(name: str) -> None:
    assert clean_seed(name, range(1, SEEDS + 1)), f"no seed of {SEEDS} finds that {BUGS[name].text}"


def test_there_are_many_of_them() -> None:
    assert len(RECORDED) >= 14
