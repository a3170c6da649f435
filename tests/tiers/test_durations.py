"""Durations: what is recorded, what counts as grown, what is beyond the limit."""

from pathlib import Path

from tests.tiers import durations
from tests.tiers.durations import Duration, Durations
from tests.tiers.outcomes import Outcome
from tests.tiers.report import GROWN_AT_MOST, duration_lines

RUN = {
    "tests/test_a.py::test_long": Outcome("passed", cpu_seconds=21.0, wall_seconds=25.0),
    "tests/test_a.py::test_short": Outcome("passed", cpu_seconds=0.5, wall_seconds=0.5),
    "tests/test_b.py::test_waits": Outcome("failed", cpu_seconds=0.1, wall_seconds=9.0),
    "tests/test_c.py::test_short": Outcome("passed", cpu_seconds=0.1, wall_seconds=0.1),
}


def of(cpu: float, wall: float) -> Durations:
    return Durations(files={}, tests={"t": Duration(cpu, wall)})


def test_short_files_and_tests_are_not_recorded(tmp_path: Path) -> None:
    recorded = durations.of_run(RUN)
    assert recorded.files == {"tests/test_a.py": Duration(21.5, 25.5), "tests/test_b.py": Duration(0.1, 9.0)}
    assert list(recorded.tests) == ["tests/test_a.py::test_long", "tests/test_b.py::test_waits"]
    durations.write(tmp_path / "durations.json", recorded)
    assert durations.read(tmp_path / "durations.json") == recorded


def test_failed_test_has_the_duration_from_before() -> None:
    before = Durations(files={}, tests={"tests/test_b.py::test_waits": Duration(2.0, 3.0)})
    recorded = durations.of_run(RUN, before)
    assert recorded.files["tests/test_b.py"] == recorded.tests["tests/test_b.py::test_waits"] == Duration(2.0, 3.0)
    assert recorded.tests["tests/test_a.py::test_long"] == Duration(21.0, 25.0)


def test_absent_record_is_none(tmp_path: Path) -> None:
    assert durations.read(tmp_path / "durations.json") is None


def test_growth_is_a_quarter_more_and_beyond_chance() -> None:
    assert durations.growth(of(10.0, 20.0), of(12.4, 24.0)) == []
    assert durations.growth(of(2.0, 4.0), of(3.9, 13.0)) == []
    assert durations.growth(of(10.0, 20.0), of(12.6, 20.0)) == ["t: 10.0 -> 12.6 CPU s, 20.0 -> 20.0 s"]
    assert durations.growth(of(1.0, 20.0), of(1.0, 31.0)) == ["t: 1.0 -> 1.0 CPU s, 20.0 -> 31.0 s"]


def test_new_tests_grow_from_nothing_and_the_worst_comes_first() -> None:
    now = Durations(files={}, tests={"a": Duration(3.0, 3.0), "b": Duration(9.0, 9.0)})
    assert [line.split(":")[0] for line in durations.growth(Durations({}, {}), now)] == ["b", "a"]


def test_tests_beyond_the_limit_are_named() -> None:
    assert durations.beyond_limit(durations.of_run(RUN)) == ["tests/test_a.py::test_long: 21.0 CPU s, 20 at most"]


def test_report_of_growth_is_short() -> None:
    lines = duration_lines([str(number) for number in range(GROWN_AT_MOST + 5)], [])
    assert len(lines) == GROWN_AT_MOST + 1 and lines[-1] == "grown: 5 more"
