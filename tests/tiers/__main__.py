"""``python -m tests.tiers``: the checks and tests of ``scripts/test``, which sets up the environment first.

Exit code 0 only if all checks passed, and all tests; a test of servers or processes that failed may have passed in its
repetition, alone on the quiet machine."""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.services.preparing import prepare
from tests.tiers import changes, checks, durations, flakes, outcomes
from tests.tiers.outcomes import Outcome
from tests.tiers.plan import Mode, is_incomplete, tiers, verdict
from tests.tiers.repetition import record, repeat
from tests.tiers.report import Findings, closing_line, duration_lines, finding_lines
from tests.tiers.runner import ROOT, Runner, environment_of_tests

FLAKES = ROOT / "tests" / "flakes.toml"
DURATIONS = ROOT / "tests" / "durations.json"


class Options(NamedTuple):
    """The command line."""

    mode: Mode
    record: bool
    marks: str
    pytest: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether no test is left out that the mode has."""
        return not self.marks and not self.pytest


def options_of(arguments: Sequence[str]) -> Options:
    """Parse arguments; those not known here go to pytest."""
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__, allow_abbrev=False)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_const", dest="mode", const="quick", default="full")
    mode.add_argument("--release", action="store_const", dest="mode", const="release")
    parser.add_argument("--record", action="store_true", help="write tests/durations.json if all tests have run")
    parser.add_argument("-m", dest="marks", default="", metavar="MARKS", help="only tests with these marks")
    known, rest = parser.parse_known_args(arguments)
    return Options(known.mode, known.record or known.mode == "release", known.marks, rest)


def main() -> int:
    """Run the checks and tests of the command line's mode."""
    options = options_of(sys.argv[1:])
    environment = environment_of_tests()
    seed = int(environment["PYTHONHASHSEED"])
    if options.is_whole and options.mode != "quick":
        # as Debian's packages: before the run, of which no machine but a new one would need this time
        for reason in prepare():
            print(f"{reason}; tests that need it are skipped", flush=True)
    began = time.monotonic()
    flakes.read(FLAKES)  # an unreadable file is an error now, not after the tests
    of_mode = tiers(options.mode, options.marks)
    commands = checks.checks_beside(len(of_mode))
    print("== " + ", ".join(commands), flush=True)
    checking = checks.start_all(environment, commands)
    failed_checks = _failed({name: checking.pop(name) for name in commands if name == checks.COLLECTION})
    with tempfile.TemporaryDirectory(prefix="evenkeel-tests-") as folder:
        runner = Runner(options.pytest, Path(folder), environment)
        runs = runner.run_tiers(of_mode)
        failed_checks += _failed(checking)
        tests = outcomes.merged(run for run in runs.values() if run is not None)
        failed = {name: test for name, test in tests.items() if test.outcome == "failed"}
        split = verdict(failed)
        again = repeat(runner, split.repeated)
    flaky_again = record(FLAKES, again, failed, seed, datetime.now(UTC).date())
    findings = Findings(
        checks=failed_checks,
        incomplete=[name for name, run in runs.items() if is_incomplete(run)],
        broken=[*split.broken, *again.broken],
        flaky=list(again.flaky),
        flaky_again=flaky_again,
    )
    passed = bool(tests) and not findings.is_failure
    final = {**tests, **{name: msgspec.structs.replace(tests[name], outcome="passed") for name in again.flaky}}
    lines = [*_durations(options, tests, complete=not findings.incomplete), *finding_lines(findings, seed)]
    if passed and options.mode == "release" and options.is_whole:
        lines += _record_release()
    lines.append(closing_line(outcomes.counted(final.values()), time.monotonic() - began))
    print("\n".join(lines), flush=True)
    return 0 if passed else 1


def _failed(checking: checks.Running) -> list[str]:
    """Names of static checks that failed, when all have ended."""
    done = checks.wait_for(checking)
    for check in done:
        if check.exit_code:
            print(f"== {check.name}: exit code {check.exit_code}\n{check.end}", flush=True)
    return [check.name for check in done if check.exit_code]


def _durations(options: Options, tests: Mapping[str, Outcome], *, complete: bool) -> list[str]:
    """Lines about what has grown; the durations are recorded if asked for, if all tests have run."""
    before = durations.read(DURATIONS)
    now = durations.of_run(tests, before)
    if tests and complete and options.record and options.is_whole and options.mode != "quick":
        durations.write(DURATIONS, now)
    return duration_lines(durations.growth(before, now) if before else [], durations.beyond_limit(now))


def _record_release() -> list[str]:
    """Write the revision of a release run that passed, if all files are as in that revision."""
    revision = changes.revision(ROOT)
    if revision is None:
        return [f"uncommitted changes: {changes.LAST_RELEASE_RUN} is not written"]
    (ROOT / changes.LAST_RELEASE_RUN).write_text(f"{revision}\n")
    return [f"{changes.LAST_RELEASE_RUN}: {revision}; commit it with tests/durations.json"]


if __name__ == "__main__":
    sys.exit(main())
