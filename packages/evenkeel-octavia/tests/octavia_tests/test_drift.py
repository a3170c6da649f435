"""Which load balancers differ, and which the controllers have in vain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel_octavia.drift import GRACE_SECONDS, MAX_SHARE, MIN_UNKNOWN, Listed, leftovers, to_write
from octavia_tests.strategies import few

NOW = 1_800_000_000.0
OLD = NOW - 2 * GRACE_SECONDS
ids = st.integers(0, 60).map(lambda number: f"lb-{number:02}")


def listed(names: set[str], snapshot: float = OLD) -> dict[str, Listed]:
    return {name: Listed(snapshot=snapshot, digest="d") for name in names}


def test_missing_and_other_load_balancers_are_written() -> None:
    assert to_write({"a": "d", "b": "d", "c": "other"}, listed({"a", "c"})) == ["b", "c"]


@few
@given(st.sets(ids), st.sets(ids))
def test_load_balancers_that_octavia_has_are_never_deleted(known: set[str], held: set[str]) -> None:
    found = leftovers(known, listed(held), NOW)
    assert not set(found.to_delete) & known
    unknown = len(held - known)
    if unknown > MIN_UNKNOWN and unknown > MAX_SHARE * len(held):
        assert found.to_delete == () and found.suspicious == unknown
    else:
        assert set(found.to_delete) == held - known and not found.suspicious


@pytest.mark.parametrize(("age", "deleted"), [(GRACE_SECONDS / 2, False), (2 * GRACE_SECONDS, True)])
def test_load_balancer_that_was_just_written_is_left(age: float, deleted: bool) -> None:
    assert bool(leftovers([], listed({"a"}, NOW - age), NOW).to_delete) is deleted


def test_empty_database_of_octavia_deletes_nothing() -> None:
    held = {f"lb-{number}" for number in range(40)}
    assert leftovers([], listed(held), NOW).suspicious == 40
