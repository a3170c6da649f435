"""Drain, undrain, fail-back, force-down, rebind and delete over the API and a real store."""

import re
from typing import Any

import pytest

from evenkeel.core.placement import AssignStep
from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import ReportState
from evenkeel.core.resources.statuses import RescheduleMode
from evenkeel.core.status.device_state import DeviceState
from tests.api.client import Client
from tests.api.operators.conftest import BASE, Join, everything, kinds, last_event

A1 = f"{BASE}/agents/a-1"


async def put(api: Client, path: str, body: Any = None, status: int = 200) -> Any:
    return await api.put(f"{A1}/{path}", body, status)


async def test_drain_shows_its_progress_to_the_end(api: Client, store: Store, pair: dict[str, Any]) -> None:
    before = await last_event(api)
    shown = (await put(api, "drain"))["agent"]
    assert (shown["state"], shown["acting_shards"], shown["waiting_shards"]) == ("draining", 2, 2)
    assert (shown["handing_over"], shown["waiting_reason"], shown["load_balancers"]) == (0, "", 1)
    assert (await put(api, "drain"))["agent"] == shown
    for shard in await store.operators.shards(agent_id="a-1"):
        assert await store.scheduling.start_handover(shard.id, shard.epoch, "a-2") is not None
    assert (await api.get(A1))["agent"]["handing_over"] == 2
    for shard in await store.operators.shards(agent_id="a-1"):
        session = (await store.operators.agent("a-1")).session_id or ""
        assert await store.ownership.release_shard("a-1", session, shard.id, shard.epoch) is not None
    shown = (await api.get(A1))["agent"]
    assert (shown["state"], shown["acting_shards"], shown["home_shards"]) == ("drained", 0, 2)
    assert (shown["away_shards"], shown["away_reason"]) == (2, "the agent is drained")
    assert (await put(api, "undrain"))["agent"]["state"] == "up"
    assert (await put(api, "undrain"))["agent"]["away_reason"] == ""
    said = [kind for kind in await kinds(api, before) if kind.startswith("agent_")]
    assert said == ["agent_drained", "agent_undrained"]


async def test_drained_agent_shows_why_its_shards_cannot_move(api: Client, store: Store, pair: dict[str, Any]) -> None:
    await api.put(f"{BASE}/agents/a-2/drain", None)
    shown = (await put(api, "drain"))["agent"]
    assert "no other agent of device group dev/1 can take them" in shown["waiting_reason"]
    await api.put(f"{BASE}/agents/a-2/undrain", None)
    assert (await api.get(A1))["agent"]["waiting_reason"] == ""


async def test_shards_bound_to_their_host_wait_until_it_is_declared_dead(api: Client, store: Store, join: Join) -> None:
    for agent_id in ("a-1", "a-2"):
        await join(agent_id, reschedule=RescheduleMode.RELOCATE)
    assert "mode relocate" in (await put(api, "drain"))["agent"]["waiting_reason"]
    shown = (await put(api, "force-down", {"down": True}))["agent"]
    assert (shown["state"], shown["forced_down"], shown["waiting_reason"]) == ("forced_down", True, "")


async def test_a_host_is_declared_dead_once_and_not_dead_again(api: Client, pair: dict[str, Any]) -> None:
    before = await last_event(api)
    for down, state in ((True, "forced_down"), (True, "forced_down"), (False, "up"), (False, "up")):
        assert (await put(api, "force-down", {"down": down}))["agent"]["state"] == state
    assert await kinds(api, before) == ["agent_forced_down", "agent_allowed_up"]


async def test_failback_is_requested_where_it_is_manual(api: Client, store: Store, pair: dict[str, Any]) -> None:
    await api.put(f"{BASE}/environments/dev", {"environment": {"failback": "manual"}})
    await put(api, "force-down", {"down": True})
    taken = [
        AssignStep(shard_id=row.id, seen_epoch=row.epoch, agent_id="a-2")
        for row in await store.operators.shards(agent_id="a-1")
    ]
    assert len(await store.scheduling.assign_shards(taken)) == 2
    shown = (await put(api, "force-down", {"down": False}))["agent"]
    assert (shown["away_shards"], "was not requested" in shown["away_reason"]) == (2, True)
    for _ in range(2):
        shown = (await put(api, "failback"))["agent"]
        assert (shown["failback_asked"], shown["away_reason"]) == (True, "")
    await api.put(f"{BASE}/environments/dev", {"environment": {"failback": "never"}})
    assert "is never" in (await put(api, "failback", status=409))["faultstring"]


