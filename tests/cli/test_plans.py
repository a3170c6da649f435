"""``evenkeel plan``"""

import json
from typing import Any

from tests.cli.conftest import Run
from tests.cli.stub import Stub

LB = "11111111-2222-4333-8444-555555555555"
ATTRIBUTE = {"name": "lbMode", "present": "round-robin", "wanted": "ratio-member"}
STEP = {"verb": "modify", "type": "ltm/pool", "note": "", "name": "/dev_p1/dev_x\u202e", "attributes": [ATTRIBUTE]}


def planned(*devices: dict[str, Any]) -> dict[str, Any]:
    every = [{"operations": [], "more": 0, "left": [], "problem": "", **one} for one in devices]
    return {"plan": {"load_balancer_id": LB, "agent_id": "a", "host": "h", "devices": every}}


def test_plan_shows_present_and_wanted_values_of_each_device(stub: Stub, evenkeel: Run) -> None:
    made = {**STEP, "verb": "create", "attributes": [{"name": "slot", "present": "", "wanted": "7"}]}
    gone = {**STEP, "verb": "delete", "name": "/dev_p1/old", "attributes": []}
    stub.on(
        "POST",
        f"/loadbalancers/{LB}/plan",
        planned({"device": "a", "operations": [STEP, made, gone], "more": 4}, {"device": "b"}),
    )
    ran = evenkeel("plan", LB)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "a: 7 operations",
        "  modify ltm/pool /dev_p1/dev_x\\u202e",
        "    lbMode: round-robin -> ratio-member",
        "  create ltm/pool /dev_p1/dev_x\\u202e",
        "    slot: 7",
        "  delete ltm/pool /dev_p1/old",
        "  and 4 more operations",
        "b: nothing to change",
    ]


def test_json_is_the_answer_and_a_device_without_a_plan_a_problem(stub: Stub, evenkeel: Run) -> None:
    answer = planned({"device": "a", "problem": "no answer"})
    stub.on("POST", f"/loadbalancers/{LB}/plan", answer)
    ran = evenkeel("plan", LB, "--json")
    assert json.loads(ran.out) == answer["plan"]
    assert (ran.code, ran.err) == (1, "problem: a: no answer\n")
    assert evenkeel("plan", LB).out == "a: no plan\n"


def test_a_load_balancer_that_is_gone_and_a_refusal(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", f"/loadbalancers/{LB}/plan", planned())
    assert evenkeel("plan", LB).out == "nothing: the load balancer is gone\n"
    ran = evenkeel("plan", "lb-2")
    assert ran.code == 1 and "lb-2" in ran.err


SHARDS = [
    {"id": "s-1", "project_id": "p1", "environment": "dev", "group_number": 1},
    {"id": "s-2", "project_id": "p2", "environment": "dev", "group_number": 1},
    {"id": "s-3", "project_id": "p2", "environment": "gold", "group_number": 1},
]


def test_an_adoption_is_planned_and_carried_out_only_on_request(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/shards", {"shards": SHARDS})
    replaced = {**STEP, "verb": "delete", "name": "/dev_p1/x", "note": "made anew", "attributes": []}
    device = {"device": "a", "operations": [replaced], "left": ["ltm/policy /dev_p1/wrapper"]}
    stub.on("POST", "/shards/s-1/adoption", {"adoption": planned(device)["plan"]})
    assert evenkeel("adopt", "p1").out.splitlines() == [
        "a: 1 operation",
        "  delete ltm/pool /dev_p1/x (made anew)",
        "  stays, no load balancer needs it: ltm/policy /dev_p1/wrapper",
        "nothing is changed yet: --yes adopts the partition",
    ]
    assert evenkeel("adopt", "p1", "--yes").out.endswith("adopted: the next pass changes this\n")
    assert json.loads(evenkeel("adopt", "p1", "--json").out)["devices"][0]["left"] == device["left"]
    assert [body for method, _, body in stub.asked if method == "POST"] == [
        {"adoption": {"apply": apply}} for apply in (False, True, False)
    ]


def test_partition_is_given_back_only_on_request(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/shards", {"shards": SHARDS})
    mark = {"name": "description", "present": "evenkeel:dev/1:partition", "wanted": ""}
    unmarked = {**STEP, "type": "auth/partition", "name": "dev_p1", "attributes": [mark]}
    stub.on("POST", "/shards/s-1/adoption", {"adoption": planned({"device": "a", "operations": [unmarked]})["plan"]})
    assert evenkeel("adopt", "p1", "--back").out.splitlines() == [
        "a: 1 operation",
        "  modify auth/partition dev_p1",
        "    description: evenkeel:dev/1:partition -> (not set)",
        "nothing is changed yet: --yes gives the partition back",
    ]
    assert "given back: everything else" in evenkeel("adopt", "p1", "--back", "--yes").out
    assert [body for method, _, body in stub.asked if method == "POST"] == [
        {"adoption": {"apply": apply, "give_back": True}} for apply in (False, True)
    ]


def test_irules_are_kept_only_on_request(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/shards", {"shards": SHARDS})
    stub.on("POST", "/shards/s-1/adoption", {"adoption": planned({"device": "a"})["plan"]})
    assert evenkeel("adopt", "p1", "--keep-irules", "--yes").out.endswith("adopted: the next pass changes this\n")
    assert stub.asked[-1][2] == {"adoption": {"apply": True, "keep_irules": True}}


def test_a_tenant_on_no_or_several_device_groups_is_queried(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/shards", {"shards": SHARDS})
    stub.on("GET", "/shards?environment=gold", {"shards": SHARDS[2:]})
    stub.on("POST", "/shards/s-3/adoption", {"adoption": planned()["plan"]})
    assert "dev/1, gold/1" in evenkeel("adopt", "p2", "--yes").err
    assert "no load balancer" in evenkeel("adopt", "p3", "--yes").err
    assert evenkeel("adopt", "p2", "--environment", "gold").code == 0
