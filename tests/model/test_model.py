"""The ownership protocol, every reachable state of it: see ownership.pml."""

from pathlib import Path

import pytest

from tests.model import spin

pytestmark = pytest.mark.skipif(bool(spin.missing()), reason=spin.missing() or "-")

EPOCHS = ("NEVER_CALM", "FAULTY_EPOCHS=3", "RESTARTS=0")
RESTARTS = ("NEVER_CALM", "FAULTY_EPOCHS=2", "RESTARTS=2")
CALM = ("FAULTY_EPOCHS=2", "RESTARTS=1")
PLANTED = (
    "NO_GUARD",
    "GUARD_NOT_COMPARED",
    "WRITE_NAMES_NO_EPOCH",
    "SAME_EPOCH",
    "TAKEOVER_COMPARES_NOTHING",
    "SHARDS_OUTLIVE_SESSION",
)
SOUGHT = ("SEEK_NEWEST_WRITE", "SEEK_LATE_WRITE", "SEEK_USELESS_SUSPICION")
NEVER_RUNS = {"-end-"}
"""The ends of loops that have none."""


def holds(found: spin.Search) -> bool:
    print(found.text)
    return found.complete and found.errors == 0 and set(found.unreached) <= NEVER_RUNS


@pytest.mark.parametrize("bounds", [EPOCHS, RESTARTS], ids=["epochs", "restarts"])
def test_no_stale_write_is_accepted_and_every_epoch_has_one_owner(tmp_path: Path, bounds: tuple[str, ...]) -> None:
    found = spin.search(tmp_path, bounds, liveness=False)
    assert holds(found)
    assert found.states > 300_000


def test_takeover_is_always_possible(tmp_path: Path) -> None:
    found = spin.search(tmp_path, CALM, liveness=True)
    assert holds(found)
    assert found.states > 500_000


@pytest.mark.parametrize("planted", PLANTED)
def test_a_broken_rule_is_found(tmp_path: Path, planted: str) -> None:
    bounds = RESTARTS if planted == "SHARDS_OUTLIVE_SESSION" else EPOCHS
    found = spin.search(tmp_path, (*bounds, planted), liveness=False, ends_early=True)
    assert found.errors
    assert "assertion violated" in found.text


def test_a_takeover_that_can_get_stuck_is_found(tmp_path: Path) -> None:
    found = spin.search(tmp_path, (*CALM, "STUCK_TAKEOVER"), liveness=True, ends_early=True)
    assert found.errors
    assert "acceptance cycle" in found.text


@pytest.mark.parametrize("sought", SOUGHT)
def test_situations_that_the_locks_are_for_are_reached(tmp_path: Path, sought: str) -> None:
    found = spin.search(tmp_path, (*EPOCHS, sought), liveness=False, ends_early=True)
    assert "assertion violated 0" in found.text or "assertion violated (0)" in found.text
