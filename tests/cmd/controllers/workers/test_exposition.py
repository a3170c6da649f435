"""Metrics of several processes in one text that Prometheus takes."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_plain

from evenkeel.cmd.controllers.workers.exposition import merge_expositions, metrics_exposition

OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def a_process(number: int) -> CollectorRegistry:
    registry = CollectorRegistry()
    requests = Counter("requests_total", "Requests, by route.", ["route"], registry=registry)
    requests.labels('/a "quoted"\n# HELP of nothing').inc(number)
    Histogram("seconds", "Time.", buckets=[1.0], registry=registry).observe(number)
    Gauge("up", "Whether it serves.", ["worker"], registry=registry).labels("7").set(1)
    return registry


@pytest.mark.parametrize(("accept", "read"), [("", read_plain), (OPENMETRICS, read_openmetrics)])
def test_each_family_is_there_once_with_the_samples_of_all(accept: str, read: object) -> None:
    texts = [metrics_exposition(a_process(number), str(number), accept) for number in (1, 2)]
    text = merge_expositions([*texts, b""]).decode()
    assert text.count("# TYPE seconds histogram") == 1
    families = {family.name: family for family in read(text)}  # type: ignore[operator]
    counted = {s.labels["worker"]: s.value for s in families["requests"].samples if s.name == "requests_total"}
    assert counted == {"1": 1.0, "2": 2.0}
    buckets = [s.labels for s in families["seconds"].samples if s.name == "seconds_bucket"]
    assert buckets == [{"le": le, "worker": worker} for worker in "12" for le in ("1.0", "+Inf")]


def test_a_label_that_a_sample_has_already_stays() -> None:
    assert b'up{worker="7"} 1.0' in metrics_exposition(a_process(1), "parent", "")


def test_of_no_process_there_is_nothing() -> None:
    assert merge_expositions([]) == b""
