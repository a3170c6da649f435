"""Each planted bug is found by the simulation, by seeds that are clean without it."""

import pytest

from tests.sim.bugs import BUGS, SEEDS, first_seed
from tests.sim.run import run_seed

pytestmark = pytest.mark.timeout(1200)  # much work, and never one wait: it takes what a busy machine gives


@pytest.mark.parametrize("name", BUGS)
def test_the_simulation_finds_it(name: str) -> None:
    known = BUGS[name].found_at
    # the seed that found it first; where the product has changed since, another one of those allowed
    found = first_seed(name, [known, *(seed for seed in range(1, SEEDS + 1) if seed != known)])
    assert found is not None, f"no seed of {SEEDS} finds that {BUGS[name].text}"
    seed, violation = found
    clean = run_seed(BUGS[name].seed(seed))
    assert not clean.violations, f"{clean.command} fails without the bug too: {clean.violations[0]}; with: {violation}"


def test_there_are_many_of_them() -> None:
    assert len(BUGS) >= 14
