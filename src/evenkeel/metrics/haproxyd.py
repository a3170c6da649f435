"""Prometheus metrics of the daemon beside HAProxy."""

from prometheus_client import Counter, Gauge, Histogram

from evenkeel.metrics.buckets import REQUEST_SECONDS

WRITES = Counter(
    "evenkeel_haproxyd_writes_total",
    "Writes of agents, by outcome: how an accepted one was applied (guard, nothing, reload, runtime), or the code of "
    "the refusal; stale_owner is an agent that the daemon fenced.",
    ["accepted", "outcome"],
)
RELOAD_DURATION = Histogram(
    "evenkeel_haproxyd_reload_duration_seconds", "Time of a reload of one HAProxy.", buckets=REQUEST_SECONDS
)
PARTITIONS = Gauge("evenkeel_haproxyd_partitions", "Partitions on this host, each with its HAProxy.")
PARTITION_PROBLEMS = Gauge("evenkeel_haproxyd_partition_problems", "Partitions with a problem.")
USABLE = Gauge("evenkeel_haproxyd_haproxy_usable", "Whether an HAProxy can be started and reloaded here.")
OLD_WORKERS = Gauge(
    "evenkeel_haproxyd_old_workers", "HAProxy workers that a reload replaced and that finish their connections."
)
OLD_WORKERS_MEMORY = Gauge("evenkeel_haproxyd_old_workers_memory_bytes", "Memory of these workers, bytes.")
OLD_WORKERS_ENDED = Counter(
    "evenkeel_haproxyd_old_workers_ended_total",
    "Old workers ended with their connections, by the exceeded limit: memory, or count of one project.",
    ["limit"],
)
FLOWS = Gauge("evenkeel_haproxyd_flows", "Flows in the kernel's connection table, of all programs of the host.")
FLOWS_MAX = Gauge("evenkeel_haproxyd_flows_max", "Flows that the connection table can hold.")
FLOWS_DROPPED = Counter(
    "evenkeel_haproxyd_flows_dropped_total",
    "New flows that the kernel dropped, for lack of a free port or of a place in the table.",
)
