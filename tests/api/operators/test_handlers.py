"""The operators' API over a real store."""

from typing import Any

import pytest

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.control.events import Event
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from evenkeel.core.protocol.messages import Register, ReportState
from evenkeel.core.resources.statuses import HaType
from evenkeel.core.status.device_state import DeviceState
from tests.api import bodies
from tests.api.client import Client
from tests.waiting import eventually

BASE = "/evenkeel/v1"


@pytest.fixture
async def agent(store: Store) -> dict[str, str]:
    """A live agent of group 1, with one device and one load balancer placed on it."""
    call = Register(
        agent_id="a-1",
        session_id="s-1",
        environment="dev",
        group_number=1,
        host="host-1",
        device_driver="noop",
        ha_type=HaType.STANDALONE,
        endpoints=("10.0.0.1",),
    )
    await store.ownership.register(call, ttl_seconds=3600.0)
    state = ReportState(
        agent_id="a-1",
        session_id="s-1",
        configurations={"report_interval": "10"},
        devices=(DeviceState(name="bigip-1", reachable=True, version="17.1"),),
        serving=(ShardEpoch(shard_id="s", epoch=3),),
        queue_depth=2,
    )
    await store.ownership.record_state(state)
    return {"id": "a-1"}


@pytest.fixture
async def placed(api: Client, store: Store, agent: dict[str, str]) -> dict[str, Any]:
    """A load balancer on that agent."""
    created = await api.load_balancer(project_id="p1")
    assert await store.scheduling.place_load_balancer(created["id"], "dev", "p1", 1, agent["id"]) is not None
    return created


async def test_agent_is_shown_with_state_and_load(api: Client, placed: dict[str, Any]) -> None:
    (shown,) = (await api.get(f"{BASE}/agents"))["agents"]
    assert (shown["id"], shown["environment"], shown["group_number"], shown["host"]) == ("a-1", "dev", 1, "host-1")
    assert (shown["alive"], shown["admin_state_up"], shown["load_balancers"]) == (True, True, 1)
    assert shown["devices"][0]["name"] == "bigip-1" and shown["configurations"] == {"report_interval": "10"}
    assert shown["serving"] == [{"shard_id": "s", "epoch": 3}]
    assert "session_id" not in shown
    assert (await api.get(f"{BASE}/agents/a-1"))["agent"] == shown


async def test_agents_are_filtered(api: Client, agent: dict[str, str]) -> None:
    for query, count in (
        ("environment=dev&group_number=1&alive=true", 1),
        ("host=host-2", 0),
        ("admin_state_up=false", 0),
    ):
        assert len((await api.get(f"{BASE}/agents?{query}"))["agents"]) == count
    for query in ("color=blue", "group_number=x", "alive=perhaps", "host=a&host=b", "environment=prod"):
        assert (await api.get(f"{BASE}/agents?{query}", 400))["code"] == 400


async def test_agent_is_taken_out_of_service_and_back(api: Client, agent: dict[str, str]) -> None:
    for up in (False, True):
        body = {"agent": {"admin_state_up": up}}
        assert (await api.put(f"{BASE}/agents/a-1", body))["agent"]["admin_state_up"] is up
    await api.put(f"{BASE}/agents/a-1", {"agent": {"host": "x"}}, 400)
    await api.put(f"{BASE}/agents/a-2", {"agent": {"admin_state_up": True}}, 404)


async def test_live_agent_is_not_deleted(api: Client, store: Store, agent: dict[str, str]) -> None:
    assert "a-1" in (await api.delete(f"{BASE}/agents/a-1", 409))["faultstring"]
    await api.delete(f"{BASE}/agents/a-2", 404)
    await store.ownership.end_session("a-1", "s-1")


async def test_load_balancers_of_an_agent_and_agent_of_a_load_balancer(api: Client, placed: dict[str, Any]) -> None:
    rows = (await api.get(f"{BASE}/agents/a-1/loadbalancers"))["loadbalancers"]
    assert [row["id"] for row in rows] == [placed["id"]]
    assert (await api.get(f"{BASE}/agents/a-1/loadbalancers?name=other"))["loadbalancers"] == []
    await api.get(f"{BASE}/agents/a-2/loadbalancers", 404)
    await api.get(f"{BASE}/agents/a-1/loadbalancers?color=x", 400)
    hosting = (await api.get(f"{BASE}/loadbalancers/{placed['id']}/agent"))["hosting"]
    assert (hosting["home"]["id"], hosting["acting"]["id"], hosting["shard"]["epoch"]) == ("a-1", "a-1", 1)
    assert (hosting["revision"], hosting["applied_revision"], hosting["shard"]["served"]) == (1, 0, True)
    assert hosting["shard"]["project_id"] == "p1"


async def test_load_balancer_that_waits_has_no_shard(api: Client) -> None:
    created = await api.load_balancer()
    hosting = (await api.get(f"{BASE}/loadbalancers/{created['id']}/agent"))["hosting"]
    assert (hosting["shard"], hosting["home"], hosting["acting"]) == (None, None, None)
    await api.get(f"{BASE}/loadbalancers/nobody/agent", 404)


async def test_shards_and_counts_tell_what_is_served(api: Client, store: Store, placed: dict[str, Any]) -> None:
    shards = (await api.get(f"{BASE}/shards?environment=dev"))["shards"]
    assert {shard["project_id"] for shard in shards} == {"", "p1"}
    status = (await api.get(f"{BASE}/status"))["status"]
    assert status["agents"] == {"up": 1, "down": 0}
    assert status["load_balancers"]["PENDING_CREATE"] == 1
    assert status["shards"] == {"total": len(shards), "unserved": sum(not shard["served"] for shard in shards)}
    await store.ownership.end_session("a-1", "s-1")
    status = (await api.get(f"{BASE}/status"))["status"]
    assert status["agents"] == {"up": 0, "down": 1} and status["shards"]["unserved"] == len(shards)
    assert (await api.get(f"{BASE}/shards?agent_id=nobody"))["shards"] == []


