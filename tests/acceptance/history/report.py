"""A verdict for people (tables in Markdown) and for programs (JSON)."""

import json
from collections.abc import Iterable
from typing import Any

from tests.acceptance.history.checker import Verdict
from tests.acceptance.history.takeovers import AIMS_SECONDS, Sample, firsts, percentile

SHOWN_MAX = 10


def summary(verdict: Verdict) -> dict[str, Any]:
    """All that was measured."""
    return {
        "counts": verdict.counts,
        "faults": verdict.faults,
        "recovery_seconds": verdict.recovery_seconds,
        "broken": verdict.broken,
        "shards_not_taken_over": verdict.returned,
        "takeover_seconds": [
            {"agent": name, "of": what, "samples": len(values), **quantiles(values)}
            for name, what, values in groups(verdict.takeovers)
        ],
    }


def quantiles(values: list[float]) -> dict[str, float]:
    """p50, p99 and the largest, to a hundredth of a second."""
    return {
        "p50": round(percentile(values, 0.5), 2),
        "p99": round(percentile(values, 0.99), 2),
        "max": round(max(values), 2),
    }


def groups(found: Iterable[Sample]) -> list[tuple[str, str, list[float]]]:
    """(class, which samples, seconds), those without a sample left out."""
    every = list(found)
    first = firsts(every)
    kinds = {
        "first shard, alone": [sample for sample in first if sample.alone],
        "every shard, alone": [sample for sample in every if sample.alone],
        "every shard, with other faults": [sample for sample in every if not sample.alone],
    }
    table = []
    for name in AIMS_SECONDS:
        for what, chosen in kinds.items():
            if values := [sample.seconds for sample in chosen if sample.name == name]:
                table.append((name, what, values))
    return table


def table(verdict: Verdict) -> str:
    """Everything, as Markdown."""
    lines = ["| what | number |", "|---|---|"]
    lines += [f"| {name} | {number:,} |" for name, number in verdict.counts.items()]
    lost = ("lost", "differing", "orphans", "stuck", "stale", "shared", "backwards", "exited")
    lines += [f"| {_TITLES[name]} | {len(getattr(verdict, name))} |" for name in lost]
    recovery = verdict.recovery_seconds
    lines.append(
        f"| seconds from the last fault's end to all well | {'never' if recovery is None else f'{recovery:.1f}'} |"
    )
    lines += ["", "Faults: " + ", ".join(f"{count} {name}" for name, count in sorted(verdict.faults.items())) + "."]
    lines += ["", "| agent | takeover of | samples | p50 | p99 | max | aim |", "|---|---|---|---|---|---|---|"]
    for name, what, values in groups(verdict.takeovers):
        found = quantiles(values)
        shown = f"{found['p50']:.2f} s | {found['p99']:.2f} s | {found['max']:.2f} s"
        aim = f"{AIMS_SECONDS[name]:.0f} s" if what.startswith("first") else ""
        lines.append(f"| {name} | {what} | {len(values)} | {shown} | {aim} |")
    return "\n".join(lines)


_TITLES = {
    "lost": "acknowledged writes lost",
    "differing": "objects that a device lacks or holds otherwise",
    "orphans": "orphans on devices",
    "stuck": "objects stuck (PENDING or ERROR)",
    "stale": "stale writes accepted",
    "shared": "epochs with two owners",
    "backwards": "statuses that went backwards",
    "exited": "processes that ended by themselves",
}


def problems(verdict: Verdict) -> str:
    """The first of what was not as promised; empty if all was."""
    parts = []
    for name, found in verdict.broken.items():
        parts.append(f"{_TITLES[name]}: {len(found)}")
        parts += [f"  {text}" for text in found[:SHOWN_MAX]]
    return "\n".join(parts)


def as_json(verdict: Verdict) -> str:
    """The summary as text."""
    return json.dumps(summary(verdict), indent=2)
