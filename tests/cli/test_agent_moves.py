"""Drain and its kin on the command line: what is sent, how progress reads, how it ends."""

import json
from typing import Any

import pytest

from evenkeel.cli.main import rename_wait_timeout
from tests.cli.conftest import Run
from tests.cli.stub import Stub
from tests.cli.test_commands import AGENT, AGENT_ID

PATH = f"/agents/{AGENT_ID}"
OTHER_ID = "9d1a5a3c-0f0b-5d59-9f7c-0b1c2d3e4f51"
NOBODY = "no other agent of device group demo/1 can take them"


def agent(state: str = "draining", **values: Any) -> dict[str, Any]:
    usual = {"handing_over": 0, "away_shards": 0, "waiting_reason": "", "away_reason": "", "halted": ""}
    return {"agent": AGENT | usual | {"state": state} | values}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that waiting moves on, and nothing else does."""
    now = [0.0]
    monkeypatch.setattr("evenkeel.cli.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr("evenkeel.cli.progress.time.sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))


@pytest.mark.parametrize(
    ("words", "path", "body"),
    [
        (("drain",), "drain", None),
        (("undrain",), "undrain", None),
        (("failback",), "failback", None),
        (("force-down", "--yes"), "force-down", {"down": True}),
        (("force-down", "--undo"), "force-down", {"down": False}),
    ],
)
def test_each_command_asks_once_and_shows_the_state(
    stub: Stub, evenkeel: Run, words: tuple[str, ...], path: str, body: Any
) -> None:
    stub.on("GET", PATH, agent())
    stub.on("PUT", f"{PATH}/{path}", agent())
    ran = evenkeel("agent", words[0], AGENT_ID, *words[1:], "-f", "json")
    assert (ran.code, ran.err) == (0, "")
    assert (json.loads(ran.out)["state"], json.loads(ran.out)["acting_shards"]) == ("draining", 2)
    assert stub.asked[1:] == [("PUT", f"{PATH}/{path}", body)]


def test_waiting_for_a_drain_tells_the_progress_and_ends_with_0(stub: Stub, evenkeel: Run) -> None:
    moving = agent(handing_over=1)
    stub.on("GET", PATH, agent("up"), moving, moving, agent("drained", acting_shards=0))
    stub.on("PUT", f"{PATH}/drain", agent())
    ran = evenkeel("agent", "drain", AGENT_ID, "--wait", "-f", "value", "-c", "state")
    assert (ran.code, ran.out) == (0, "drained\n")
    assert ran.err.splitlines() == [
        "host-1: draining, 2 acting shards left",
        "host-1: draining, 2 acting shards left, 1 being handed over",
        "host-1: drained, 0 acting shards left",
    ]


def test_waiting_ends_with_4_and_the_reason_where_it_does_not_move_on(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, agent(waiting_reason=NOBODY))
    stub.on("PUT", f"{PATH}/drain", agent(waiting_reason=NOBODY))
    ran = evenkeel("agent", "drain", AGENT_ID, "--wait")
    assert ran.code == 4
    assert NOBODY in ran.err.splitlines()[-1] and "continues as soon as possible" in ran.err


def test_a_reason_that_passes_is_waited_out(stub: Stub, evenkeel: Run) -> None:
    stuck = [agent(waiting_reason=NOBODY)] * 10
    stub.on("GET", PATH, agent("up"), *stuck, agent(), *stuck, agent("drained", acting_shards=0))
    stub.on("PUT", f"{PATH}/drain", agent())
    assert evenkeel("agent", "drain", AGENT_ID, "--wait").code == 0


def test_waiting_ends_with_4_when_the_time_is_up(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, agent())
    stub.on("PUT", f"{PATH}/drain", agent())
    for words in (("--timeout", "3"), ("--timeout=3",)):
        stub.asked.clear()
        ran = evenkeel("--timeout", "9", "agent", "drain", AGENT_ID, "--wait", *words)
        assert ran.code == 4
        assert len(stub.asked) == 2 + 6


def test_timeout_after_a_command_with_its_own_is_not_the_global_one() -> None:
    for words in (["agent", "drain", AGENT_ID, "--wait"], ["switch-over", AGENT_ID, "--yes"]):
        given = ["--timeout", "9", *words, "--timeout", "60", "--timeout=61"]
        assert rename_wait_timeout(given) == ["--timeout", "9", *words, "--wait-timeout", "60", "--wait-timeout=61"]
    others = ["loadbalancer", "list", "--timeout", "60"]
    assert rename_wait_timeout(others) == others


def test_waiting_for_shards_to_come_home_counts_those_away(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, agent("drained"), agent("up", away_shards=1), agent("up"))
    stub.on("PUT", f"{PATH}/undrain", agent("up", away_shards=2, away_reason="failback of environment demo is manual"))
    ran = evenkeel("agent", "undrain", AGENT_ID, "--wait")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "host-1: up, 2 away shards left; waiting: failback of environment demo is manual",
        "host-1: up, 1 away shard left",
        "host-1: up, 0 away shards left",
    ]


def test_force_down_needs_a_word_of_confirmation_and_states_why(stub: Stub, evenkeel: Run) -> None:
    ran = evenkeel("agent", "force-down", AGENT_ID)
    assert (ran.code, stub.asked) == (2, [])
    assert "really dead" in ran.err and "relocate" in ran.err
    assert evenkeel("agent", "force-down", AGENT_ID, "--yes", "--undo").code == 2
    assert evenkeel("agent", "force-down", AGENT_ID, "--undo", "--wait").code == 2


def test_an_open_circuit_breaker_is_reported_on_standard_error(stub: Stub, evenkeel: Run) -> None:
    halted = {"state": "silent", "halted": "3 of 4 agents fell silent at once"}
    rows = [AGENT | halted, AGENT | halted | {"id": OTHER_ID}, AGENT | {"environment": "gold", "halted": ""}]
    stub.on("GET", "/agents", {"agents": rows})
    stub.on("GET", "/status", {"status": {"message_broker": "connected"}})
    ran = evenkeel("agent", "list", "-f", "json")
    assert len(json.loads(ran.out)) == 3
    (line,) = ran.err.splitlines()
    assert "environment demo is halted: 3 of 4 agents fell silent" in line and "environment resume demo" in line


def test_no_environment_is_resumed_while_the_message_broker_is_gone(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/agents", {"agents": [AGENT | {"state": "silent", "halted": "4 of 4 agents fell silent at once"}]})
    stub.on("GET", "/status", {"status": {"message_broker": "connection refused"}})
    (line,) = evenkeel("agent", "list", "-f", "json").err.splitlines()
    assert "until the message broker is back, which takes no messages: connection refused" in line
    assert "resume" not in line


# -- rebind and delete


def test_rebind_finds_the_new_home_in_the_same_group(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, agent())
    stub.on("GET", "/agents?environment=demo&group_number=1&host=host-2", {"agents": [AGENT | {"id": OTHER_ID}]})
    stub.on("PUT", f"{PATH}/rebind", {"rebound": {"agent_id": AGENT_ID, "to": OTHER_ID, "shards": 5}})
    ran = evenkeel("agent", "rebind", AGENT_ID, "--to", "host-2", "-f", "value", "-c", "shards")
    assert (ran.code, ran.out) == (0, "5\n")
    assert stub.asked[-1] == ("PUT", f"{PATH}/rebind", {"to": OTHER_ID})


def test_an_unknown_new_home_is_left_to_the_server_to_explain(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, agent())
    stub.on("GET", "/agents?environment=demo&group_number=1&host=nope", {"agents": []})
    stub.on("PUT", f"{PATH}/rebind", {"faultcode": "Client", "faultstring": "should be one of"}, status=409)
    ran = evenkeel("agent", "rebind", AGENT_ID, "--to", "nope")
    assert (ran.code, ran.err) == (1, "should be one of\n")
    assert stub.asked[-1][2] == {"to": "nope"}


def test_delete_names_the_new_home(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, agent("silent"))
    stub.on("DELETE", f"{PATH}?rebind_to={OTHER_ID}", status=204)
    ran = evenkeel("agent", "delete", AGENT_ID, "--rebind-to", OTHER_ID)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.parametrize(
    "words",
    [("drain",), ("drain", AGENT_ID, "--timeout", "0"), ("drain", AGENT_ID, "--timeout", "x"), ("rebind", AGENT_ID)],
)
def test_nonsense_ends_with_2(evenkeel: Run, words: tuple[str, ...]) -> None:
    assert evenkeel("agent", *words).code == 2


def test_a_list_of_100_agents_is_100_lines_that_begin_with_the_host(stub: Stub, evenkeel: Run) -> None:
    rows = [AGENT | {"host": f"net-{number:03}", "state": "up"} for number in range(100)]
    stub.on("GET", "/agents?environment=demo", {"agents": rows})
    lines = evenkeel("agent", "list", "--environment", "demo").out.splitlines()
    assert len(lines) == 104
    assert lines[3].startswith("| net-000") and max(map(len, lines)) <= 200
