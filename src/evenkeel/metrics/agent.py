"""Prometheus metrics of an agent."""

from prometheus_client import Counter, Gauge, Histogram

from evenkeel.metrics.buckets import REQUEST_SECONDS, WORK_SECONDS

PASS_DURATION = Histogram(
    "evenkeel_agent_pass_duration_seconds",
    "Time of a reconcile pass over a shard, by scope (complete, partial) and outcome (done, fenced, unavailable, "
    "error).",
    ["scope", "outcome"],
    buckets=WORK_SECONDS,
)
APPLIED = Counter(
    "evenkeel_agent_load_balancers_applied_total",
    "Load balancers written or found up to date: applied, or refused by the devices.",
    ["outcome"],
)
FENCED = Counter(
    "evenkeel_agent_fenced_total",
    "Passes that ended without a write because another agent may own the shard: session_lost (by the controllers), "
    "newer_owner or guard_lost (by the device).",
    ["reason"],
)
REPAIRED = Counter(
    "evenkeel_agent_drift_repaired_total",
    "Load balancers repaired because devices differed from what was applied.",
)
DRIFT_FOUND = Counter(
    "evenkeel_agent_drift_found_total",
    "Load balancers that the observer of a device group found otherwise than applied: absent from all devices, lacking "
    "on some, or changed since the previous observation.",
    ["kind"],
)
for _kind in ("absent", "lacking", "changed"):
    DRIFT_FOUND.labels(_kind)
for _reason in ("session_lost", "newer_owner", "guard_lost"):
    FENCED.labels(_reason)  # creates the series at 0, so that the first one counts as an increase
QUEUE_DEPTH = Gauge("evenkeel_agent_queue_depth", "Load balancers that wait for a pass.")
QUEUE_OLDEST = Gauge(
    "evenkeel_agent_queue_oldest_seconds",
    "Longest wait of a load balancer for a pass; 0: none waits.",
)
SHARDS = Gauge("evenkeel_agent_shards", "Shards that this agent serves.")
SESSIONS = Counter("evenkeel_agent_sessions_opened_total", "Sessions opened since the process began.")
LEASE_REMAINING = Gauge(
    "evenkeel_agent_lease_remaining_seconds",
    "Time for which this agent may still write, by its own clock; negative: it is fenced by itself.",
)
KEEPALIVE_AGE = Gauge(
    "evenkeel_agent_keepalive_age_seconds", "Time since the last confirmed keepalive was sent; -1: no session."
)
KEEPALIVE_FAILURES = Counter("evenkeel_agent_keepalive_failures_total", "Keepalives without confirmation.")
CALL_DURATION = Histogram(
    "evenkeel_agent_call_duration_seconds",
    "Time of a call to the controllers.",
    ["type"],
    buckets=REQUEST_SECONDS,
)
MESSAGE_BROKER_UP = Gauge(
    "evenkeel_agent_message_broker_up",
    "Whether the message broker accepts this agent's messages: 0 also while it blocks publishers or confirms nothing.",
)
DEVICE_REACHABLE = Gauge("evenkeel_device_reachable", "Whether this agent reaches a device.", ["device"])
