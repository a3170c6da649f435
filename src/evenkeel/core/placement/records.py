"""Conversion of stored rows to snapshots: which agents are live, fresh and settled, by the database's clock
alone.

Times that lie too far in the future were written before the database's clock was set back: a session then
counts as expired, a requested handover as overdue, and a change of the reached devices as long past.
"""

import math

from evenkeel.core.kit.ids import AgentId
from evenkeel.core.kit.values import Value
from evenkeel.core.placement.views import AgentSnapshot

FRESH_SESSIONS = 1.5
"""Number of session TTLs for which a new session makes its agent fresh: agents cut off with it may not be back yet."""
SESSIONS_AHEAD_MAX = 2
"""Maximum number of session TTLs that a session can have left; a session with more was renewed before the database's
clock was set back.
"""
HANDOVER_PATIENCE_SECONDS = 20.0
"""Time that an agent has to release a shard in a handover; longer than the agent waits for a running pass."""


class AgentRecord(Value):
    """Stored columns of an agent that placement needs. Times: seconds by the database's clock."""

    id: AgentId
    registered: bool
    """True if the agent has a session that it did not end."""
    session_ttl_seconds: float
    session_started_at: float | None = None
    session_expires_at: float | None = None
    admin_state_up: bool = True
    forced_down: bool = False
    failback_asked: bool = False
    reachable_devices: int | None = None
    unreachable_devices: tuple[str, ...] = ()
    reachable_since: float | None = None
    reported_at: float | None = None
    acting_shards: int = 0
    home_shards: int = 0


def agent_snapshot_of_record(record: AgentRecord, *, now: float, settle_seconds: float) -> AgentSnapshot:
    """Return the snapshot of a stored agent at ``now``, a time by the database's clock. ``settle_seconds``:
    time for which the agent must have been up, with its present devices reachable, before it gets its
    shards back.
    """
    live = is_live(record, now)
    reachable_since = _past_time_or_zero(record.reachable_since, now)
    eligible = live and record.admin_state_up and not record.forced_down
    return AgentSnapshot(
        id=record.id,
        live=live,
        admin_state_up=record.admin_state_up,
        forced_down=record.forced_down,
        registered=record.registered,
        fresh=_is_fresh(record, now),
        live_since=record.session_started_at or 0.0,
        live_until=record.session_expires_at or 0.0,
        settled=eligible and _reaching_devices_since(record, reachable_since) <= now - settle_seconds,
        failback_asked=record.failback_asked,
        reachable_devices=record.reachable_devices,
        unreachable_devices=record.unreachable_devices,
        reachable_since=reachable_since,
        reported_at=record.reported_at or 0.0,
        shards=record.acting_shards,
        homed=record.home_shards,
    )


def is_live(record: AgentRecord, now: float) -> bool:
    """Whether the agent's session was not ended and has not expired at ``now``. A session with more than
    :data:`SESSIONS_AHEAD_MAX` TTLs left counts as expired, because the database's clock was set back: the
    next keepalive corrects it, and a dead agent sends none.
    """
    expires_at = record.session_expires_at
    if not record.registered or expires_at is None:
        return False
    return now < expires_at <= now + SESSIONS_AHEAD_MAX * record.session_ttl_seconds


def _past_time_or_zero(at: float | None, now: float) -> float:
    """Return ``at`` if it is in the past; 0, which is long ago, for None and for times in the future."""
    return at if at is not None and at <= now else 0.0


def _reaching_devices_since(record: AgentRecord, reachable_since: float) -> float:
    """Return the time since which the agent has been live and has reached its present devices; infinite without a
    session.
    """
    return math.inf if record.session_started_at is None else max(record.session_started_at, reachable_since)


def _is_fresh(record: AgentRecord, now: float) -> bool:
    started_at = record.session_started_at
    return started_at is not None and started_at > now - FRESH_SESSIONS * record.session_ttl_seconds


def handover_overdue(handover_to: AgentId | None, asked_at: float | None, *, now: float) -> bool:
    """Whether a handover was requested, and the acting agent has not released the shard within
    :data:`HANDOVER_PATIENCE_SECONDS`; then another agent takes the shard, and devices refuse further
    writes of the old one.
    """
    if handover_to is None or asked_at is None:
        return False
    # absolute: a request from before the clock was set back must not wait until the clock has caught up
    return abs(now - asked_at) > HANDOVER_PATIENCE_SECONDS
