"""Environments over the API and a real store."""

from typing import Any

import pytest

from evenkeel.core.ports import Store
from tests.api import bodies
from tests.api.client import Client
from tests.api.operators.conftest import BASE, Join, everything, kinds, last_event
from tests.api.subnet import SUBNET

WHOLE: dict[str, Any] = {
    "name": "lab2",
    "device_driver": "bigip",
    "description": "of the lab",
    "failback": "manual",
    "breaker_share": 0.25,
    "breaker_agents": 5,
    "vip_networks_allowed": [SUBNET.network_id],
    "vip_networks_denied": [],
}


async def test_an_environment_is_made_whole_and_made_again(api: Client) -> None:
    made = (await api.post(f"{BASE}/environments", {"environment": WHOLE}))["environment"]
    assert {name: made[name] for name in WHOLE} == WHOLE
    assert (made["halted"], made["halted_at"]) == ("", None)
    before = await last_event(api)
    assert (await api.post(f"{BASE}/environments", {"environment": WHOLE}))["environment"] == made
    assert (await api.get(f"{BASE}/environments/lab2"))["environment"] == made
    assert await kinds(api, before) == []


@pytest.mark.parametrize(
    ("field", "value"), [("device_driver", "noop"), ("failback", "auto"), ("breaker_share", 0.3), ("description", "")]
)
async def test_one_that_contradicts_is_refused_by_the_fields_name(api: Client, field: str, value: Any) -> None:
    await api.post(f"{BASE}/environments", {"environment": WHOLE})
    refused = await api.post(f"{BASE}/environments", {"environment": WHOLE | {field: value}}, 409)
    assert f"{field} {WHOLE[field]!r} and not {value!r}" in refused["faultstring"]


async def test_an_environment_is_changed_once(api: Client) -> None:
    before = await last_event(api)
    for _ in range(2):
        changed = await api.put(f"{BASE}/environments/dev", {"environment": {"failback": "never", "breaker_share": 1}})
        assert (changed["environment"]["failback"], changed["environment"]["breaker_agents"]) == ("never", 3)
    assert await kinds(api, before) == ["environment_changed"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"failback": "sometimes"}, "failback.*auto, manual, never"),
        ({"breaker_share": 2}, "breaker_share"),
        ({"breaker_share": "half"}, "breaker_share"),
        ({"breaker_agents": 0}, "breaker_agents"),
        ({"breaker_agents": 1.5}, "breaker_agents"),
        ({"description": None}, "description"),
        ({"device_driver": "noop"}, "device_driver.*Allowed: description, failback"),
        ({"halted": ""}, "halted"),
        ({"vip_networks_allowed": "n1"}, "vip_networks_allowed"),
        ({"vip_networks_allowed": ["no/id"]}, "vip_networks_allowed"),
        ({"vip_networks_denied": ["i"] * 51}, "vip_networks_denied.*50"),
        ({"vip_networks_denied": ["misspelt"]}, "vip_networks_denied.*'misspelt'.*id of a network or subnet"),
    ],
)
async def test_bad_values_name_field_and_what_is_allowed_and_change_nothing(
    api: Client, change: dict[str, Any], named: str
) -> None:
    before = await everything(api)
    refused = await api.put(f"{BASE}/environments/dev", {"environment": change}, 400)
    assert all(part in refused["faultstring"] for part in named.split(".*"))
    if "device_driver" not in change:
        whole = {"name": "new", "device_driver": "noop"} | change
        await api.post(f"{BASE}/environments", {"environment": whole}, 400)
    assert await everything(api) == before


async def test_an_environment_in_use_is_not_deleted_and_an_empty_one_is_no_provider_any_more(
    api: Client, store: Store, pair: dict[str, Any]
) -> None:
    assert "2 agents and 1 load balancer" in (await api.delete(f"{BASE}/environments/dev", 409))["faultstring"]
    await api.post(f"{BASE}/environments", {"environment": WHOLE})
    created = await api.load_balancer(provider="lab2")
    await api.delete(f"{BASE}/environments/lab2", 409)
    await api.delete(f"/loadbalancers/{created['id']}")
    await api.delete(f"{BASE}/environments/lab2")
    await api.delete(f"{BASE}/environments/lab2", 404)
    await api.post("/loadbalancers", bodies.load_balancer(provider="lab2"), 400)


@pytest.mark.parametrize("name", ["nope", "a%20b", "x" * 100, "%00"])
async def test_unknown_environments_are_not_found(api: Client, name: str) -> None:
    for call in (
        api.get(f"{BASE}/environments/{name}", 404),
        api.put(f"{BASE}/environments/{name}", {"environment": {}}, 404),
        api.put(f"{BASE}/environments/{name}/resume", None, 404),
        api.delete(f"{BASE}/environments/{name}", 404),
    ):
        assert "Environment" in (await call)["faultstring"]


async def silent_pair(api: Client, store: Store, join: Join) -> dict[str, Any]:
    """A load balancer of two agents, both of which fell silent at once; the circuit breaker is open."""
    limits = {"breaker_agents": 2, "breaker_share": 0.5}
    await api.put(f"{BASE}/environments/dev", {"environment": limits})
    for agent_id in ("a-1", "a-2"):
        await join(agent_id)
    created = await api.load_balancer(project_id="p1")
    assert await store.scheduling.place_load_balancer(created["id"], "dev", "p1", 1, "a-1") is not None
    assert await store.scheduling.end_sessions(await store.scheduling.read_live_sessions()) == 2
    await store.scheduling.record_silence(breaker_window_seconds=60.0)
    return created


async def test_every_view_states_that_the_circuit_breaker_is_open(api: Client, store: Store, join: Join) -> None:
    created = await silent_pair(api, store, join)
    (shown,) = (await api.get(f"{BASE}/environments"))["environments"]
    reason = shown["halted"]
    assert "2 of 2 agents" in reason and shown["halted_at"]
    for row in (await api.get(f"{BASE}/agents"))["agents"]:
        assert (row["state"], row["halted"]) == ("silent", reason)
    hosting = (await api.get(f"{BASE}/loadbalancers/{created['id']}/agent"))["hosting"]
    assert (hosting["environment"], hosting["halted"], hosting["shard"]["halted"]) == ("dev", reason, reason)
    assert all(row["halted"] == reason for row in (await api.get(f"{BASE}/shards"))["shards"])
    (halted,) = (await api.get(f"{BASE}/status"))["status"]["halted"]
    assert (halted["environment"], halted["reason"]) == ("dev", reason)
    drained = (await api.put(f"{BASE}/agents/a-1/drain", None))["agent"]
    assert "circuit breaker of environment dev is open" in drained["waiting_reason"]


async def test_resuming_ends_it_everywhere_and_again_is_harmless(api: Client, store: Store, join: Join) -> None:
    await silent_pair(api, store, join)
    before = await last_event(api)
    for _ in range(2):
        assert (await api.put(f"{BASE}/environments/dev/resume", None))["environment"]["halted"] == ""
    assert await kinds(api, before) == ["environment_resumed"]
    await store.scheduling.record_silence(breaker_window_seconds=60.0)
    assert (await api.get(f"{BASE}/status"))["status"]["halted"] == []


async def test_other_environments_are_not_said_to_be_halted(api: Client, store: Store, join: Join) -> None:
    await silent_pair(api, store, join)
    await api.post(f"{BASE}/environments", {"environment": WHOLE | {"device_driver": "noop"}})
    await join("b-1", environment="lab2")
    shown = {row["id"]: row["halted"] for row in (await api.get(f"{BASE}/agents"))["agents"]}
    assert shown["a-1"] and not shown["b-1"]
