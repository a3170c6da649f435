"""Prometheus metrics of a controller's API."""

from prometheus_client import Counter, Histogram

from evenkeel.metrics.buckets import REQUEST_SECONDS

NO_ROUTE = "none"
"""Value of the ``route`` label of requests to paths that are not served."""

REQUESTS = Counter(
    "evenkeel_api_requests_total",
    "Requests answered.",
    ["method", "route", "status"],
)
REQUEST_DURATION = Histogram(
    "evenkeel_api_request_duration_seconds",
    "Time from a request's arrival to its answer.",
    ["method", "route"],
    buckets=REQUEST_SECONDS,
)


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count one API request. ``route``: the path with its parameters as placeholders; ``seconds``: from the
    request's arrival to its answer.
    """
    REQUESTS.labels(method, route, status).inc()
    REQUEST_DURATION.labels(method, route).observe(seconds)
