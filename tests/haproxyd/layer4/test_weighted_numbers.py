"""Shares of servers in new flows."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd.layer4.weighted_numbers import (
    APPROXIMATE_NUMBER_COUNTS,
    HASH_SLOTS,
    NUMBER_RANGES,
    NumberRange,
    assign_numbers,
)

NAMES = st.text("abcdef0123456789-", min_size=1, max_size=8)
WEIGHTS = st.dictionaries(NAMES, st.integers(0, 256), max_size=12)


def numbers_of(found: dict[int, str]) -> list[int]:
    """The numbers that the kernel draws for these servers."""
    deal = next(deal for deal in NUMBER_RANGES if deal.offset == min(found))
    return list(range(deal.offset, deal.offset + deal.below))


@given(WEIGHTS)
def test_every_number_has_a_server_and_shares_are_in_proportion_to_weights(weights: dict[str, int]) -> None:
    found = assign_numbers("weight", weights, "pool")
    total = sum(weights.values())
    if not total:
        assert found == {}
        return
    assert sorted(found) == numbers_of(found)
    shares = Counter(found.values())
    for name, weight in weights.items():
        assert (shares[name] > 0) == (weight > 0)
        assert abs(shares[name] / len(found) - weight / total) < 0.02


@given(st.dictionaries(NAMES, st.integers(1, 3), min_size=1, max_size=2), st.integers(1, 50))
def test_small_weights_are_dealt_exactly_whatever_their_common_divisor(weights: dict[str, int], times: int) -> None:
    found = assign_numbers("weight", {name: weight * times for name, weight in weights.items()}, "pool")
    shares = Counter(found.values())
    assert all(shares[name] * sum(weights.values()) == weight * len(found) for name, weight in weights.items())


def test_each_of_many_servers_has_a_share() -> None:
    weights = {f"m{number}": 256 if number == 0 else 1 for number in range(300)}
    shares = Counter(assign_numbers("weight", weights, "pool").values())
    assert shares.total() == APPROXIMATE_NUMBER_COUNTS[1]
    assert min(shares.values()) >= 1
    assert shares.keys() == weights.keys()


def test_numbers_of_different_deals_differ() -> None:
    numbers = [number for deal in NUMBER_RANGES for number in range(deal.offset, deal.offset + deal.below)]
    assert len(numbers) == len(set(numbers))
    # the numbers are in the kernel: another daemon's are the same
    assert (NumberRange("weight", 1).offset, NumberRange("source", HASH_SLOTS).offset) == (1 << 16, 9 << 16)


@given(WEIGHTS, NAMES)
def test_every_slot_has_a_server_of_weight(weights: dict[str, int], salt: str) -> None:
    found = assign_numbers("source", weights, salt)
    assert len(found) == (HASH_SLOTS if any(weights.values()) else 0)
    assert all(weights[name] > 0 for name in found.values())


@given(WEIGHTS, NAMES, st.data())
def test_slots_move_only_from_a_server_that_leaves(weights: dict[str, int], salt: str, data: st.DataObject) -> None:
    if not weights:
        return
    gone = data.draw(st.sampled_from(sorted(weights)))
    before = assign_numbers("source_port", weights, salt)
    after = assign_numbers("source_port", {name: weight for name, weight in weights.items() if name != gone}, salt)
    assert all(after[slot] == name for slot, name in before.items() if name != gone)


def test_slots_follow_weights_and_differ_by_pool() -> None:
    found = assign_numbers("source", {"a": 1, "b": 3}, "pool")
    assert abs(sum(name == "b" for name in found.values()) / HASH_SLOTS - 0.75) < 0.1
    assert found != assign_numbers("source", {"a": 1, "b": 3}, "another")
