"""Which load balancers differ, and which the controllers have in vain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel_octavia.drift import (
    GRACE_SECONDS,
    Leftovers,
    ListedLoadBalancer,
    differing_ids,
    find_leftovers,
    rolled_back_ids,
)
from octavia_tests.strategies import few

NOW = 1_800_000_000.0
OLD = NOW - 2 * GRACE_SECONDS
ids = st.integers(0, 60).map(lambda number: f"lb-{number:02}")


def listed(names: set[str], snapshot: float = OLD) -> dict[str, ListedLoadBalancer]:
    return {name: ListedLoadBalancer(snapshot=snapshot, digest="d") for name in names}


def test_missing_and_different_load_balancers_are_written() -> None:
    assert differing_ids({"a": "d", "b": "d", "c": "other"}, listed({"a", "c"})) == ["b", "c"]


@few
@given(st.dictionaries(ids, st.sampled_from(["ACTIVE", "PENDING_DELETE", "ERROR", "DELETED"])), st.sets(ids))
def test_only_load_balancers_deleted_in_octavia_are_deleted(statuses: dict[str, str], held: set[str]) -> None:
    found = find_leftovers(statuses, listed(held), NOW)
    assert set(found.deleted) == {id for id in held if statuses.get(id) == "DELETED"}
    assert set(found.unknown) == held - statuses.keys()


@pytest.mark.parametrize("statuses", [{}, {"a": "DELETED"}])
def test_recently_written_load_balancer_is_left_alone(statuses: dict[str, str]) -> None:
    assert find_leftovers(statuses, listed({"a"}, NOW - GRACE_SECONDS / 2), NOW) == Leftovers()


def test_port_is_given_back_only_if_octavia_does_not_have_its_load_balancer() -> None:
    statuses = {"a": "PENDING_CREATE", "b": "DELETED", "c": "ERROR", "d": "ACTIVE"}
    assert rolled_back_ids(statuses, ["a", "b", "c", "missing"]) == ["b", "missing"]
