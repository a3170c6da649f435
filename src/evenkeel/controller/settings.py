"""Settings of a controller. Times in seconds."""

from evenkeel.core.values import Value


class ControllerSettings(Value):
    """How patient a controller is."""

    session_ttl_seconds: float = 5.0
    """How long an agent's session lives without a keepalive, by the database's clock."""
    schedule_interval_seconds: float = 0.5
    sweep_interval_seconds: float = 5.0
    release_interval_seconds: float = 1.0
    """Between two looks for VIPs to be given back to the network service."""
    settle_seconds: float = 15.0
    """How long a home agent must have been up before its shards are handed back."""
    handbacks_at_once: int = 4
    """Shards of one device group under way back to their home at any time."""
    handovers_at_once: int = 16
    """Shards of one device group under way from drained agents at any time."""
    homes_interval_seconds: float = 3.0
    """Between two looks for shards that are away from home."""
    breaker_window_seconds: float = 30.0
    """Agents that fall silent within it fall silent "at once"."""
    suspicion_interval_seconds: float = 0.4
    """Between two looks whether the agents' processes are still on the bus; 0: only the time-to-live decides."""
    placements_per_tick: int = 100
    callback_concurrency: int = 16
    """Messages of one environment worked on at a time."""
    keepalive_concurrency: int = 4
    """Keepalives of one environment worked on at a time, beside those."""
    work_per_sync: int = 500
    """Load balancers named in one answer to an agent's sync."""
    expected_per_answer: int = 1000
    """Ids of load balancers in one answer to an agent that asks what is expected on its devices."""
    max_message_bytes: int = 1024 * 1024
    """What the message bus takes."""
    answer_bytes: int = 512 * 1024
    """Of service definitions in one answer, if there is more than one in it."""
    stop_timeout_seconds: float = 5.0
    """How long messages being worked on may take when the controller stops."""
    events_kept: int = 10_000
