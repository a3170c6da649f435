"""What a round of pages says that the agent serves: only a complete and consistent one ends anything."""

from typing import Any

from evenkeel.agent.assignment_round import AssignmentRound
from evenkeel.core.protocol import messages as m


def page(*names: str, after: str = "", more: bool = False, revision: int = 7, history: str = "h1") -> m.Assignments:
    shards = tuple(m.Assignment(shard_id=name, project_id=f"p-{name}", epoch=1) for name in names)  # type: ignore[arg-type]
    return m.Assignments(revision=revision, shards=shards, history=history, after_id=after, more=more)


def begun(**first: Any) -> AssignmentRound:
    """After a first page with ``a`` and ``b``."""
    assigned = AssignmentRound()
    assert assigned.add_page(page("a", "b", more=True, **first))
    assert not assigned.complete and assigned.after_id == "b"
    return assigned


def test_a_round_is_complete_with_the_page_that_has_no_more() -> None:
    assigned = begun()
    assert assigned.add_page(page("c", after="b"))
    assert assigned.complete and list(assigned.epochs) == ["a", "b", "c"]


def test_the_last_page_may_be_empty() -> None:
    assigned = begun()
    assert assigned.add_page(page(after="b")) and assigned.complete


def test_round_keeps_the_revision_of_its_first_page() -> None:
    assigned = begun(revision=7)
    assert assigned.add_page(page("d", after="b", revision=9))
    assert assigned.complete and assigned.revision == 7


def test_pages_of_two_histories_are_no_round() -> None:
    assigned = begun(history="h1")
    assert not assigned.add_page(page("c", after="b", history="h2")) and not assigned.complete


def test_a_revision_that_goes_back_voids_the_round() -> None:
    assigned = begun(revision=7)
    assert not assigned.add_page(page("c", after="b", revision=6)) and not assigned.complete


def test_a_revision_that_goes_back_to_that_of_the_first_page_does_too() -> None:
    assigned = begun(revision=7)
    assert assigned.add_page(page("c", after="b", revision=9, more=True))
    assert not assigned.add_page(page("d", after="c", revision=8))


def test_a_page_that_was_not_requested_is_refused() -> None:
    assigned = begun()
    assert not assigned.add_page(page("c", "d", after="c"))
    assert not assigned.add_page(page("a", "b", more=True))
    assert not assigned.complete and list(assigned.epochs) == ["a", "b"]


def test_a_round_that_would_never_end_is_refused() -> None:
    assert not begun().add_page(page(after="b", more=True))
    assert not begun().add_page(page("a", after="b", more=True))
