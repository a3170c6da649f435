"""Prometheus metrics of requests to devices."""

from prometheus_client import Counter, Histogram

from evenkeel.metrics.buckets import REQUEST_SECONDS

NO_ANSWER = "none"
"""Value of the ``status`` label of requests without an answer."""

REQUESTS = Counter(
    "evenkeel_device_requests_total",
    "HTTPS requests to a device; status none: no answer.",
    ["device", "method", "status"],
)
REQUEST_DURATION = Histogram(
    "evenkeel_device_request_duration_seconds",
    "Time of an HTTPS request, with the wait for its turn.",
    ["device", "method"],
    buckets=REQUEST_SECONDS,
)


def count_device_request(device: str, method: str, status: int, seconds: float) -> None:
    """Count one request to a device. ``status``: HTTP status, 0 for no answer; ``seconds``: duration with the
    wait for its turn.
    """
    REQUESTS.labels(device, method, status or NO_ANSWER).inc()
    REQUEST_DURATION.labels(device, method).observe(seconds)
