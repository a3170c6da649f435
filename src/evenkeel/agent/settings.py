"""Settings of an agent. Times in seconds."""

from evenkeel.core.backoff import Backoff
from evenkeel.core.ids import AgentId
from evenkeel.core.values import Value


class AgentSettings(Value):
    """Who the agent is and how patient it is."""

    agent_id: AgentId
    environment: str
    group_number: int
    host: str
    report_interval_seconds: float = 10.0
    report_spacing_seconds: float = 0.5
    """Between two state reports, however much there is to tell."""
    keepalive_interval_seconds: float = 1.0
    call_timeout_seconds: float = 5.0
    max_message_bytes: int = 1024 * 1024
    """What the message bus takes."""
    status_interval_seconds: float = 5.0
    """Between two looks at the devices' statuses and statistics, by the owner of the common shard."""
    resync_interval_seconds: float = 300.0
    """Between two complete passes over a shard that nobody changed."""
    write_budget_seconds: float = 1.0
    """A batch of device writes is started only if the lease stands for at least this long."""
    retry: Backoff = Backoff(initial_seconds=1.0, max_seconds=60.0, jitter=(0.75, 1.25))
    """Between two tries of a load balancer, or of a shard's worker, that failed."""
    passes_at_once: int = 8
    """Shards reconciled at the same time; more would only wait for the devices' connections."""
    sync_spacing_seconds: float = 0.2
    """Between two questions for the assignments, however many hints come."""
    batch_load_balancers: int = 50
    """Load balancers reconciled in one pass of a shard."""
    stop_timeout_seconds: float = 1.5
    """How long a pass under way may take to end when the agent stops or gives a shard away; then it is dropped."""
    device_check_timeout_seconds: float = 120.0
    """How long devices may take at start to meet the minimum before the agent gives up."""
    duplicate_patience_seconds: float = 15.0
    """How long another session of the same (environment, group, host) may stand before this process gives way:
    longer than a dead predecessor's session lives."""
