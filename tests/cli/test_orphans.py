"""``evenkeel orphan list``"""

import json

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

SHARDS = [
    {"id": "s-1", "project_id": "p1", "environment": "dev", "group_number": 1},
    {"id": "c-1", "project_id": "", "environment": "dev", "group_number": 1},
    {"id": "c-2", "project_id": "", "environment": "gold", "group_number": 3},
]
ROW = {"load_balancer_id": "lb-1", "devices": "a, b", "seconds": 65, "removed_in_seconds": 9}


def test_each_device_group_is_queried_and_one_without_an_answer_is_a_problem(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/shards", {"shards": SHARDS})
    partition = {"project_id": "p9", "seconds": 7000}
    stub.on("POST", "/shards/c-1/orphans", {"orphans": [ROW], "partitions": [partition], "more": 2})
    ran = evenkeel("orphan", "list", "-f", "json")
    place = {"environment": "dev", "group_number": 1}
    assert json.loads(ran.out) == [
        {"kind": "load balancer", "id": "lb-1", "devices": "a, b", "seconds": 65, "removed_in_seconds": 9, **place},
        {"kind": "partition", "id": "p9", "devices": "", "seconds": 7000, "removed_in_seconds": None, **place},
    ]
    assert ran.code == 1
    first, second = ran.err.splitlines()
    assert first == "problem: device group dev/1: 2 more were not looked at"
    assert second.startswith("problem: device group gold/3: ")


def test_only_one_environment_is_queried(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/shards?environment=dev", {"shards": SHARDS[:2]})
    stub.on("POST", "/shards/c-1/orphans", {"orphans": [], "more": 0})
    ran = evenkeel("orphan", "list", "--environment", "dev", "-f", "json")
    assert (ran.code, json.loads(ran.out)) == (0, [])


def test_a_table_needs_80_columns(stub: Stub, evenkeel: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shard = {"id": "s1", "project_id": "", "environment": "production", "group_number": 12}
    stub.on("GET", "/shards", {"shards": [shard]})
    row = {
        "load_balancer_id": "5b1f2f0e-0000-4000-8000-000000000001",
        "devices": ["bigip-1.example", "bigip-2.example"],
    }
    stub.on("POST", "/shards/s1/orphans", {"orphans": [row | {"seconds": 86400}], "partitions": [], "more": 0})
    lines = evenkeel("orphan", "list").out.splitlines()
    assert len(lines) == 5 and max(map(len, lines)) <= 80


def test_one_is_removed_by_its_id(stub: Stub, evenkeel: Run) -> None:
    stub.on("DELETE", "/orphans/lb-1", None)
    assert evenkeel("orphan", "remove", "lb-1").code == 0
