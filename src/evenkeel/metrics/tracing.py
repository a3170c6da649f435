"""Prometheus metrics of the export of traces."""

from prometheus_client import Counter

SPANS = Counter(
    "evenkeel_tracing_spans_total",
    "Spans for the collector of traces: sent, or lost because it does not accept them.",
    ["outcome"],
)
