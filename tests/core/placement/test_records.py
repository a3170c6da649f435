"""What is stored becomes what the rule looks at, whatever the database's clock has done."""

from typing import Any

import pytest

from evenkeel.core.placement import (
    HANDOVER_PATIENCE_SECONDS,
    AgentRecord,
    AgentSnapshot,
    agent_snapshot_of_record,
    handover_overdue,
)

NOW, SETTLE, TTL = 10_000.0, 60.0, 5.0


def view(**changes: Any) -> AgentSnapshot:
    values: dict[str, Any] = {
        "id": "a",
        "registered": True,
        "session_ttl_seconds": TTL,
        "session_started_at": NOW - 1_000.0,
        "session_expires_at": NOW + 4.0,
        "reachable_devices": 2,
        "reachable_since": NOW - 500.0,
    }
    return agent_snapshot_of_record(AgentRecord(**values | changes), now=NOW, settle_seconds=SETTLE)


@pytest.mark.parametrize(
    ("changes", "live"),
    [
        ({}, True),
        ({"session_expires_at": NOW}, False),
        ({"session_expires_at": NOW + 2 * TTL}, True),
        ({"session_expires_at": NOW + 2 * TTL + 0.1}, False),  # from before the clock was set back
        ({"session_expires_at": None}, False),
        ({"registered": False}, False),
    ],
)
def test_an_agent_is_live_while_its_session_stands(changes: dict[str, Any], live: bool) -> None:
    assert view(**changes).live is live


@pytest.mark.parametrize(
    ("changes", "settled"),
    [
        ({}, True),
        ({"session_started_at": NOW - SETTLE}, True),
        ({"session_started_at": NOW - SETTLE + 0.1}, False),
        ({"session_started_at": NOW + 1_000.0}, False),
        ({"session_started_at": None}, False),
        ({"reachable_since": NOW - SETTLE + 0.1}, False),
        ({"reachable_since": NOW + 1_000.0}, True),  # long ago, before the clock was set back
        ({"reachable_since": None}, True),
        ({"admin_state_up": False}, False),
        ({"forced_down": True}, False),
        ({"session_expires_at": NOW - 1.0}, False),
    ],
)
def test_an_agent_has_settled_when_it_was_eligible_and_saw_the_same_for_long_enough(
    changes: dict[str, Any], settled: bool
) -> None:
    assert view(**changes).settled is settled


def test_an_agent_is_fresh_for_one_and_a_half_lives_of_its_session() -> None:
    assert view(session_started_at=NOW - 1.5 * TTL + 0.1).fresh
    assert not view(session_started_at=NOW - 1.5 * TTL).fresh
    assert not view(session_started_at=None).fresh


def test_missing_or_future_time_counts_as_long_ago() -> None:
    assert view(reachable_since=NOW + 1.0).reachable_since == 0.0
    assert view(reachable_since=NOW - 1.0).reachable_since == NOW - 1.0
    assert view(reported_at=None).reported_at == 0.0


def test_a_handover_is_overdue_once_the_owner_had_its_time() -> None:
    patience = HANDOVER_PATIENCE_SECONDS
    assert not handover_overdue("b", NOW - patience, now=NOW)
    assert handover_overdue("b", NOW - patience - 0.1, now=NOW)
    assert handover_overdue("b", NOW + patience + 0.1, now=NOW)
    assert not handover_overdue(None, 0.0, now=NOW)
    assert not handover_overdue("b", None, now=NOW)
