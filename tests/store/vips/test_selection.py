from ipaddress import ip_address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.store.vips.selection import (
    CANDIDATES_PER_TRY,
    candidate_addresses,
    canonical_address,
    random_free_address,
)


def plan(first: str, last: str) -> VipPlan:
    return VipPlan(subnet_id="s", network_id="n", port_id="p", allocation_start=first, allocation_end=last)


def test_candidates_are_distinct_and_inside_the_range() -> None:
    found = candidate_addresses(plan("10.0.0.10", "10.0.3.10"), Random(1))

    assert 1 <= len(set(found)) == len(found) <= CANDIDATES_PER_TRY
    assert all(ip_address("10.0.0.10") <= ip_address(text) <= ip_address("10.0.3.10") for text in found)


def test_a_small_range_is_offered_whole() -> None:
    assert sorted(candidate_addresses(plan("10.0.0.1", "10.0.0.3"), Random(1))) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def test_a_huge_range_costs_nothing() -> None:
    huge = plan("2001:db8::", "2001:db8:0:0:ffff:ffff:ffff:ffff")

    assert len(candidate_addresses(huge, Random(1))) == CANDIDATES_PER_TRY
    assert random_free_address(huge, ["2001:db8::1"], Random(1)) is not None


@given(taken=st.sets(st.integers(0, 15)), seed=st.integers())
def test_any_free_finds_a_free_address_whenever_there_is_one(taken: set[int], seed: int) -> None:
    inside = {f"10.0.0.{number}" for number in range(4, 12)}
    held = {f"10.0.0.{number}" for number in taken} | {"::a00:5"}

    found = random_free_address(plan("10.0.0.4", "10.0.0.11"), held, Random(seed))

    assert (found in inside - held) if inside - held else found is None


@given(
    taken=st.sets(st.integers(0, 15)),
    reserved=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 4)), max_size=4),
    seed=st.integers(),
)
def test_reserved_addresses_are_never_given(taken: set[int], reserved: list[tuple[int, int]], seed: int) -> None:
    closed = tuple(f"10.0.0.{first}-10.0.0.{first + more}" for first, more in reserved)
    wanted = replace(plan("10.0.0.4", "10.0.0.11"), reserved=(*closed, "::a00:4-::a00:b"))
    kept = {f"10.0.0.{number}" for first, more in reserved for number in range(first, first + more + 1)}
    free = {f"10.0.0.{number}" for number in range(4, 12)} - {f"10.0.0.{number}" for number in taken} - kept

    found = random_free_address(wanted, {f"10.0.0.{number}" for number in taken}, Random(seed))

    assert (found in free) if free else found is None
    assert not set(candidate_addresses(wanted, Random(seed))) & kept


def test_a_huge_reserved_range_costs_nothing() -> None:
    huge = replace(
        plan("2001:db8::", "2001:db8:0:0:ffff:ffff:ffff:ffff"), reserved=("2001:db8::1-2001:db8::ffff:0:0:0",)
    )
    assert ip_address(random_free_address(huge, ["2001:db8::"], Random(1)) or "::") > ip_address("2001:db8::ffff:0:0:0")


@pytest.mark.parametrize(("first", "last"), [("", ""), ("10.0.0.2", "10.0.0.1"), ("10.0.0.1", "::1")])
def test_a_range_that_is_none_is_invalid_and_names_the_subnet(first: str, last: str) -> None:
    with pytest.raises(Invalid, match="Subnet s"):
        candidate_addresses(plan(first, last), Random(1))


def test_an_address_has_one_spelling() -> None:
    assert canonical_address("2001:DB8:0:0::1") == "2001:db8::1"
    with pytest.raises(Invalid, match="vip_address"):
        canonical_address("10.0.0.300")
