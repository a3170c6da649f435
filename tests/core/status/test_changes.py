from evenkeel.core.status.changes import change_entries_since, contradicts_database, is_change_in_history
from evenkeel.core.status.outcomes import Applied

EARLIER = "3:aaaaaaaa 4:bbbbbbbb "
"""What a row at revision 5 remembers."""


def outcome(revision: int, change_id: str) -> Applied:
    return Applied(load_balancer_id="lb", revision=revision, change_id=change_id)  # type: ignore[arg-type]


def known(revision: int, change_id: str) -> bool:
    return is_change_in_history(
        outcome(revision, change_id), revision=5, change_id="cccccccc-5", earlier_changes=EARLIER
    )


def test_an_outcome_counts_for_the_change_it_names() -> None:
    assert known(5, "cccccccc-5") and not known(5, "cccccccc-other")
    assert known(4, "bbbbbbbb-4") and not known(4, "aaaaaaaa-3")
    assert not known(2, "dddddddd-2")  # older than what is remembered: proves nothing
    assert not known(6, "eeeeeeee-6")


def test_one_of_the_version_before_counts_by_its_revision() -> None:
    assert known(5, "") and known(1, "") and not known(6, "")


def test_a_change_that_the_database_does_not_have_any_more_contradicts_it() -> None:
    def contradiction(revision: int, change_id: str) -> bool:
        return contradicts_database(outcome(revision, change_id), revision=5, change_id="c5")

    assert contradiction(6, "c6") and contradiction(5, "another")
    assert not contradiction(5, "c5") and not contradiction(4, "another") and not contradiction(9, "")


def test_confirmed_changes_are_forgotten() -> None:
    assert change_entries_since(EARLIER, 4) == "4:bbbbbbbb "
    assert change_entries_since(EARLIER, 3) == EARLIER
    assert change_entries_since("a:b 7 " + EARLIER, 9) == ""
    assert change_entries_since("bbb 4:bbbbbbbb ", 0) == "4:bbbbbbbb "  # the limit has cut the first
