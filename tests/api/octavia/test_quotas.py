"""Quotas as Octavia's API has them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.ports import Store
from tests.api import bodies
from tests.api.client import Client
from tests.api.gateway import gateway
from tests.api.personas import ADMIN, MEMBER, OTHER, PROJECT, QUOTA_ADMIN, READER, STRANGER

UNLIMITED = dict.fromkeys(
    (
        "loadbalancer",
        "load_balancer",
        "listener",
        "member",
        "pool",
        "healthmonitor",
        "health_monitor",
        "l7policy",
        "l7rule",
    ),
    -1,
)


@pytest.fixture
async def guarded(store: Store) -> AsyncIterator[Client]:
    """The API behind a gateway."""
    async with gateway(store) as client:
        yield client


async def test_quotas_are_unlimited_until_set_under_either_name(api: Client) -> None:
    assert await api.get("/quotas/defaults") == {"quota": UNLIMITED}
    owner = {"project_id": "p1", "tenant_id": "p1"}
    assert await api.get("/quotas/p1/default") == {"quota": {**UNLIMITED, **owner}}
    assert await api.get("/quotas/p1") == {"quota": {**UNLIMITED, **owner}}
    assert (await api.get("/quotas"))["quotas"] == []

    body = {"quota": {"load_balancer": 3, "healthmonitor": 0, "l7rule": 7}}
    expected = UNLIMITED | {"loadbalancer": 3, "load_balancer": 3, "healthmonitor": 0, "health_monitor": 0, "l7rule": 7}
    assert await api.put("/quotas/p1", body, 202) == {"quota": {**expected, **owner}}
    assert await api.get("/v2.0/lbaas/quotas/p1?fields=l7rule") == {"quota": {"l7rule": 7}}
    listed = await api.get("/quotas")
    assert (listed["quotas"], listed["quotas_links"]) == ([{**expected, **owner}], [])

    assert (await api.put("/quotas/p1", {"quota": {"loadbalancer": None}}, 202))["quota"]["load_balancer"] == -1
    await api.delete("/quotas/p1", 202)
    await api.delete("/quotas/p1", 202)
    assert (await api.get("/quotas"))["quotas"] == []


async def test_lists_of_quotas_page_and_filter(api: Client) -> None:
    for name in ("a", "b", "c"):
        await api.put(f"/quotas/{name}", {"quota": {"pool": 1}}, 202)
    page = await api.get("/quotas?limit=2&fields=project_id")
    assert page["quotas"] == [{"project_id": "a"}, {"project_id": "b"}]
    (link,) = page["quotas_links"]
    assert (await api.http.get(link["href"])).json()["quotas"] == [{"project_id": "c"}]
    assert [row["project_id"] for row in (await api.get("/quotas?project_id=b"))["quotas"]] == ["b"]
    await api.get("/quotas?color=blue", 400)


@pytest.mark.parametrize(
    ("quota", "words"),
    [
        ({"pool": -2}, ("pool", "-2", "-1")),
        ({"pool": 2_000_000_001}, ("pool", "2000000001")),
        ({"pool": "many"}, ("pool", "many")),
        ({"pols": 1}, ("pols",)),
        ({"loadbalancer": 1, "load_balancer": 2}, ("load_balancer", "2", "1")),
    ],
)
async def test_bad_quotas_are_named(api: Client, quota: dict[str, Any], words: tuple[str, ...]) -> None:
    text = (await api.put("/quotas/p1", {"quota": quota}, 400))["faultstring"]
    assert all(word in text for word in words), text


async def test_a_quota_that_is_met_answers_403_and_changes_nothing(api: Client) -> None:
    root = await api.load_balancer(project_id="p1")
    await api.put("/quotas/p1", {"quota": {"loadbalancer": 1, "listener": 0, "member": 1}}, 202)

    answer = await api.post("/loadbalancers", bodies.load_balancer(project_id="p1"), 403)
    assert answer == {
        "faultcode": "Client",
        "faultstring": "Quota has been met for resources: Load Balancer",
        "debuginfo": None,
    }
    listener = {"listener": {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80}}
    assert "Listener" in (await api.post("/listeners", listener, 403))["faultstring"]
    pool = await api.pool(root["id"])
    members = {"members": [{"address": f"10.20.0.{host}", "protocol_port": 80} for host in (1, 2)]}
    assert "Member" in (await api.put(f"/pools/{pool['id']}/members", members, 403))["faultstring"]
    assert (await api.get(f"/pools/{pool['id']}/members"))["members"] == []
    await api.load_balancer(project_id="p2")


async def test_projects_see_their_own_quotas_and_quota_admins_set_them(guarded: Client) -> None:
    await guarded.put(f"/quotas/{PROJECT}", {"quota": {"pool": 5}}, 202, headers=QUOTA_ADMIN.headers)
    await guarded.put(f"/quotas/{PROJECT}", {"quota": {"pool": 6}}, 403, headers=MEMBER.headers)
    assert (await guarded.get(f"/quotas/{PROJECT}", headers=READER.headers))["quota"]["pool"] == 5
    await guarded.get(f"/quotas/{PROJECT}", 403, headers=STRANGER.headers)
    await guarded.get(f"/quotas/{PROJECT}/default", 403, headers=STRANGER.headers)
    assert (await guarded.get("/quotas", headers=STRANGER.headers))["quotas"] == []
    assert (await guarded.get(f"/quotas?project_id={PROJECT}", headers=STRANGER.headers))["quotas"] == []
    await guarded.put(f"/quotas/{OTHER}", {"quota": {"pool": 1}}, 202, headers=ADMIN.headers)
    assert [row["pool"] for row in (await guarded.get("/quotas", headers=STRANGER.headers))["quotas"]] == [1]
    assert len((await guarded.get("/quotas", headers=ADMIN.headers))["quotas"]) == 2
