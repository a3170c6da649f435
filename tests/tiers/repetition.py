"""Repeats failed tests, each alone on the quiet machine, and records as flakes those that pass."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.tiers import flakes
from tests.tiers.outcomes import Outcome, Run


class RunsAlone(Protocol):
    """Runs one test in a process of its own."""

    def run_alone(self, name: str) -> tuple[Run | None, tuple[str, ...]]:
        """The outcome, None if the process ended without one, and the end of what it printed."""


class Repetition(NamedTuple):
    """What the repetition of failed tests showed."""

    flaky: dict[str, tuple[str, ...]]
    """Node ids of tests that passed alone, with the ends of the output."""
    broken: list[str]
    """Node ids of tests that failed again."""


def repeat(runner: RunsAlone, names: Sequence[str]) -> Repetition:
    """Run each of the tests once more, one after the other."""
    flaky: dict[str, tuple[str, ...]] = {}
    broken: list[str] = []
    for name in names:
        run, end = runner.run_alone(name)
        if run is not None and run.exit_code == 0 and name in run.tests and run.tests[name].outcome == "passed":
            flaky[name] = end
        else:
            broken.append(name)
    return Repetition(flaky, broken)


def record(path: Path, again: Repetition, failed: Mapping[str, Outcome], seed: int, today: date) -> list[str]:
    """Add flakes to the file; the names of those that have an entry already. Raises flakes.UnreadableFlakes."""
    if not again.flaky:
        return []
    held = flakes.read(path)
    found = [flakes.new_flake(name, today, seed, failed[name].ends, end) for name, end in again.flaky.items()]
    flakes.write(path, [*held, *found], today)
    return flakes.repeated(held, again.flaky, today)
