"""What a database that lost commits and a device that lost its state can lead to, every state of it: see
storage_that_lies.pml."""

from pathlib import Path

import pytest

from tests.model import spin

pytestmark = pytest.mark.skipif(bool(spin.missing()), reason=spin.missing() or "-")

MODEL = Path(__file__).with_name("storage_that_lies.pml")
DATABASE = ("LOSSES=1", "DEVICE_FAULTS=0", "CHANGES=2")
DEVICE = ("LOSSES=0", "DEVICE_FAULTS=1", "CHANGES=2", "TWO")
RESTART = ("RESTARTS=1", "TIMEOUTS=0")
LATE = ("RESTARTS=0", "TIMEOUTS=1")
QUIET = ("RESTARTS=0", "TIMEOUTS=0")
WRONG_WRITE = (
    ("SETTLE_BY_REVISION", (*DATABASE, *LATE)),
    ("MEMORY_BY_REVISION", (*DATABASE, *LATE)),
    ("GUARD_WITHOUT_SESSION", (*DATABASE, *RESTART)),
    ("CHANGE_MOVES_GUARD", (*DEVICE, *QUIET)),
)
NEVER_AGREES = (
    ("EQUAL_NOT_RAISED", (*DATABASE, *RESTART)),
    ("NO_HISTORY", (*DATABASE, *QUIET)),
    ("NO_STATE_ID", (*DEVICE, *QUIET)),
    ("GUARD_WITHOUT_GROUP", (*DEVICE, *QUIET)),
)
"""Rules that one bug each breaks, with bounds that are wide enough to show it."""


def search(directory: Path, defined: tuple[str, ...], *, liveness: bool, ends_early: bool = False) -> spin.Search:
    names = defined if liveness else ("NEVER_CALM", *defined)
    found = spin.search(directory, names, liveness=liveness, model=MODEL, ends_early=ends_early)
    print(found.text)
    return found


@pytest.mark.parametrize("bounds", [(*DATABASE, *RESTART), (*DATABASE, *LATE), (*DEVICE, *LATE)], ids="-".join)
def test_nothing_is_confirmed_that_no_device_held_and_every_epoch_has_one_writer(
    tmp_path: Path, bounds: tuple[str, ...]
) -> None:
    found = search(tmp_path, bounds, liveness=False)
    assert found.complete and found.errors == 0 and set(found.unreached) <= {"-end-"}
    assert found.states > 500_000


@pytest.mark.parametrize("bounds", [(*DATABASE, *QUIET), (*DEVICE, *QUIET)], ids="-".join)
def test_the_device_comes_to_hold_what_the_database_says(tmp_path: Path, bounds: tuple[str, ...]) -> None:
    found = search(tmp_path, bounds, liveness=True)
    assert found.complete and found.errors == 0
    assert found.states > 300_000


@pytest.mark.parametrize(("broken", "bounds"), WRONG_WRITE)
def test_a_rule_without_which_something_wrong_is_taken_is_missed(
    tmp_path: Path, broken: str, bounds: tuple[str, ...]
) -> None:
    found = search(tmp_path, (*bounds, broken), liveness=False, ends_early=True)
    assert found.errors and "assertion violated" in found.text


@pytest.mark.parametrize(("broken", "bounds"), NEVER_AGREES)
def test_a_rule_without_which_nothing_is_mended_is_missed(tmp_path: Path, broken: str, bounds: tuple[str, ...]) -> None:
    found = search(tmp_path, (*bounds, broken), liveness=True, ends_early=True)
    assert found.errors and "acceptance cycle" in found.text
