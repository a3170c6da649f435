"""The file of flakes: entries survive being written, expire, and are noticed when they come again."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import flakes
from tests.tiers.outcomes import Outcome, Run
from tests.tiers.repetition import record, repeat

TODAY = date(2026, 1, 31)
NAME = 'tests/a/test_b.py::test_c[d-"e"]'
FAILED = {NAME: Outcome("failed", may_flake=True, ends=("E   assert 1 == 2",))}


class Alone:
    """Runs tests that have the given outcomes."""

    def __init__(self, run: Run | None) -> None:
        self._run = run

    def run_alone(self, name: str) -> tuple[Run | None, tuple[str, ...]]:
        return self._run, (f"ran {name}",)


PASSES = Alone(Run(0, {NAME: Outcome("passed")}))


def test_a_test_that_passes_alone_is_a_flake_and_recorded_with_both_ends(tmp_path: Path) -> None:
    again = repeat(PASSES, [NAME])
    assert (again.flaky, again.broken) == ({NAME: (f"ran {NAME}",)}, [])
    assert record(tmp_path / "flakes.toml", again, FAILED, 4711, TODAY) == []
    (entry,) = flakes.read(tmp_path / "flakes.toml")
    assert entry == flakes.Flake(
        NAME, TODAY, 4711, TODAY + timedelta(days=14), ("E   assert 1 == 2",), (f"ran {NAME}",)
    )


@pytest.mark.parametrize(
    "run",
    [None, Run(1, {NAME: Outcome("failed")}), Run(0, {NAME: Outcome("skipped")}), Run(5, {}), Run(4, {})],
    ids=["killed", "failed", "skipped", "not selected", "not found"],
)
def test_a_test_that_does_not_pass_alone_is_broken(run: Run | None, tmp_path: Path) -> None:
    again = repeat(Alone(run), [NAME])
    assert (again.flaky, again.broken) == ({}, [NAME])
    assert record(tmp_path / "flakes.toml", again, FAILED, 1, TODAY) == []
    assert not (tmp_path / "flakes.toml").exists()


def test_a_second_flake_is_named_until_the_first_has_expired(tmp_path: Path) -> None:
    again = repeat(PASSES, [NAME])
    file = tmp_path / "flakes.toml"
    assert record(file, again, FAILED, 1, TODAY) == []
    assert record(file, again, FAILED, 2, TODAY + timedelta(days=13)) == [NAME]
    assert record(file, again, FAILED, 3, TODAY + timedelta(days=27)) == []
    assert [entry.seed for entry in flakes.read(file)] == [3]


@given(lines=st.lists(st.text(), max_size=3), name=st.text(min_size=1))
def test_any_text_survives_being_written(lines: list[str], name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("flakes") / "flakes.toml"
    flakes.write(file, [flakes.new_flake(name, TODAY, 0, lines, lines)], TODAY)
    (entry,) = flakes.read(file)
    assert (entry.name, entry.failed) == (name, tuple(lines))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "flakes.toml"
    file.write_text("[[flake]]\nname = 1\n")
    with pytest.raises(flakes.UnreadableFlakes, match=r"flakes\.toml"):
        flakes.read(file)


def test_the_repositorys_file_can_be_read() -> None:
    flakes.read(Path("tests/flakes.toml"))
