"""Environments on the command line."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

ROW: dict[str, Any] = {
    "name": "gold",
    "device_driver": "bigip",
    "description": "",
    "failback": "auto",
    "breaker_share": 0.5,
    "breaker_agents": 3,
    "vip_networks_allowed": ["n-1"],
    "vip_networks_denied": [],
    "halted": "",
    "halted_at": None,
    "created_at": "2026-01-01T00:00:00",
}
HALTED = ROW | {"halted": "3 of 4 agents fell silent at once", "halted_at": "2026-01-01T00:00:00"}

LB_ID = "5b1f2f0e-0000-4000-8000-000000000001"


def test_one_command_creates_an_environment_with_what_was_said_only(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/environments", {"environment": ROW}, status=201)
    assert evenkeel("environment", "create", "gold", "--device-driver", "bigip").code == 0
    words = ("--failback", "manual", "--breaker-share", "0.25", "--breaker-agents", "5", "--description", "d")
    assert evenkeel("environment", "create", "gold", "--device-driver", "bigip", *words).code == 0
    said = {"name": "gold", "device_driver": "bigip"}
    more = {"failback": "manual", "breaker_share": 0.25, "breaker_agents": 5, "description": "d"}
    assert [asked[2] for asked in stub.asked] == [{"environment": said}, {"environment": said | more}]


@pytest.mark.parametrize(
    ("words", "method", "path", "body"),
    [
        (("show", "gold"), "GET", "/environments/gold", None),
        (("resume", "gold"), "PUT", "/environments/gold/resume", None),
        (("set", "gold", "--failback", "never"), "PUT", "/environments/gold", {"environment": {"failback": "never"}}),
        (
            ("set", "gold", "--vip-networks-allowed", "n-1, s-2", "--vip-networks-denied", ""),
            "PUT",
            "/environments/gold",
            {"environment": {"vip_networks_allowed": ["n-1", "s-2"], "vip_networks_denied": []}},
        ),
        (("set", "gold", "--description", ""), "PUT", "/environments/gold", {"environment": {"description": ""}}),
    ],
)
def test_commands_about_one_environment_show_it(
    stub: Stub, evenkeel: Run, words: tuple[str, ...], method: str, path: str, body: Any
) -> None:
    stub.on(method, path, {"environment": ROW})
    ran = evenkeel("environment", *words, "-f", "json")
    assert (ran.code, json.loads(ran.out)) == (0, ROW)
    assert stub.asked == [(method, path, body)]


def test_an_environment_is_deleted_silently(stub: Stub, evenkeel: Run) -> None:
    stub.on("DELETE", "/environments/gold", status=204)
    ran = evenkeel("environment", "delete", "gold")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_an_open_circuit_breaker_is_in_every_view(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/environments", {"environments": [HALTED]})
    stub.on("GET", "/environments/gold", {"environment": HALTED})
    status = {"agents": {"up": 1, "down": 3}, "load_balancers": {}, "shards": {"total": 2, "unserved": 2}}
    told = {"environment": "gold", "since": "2026-01-01T00:00:00", "reason": HALTED["halted"]}
    status |= {"message_broker": "connected", "halted": [told], "devices": [], "countdowns": [], "problems": []}
    stub.on("GET", "/status", {"status": status})
    hosting = {"load_balancer_id": LB_ID, "revision": 1, "applied_revision": 1, "status_reason": "", "shard": None}
    hosting |= {"home": None, "acting": None, "environment": "gold", "halted": HALTED["halted"]}
    stub.on("GET", f"/loadbalancers/{LB_ID}/agent", {"hosting": hosting})
    for words in (
        ("environment", "list"),
        ("environment", "show", "gold"),
        ("loadbalancer", "show-agent", LB_ID),
    ):
        ran = evenkeel(*words, "-f", "json")
        line = ran.err.splitlines()[0]
        assert ran.code == 0
        assert line.startswith(f"environment gold is halted: {HALTED['halted']}")
        assert "gold" in ran.out


@pytest.mark.parametrize(
    "words",
    [
        ("create", "gold"),
        ("create", "gold", "--device-driver", "bigip", "--failback", "sometimes"),
        ("create", "gold", "--device-driver", "bigip", "--breaker-share", "half"),
        ("set", "gold"),
        ("show",),
    ],
)
def test_nonsense_ends_with_2(stub: Stub, evenkeel: Run, words: tuple[str, ...]) -> None:
    assert evenkeel("environment", *words).code == 2
    assert stub.asked == []
