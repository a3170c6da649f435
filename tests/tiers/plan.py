"""Which tiers a run has, and what its outcomes mean: pure."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from tests.tiers.outcomes import Outcome, Run

Mode = Literal["full", "quick", "release"]
RERUN_FILES_AT_MOST = 10
"""When tests of more files fail, something is broken, and no repetition makes that clearer. Files are counted, because
tests that share a process or page fail together."""
RERUN_AT_MOST = 40
"""The same for tests."""
NO_TESTS = 5
"""Exit code of pytest when no test was selected."""
WORKERS_AT_MOST = 4

_WAITING = "(services or servers or acceptance)"


class Tier(NamedTuple):
    """One pytest process of a run, with workers of its own."""

    name: str
    marks: str
    """Expression for ``-m``."""
    is_waiting: bool = False
    """Whether its tests wait for processes and sockets most of the time, so that another tier may run beside it."""
    more_workers: int = 0
    """Workers beyond the number of cores, which compute while tests of others wait."""

    def workers(self, cores: int) -> int:
        """Number of pytest processes on a machine with so many cores."""
        return min(cores, WORKERS_AT_MOST) + self.more_workers


def tiers(mode: Mode, marks: str = "") -> list[Tier]:
    """The tiers of a run in their order; ``marks``: a further expression that all tests have to fulfil."""
    only = [f"({marks})"] if marks else []
    if mode != "release":
        only.append("not release")
    if mode == "quick":
        only.append("not slow")
        # nothing runs beside it, and its tests wait a third of the time
        return [Tier("quick tests", _all("not services and not acceptance", *only), more_workers=2)]
    return [
        Tier("tests without servers", _all(f"not {_WAITING}", *only)),
        # with acceptance tests, which wait most: they begin, for they take long, and others fill the processors; a tier
        # of their own would start all servers and import all programs twice, and end with one worker
        Tier("tests with servers", _all(_WAITING, *only), is_waiting=True, more_workers=2),
    ]


def _all(*expressions: str) -> str:
    return " and ".join(expressions)


class Verdict(NamedTuple):
    """What a run's failures are."""

    broken: list[str]
    """Node ids that failed and are not repeated."""
    repeated: list[str]
    """Node ids to repeat alone."""


def verdict(failed: Mapping[str, Outcome]) -> Verdict:
    """Split failures into those that may come from a busy machine and those that can't."""
    may_flake = [name for name, test in failed.items() if test.may_flake]
    files = {name.partition("::")[0] for name in may_flake}
    if len(files) > RERUN_FILES_AT_MOST or len(may_flake) > RERUN_AT_MOST:
        return Verdict(list(failed), [])
    return Verdict([name for name in failed if name not in may_flake], may_flake)


def is_incomplete(run: Run | None) -> bool:
    """Whether a pytest process ended otherwise than its tests' outcomes explain."""
    if run is None:
        return True
    if run.exit_code == NO_TESTS:
        return bool(run.tests)
    return run.exit_code not in (0, 1) or (run.exit_code == 1 and not run.failed)
