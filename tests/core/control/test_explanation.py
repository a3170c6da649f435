"""Why a load balancer is not as it should be, and what operators can do."""

from typing import Any

import pytest

from evenkeel.core.control.explanation import NOTHING, explain_state

AGENT = {"id": "a-1", "host": "host-1", "alive": True}
WELL: dict[str, Any] = {
    "load_balancer_id": "lb",
    "environment": "prod",
    "halted": "",
    "shard": {"id": "s"},
    "acting": AGENT,
    "home": AGENT,
    "revision": 2,
    "applied_revision": 2,
    "provisioning_status": "ACTIVE",
    "operating_status": "ONLINE",
    "status_reason": "",
    "operating_reason": "",
    "ahead": 0,
    "retry_seconds_max": 60,
}


@pytest.mark.parametrize(
    ("changes", "state", "action"),
    [
        ({}, "applied, operating status ONLINE", NOTHING),
        (
            {"message_broker": "refused"},
            "no agent can be reached: the message broker takes no messages: refused",
            "repair",
        ),
        ({"shard": None}, "not placed yet: the scheduler has not looked at it", "evenkeel agent list"),
        ({"acting": None}, "no live agent serves it; host-1 did", "another agent of its group takes over"),
        ({"provisioning_status": "ERROR", "status_reason": "no"}, "not applied: no", "fix the cause"),
        ({"applied_revision": 1, "ahead": 1}, "waits for its agent, host-1, behind 1 other", NOTHING),
        ({"operating_reason": "it is away", "remedy": "look there"}, "applied, but it is away", "look there"),
    ],
)
def test_the_first_rule_that_matches_explains(changes: dict[str, Any], state: str, action: str) -> None:
    found = explain_state(WELL | changes)
    assert found.state == state
    assert found.action.startswith(action)
