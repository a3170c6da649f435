"""Shares of servers in new flows."""

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd.layer4.dealing import SLOTS, Span, seed_of, slot_spans, weight_spans

NAMES = st.text("abcdef0123456789-", min_size=1, max_size=8)
WEIGHTS = st.dictionaries(NAMES, st.integers(0, 256), max_size=12)


def numbers(spans: dict[str, tuple[Span, ...]]) -> dict[int, str]:
    """Server by number; fails if two servers have a number."""
    found: dict[int, str] = {}
    for name, each in spans.items():
        for first, last in each:
            assert found.keys().isdisjoint(range(first, last + 1))
            found.update(dict.fromkeys(range(first, last + 1), name))
    return found


@given(WEIGHTS)
def test_numbers_are_dealt_in_proportion_to_weights_without_gap(weights: dict[str, int]) -> None:
    total, spans = weight_spans(weights)
    found = numbers(spans)
    assert sorted(found) == list(range(total))
    shares = {name: sum(one == name for one in found.values()) for name in weights}
    assert all(shares[name] * sum(weights.values()) == weight * total for name, weight in weights.items())


@given(WEIGHTS, NAMES)
def test_every_slot_has_a_server_of_weight(weights: dict[str, int], salt: str) -> None:
    found = numbers(slot_spans(weights, salt))
    assert sorted(found) == (list(range(SLOTS)) if any(weights.values()) else [])
    assert all(weights[name] > 0 for name in found.values())


@given(WEIGHTS, NAMES, st.data())
def test_slots_move_only_from_a_server_that_leaves(weights: dict[str, int], salt: str, data: st.DataObject) -> None:
    if not weights:
        return
    gone = data.draw(st.sampled_from(sorted(weights)))
    before = numbers(slot_spans(weights, salt))
    after = numbers(slot_spans({name: weight for name, weight in weights.items() if name != gone}, salt))
    assert all(after[slot] == name for slot, name in before.items() if name != gone)


def test_slots_follow_weights() -> None:
    found = numbers(slot_spans({"a": 1, "b": 3}, "pool"))
    assert abs(sum(name == "b" for name in found.values()) / SLOTS - 0.75) < 0.1


def test_seeds_are_constant_and_differ_by_pool() -> None:
    # the same on every host: a pair deals a client the same member
    assert seed_of("pool-1") == 0x4EC6FF55
    assert seed_of("pool-1") != seed_of("pool-2")