async def test_rebind_moves_home_and_states_how_many(api: Client, pair: dict[str, Any]) -> None:
    for count in (2, 0):
        assert (await put(api, "rebind", {"to": "a-2"}))["rebound"] == {"agent_id": "a-1", "to": "a-2", "shards": count}
    hosting = (await api.get(f"{BASE}/loadbalancers/{pair['id']}/agent"))["hosting"]
    assert (hosting["home"]["id"], hosting["acting"]["id"]) == ("a-2", "a-1")


async def test_a_stopped_agents_devices_are_not_known(api: Client, store: Store, pair: dict[str, Any]) -> None:
    device = DeviceState(name="10.0.0.1", reachable=True, version="1")
    await store.ownership.record_state(
        ReportState(agent_id="a-1", session_id="session-of-a-1", devices=(device,), queue_depth=0, serving=())
    )
    shown = (await api.get(A1))["agent"]
    assert (shown["reachable_devices"], shown["devices"][0]["reachable"]) == (1, True)
    await store.ownership.end_session("a-1", "session-of-a-1")
    shown = (await api.get(A1))["agent"]
    assert (shown["reachable_devices"], shown["devices"][0]["reachable"]) == (None, None)


async def test_delete_offers_a_way_and_takes_it(api: Client, store: Store, pair: dict[str, Any]) -> None:
    assert "stop it first" in (await api.delete(A1, 409))["faultstring"]
    assert "stop it first" in (await api.delete(f"{A1}?rebind_to=a-2", 409))["faultstring"]
    await store.ownership.end_session("a-1", "session-of-a-1")
    refused = (await api.delete(A1, 409))["faultstring"]
    assert "home to 1 load balancer" in refused and "--rebind-to" in refused and "drain" in refused
    await api.delete(f"{A1}?rebind_to=a-2")
    await api.get(A1, 404)
    hosting = (await api.get(f"{BASE}/loadbalancers/{pair['id']}/agent"))["hosting"]
    assert (hosting["home"]["id"], hosting["acting"]) == ("a-2", None)


@pytest.mark.parametrize(
    ("path", "body", "status", "named"),
    [
        ("drain?now=1", None, 400, "now"),
        ("force-down", {}, 400, "down"),
        ("force-down", {"down": "yes"}, 400, "true or false"),
        ("force-down", {"down": True, "why": "x"}, 400, "why"),
        ("rebind", {}, 400, "to"),
        ("rebind", {"to": 5}, 400, "to"),
        ("rebind", {"to": "a b"}, 400, "to"),
        ("rebind", {"to": "nobody"}, 409, "'nobody'.*a-2 \\(host-of-a-2\\)"),
        ("rebind", {"to": "a-1"}, 409, "field/attribute to"),
        ("rebind", {"to": "b-1"}, 409, "device group dev/1"),
    ],
)
async def test_bad_input_names_the_field_and_changes_nothing(
    api: Client, join: Join, pair: dict[str, Any], path: str, body: Any, status: int, named: str
) -> None:
    await join("b-1", group_number=2, endpoints=("10.0.1.1",))
    before = await everything(api)
    refused = await put(api, path, body, status)
    text = str(refused.get("faultstring") or refused.get("description"))
    assert re.search(named, text), text
    assert await everything(api) == before


@pytest.mark.parametrize("action", ["drain", "undrain", "failback", "force-down", "rebind"])
async def test_unknown_agents_are_not_found(api: Client, action: str) -> None:
    body = {"force-down": {"down": True}, "rebind": {"to": "x"}}.get(action)
    assert "nobody" in (await api.put(f"{BASE}/agents/nobody/{action}", body, 404))["faultstring"]


async def test_agents_are_found_by_state(api: Client, pair: dict[str, Any]) -> None:
    await put(api, "drain")
    assert [row["id"] for row in (await api.get(f"{BASE}/agents?state=draining"))["agents"]] == ["a-1"]
    assert [row["id"] for row in (await api.get(f"{BASE}/agents?state=up"))["agents"]] == ["a-2"]
    assert "forced_down" in (await api.get(f"{BASE}/agents?state=dead", 400))["description"]
