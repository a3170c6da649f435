"""What the devices' log says about a write, as the history keeps it."""

from typing import Any

from tests.acceptance.history.watch import write_of

PATH = "/mgmt/tm/ltm/data-group/internal"


def entry(*commands: dict[str, Any], event: str = "transaction_committed", status: int = 200) -> dict[str, Any]:
    return {
        "seq": 7,
        "device": "a",
        "user_agent": "evenkeel-agent/host-1",
        "path": "/mgmt/tm/transaction/1",
        "event": event,
        "status": status,
        "error": None,
        "body": {"commands": list(commands)},
    }


def test_batch_belongs_to_the_guard_that_it_modifies_first() -> None:
    touch = {"method": "PATCH", "uri": f"{PATH}/~hist_t-1~evenkeel_guard_12_0a1b2c", "body": {}}
    other = {"method": "PATCH", "uri": "/mgmt/tm/ltm/pool/~hist_t-1~hist_x", "body": {}}
    found = write_of(entry(touch, other), "hist_")
    assert (found["project"], found["epoch"], found["host"], found["accepted"]) == ("t-1", 12, "host-1", True)


def test_takeover_belongs_to_the_guard_that_it_creates() -> None:
    old = {"method": "DELETE", "uri": f"{PATH}/~hist_t~evenkeel_guard_1", "body": {}}
    new = {"method": "POST", "uri": PATH, "body": {"name": "evenkeel_guard_2_0a1b2c", "partition": "hist_t"}}
    sentinel = {"method": "POST", "uri": PATH, "body": {"name": "evenkeel_guard", "partition": "hist_t"}}
    found = write_of(entry(old, sentinel, new, event="transaction_refused", status=400), "hist_")
    assert (found["project"], found["epoch"], found["accepted"]) == ("t", 2, False)


def test_a_write_without_a_guard_has_no_epoch() -> None:
    assert write_of(entry(event="write"), "hist_")["epoch"] is None
