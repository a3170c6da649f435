"""Pytest plugin, loaded by ``-p tests.tiers.recorder``: ``--record FILE`` writes what became of each test.

Workers measure, and the process that has collected writes."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.tiers.outcomes import Outcome, Run, ends_of, write

BUSY_MACHINE_MARKS = ("services", "servers", "acceptance")
_BEGUN = pytest.StashKey[float]()
_ENDED = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option ``--record``."""
    parser.addoption("--record", metavar="FILE", help="write outcomes and durations of all tests, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Collect outcomes where all of them arrive: in the process that has collected."""
    path = config.getoption("--record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(path)), "evenkeel outcomes")


def cpu_seconds() -> float:
    """CPU time of this process and of those children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start measuring."""
    item.stash[_BEGUN] = cpu_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop measuring before the teardown of a file's last test. Fixtures end there that other tests have used, too: a
    browser's or a server's CPU time becomes known only when its process has ended."""
    if nextitem is None or nextitem.path != item.path:
        item.stash[_ENDED] = cpu_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a report what only the worker knows."""
    report = yield
    ended = item.stash.get(_ENDED, None)  # 0.0 in a new worker
    if ended is None:
        ended = cpu_seconds()
    used = ended - item.stash.get(_BEGUN, ended)
    may_flake = any(item.get_closest_marker(mark) for mark in BUSY_MACHINE_MARKS)
    report.user_properties = [*report.user_properties, ("cpu_seconds", used), ("may_flake", may_flake)]
    return report


class _Writer:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, Outcome] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:  # never repeated: it depends on no machine
            self._outcomes[report.nodeid] = Outcome("failed", ends=ends_of(report.longreprtext))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        known = self._outcomes.get(name)
        properties: dict[str, Any] = dict(report.user_properties)
        # the report of a crashed worker has no properties: those of the test's earlier phases hold
        may_flake = bool(properties.get("may_flake", known is not None and known.may_flake))
        # a repetition would not find what an earlier process of the run has written
        may_flake = may_flake and not properties.get("key_found", False)
        before = known or Outcome("passed", may_flake=may_flake)
        outcome, ends = before.outcome, before.ends
        if report.failed:
            outcome, ends = "failed", ends or ends_of(report.longreprtext)
        elif report.skipped and outcome == "passed":
            outcome = "skipped"
        self._outcomes[name] = Outcome(
            outcome=outcome,
            cpu_seconds=round(properties.get("cpu_seconds", before.cpu_seconds), 3),
            wall_seconds=round(before.wall_seconds + report.duration, 3),
            may_flake=may_flake and before.may_flake,
            ends=ends,
        )

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        write(self._path, Run(int(exitstatus), self._outcomes))
