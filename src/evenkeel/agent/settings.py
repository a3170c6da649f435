"""Settings of an agent. Times in seconds."""

from evenkeel.core.kit.backoff import CHANGE_RETRY, Backoff
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.kit.values import Value


class AgentSettings(Value):
    """Identity, intervals and limits of an agent."""

    agent_id: AgentId
    environment: str
    group_number: int
    host: str
    report_interval_seconds: float = 10.0
    report_spacing_seconds: float = 0.5
    """Minimum interval between two state reports."""
    keepalive_interval_seconds: float = 1.0
    call_timeout_seconds: float = 5.0
    max_message_bytes: int = 1024 * 1024
    """Largest message that the message bus accepts."""
    status_interval_seconds: float = 5.0
    """Interval between observations of statuses and statistics by the owner of the common shard."""
    resync_interval_seconds: float = 300.0
    """Interval between complete passes over an unchanged shard."""
    retire_seconds: float = 30.0
    """Time from the removal of a tenant's last load balancer to the removal of its empty partition, where the same pass
    could not remove it: the answer to its report was lost, or the database still had the load balancer."""
    write_budget_seconds: float = 1.0
    """A batch of device writes is started only if at least this much of the lease is left."""
    retry: Backoff = CHANGE_RETRY
    """Delays between tries of a failed load balancer or shard worker."""
    passes_at_once: int = 8
    """Number of shards reconciled at a time, besides slow ones (:mod:`evenkeel.agent.pass_limit`); further ones would
    only wait for connections to the devices.
    """
    sync_spacing_seconds: float = 0.2
    """Minimum interval between two requests for the assignments."""
    assignments_per_call: int = 1000
    """Number of shards on a page of the assignments."""
    batch_load_balancers: int = 50
    """Maximum number of load balancers reconciled in one pass of a shard that is not complete."""
    stop_timeout_seconds: float = 1.5
    """How long a running pass may take when the agent stops or releases a shard; then it is cancelled."""
    device_check_timeout_seconds: float = 120.0
    """How long devices may take at start to meet the requirements before the agent gives up."""
    duplicate_patience_seconds: float = 15.0
    """How long to wait for another session of the same (environment, group, host) to end before this process exits:
    longer than a dead predecessor's session lasts.
    """


KEEPALIVES_PER_TTL = 3
"""Minimum number of keepalives within a session's TTL, so that one or two may be lost."""


def interval_problem(settings: AgentSettings, ttl_seconds: float) -> str:
    """Return an error text if the agent's intervals do not fit the controllers' ``session_ttl``
    (``ttl_seconds``); empty if they do.
    """
    keepalive, budget = settings.keepalive_interval_seconds, settings.write_budget_seconds
    if keepalive * KEEPALIVES_PER_TTL > ttl_seconds:
        return (
            f"keepalive_interval: {keepalive:g}: at most {ttl_seconds / KEEPALIVES_PER_TTL:.2g} is allowed, a third of"
            f" session_ttl of the controllers, which is {ttl_seconds:g}"
        )
    if keepalive + budget > ttl_seconds:
        return (
            f"write_budget: {budget:g}: at most {ttl_seconds - keepalive:g} is allowed, session_ttl of the controllers"
            f" ({ttl_seconds:g}) less keepalive_interval; else no write could start"
        )
    return ""
