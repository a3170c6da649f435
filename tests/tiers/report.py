"""The last lines of a run of ``scripts/test``."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.tiers.outcomes import Counts

GROWN_AT_MOST = 15
WIDTH = 100


class Findings(NamedTuple):
    """All that a run found wrong."""

    checks: Sequence[str] = ()
    """Names of checks of style, types and contracts that failed."""
    incomplete: Sequence[str] = ()
    """Names of tiers whose pytest process did not end as it should."""
    broken: Sequence[str] = ()
    """Node ids of tests that failed, and again if they were repeated."""
    flaky: Sequence[str] = ()
    """Node ids of tests that failed, and passed alone."""
    flaky_again: Sequence[str] = ()
    """Those of them that ``tests/flakes.toml`` had already."""

    @property
    def is_failure(self) -> bool:
        """Whether the run fails: a first flake does not make it fail."""
        return bool(self.checks or self.incomplete or self.broken or self.flaky_again)


def finding_lines(findings: Findings, seed: int) -> list[str]:
    """Everything wrong, a line each."""
    lines = [f"check failed: {name}" for name in findings.checks]
    lines += [f"pytest did not end as it should: {name}" for name in findings.incomplete]
    lines += [f"FAILED {name}" for name in findings.broken]
    lines += [f"FLAKY {name}: failed, then passed alone; in tests/flakes.toml" for name in findings.flaky]
    lines += [f"FAILED {name}: flaky a second time, see tests/flakes.toml" for name in findings.flaky_again]
    if findings.broken or findings.flaky:
        lines.append(f"repeat with PYTHONHASHSEED={seed}")
    return lines


def duration_lines(grown: Sequence[str], beyond: Sequence[str]) -> list[str]:
    """What takes more than before or than it may; at most :data:`GROWN_AT_MOST` lines of each."""
    lines = [f"beyond the limit: {line}" for line in beyond[:GROWN_AT_MOST]]
    lines += [f"grown: {line}" for line in grown[:GROWN_AT_MOST]]
    if len(grown) > GROWN_AT_MOST:
        lines.append(f"grown: {len(grown) - GROWN_AT_MOST} more")
    return lines


def closing_line(counts: Counts, seconds: float) -> str:
    """The sum over all tiers, in the form of pytest's own last line."""
    minutes, rest = divmod(round(seconds), 60)
    skipped = f", {counts.skipped} skipped" if counts.skipped else ""
    lasted = f"{seconds:.2f}s ({minutes // 60}:{minutes % 60:02}:{rest:02})"
    text = f"{counts.passed} passed, {counts.failed} failed{skipped} in {lasted}"
    return f" {text} ".center(WIDTH, "=")
