"""Statistics of iRules and policies, in the shape that F5's telemetry reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from emulator_tests.client import Backend, Client, fetch
from emulator_tests.test_policies import path, publish
from emulator_tests.test_policies import rule as policy_rule
from emulator_tests.test_traffic import VIP, site

HOST = "https://localhost/mgmt/tm/ltm"


def plain(entries: dict[str, Any]) -> dict[str, Any]:
    return {name: next(iter(value.values())) for name, value in entries.items() if "nestedStats" not in value}


async def test_each_event_of_a_rule_is_counted(
    device: Client, backend: Callable[..., Awaitable[Backend]]
) -> None:  # fmt: skip
    text = "when HTTP_REQUEST priority 100 { if { [HTTP::path] eq {/bad} } { expr {1 / 0} } }\nwhen HTTP_RESPONSE { }"
    await device.post("ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": text})
    port = await site(device, [await backend("a")], ["http"], rules=["r"])
    await fetch(VIP, port)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(VIP, port, "/bad")
    shown = await device.get("ltm/rule/~P~r/stats")
    assert shown["kind"] == "tm:ltm:rule:rulestats"
    first, second = (f"{HOST}/rule/~P~r:{event}/stats" for event in ("HTTP_REQUEST", "HTTP_RESPONSE"))
    assert list(shown["entries"]) == [first, second]
    request = shown["entries"][first]["nestedStats"]
    assert (request["kind"], request["selfLink"]) == ("tm:ltm:rule:rulestats", f"{first}?ver=16.1.2")
    counted = plain(request["entries"])
    assert 0 < counted.pop("minCycles") <= counted.pop("avgCycles") <= counted.pop("maxCycles")
    assert counted == {
        "aborts": 0, "eventType": "HTTP_REQUEST", "failures": 1, "priority": 100, "tmName": "/P/r",
        "totalExecutions": 2,
    }  # fmt: skip
    assert plain(shown["entries"][second]["nestedStats"]["entries"])["totalExecutions"] == 1
    assert first in (await device.get("ltm/rule/stats"))["entries"]


async def test_each_action_of_a_policy_is_counted(
    device: Client, backend: Callable[..., Awaitable[Backend]]
) -> None:  # fmt: skip
    mark = {"httpHeader": True, "insert": True, "tmName": "X-P", "value": "1"}
    await publish(device, [policy_rule([path("/x")], [mark])])
    port = await site(device, [await backend("a")], ["http"], policies=["l7"])
    for uri in ("/x", "/x", "/y"):
        await fetch(VIP, port, uri)
    [(link, entry)] = (await device.get("ltm/policy/~P~l7/stats"))["entries"].items()
    assert link == f"{HOST}/policy/~P~l7/stats"
    entries = entry["nestedStats"]["entries"]
    assert plain(entries) == {"invoked": 3, "policyName": "/P/l7", "succeeded": 2, "vsName": "N/A"}
    actions = entries[f"{HOST}/policy/~P~l7/actions/stats"]["nestedStats"]["entries"]
    action = actions[f"{HOST}/policy/~P~l7/actions/r1:0/stats"]["nestedStats"]["entries"]
    assert plain(action) == {
        "action": "insert", "actionId": 0, "invoked": 2, "ruleName": "r1", "succeeded": 2, "tmTarget": "http-header",
    }  # fmt: skip
