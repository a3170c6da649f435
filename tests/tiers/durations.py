"""``tests/durations.json``: what the tests of the last recorded full run took, and what has grown since."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tests.tiers.outcomes import Outcome

KEPT_SECONDS = 2.0
"""Tests and files that take less are not recorded."""
CPU_LIMIT_SECONDS = 20.0
"""CPU time that no test may exceed."""
GROWN_FACTOR = 1.25
GROWN_CPU_SECONDS = 2.0
GROWN_WALL_SECONDS = 10.0
"""What is less is chance."""


class Duration(msgspec.Struct, frozen=True):
    """Time of one test, or of all of a file; of setup, call and teardown."""

    cpu_seconds: float
    wall_seconds: float


class Durations(msgspec.Struct, frozen=True):
    """One run's durations."""

    files: dict[str, Duration]
    tests: dict[str, Duration]


def of_run(tests: Mapping[str, Outcome], before: Durations | None = None) -> Durations:
    """Durations of files and tests, without those that are short. A test that failed, and so may have ended early or
    waited for long, has the duration from before if there is one."""
    known = before.tests if before else {}
    by_file: defaultdict[str, list[Duration]] = defaultdict(list)
    by_test: dict[str, Duration] = {}
    for name, test in tests.items():
        own = Duration(test.cpu_seconds, test.wall_seconds)
        by_test[name] = known.get(name, own) if test.outcome == "failed" else own
        by_file[name.partition("::")[0]].append(by_test[name])
    return Durations(
        files=_kept({name: _sum(each) for name, each in by_file.items()}),
        tests=_kept({name: _sum([each]) for name, each in by_test.items()}),
    )


def _sum(each: Sequence[Duration]) -> Duration:
    cpu, wall = sum(one.cpu_seconds for one in each), sum(one.wall_seconds for one in each)
    return Duration(round(cpu, 1), round(wall, 1))


def _kept(durations: Mapping[str, Duration]) -> dict[str, Duration]:
    return {
        name: each for name, each in sorted(durations.items()) if max(msgspec.structs.astuple(each)) >= KEPT_SECONDS
    }


def growth(before: Durations, now: Durations) -> list[str]:
    """Files and tests that take notably more than before, most CPU time first, as lines for people."""
    found: dict[str, tuple[Duration, Duration]] = {}
    for old, new in ((before.files, now.files), (before.tests, now.tests)):
        for name, each in new.items():
            base = old.get(name, Duration(0.0, 0.0))
            if _has_grown(base, each):
                found[name] = (base, each)
    ordered = sorted(found.items(), key=lambda one: one[1][0].cpu_seconds - one[1][1].cpu_seconds)
    return [f"{name}: {_change(base, each)}" for name, (base, each) in ordered]


def _change(before: Duration, now: Duration) -> str:
    cpu = f"{before.cpu_seconds:.1f} -> {now.cpu_seconds:.1f} CPU s"
    return f"{cpu}, {before.wall_seconds:.1f} -> {now.wall_seconds:.1f} s"


def _has_grown(before: Duration, now: Duration) -> bool:
    return _is_notable(before.cpu_seconds, now.cpu_seconds, GROWN_CPU_SECONDS) or _is_notable(
        before.wall_seconds, now.wall_seconds, GROWN_WALL_SECONDS
    )


def _is_notable(before: float, now: float, least: float) -> bool:
    return now > before * GROWN_FACTOR and now - before > least


def beyond_limit(now: Durations) -> list[str]:
    """Tests that took more CPU time than any may, as lines for people."""
    return [
        f"{name}: {each.cpu_seconds:.1f} CPU s, {CPU_LIMIT_SECONDS:.0f} at most"
        for name, each in now.tests.items()
        if each.cpu_seconds > CPU_LIMIT_SECONDS
    ]


def read(path: Path) -> Durations | None:
    """The recorded durations; None if there are none."""
    return msgspec.json.decode(path.read_bytes(), type=Durations) if path.exists() else None


def write(path: Path, durations: Durations) -> None:
    """Record durations, a line for each test and file, so that changes can be read."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(durations), indent=1) + b"\n")
