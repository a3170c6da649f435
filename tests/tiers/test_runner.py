"""Runner and recorder, with real pytest processes on a small suite."""

import os
from pathlib import Path

import pytest

from tests.tiers import outcomes
from tests.tiers.plan import Tier, verdict
from tests.tiers.repetition import repeat
from tests.tiers.report import Findings, closing_line, finding_lines
from tests.tiers.runner import ROOT, Runner, environment_of_tests

SUITE = """
import pathlib
import pytest

def test_passes():
    pass

def test_broken():
    assert 1 == 2

@pytest.mark.services
@pytest.mark.parametrize("address", ["a@b"])
def test_flaky(address):
    seen = pathlib.Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first, "too slow"

@pytest.mark.services
def test_always_fails():
    raise RuntimeError

@pytest.fixture
def broken_teardown():
    yield
    raise RuntimeError

@pytest.mark.services
def test_teardown_fails(broken_teardown):
    pass

@pytest.mark.skip
def test_skipped():
    pass
"""
BURNED_SECONDS = 2.0
SHARED_BURNER = f"""
import time
import pytest

@pytest.fixture(scope="module", autouse=True)
def shared():
    yield
    end = time.process_time() + {BURNED_SECONDS}
    while time.process_time() < end:
        pass

@pytest.mark.parametrize("number", range(2))
def test_shared(number):
    pass
"""
OVERLAPPING = """
import os
import pathlib
import time
import pytest

def meet(mine, other):
    pathlib.Path(mine).write_text(str(os.nice(0)))
    end = time.monotonic() + 240
    while not pathlib.Path(other).exists():
        assert time.monotonic() < end

def test_computing():
    meet("computing", "waiting")

@pytest.mark.services
def test_waiting():
    meet("waiting", "computing")
"""
FLAKY = "test_suite.py::test_flaky[a@b]"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner of a suite with every kind of outcome."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    plugins = " ".join(f"-p no:{name}" for name in ("anyio", "faker", "schemathesis"))  # that take a second
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins}\nmarkers =\n  services: servers\n")
    environment = {**environment_of_tests(), "PYTHONPATH": str(ROOT), "EVENKEEL_TEST_WORKERS": "1"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    return Runner([], tmp_path, environment, root=tmp_path)


def test_outcomes_are_recorded_and_only_delayed_failures_are_repeated(runner: Runner) -> None:
    run = runner.run_tier(Tier("all", "not nothing"))
    assert run is not None and run.exit_code == 1
    assert outcomes.counted(run.tests.values()) == outcomes.Counts(passed=1, failed=4, skipped=1)
    failed = {name: test for name, test in run.tests.items() if test.outcome == "failed"}
    assert failed[FLAKY].ends[-1].startswith("test_suite.py:") or "too slow" in "".join(failed[FLAKY].ends)
    split = verdict(failed)
    assert split.broken == ["test_suite.py::test_broken"]
    again = repeat(runner, split.repeated)
    assert list(again.flaky) == [FLAKY] and "1 passed" in again.flaky[FLAKY][-1]
    assert again.broken == ["test_suite.py::test_always_fails", "test_suite.py::test_teardown_fails"]


def test_tiers_that_compute_run_beside_tiers_that_wait_and_give_way_to_them(
    runner: Runner, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_suite.py").write_text(OVERLAPPING)
    tiers = [Tier("that compute", "not services"), Tier("that wait", "services", is_waiting=True)]
    runs = runner.run_tiers(tiers)
    assert list(runs) == ["that compute", "that wait"]
    assert [list(run.tests) for run in runs.values() if run is not None and not run.failed] == [
        ["test_suite.py::test_computing"],
        ["test_suite.py::test_waiting"],
    ]
    assert int((tmp_path / "computing").read_text()) > int((tmp_path / "waiting").read_text())
    assert capfd.readouterr().out.count("1 passed") == 2


def test_cpu_time_of_shared_fixtures_ends_is_no_tests(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "test_shared.py").write_text(SHARED_BURNER)
    run = runner.run_tier(Tier("one worker", "not services"))
    assert run is not None
    measured = [test.cpu_seconds for name, test in run.tests.items() if "shared" in name]
    assert len(measured) == 2 and max(measured) < BURNED_SECONDS


def test_collection_error_is_recorded_as_a_failure_that_is_not_repeated(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text("import nothing_of_this_name\n")
    run = runner.run_tier(Tier("all", "not nothing"))
    assert run is not None and verdict(run.tests).repeated == []
    assert run.tests["test_suite.py"].outcome == "failed"


def test_environment_caches_bytecode_and_has_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    environment = environment_of_tests()
    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert 0 <= int(environment["PYTHONHASHSEED"]) < 2**32
    monkeypatch.setenv("PYTHONHASHSEED", "4711")
    assert environment_of_tests()["PYTHONHASHSEED"] == "4711"
    assert set(environment) >= set(os.environ) - {"PYTHONDONTWRITEBYTECODE"}


def test_closing_line_is_the_sum_in_pytests_form() -> None:
    line = closing_line(outcomes.Counts(11355, 0, 12), 3725.5)
    assert line.strip("= ") == "11355 passed, 0 failed, 12 skipped in 3725.50s (1:02:06)"


def test_first_flake_is_named_and_fails_nothing_a_second_one_does() -> None:
    assert not Findings(flaky=["a"]).is_failure
    assert finding_lines(Findings(flaky=["a"]), 7) == [
        "FLAKY a: failed, then passed alone; in tests/flakes.toml",
        "repeat with PYTHONHASHSEED=7",
    ]
    assert Findings(flaky=["a"], flaky_again=["a"]).is_failure
    assert all(Findings(**{kind: ["x"]}).is_failure for kind in ("checks", "incomplete", "broken"))
