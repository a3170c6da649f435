"""Writes docs/reference/metrics.md from the registry of metrics. ``--check``: only compares."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.metrics import MetricWrapperBase

from evenkeel.metrics.load_balancers import TrafficCollector
from evenkeel.metrics.system import SystemCollector

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"
PARTS = {
    "Controllers: the API": "api",
    "Controllers: agents' messages and background work": "controller",
    "Controllers: several workers": "workers",
    "Agents": "agent",
    "Agents: requests to devices": "device_requests",
    "evenkeel-haproxyd": "haproxyd",
    "All processes: traces": "tracing",
}
"""Heading -> module that declares the metrics."""
SYSTEM = "Controllers: the whole system"
HEAD = """# Metrics

Every process serves `/metrics` in the formats of Prometheus and OpenMetrics ([monitor](../how-to/monitor.md)).
They include the metrics of its Python process (`process_*`, `python_*`).
A controller with several workers adds the label `worker`.
`scripts/generate_metrics_reference.py` generates this page.
"""
SINGLE = "Controllers: single load balancers"
OPTIONAL = (
    "Of the oldest `load_balancers_max` (`[metrics]`; default 0), from the database, too: take one controller's.\n"
)
WHOLE = "Read from the database, at most every 10 s: take `max`, not the sum.\n"


class MetricLine(NamedTuple):
    """A metric, as the page shows it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def declared(module: str) -> Iterator[MetricLine]:
    """The metrics of a module, in its order."""
    for each in vars(import_module(f"evenkeel.metrics.{module}")).values():
        if isinstance(each, MetricWrapperBase):
            (family,) = each.describe()
            yield line_of(family, tuple(each._labelnames))


def of_system() -> Iterator[MetricLine]:
    """The metrics of the whole system."""
    return collected(SystemCollector(None, lambda: "", lambda: ""))  # type: ignore[arg-type]  # nothing is read


def of_load_balancers() -> Iterator[MetricLine]:
    """The metrics of single load balancers."""
    return collected(TrafficCollector(None, limit=1))  # type: ignore[arg-type]  # nothing is read


def collected(collector: SystemCollector | TrafficCollector) -> Iterator[MetricLine]:
    """The metrics of a collector, in its order."""
    for family in collector.describe():
        yield line_of(family, tuple(family._labelnames))  # type: ignore[attr-defined]


def line_of(family: Any, labels: tuple[str, ...]) -> MetricLine:
    """``family``: without samples."""
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return MetricLine(name, family.type, labels, family.documentation)


def catalogue() -> dict[str, list[MetricLine]]:
    """All metrics, by heading."""
    read = {SYSTEM: list(of_system()), SINGLE: list(of_load_balancers())}
    return read | {heading: list(declared(module)) for heading, module in PARTS.items()}


def page() -> str:
    """The page."""
    parts = [HEAD]
    for heading, lines in catalogue().items():
        parts.append(f"## {heading}\n")
        if heading == SYSTEM:
            parts.append(WHOLE)
        elif heading == SINGLE:
            parts.append(OPTIONAL)
        parts.append("\n".join(f"- {name(one)} ({one.kind}): {one.text}" for one in lines) + "\n")
    return "\n".join(parts)


def name(line: MetricLine) -> str:
    """The metric's name with its labels, as in a query."""
    return f"`{line.name}{{{', '.join(line.labels)}}}`" if line.labels else f"`{line.name}`"


def main() -> int:
    """Write or compare."""
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
