"""What became of each test of a pytest process, in a file between it and the runner."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

END_LINES = 30
LINE_CHARACTERS = 300


class Outcome(msgspec.Struct, frozen=True):
    """One test's outcome over setup, call and teardown."""

    outcome: Literal["passed", "failed", "skipped"]
    cpu_seconds: float = 0.0
    """Of its process, and of those of its children that ended and were waited for."""
    wall_seconds: float = 0.0
    may_flake: bool = False
    """Servers and processes are concerned: a failure on a busy machine is repeated alone."""
    ends: tuple[str, ...] = ()
    """Last lines of a failure's report."""


class Run(msgspec.Struct, frozen=True):
    """One pytest process."""

    exit_code: int
    tests: dict[str, Outcome]

    @property
    def failed(self) -> dict[str, Outcome]:
        """Tests that failed, by node id."""
        return {name: test for name, test in self.tests.items() if test.outcome == "failed"}


class Counts(msgspec.Struct, frozen=True):
    """Sums over tiers."""

    passed: int
    failed: int
    skipped: int


def ends_of(text: str) -> tuple[str, ...]:
    """The last lines of a report, none of them long."""
    return tuple(line[:LINE_CHARACTERS] for line in text.splitlines()[-END_LINES:])


def write(path: Path, run: Run) -> None:
    """Store a run."""
    path.write_bytes(msgspec.json.encode(run))


def read(path: Path) -> Run | None:
    """A stored run; None if the process ended before it could write one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Run)
    except FileNotFoundError:
        return None


def merged(runs: Iterable[Run]) -> dict[str, Outcome]:
    """Outcomes of several runs; of a test in more than one, the last."""
    return {name: test for run in runs for name, test in run.tests.items()}


def counted(tests: Iterable[Outcome]) -> Counts:
    """How many tests passed, failed and were skipped."""
    outcomes = [test.outcome for test in tests]
    return Counts(outcomes.count("passed"), outcomes.count("failed"), outcomes.count("skipped"))
