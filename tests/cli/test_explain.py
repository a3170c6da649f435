import json
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.explain import NOTHING, explain_state
from tests.cli.conftest import Run
from tests.cli.stub import Stub

ID = "5a7da699-e093-4046-91ac-a5371622eb21"
AGENT = {"id": "a1", "host": "h1", "alive": True, "queue_depth": 3}
SILENT = {"id": "a1", "host": "h1", "alive": False, "queue_depth": 0}
OTHER = {"id": "a2", "host": "h2", "alive": True, "queue_depth": 0}
FINE: dict[str, Any] = {
    "load_balancer_id": "lb",
    "revision": 7,
    "applied_revision": 7,
    "provisioning_status": "ACTIVE",
    "status_reason": "",
    "operating_status": "ONLINE",
    "operating_reason": "",
    "environment": "prod",
    "halted": "",
    "shard": {"id": "s", "group_number": 1, "epoch": 4},
    "home": AGENT,
    "acting": AGENT,
    "ahead": 0,
    "retry_seconds_max": 75,
}


@pytest.mark.parametrize(
    ("changed", "state", "action"),
    [
        ({}, "applied, operating status ONLINE", NOTHING),
        ({"acting": OTHER}, "applied, operating status ONLINE; away from its home h1, to which it returns", NOTHING),
        (
            {"shard": None, "home": None, "acting": None, "status_reason": "waiting: no agent has registered"},
            "not placed yet: waiting: no agent has registered",
            "evenkeel agent list",
        ),
        (
            {"acting": SILENT, "halted": "3 of 4 agents fell silent at once"},
            "its agent is silent, and environment prod is halted: 3 of 4",
            "evenkeel environment resume prod",
        ),
        ({"acting": SILENT}, "no live agent serves it; h1 did", "start one"),
        ({"acting": None, "home": SILENT}, "no live agent serves it; h1 did", "start one"),
        (
            {"provisioning_status": "ERROR", "status_reason": "device big-1: refused"},
            "not applied: device big-1: refused",
            "fix the cause",
        ),
        (
            {"provisioning_status": "PENDING_UPDATE", "revision": 8, "ahead": 3},
            "waits for its agent, h1, behind 3 others",
            NOTHING,
        ),
        (
            {"provisioning_status": "PENDING_UPDATE", "revision": 8, "status_reason": "device big-1: no answer"},
            "waits for its agent: device big-1: no answer",
            "fix the cause",
        ),
        (
            {"operating_status": "DEGRADED", "operating_reason": "device big-2 is not in step"},
            "applied, but device big-2 is not in step",
            "evenkeel device list --environment prod",
        ),
        (
            {"operating_reason": "certificate x cannot be read", "remedy": "evenkeel certificate refresh x"},
            "applied, but certificate x cannot be read",
            "evenkeel certificate refresh x",
        ),
        (
            {"operating_status": "OFFLINE", "operating_reason": "no device can be reached", "remedy": "curl big-2"},
            "applied, but no device can be reached",
            "curl big-2",
        ),
        (
            {"provisioning_status": "PENDING_UPDATE", "status_reason": "device big-2: no answer", "remedy": "curl x"},
            "waits for its agent: device big-2: no answer",
            "curl x; it is retried automatically",
        ),
    ],
)
def test_each_state_has_words_and_what_to_do(changed: dict[str, Any], state: str, action: str) -> None:
    found = explain_state(FINE | changed)
    assert found.state.startswith(state) and action in found.action


def test_a_load_balancer_is_explained(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", f"/loadbalancers/{ID}/agent", {"hosting": FINE})
    ran = evenkeel("explain", ID, "-f", "json")
    shown = json.loads(ran.out)
    assert ran.code == 0 and shown["owner"] == "h1 (alive)" and shown["what to do"] == NOTHING
    assert (shown["desired_revision"], shown["applied_revision"], shown["epoch"]) == (7, 7, 4)
    stub.on("GET", f"/loadbalancers/{ID}/agent", {"hosting": FINE | {"acting": SILENT}})
    ran = evenkeel("explain", ID)
    assert ran.code == 1 and "no live agent serves it" in ran.err


def test_explain_shows_the_queue_position_and_the_next_try(stub: Stub, evenkeel: Run) -> None:
    refused = FINE | {"provisioning_status": "ERROR", "status_reason": "device big-1: refused", "ahead": 4}
    stub.on("GET", f"/loadbalancers/{ID}/agent", {"hosting": refused})
    shown = json.loads(evenkeel("explain", ID, "-f", "json").out)
    assert shown["ahead"] == 4 and shown["next_try"] == "automatically, within 75 s"
    stub.on("GET", f"/loadbalancers/{ID}/agent", {"hosting": refused | {"acting": SILENT}})
    assert json.loads(evenkeel("explain", ID, "-f", "json").out)["next_try"] == ""


def test_help_after_a_command_is_that_commands(evenkeel: Run) -> None:
    for words in (("agent", "drain", "--help"), ("help", "agent", "drain"), ("explain", "-h")):
        ran = evenkeel(*words)
        command = " ".join(word for word in words if word not in ("help", "--help", "-h"))
        assert ran.code == 0 and ran.out.startswith(f"usage: evenkeel {command} "), ran.out[:80]
    assert "Load balancers:" in evenkeel("--help").out


def test_controllers_are_verified_by_the_given_authorities(tmp_path: Path, evenkeel: Run, stub: Stub) -> None:
    ran = evenkeel("--cacert", "/not/there", "status")
    assert ran.code == 2 and "--cacert /not/there: No such file or directory" in ran.err
    (tmp_path / "ca").write_text("x")
    assert "not certificates in PEM form" in evenkeel("--cacert", str(tmp_path / "ca"), "status").err
