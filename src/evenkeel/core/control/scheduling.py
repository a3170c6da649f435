"""Records that the scheduler reads to decide which work is due."""

from evenkeel.core.kit.values import Value


class ChangeIndicator(Value):
    """Cheap indicator of changes: if it equals that of the last tick, the scheduler skips the full read."""

    now_seconds: float
    """Time of the database's clock in seconds."""
    calm: bool
    """True: time alone leads to no decision, only a change of ``marks`` does. Every agent's session is live or was
    ended, none changed lately, and no shard or load balancer waits for an agent.
    """
    marks: tuple[float, ...]
    """Counts and sums over the agents' rows; other values than at the last tick mean that something has changed."""
    late: int = 0
    """Number of live sessions whose agents have missed keepalives."""


class DueSchedulingWork(Value):
    """Decisions that are due, as the scheduler's tick reads them."""

    now_seconds: float
    """Time of the database's clock in seconds."""
    groups: tuple[tuple[str, int], ...] = ()
    """Pairs (environment, group number) of groups in which a decision on a shard is due."""
    silence: bool = False
    """True if ``record_silence`` is due: an agent fell silent, or a circuit breaker is to open or close."""
    reach: tuple[tuple[str, int], ...] = ()
    """Pairs (environment, group number) of groups whose reachable devices differ from the recorded ones:
    ``record_reachability`` is due.
    """