async def test_environments_are_made_once(api: Client) -> None:
    body = {"environment": {"name": "prod", "device_driver": "bigip", "description": "d"}}
    made = (await api.post(f"{BASE}/environments", body))["environment"]
    assert made["name"] == "prod"
    assert (await api.post(f"{BASE}/environments", body))["environment"] == made
    await api.post(f"{BASE}/environments", {"environment": {"name": "prod", "device_driver": "noop"}}, 409)
    assert [row["name"] for row in (await api.get(f"{BASE}/environments"))["environments"]] == ["dev", "prod"]
    for name in ("", "a b", "a/b", "x" * 65, "a\n"):
        body = {"environment": {"name": name, "device_driver": "noop"}}
        assert "name" in (await api.post(f"{BASE}/environments", body, 400))["faultstring"]


async def test_new_environment_is_a_provider_at_once(api: Client) -> None:
    await api.post("/loadbalancers", bodies.load_balancer(provider="prod"), 400)
    await api.post(f"{BASE}/environments", {"environment": {"name": "prod", "device_driver": "noop"}})
    assert (await api.load_balancer(provider="prod"))["provider"] == "prod"


async def test_subnets_are_made_used_and_deleted(api: Client) -> None:
    body = {"subnet": {"cidr": "192.0.2.0/24", "name": "red", "gateway_ip": "192.0.2.1"}}
    made = (await api.post(f"{BASE}/subnets", body))["subnet"]
    assert (made["allocation_start"], made["allocation_end"]) == ("192.0.2.2", "192.0.2.254")
    await api.post(f"{BASE}/subnets", body, 409)
    assert [row["name"] for row in (await api.get(f"{BASE}/subnets"))["subnets"]] == ["blue", "red"]
    created = await api.load_balancer(vip_subnet_id=made["id"])
    assert created["vip_address"].startswith("192.0.2.")
    assert made["id"] in (await api.delete(f"{BASE}/subnets/{made['id']}", 409))["faultstring"]
    await api.delete(f"{BASE}/loadbalancers/{created['id']}", 404)
    await api.delete(f"/loadbalancers/{created['id']}")
    await api.delete(f"{BASE}/subnets/{made['id']}")
    await api.delete(f"{BASE}/subnets/{made['id']}", 404)


async def test_events_are_read_from_either_end(api: Client) -> None:
    for name in ("e1", "e2"):
        await api.post(f"{BASE}/environments", {"environment": {"name": name, "device_driver": "noop"}})
    events = (await api.get(f"{BASE}/events"))["events"]
    assert [event["environment"] for event in events][-2:] == ["e1", "e2"]
    assert (await api.get(f"{BASE}/events?newest=true&limit=1"))["events"] == events[-1:]
    assert (await api.get(f"{BASE}/events?after={events[-2]['id']}"))["events"] == events[-1:]
    for query in ("limit=0", "limit=1001", "after=-1", "after=99999999999999999999", "newest=perhaps", "x=1"):
        await api.get(f"{BASE}/events?{query}", 400)


async def test_short_ids_stand_for_ids(api: Client, placed: dict[str, Any]) -> None:
    found = (await api.get(f"{BASE}/ids?prefix={placed['id'][:8]}"))["ids"]
    assert found == {"loadbalancers": [placed["id"]], "agents": [], "shards": []}
    for wrong in ("?prefix=abc", "?prefix=%25%25%25%25", "?prefix=ABCD", ""):
        answer = await api.http.get(f"{BASE}/ids{wrong}")
        assert answer.status_code == 400 and "the first 4 to 36 characters of an id" in answer.text


async def test_events_of_one_load_balancer(api: Client, store: Store, placed: dict[str, Any]) -> None:
    for load_balancer_id in (placed["id"], "other"):
        await store.scheduling.add_event(Event(kind="k", text="t", load_balancer_id=LoadBalancerId(load_balancer_id)))
    (event,) = (await api.get(f"{BASE}/events?object_id=other"))["events"]
    assert event["load_balancer_id"] == "other"
    assert (await api.http.get(f"{BASE}/events?object_id=")).status_code == 400


async def test_a_shard_gets_another_home(api: Client, placed: dict[str, Any]) -> None:
    shard = next(each for each in (await api.get(f"{BASE}/shards"))["shards"] if each["project_id"] == "p1")
    answer = await api.http.put(f"{BASE}/shards/{shard['id']}/rebind", json={"to": "a-1"})
    assert answer.json()["shard"]["home_agent_id"] == "a-1"
    answer = await api.http.put(f"{BASE}/shards/{shard['id']}/rebind", json={"to": "a-2"})
    assert answer.status_code == 409 and "Value should be an agent of device group dev/1: a-1 (host-1)" in answer.text


async def test_anybody_may_ask_whether_there_are_problems_but_not_which(
    api: Client, store: Store, agent: dict[str, str]
) -> None:
    answer = await api.http.get("/healthz/ready")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "problems": []})
    created = await api.load_balancer(project_id="p1")
    assert await store.scheduling.place_load_balancer(created["id"], "dev", "p1", 1, agent["id"]) is not None
    await store.ownership.end_session(agent["id"], "s-1")

    async def told() -> bool:
        answer = await api.http.get("/healthz/ready")
        return answer.status_code == 503 and "shards_unserved" in answer.json()["problems"]

    await eventually(told)
