"""``evenkeel esd …``: what agents have, and checks of a directory."""

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run
from tests.cli.stub import Stub

TAGS = {"lbaas_irule": ["/Common/r"]}


def agent(host: str, problem: str = "", **tags: list[str]) -> dict[str, Any]:
    return {"host": host, "group_number": 1, "file": "a.json", "problem": problem, "tags": tags or TAGS}


def service(*agents: dict[str, Any], name: str = "web", environment: str = "dev", **told: Any) -> dict[str, Any]:
    return {"environment": environment, "name": name, "usable": True, "agreed": True, "agents": list(agents), **told}


def on(stub: Stub, *services: dict[str, Any], query: str = "") -> None:
    stub.on("GET", f"/enhanced_services{query}", {"enhanced_services": list(services)})


def test_enhanced_services_are_listed(stub: Stub, evenkeel: Run) -> None:
    on(stub, service(agent("h-1"), agent("h-2", "no such tag"), agreed=False), query="?environment=dev")
    ran = evenkeel("esd", "list", "--environment", "dev", "-f", "json")
    assert ran.code == 0
    assert json.loads(ran.out) == [
        {
            "environment": "dev",
            "name": "web",
            "usable": True,
            "agreed": False,
            "agents": "1/2",
            "problem": "agent h-2 of dev: enhanced service web: no such tag",
        }
    ]


def test_one_is_shown_by_name(stub: Stub, evenkeel: Run) -> None:
    on(stub, service(agent("h-1")), query="?name=web")
    stub.on("GET", "/environments/dev/enhanced_services/web", {"enhanced_service": service(agent("h-1"))})
    for words in ((), ("--environment", "dev")):
        shown = json.loads(evenkeel("esd", "show", "web", *words, "-f", "json").out)
        assert shown["agents"][0]["tags"] == TAGS


def test_one_of_several_environments_has_to_be_named(stub: Stub, evenkeel: Run) -> None:
    on(stub, service(), service(environment="lab"), query="?name=web")
    ran = evenkeel("esd", "show", "web")
    assert ran.code != 0
    assert "dev, lab" in ran.err
    on(stub, query="?name=gone")
    assert "no agent has an enhanced service 'gone'" in evenkeel("esd", "show", "gone").err


def test_check_without_a_directory_checks_the_agents(stub: Stub, evenkeel: Run) -> None:
    on(stub, service(agent("h-1")))
    assert (evenkeel("esd", "check").code, evenkeel("esd", "check").out) == (0, "no problems\n")
    on(stub, service(agent("h-1"), agent("h-2", x=[]), agreed=False), service(agent("h-1", "not JSON"), name=""))
    ran = evenkeel("esd", "check")
    assert ran.code == 1
    assert "the agents of dev have different definitions of it" in ran.err
    assert "problem: agent h-1 of dev: not JSON" in ran.err


def test_a_directory_is_checked_without_a_controller(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"web": {"lbaas_irule": ["r"]}}))
    assert (evenkeel("esd", "check", str(tmp_path)).out, stub.asked) == ("no problems\n", [])
    (tmp_path / "b.json").write_text('{"web": ')
    (tmp_path / "c.json").write_text(json.dumps({"other": {"lbaas_irule": "r"}}))
    ran = evenkeel("esd", "check", str(tmp_path))
    assert ran.code == 1
    assert "problem: b.json: line 1, column 9: not JSON" in ran.err
    assert "c.json: enhanced service 'other': lbaas_irule: 'r': a list of names is allowed" in ran.err
    assert evenkeel("esd", "check", str(tmp_path / "gone")).code == 2


def test_targets_of_access_logs_are_checked_against_networks(evenkeel: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"logged": {"access_log": {"target": "192.0.2.9:514"}}}))
    directory = str(tmp_path)
    assert evenkeel("esd", "check", directory).code == 0
    assert evenkeel("esd", "check", directory, "--access-log-networks", "203.0.113.0/24, 192.0.2.0/24").code == 0
    for networks, allowed in (("203.0.113.0/24", "203.0.113.0/24"), ("", "none")):
        ran = evenkeel("esd", "check", directory, "--access-log-networks", networks)
        assert ran.code == 1
        assert ran.err.endswith(
            "a.json: enhanced service 'logged': access_log: target '192.0.2.9:514':"
            f" it is in no network of the agent's access_log_networks; allowed: {allowed}\n"
        )
    ran = evenkeel("esd", "check", directory, "--access-log-networks", "192.0.2.0/24,logs")
    assert ran.code == 2 and "access_log_networks: " in ran.err and "'logs'" in ran.err


def test_a_directory_is_compared_with_what_agents_have(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"web": {"lbaas_irule": ["r"]}, "new": {}}))
    loaded = service(agent("h-1"), agent("h-2", lbaas_irule=["/Common/old"]), agent("h-3", "device has no ltm/rule"))
    on(stub, loaded, service(agent("h-1"), name="former"), query="?environment=dev")
    ran = evenkeel("esd", "check", str(tmp_path), "--environment", "dev")
    assert ran.code == 1
    told = ran.err
    assert "agent h-1: enhanced service web" not in told
    assert "agent h-2: enhanced service web: not defined as in a.json" in told
    assert "agent h-3: enhanced service web: device has no ltm/rule" in told
    assert "enhanced service new: no agent has it" in told
    assert "enhanced service former: agents have it, and no file here" in told


def test_discarded_tags_are_warnings_and_strictly_problems(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"web": {"lbaas_irule": ["r"], "lbaas_color": "red"}}))
    ran = evenkeel("esd", "check", str(tmp_path))
    assert (ran.code, ran.out) == (0, "no problems\n")
    assert ran.err.startswith("warning: a.json: enhanced service 'web': 'lbaas_color': no such tag")
    ran = evenkeel("esd", "check", str(tmp_path), "--strict")
    assert ran.code == 1 and ran.err.startswith("problem: a.json: enhanced service 'web': 'lbaas_color': no such tag")
    on(stub, service({**agent("h-1"), "warnings": ["lbaas_ctcp: no such profile"]}))
    ran = evenkeel("esd", "check")
    assert (ran.code, ran.err) == (0, "warning: agent h-1 of dev: lbaas_ctcp: no such profile\n")
    assert evenkeel("esd", "check", "--strict").code == 1
