"""``evenkeel move`` and ``evenkeel moves``"""

from typing import Any

from tests.cli.conftest import Run
from tests.cli.stub import Stub

LB = "11111111-2222-4333-8444-555555555555"


def planned(**changes: Any) -> dict[str, Any]:
    row = {
        "load_balancer_id": LB,
        "name": "web\u202e",
        "vip_address": "203.0.113.7",
        "source": "dev/1",
        "by_operator": False,
        "steps": ["dev/1 removes it"],
        "problems": [],
    }
    move = {"target": "dev/2", "project_id": "p1", "begun": False, "problems": [], "loadbalancers": [row | changes]}
    return {"move": move}


def progress(**changes: Any) -> dict[str, Any]:
    row = {
        "load_balancer_id": LB,
        "name": "web",
        "project_id": "p1",
        "vip_address": "203.0.113.7",
        "step": "done",
        "source": "dev/1",
        "target": "dev/2",
        "back": False,
        "by_operator": False,
        "reason": "",
        "gap_seconds": 0.414,
        "begun_at": 1.0,
        "step_at": 2.0,
    }
    return {"moves": [row | changes]}


def test_plan_shows_steps_and_moves_nothing(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/moves", planned())
    ran = evenkeel("move", LB, "--to-group", "2")
    assert ran.out.splitlines() == [
        f"web\\u202e ({LB}): dev/1 -> dev/2",
        "  dev/1 removes it",
        "nothing is moved yet: --yes moves it",
    ]
    asked = {"move": {"load_balancer_id": LB, "to_group": 2, "apply": False}}
    assert stub.asked == [("POST", "/moves", asked)]


def test_problems_are_on_standard_error_with_exit_code_1(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/moves", planned(name="", problems=["it is being moved already"]))
    ran = evenkeel("move", "--project", "p1", "--to-group", "2")
    assert (ran.code, ran.err) == (1, f"problem: {LB}: it is being moved already\n")


def test_move_is_followed_until_it_is_done_with_its_gap(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/moves", planned())
    stub.on("GET", "/moves", progress(step="stopping", gap_seconds=None), progress())
    ran = evenkeel("move", LB, "--to-group", "2", "--yes")
    assert ran.out.splitlines()[2:] == [
        f"web ({LB}): stopping",
        f"web ({LB}): moved; no devices were confirmed to answer for 203.0.113.7 for 0.41 s",
    ]


def test_move_that_waits_for_the_operator_names_the_next_command(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/moves", planned())
    stub.on("GET", "/moves", progress(step="draining", by_operator=True))
    ran = evenkeel("move", LB, "--to-group", "2", "--yes")
    assert ran.out.splitlines()[-1] == (
        f"web ({LB}): route 203.0.113.7 to device group dev/2, then: evenkeel move {LB} --finish --yes"
    )


def test_move_goes_back_and_ends_with_the_reason(stub: Stub, evenkeel: Run) -> None:
    stub.on("PUT", f"/moves/{LB}/back", {"move": progress()["moves"][0]})
    stub.on("GET", "/moves", progress(back=True, reason="an operator wanted it back", gap_seconds=None))
    ran = evenkeel("move", LB, "--back", "--yes")
    assert ran.out == f"web ({LB}): went back (an operator wanted it back)\n"
    assert "need a load balancer and --yes" in evenkeel("move", LB, "--back").err


def test_list_shows_the_last_moves(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/moves", progress())
    assert "0.414" in evenkeel("moves", "-f", "csv").out
    assert "0.414" not in evenkeel("moves", "--open", "-f", "csv").out
