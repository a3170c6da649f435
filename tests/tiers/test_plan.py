"""Tiers cover every test once, and failures are repeated only where a busy machine may be the reason."""

from itertools import product

import pytest
from _pytest.mark.expression import Expression

from tests.tiers.outcomes import Outcome, Run
from tests.tiers.plan import (
    NO_TESTS,
    RERUN_AT_MOST,
    RERUN_FILES_AT_MOST,
    WORKERS_AT_MOST,
    Mode,
    is_incomplete,
    tiers,
    verdict,
)

MARKS = ("services", "servers", "acceptance", "slow", "release")
FAILED, PASSED = Outcome("failed"), Outcome("passed")
DELAYED = Outcome("failed", may_flake=True)


def selecting(mode: Mode, marks: set[str], only: str = "") -> list[str]:
    """Names of the tiers that run a test with these marks."""
    return [
        tier.name
        for tier in tiers(mode, only)
        if Expression.compile(tier.marks).evaluate(lambda name, /, **_: name in marks)
    ]


@pytest.mark.parametrize("held", list(product((False, True), repeat=len(MARKS))))
def test_every_test_is_in_one_tier_of_a_release_run_and_in_one_or_none_of_the_others(held: tuple[bool, ...]) -> None:
    marks = {mark for mark, is_held in zip(MARKS, held, strict=True) if is_held}
    assert len(selecting("release", marks)) == 1
    assert len(selecting("full", marks)) == ("release" not in marks)
    assert len(selecting("quick", marks)) == (marks <= {"servers"})


@pytest.mark.parametrize(
    ("marks", "tier"),
    [
        (set(), "tests without servers"),
        ({"slow"}, "tests without servers"),
        ({"servers"}, "tests with servers"),
        ({"services", "slow"}, "tests with servers"),
        ({"services", "acceptance"}, "tests with servers"),
        ({"acceptance"}, "tests with servers"),
    ],
)
def test_tier_follows_from_marks(marks: set[str], tier: str) -> None:
    assert selecting("full", marks) == [tier]


def test_tiers_that_wait_have_more_workers_than_there_are_cores_up_to_the_limit() -> None:
    without_servers, *with_servers = tiers("full")
    (quick,) = tiers("quick")
    assert [without_servers.workers(cores) for cores in (1, 2, 64)] == [1, 2, WORKERS_AT_MOST]
    assert [quick.workers(cores) for cores in (1, 2, 64)] == [3, 4, WORKERS_AT_MOST + 2]
    assert all(tier.workers(2) == 4 and tier.workers(64) == WORKERS_AT_MOST + 2 for tier in with_servers)


def test_marks_of_the_command_line_restrict_every_tier() -> None:
    assert selecting("full", {"services"}, "slow or acceptance") == []
    assert selecting("full", {"services", "slow"}, "slow or acceptance") == ["tests with servers"]


def test_failure_without_servers_is_broken_and_one_with_servers_is_repeated() -> None:
    assert verdict({"pure": FAILED, "delayed": DELAYED}) == (["pure"], ["delayed"])


def test_failures_in_more_files_than_the_limit_are_broken_and_not_repeated() -> None:
    most = {f"test_{number}.py::test": DELAYED for number in range(RERUN_FILES_AT_MOST)}
    assert verdict(most) == ([], list(most))
    more = {**most, "test_more.py::test": DELAYED}
    assert verdict(more) == (list(more), [])


def test_failures_of_one_file_that_fail_together_are_repeated_up_to_a_limit() -> None:
    most = {f"test_page.py::test_{number}": DELAYED for number in range(RERUN_AT_MOST)}
    assert verdict(most) == ([], list(most))
    more = {**most, "test_page.py::test_one_more": DELAYED}
    assert verdict(more) == (list(more), [])


@pytest.mark.parametrize(
    ("run", "incomplete"),
    [
        (None, True),  # ended before it could write
        (Run(0, {"a": PASSED}), False),
        (Run(1, {"a": FAILED}), False),
        (Run(1, {"a": PASSED}), True),  # something else failed
        (Run(2, {"a": FAILED}), True),  # interrupted
        (Run(3, {"a": PASSED}), True),  # internal error
        (Run(4, {}), True),  # usage
        (Run(NO_TESTS, {}), False),
    ],
)
def test_a_pytest_process_is_incomplete_if_outcomes_do_not_explain_its_exit_code(
    run: Run | None, incomplete: bool
) -> None:
    assert is_incomplete(run) is incomplete
