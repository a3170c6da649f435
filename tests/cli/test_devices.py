"""``evenkeel device list``."""

import json

from tests.cli.conftest import Run
from tests.cli.stub import Stub

ACTIVE = {
    "name": "a:443",
    "own_name": "lb-1",
    "reachable": True,
    "version": "16.1.2",
    "failover_state": "active",
    "sync_state": "In Sync",
    "problem": "",
    "limitation": "SCTP is refused: the kernel does not track it",
}
STANDBY = ACTIVE | {"name": "b:443", "own_name": "", "failover_state": "standby", "sync_state": "Changes Pending"}
AWAY = {
    "name": "b:443",
    "own_name": "lb-2",
    "reachable": False,
    "version": "",
    "failover_state": "",
    "sync_state": "",
    "problem": "no connection",
}
AGENT = {"environment": "demo", "group_number": 1, "alive": True, "reported_at": "2026-01-01T00:00:00"}


def test_devices_are_listed_once_with_the_newest_report(stub: Stub, evenkeel: Run) -> None:
    newer = AGENT | {"devices": [ACTIVE, STANDBY], "reported_at": "2026-01-01T00:00:05"}
    older = AGENT | {"devices": [ACTIVE | {"failover_state": "standby"}, STANDBY]}
    dead = AGENT | {"devices": [AWAY], "alive": False}
    stub.on("GET", "/agents", {"agents": [older, newer, dead]})
    ran = evenkeel("device", "list", "-f", "json")
    assert ran.code == 0
    assert json.loads(ran.out) == [
        {
            "name": own_name,
            "address": f"{name}:443",
            "environment": "demo",
            "group_number": 1,
            "reached_by": "2/2",
            "failover_state": failover_state,
            "sync_state": sync_state,
            "version": "16.1.2",
            "problem": "",
            "limitation": "SCTP is refused: the kernel does not track it",
        }
        for name, own_name, failover_state, sync_state in (
            ("a", "lb-1", "active", "In Sync"),
            ("b", "b:443", "standby", "Changes Pending"),
        )
    ]


def test_a_problem_is_shown_and_sets_the_exit_code(stub: Stub, evenkeel: Run) -> None:
    stub.on(
        "GET",
        "/agents?environment=demo",
        {"agents": [AGENT | {"devices": [ACTIVE, AWAY]}, AGENT | {"devices": [STANDBY]}]},
    )
    ran = evenkeel("device", "list", "--environment", "demo", "-f", "value", "-c", "reached_by", "-c", "sync_state")
    assert (ran.code, ran.out.splitlines()) == (1, ["1/1 In Sync", "1/2 Changes Pending"])
    assert ran.err == "problem: lb-2 (b:443): no connection\n"
