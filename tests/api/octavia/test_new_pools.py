"""Pools that come with the listener or policy that sends to them: all of it in one accepted change."""

from typing import Any

import pytest

from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.store.conftest import statements_of

NOWHERE = "00000000-0000-4000-8000-000000000000"
POOL: dict[str, Any] = {"name": "fresh", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
FULL = POOL | {"members": bodies.MEMBERS, "healthmonitor": bodies.MONITOR}
TO_POOL = {"action": "REDIRECT_TO_POOL", "redirect_pool": FULL | {"name": "shop"}}


@pytest.fixture
async def root(api: Client) -> dict[str, Any]:
    return await api.load_balancer()


def listener(root: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    return {"listener": {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80, **attributes}}


async def pools(api: Client) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in (await api.get("/pools"))["pools"]}


async def test_a_listener_brings_its_pools(api: Client, root: dict[str, Any], sink: Sink) -> None:
    before = sink.changes[-1].revision
    body = listener(root, default_pool=FULL, l7policies=[{"action": "REJECT"}, TO_POOL])
    made = (await api.post("/listeners", body))["listener"]
    there = await pools(api)
    assert made["default_pool_id"] == there["fresh"]["id"]
    assert there["fresh"]["listeners"] == [{"id": made["id"]}]
    for each in there.values():
        assert len(each["members"]) == 3 and each["healthmonitor_id"]
    policy = (await api.get(f"/l7policies/{made['l7policies'][1]['id']}"))["l7policy"]
    assert (policy["redirect_pool_id"], policy["position"]) == (there["shop"]["id"], 2)
    assert sink.changes[-1].revision == before + 1
    members = await api.get(f"/pools/{there['shop']['id']}/members")
    assert {each["address"] for each in members["members"]} == {each["address"] for each in bodies.MEMBERS}


async def test_a_policy_brings_its_pool_and_takes_its_place(api: Client, root: dict[str, Any], sink: Sink) -> None:
    at = await api.listener(root["id"])
    first = await api.post("/l7policies", {"l7policy": {"listener_id": at["id"], "action": "REJECT"}})
    before = sink.changes[-1].revision
    body = {"l7policy": {"listener_id": at["id"], "position": 1, **TO_POOL}}
    made = (await api.post("/l7policies", body))["l7policy"]
    assert (made["redirect_pool_id"], made["position"]) == ((await pools(api))["shop"]["id"], 1)
    moved = (await api.get(f"/l7policies/{first['l7policy']['id']}"))["l7policy"]
    assert moved["position"] == 2 and sink.changes[-1].revision == before + 1


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        (
            {"default_pool": FULL, "default_pool_id": "0d1e2f3a-0000-4000-8000-0000000000ff"},
            ["default_pool", "default_pool_id"],
        ),
        ({"default_pool": FULL | {"protocol": "TCP"}}, ["'TCP'", "'HTTP'"]),
        ({"default_pool": {"name": "by name alone"}}, ["protocol", "Mandatory"]),
        ({"default_pool": FULL | {"members": [{"address": "x", "protocol_port": 1}]}}, ["address", "'x'"]),
        ({"default_pool": POOL | {"healthmonitor": {**bodies.MONITOR, "type": "SCTP"}}}, ["SCTP"]),
        ({"default_pool": POOL | {"crl_container_ref": "x"}}, ["ca_tls_container_ref"]),
        (
            {"l7policies": [TO_POOL | {"redirect_pool_id": "0d1e2f3a-0000-4000-8000-0000000000ff"}]},
            ["redirect_pool", "redirect_pool_id"],
        ),
        ({"l7policies": [TO_POOL | {"action": "REJECT"}]}, ["redirect_pool", "REJECT"]),
        ({"l7policies": [{**TO_POOL, "redirect_pool": POOL | {"protocol": "UDP"}}]}, ["'UDP'"]),
    ],
)
async def test_inconsistent_new_pool_is_refused_and_nothing_is_created(
    api: Client, root: dict[str, Any], attributes: dict[str, Any], words: list[str]
) -> None:
    text = (await api.post("/listeners", listener(root, **attributes), 400))["faultstring"]
    assert all(word in text for word in words), text
    for policy in attributes.get("l7policies", ()):
        at = await api.listener(root["id"])
        text = (await api.post("/l7policies", {"l7policy": {"listener_id": at["id"], **policy}}, 400))["faultstring"]
        assert all(word in text for word in words), text
    assert await pools(api) == {}


async def test_nothing_is_left_of_what_a_conflict_ends(api: Client, root: dict[str, Any]) -> None:
    await api.listener(root["id"])
    await api.post("/listeners", listener(root, default_pool=FULL), 409)
    twice = POOL | {"members": [bodies.MEMBERS[0]] * 2}
    await api.post("/listeners", listener(root, protocol_port=81, default_pool=twice), 409)
    assert await pools(api) == {}
    assert (await api.get("/healthmonitors"))["healthmonitors"] == []


async def test_pools_that_come_along_count(api: Client) -> None:
    root = await api.load_balancer(project_id="counted")
    at = await api.listener(root["id"])
    await api.put("/quotas/counted", {"quota": {"pool": 1}}, 202)
    body = listener(root, protocol_port=81, default_pool=POOL, l7policies=[TO_POOL])
    assert "pool" in (await api.post("/listeners", body, 403))["faultstring"].lower()
    await api.put("/quotas/counted", {"quota": {"pool": 10, "member": 2}}, 202)
    policy = {"l7policy": {"listener_id": at["id"], **TO_POOL}}
    assert "member" in (await api.post("/l7policies", policy, 403))["faultstring"].lower()
    assert await pools(api) == {}


async def test_the_pools_that_policies_send_to_are_looked_at_together(
    api: Client, root: dict[str, Any], store: SqlStore
) -> None:
    ids = [(await api.pool(root["id"]))["id"] for _ in range(12)]
    counts = []
    for port, chosen in ((80, ids[:1]), (81, ids)):
        policies = [{"action": "REDIRECT_TO_POOL", "redirect_pool_id": pool_id} for pool_id in chosen]
        with statements_of(store.database) as seen:
            await api.post("/listeners", listener(root, protocol_port=port, l7policies=policies))
        counts.append(len(seen))
    assert counts[0] == counts[1]
    gone = [{"action": "REDIRECT_TO_POOL", "redirect_pool_id": pool_id} for pool_id in (ids[0], NOWHERE)]
    refused = await api.post("/listeners", listener(root, protocol_port=82, l7policies=gone), 404)
    assert refused["faultstring"] == f"Pool {NOWHERE} not found."
