"""Workers that are forked after collection, with real pytest processes on a small suite."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import outcomes
from tests.tiers.runner import ROOT, environment_of_tests
from tests.waiting import until

BEGIN = """
import os
import pathlib
import signal
import time
import pytest

HERE = pathlib.Path(__file__).parent
(HERE / f"imported-{os.getpid()}").touch()

def meet(mine, other):
    (HERE / mine).touch()
    end = time.monotonic() + 240
    while not (HERE / other).exists():
        assert time.monotonic() < end

@pytest.fixture(scope="session", autouse=True)
def whole():
    yield
    (HERE / f"ended-{os.getpid()}").touch()
"""
SHARED = """
def test_first():
    meet("first", "last")

@pytest.mark.parametrize("number", range(30))
def test_runs(number, tmp_path):
    print(f"output of {number}")
    (HERE / f"ran-{number}-{os.getpid()}-{tmp_path.parent.name}").touch()
    assert number != 7, "seven"

def test_last():
    meet("last", "first")
"""
CRASHING = """
def test_begins():
    pass

def test_crashes():
    os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.parametrize("number", range(5))
def test_runs_on(number):
    pass
"""
FAILING = """
@pytest.mark.parametrize("number", range(50))
def test_fails(number):
    assert number != 0
    (HERE / f"ran-{number}").touch()
"""
WAITING = """
def test_waits():
    (HERE / "waits").touch()
    time.sleep(240)
"""
BREAKING_AT_ITS_END = """
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        raise RuntimeError("not ended well")
"""


class Suite:
    """A file of tests and what came of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        plugins = " ".join(f"-p no:{name}" for name in ("anyio", "faker", "schemathesis"))  # that take a second
        (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins}\n")

    def start(self, tests: str, *arguments: str) -> "subprocess.Popen[str]":
        (self._folder / "test_suite.py").write_text(BEGIN + tests)
        environment = {name: value for name, value in environment_of_tests().items() if not name.startswith("PYTEST_")}
        plugins = ("-p", "tests.tiers.recorder", "--record=record", "-p", "tests.tiers.workers")
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *plugins, *arguments],
            cwd=self._folder,
            # shells have programs in the background ignore it
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**environment, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, tests: str, *arguments: str) -> tuple[outcomes.Run, str]:
        """What was recorded, and printed."""
        output, _ = self.start(tests, *arguments).communicate(timeout=280)
        run = outcomes.read(self._folder / "record")
        assert run is not None, output
        return run, output

    def files(self, beginning: str) -> list[str]:
        """Names of files that the tests made."""
        return sorted(path.name for path in self._folder.glob(f"{beginning}-*"))


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_tests_are_collected_once_and_run_once_in_every_worker(suite: Suite) -> None:
    run, output = suite.run(SHARED, "--workers=2")
    assert run.exit_code == 1 and len(suite.files("imported")) == 1
    assert outcomes.counted(run.tests.values()) == outcomes.Counts(passed=31, failed=1, skipped=0)
    ran = [name.split("-", 3)[1:] for name in suite.files("ran")]
    assert sorted(int(number) for number, *_ in ran) == list(range(30))
    places = {(place, process) for _, process, place in ran}
    assert sorted(place for place, _ in places) == ["popen-gw0", "popen-gw1"]
    assert len({process for _, process in places}) == 2
    assert len(suite.files("ended")) == 2
    assert "output of 7" in output and "seven" in output and "output of 8" not in output
    assert output.count("31 passed") == 1 and "1 failed" in output


def test_a_worker_that_crashes_fails_its_test_and_is_replaced(suite: Suite) -> None:
    run, output = suite.run(CRASHING, "--workers=1")
    assert list(run.failed) == ["test_suite.py::test_crashes"] and run.exit_code == 1
    assert "worker gw0 ended with exit code -9" in "".join(run.failed["test_suite.py::test_crashes"].ends)
    assert outcomes.counted(run.tests.values()).passed == 6 and "6 passed" in output


def test_no_test_begins_after_as_many_failures_as_are_allowed(suite: Suite) -> None:
    run, output = suite.run(FAILING, "--workers=1", "--maxfail=1")
    assert run.exit_code == 1 and len(run.failed) == 1
    assert len(suite.files("ran")) <= 2 and "stopping after 1 failures" in output
    assert len(suite.files("ended")) == 1


def test_a_worker_that_cannot_end_fails_the_run(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(BREAKING_AT_ITS_END)
    run, output = suite.run("def test_passes():\n    pass\n", "--workers=1")
    assert run.exit_code == pytest.ExitCode.INTERNAL_ERROR and not run.failed
    assert "not ended well" in output and "worker gw0 ended with exit code 1" in output


def test_workers_end_with_an_interrupted_run(suite: Suite, tmp_path: Path) -> None:
    process = suite.start(WAITING, "--workers=1")
    until((tmp_path / "waits").exists)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=280)
    assert process.returncode == pytest.ExitCode.INTERRUPTED and len(suite.files("ended")) == 1


@pytest.mark.parametrize("choice", ["-n0", "--pdb", "--collect-only"])
def test_other_ways_to_run_tests_fork_nothing(suite: Suite, choice: str) -> None:
    run, _ = suite.run("def test_passes():\n    assert not list(HERE.glob('ended-*'))\n", "--workers=2", choice)
    assert run.exit_code == 0
    assert (
        suite.files("ended")
        == [name.replace("imported", "ended") for name in suite.files("imported")][: len(run.tests)]
    )
