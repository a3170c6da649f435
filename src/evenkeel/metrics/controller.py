"""Prometheus metrics of a controller, except those of its API."""

from prometheus_client import Counter, Gauge, Histogram

from evenkeel.metrics.buckets import REQUEST_SECONDS, WORK_SECONDS

MESSAGE_DURATION = Histogram(
    "evenkeel_controller_message_duration_seconds",
    "Time to answer an agent's message.",
    ["type"],
    buckets=REQUEST_SECONDS,
)
MESSAGES_REFUSED = Counter(
    "evenkeel_controller_messages_refused_total",
    "Messages of agents that were refused, by type of message and code: session_lost and stale are fenced agents.",
    ["type", "code"],
)
TIME_TO_ACTIVE = Histogram(
    "evenkeel_load_balancer_time_to_active_seconds",
    "Time from a change's acceptance to the report that devices have it.",
    buckets=WORK_SECONDS,
)
SHARD_TRANSITIONS = Counter(
    "evenkeel_controller_shard_transitions_total",
    "Shards that this controller assigned to another agent, or requested their owner to hand over, by reason. "
    "Assigned: unserved (without an owner), silent, forced_down or stopped (their former owner), overdue (a "
    "handover). Handed over: leaving (their owner is drained, or reaches fewer devices than another), failback, "
    "failover (by request), balance (homes are evened out).",
    ["reason"],
)
_ASSIGNED = ("unserved", "silent", "forced_down", "stopped", "overdue")
_HANDED_OVER = ("leaving", "failback", "failover", "balance")
for _reason in (*_ASSIGNED, *_HANDED_OVER):
    SHARD_TRANSITIONS.labels(_reason)  # creates the series at 0, so that the first transition counts as an increase
LOOP_FAILURES = Counter(
    "evenkeel_controller_loop_failures_total",
    "Failed runs of the controller's background loops, by loop. unavailable: the database or the broker; "
    "error: anything else.",
    ["loop", "kind"],
)
LOOP_SUCCESS = Gauge(
    "evenkeel_controller_loop_last_success_timestamp_seconds",
    "When a background loop last succeeded.",
    ["loop"],
)
ACME_RESULTS = Counter(
    "evenkeel_acme_orders_total",
    "Results of orders of certificates by ACME at this controller: issued, failed, renewal_begun, "
    "renewal_failed, revoked, revocation_failed; rate_limited, besides, of orders that authorities refused for that.",
    ["result"],
)
for _result in ("issued", "failed", "renewal_begun", "renewal_failed", "revoked", "revocation_failed", "rate_limited"):
    ACME_RESULTS.labels(_result)
NOTIFICATIONS_SENT = Counter(
    "evenkeel_notifications_sent_total",
    "Notifications of load balancers' events that the broker confirmed, repetitions included, by shape (octavia, "
    "neutron) and event (create, update, delete).",
    ["shape", "event"],
)
NOTIFICATIONS_WAITING = Gauge(
    "evenkeel_notifications_waiting",
    "Events in the outbox that are not sent yet; 0 at controllers that do not send at present.",
)
NOTIFICATION_OLDEST_SECONDS = Gauge(
    "evenkeel_notification_oldest_seconds",
    "Age of the oldest event in the outbox; 0 without any, and at controllers that do not send at present.",
)
NOTIFICATIONS_DROPPED = Counter(
    "evenkeel_notifications_dropped_total",
    "Events that were dropped unsent, because the outbox was full.",
)
