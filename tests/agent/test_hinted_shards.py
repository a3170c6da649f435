"""Hints without a gap show all changes of the assignments, and a round may be older than a hint's shard."""

import pytest

from evenkeel.agent import hinted_shards
from evenkeel.agent.hinted_shards import HintedShards


def after_a_round(revision: int = 4) -> HintedShards:
    known = HintedShards()
    assert known.round_completed(revision) == set()
    return known


def test_nothing_is_known_before_a_round() -> None:
    assert HintedShards().revision == -1


def test_hints_without_a_gap_raise_the_revision_in_any_order() -> None:
    known = after_a_round(4)
    known.add("b", 6)
    assert known.revision == 4
    known.add("a", 5)
    assert known.revision == 6


def test_a_gap_is_closed_by_a_round() -> None:
    known = after_a_round(4)
    known.add("a", 6)
    known.add("b", 7)
    assert known.revision == 4
    known.round_completed(5)
    assert known.revision == 7


def test_a_round_does_not_end_shards_that_began_during_it_and_are_newer() -> None:
    known = after_a_round(4)
    known.round_begun()
    known.add("a", 5)
    known.add("b", 6)
    assert known.round_completed(5) == {"b"}


def test_a_round_may_end_all_that_began_before_it() -> None:
    known = after_a_round(4)
    known.add("a", 5)
    known.round_begun()
    assert known.round_completed(4) == set()  # the database lost it
    assert known.revision == 5


@pytest.mark.parametrize(("revision", "may"), [(4, False), (5, False), (6, True), (7, True)])
def test_a_shard_begins_only_if_no_answer_shows_a_later_change(revision: int, may: bool) -> None:
    known = after_a_round(4)
    known.answer_received(6)
    known.answer_received(5)  # a late one
    assert known.may_begin(revision) is may


def test_nothing_begins_before_a_round() -> None:
    assert not HintedShards().may_begin(1)


def test_memory_for_hints_beyond_a_gap_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hinted_shards, "AHEAD_MAX", 2)
    known = after_a_round(4)
    for revision in (6, 7, 8):
        known.add(str(revision), revision)
    known.add("5", 5)
    assert known.revision == 4  # not remembered: a round closes the gap
    known.round_completed(5)
    assert known.revision == 7
