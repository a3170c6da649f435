"""Prometheus metrics of a controller's parent process, with ``workers`` of more than 1."""

from prometheus_client import Counter, Gauge

WORKER_UP = Gauge(
    "evenkeel_controller_worker_up",
    "Whether a worker serves.",
    ["worker"],
)
WORKER_ENDS = Counter(
    "evenkeel_controller_worker_ends_total",
    "Workers that ended, hung and were killed, or could not be started, while the controller ran. They are started "
    "again.",
    ["worker"],
)
