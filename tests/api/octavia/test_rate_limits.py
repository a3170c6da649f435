"""Rate limit policies and their rules through the API, over a real store."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.devices.bigip.capabilities import CAPABILITIES as BIGIP
from evenkeel.devices.haproxy.capabilities import CAPABILITIES as HAPROXY
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client, Sink

RULE = {"metric": "REQUESTS", "threshold": 50}
TABLES = {"haproxy": HAPROXY, "bigip": BIGIP, "old": Capabilities()}


@pytest.fixture
async def api(store: SqlStore, sink: Sink) -> AsyncIterator[Client]:
    """An API with an environment of each device type in :data:`TABLES`; ``dev`` is of ``noop``."""
    for name in TABLES:
        await store.operators.add_environment(Environment(name=name, device_driver=name))
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=sink, default_provider="dev", capabilities=TABLES)
    async with Client.of(app) as client:
        yield client


async def listener_of(api: Client, **attributes: Any) -> dict[str, Any]:
    root = await api.load_balancer(project_id="p1", **attributes)
    return await api.listener(root["id"])


async def policy(api: Client, listener_id: str, status: int = 201, **attributes: Any) -> Any:
    body = {"listener_id": listener_id, "action": "DENY", **attributes}
    answer = await api.post("/ratelimitpolicies", {"ratelimitpolicy": body}, status)
    return answer["ratelimitpolicy"] if status == 201 else answer["faultstring"]


async def rule(api: Client, policy_id: str, status: int = 201, **attributes: Any) -> Any:
    answer = await api.post(f"/ratelimitpolicies/{policy_id}/rules", {"rule": {**RULE, **attributes}}, status)
    return answer["rule"] if status == 201 else answer["faultstring"]


async def test_policy_and_rule_live_a_whole_life(api: Client, store: SqlStore) -> None:
    listener = await listener_of(api)
    assert listener["rate_limit_policies"] is None
    made = await policy(api, listener["id"], name="api", description="d", tags=["t"])
    assert (made["project_id"], made["action"], made["enabled"], made["rules"]) == ("p1", "DENY", True, [])
    assert (made["provisioning_status"], made["operating_status"]) == ("PENDING_CREATE", "OFFLINE")
    counted = await rule(api, made["id"], name="r", tags=["u"])
    assert counted | {**RULE, "interval": 30, "urls": [], "name": "r", "tags": ["u"], "project_id": "p1"} == counted
    shown = (await api.get(f"/ratelimitpolicies/{made['id']}"))["ratelimitpolicy"]
    assert (shown["rules"], shown["listener_id"]) == ([{"id": counted["id"]}], listener["id"])
    seen = (await api.get(f"/listeners/{listener['id']}"))["listener"]
    assert seen["rate_limit_policies"] == [made["id"]]
    place = f"/ratelimitpolicies/{made['id']}/rules/{counted['id']}"
    paths = {"metric": "REQUESTS_PER_URL", "urls": ["/b", "/a", "/b"], "interval": 10}
    changed = (await api.put(place, {"rule": paths}))["rule"]
    assert (changed["metric"], changed["urls"], changed["threshold"]) == ("REQUESTS_PER_URL", ["/b", "/a"], 50)
    root = LoadBalancerId(listener["loadbalancers"][0]["id"])
    (sent,) = service_definition_of_tree(await store.tenants.tree(root, project_id=None)).listeners
    assert [(one.metric, one.urls) for one in sent.rate_limits[0].rules] == [("REQUESTS_PER_URL", ("/a", "/b"))]
    off = await api.put(f"/ratelimitpolicies/{made['id']}", {"ratelimitpolicy": {"enabled": False}})
    assert off["ratelimitpolicy"]["enabled"] is False
    (sent,) = service_definition_of_tree(await store.tenants.tree(root, project_id=None)).listeners
    assert sent.rate_limits == ()
    await api.delete(place)
    await api.delete(f"/ratelimitpolicies/{made['id']}")
    assert (await api.get("/ratelimitpolicies"))["ratelimitpolicies"] == []


async def test_lists_are_filtered_and_ordered(api: Client) -> None:
    listener = await listener_of(api)
    made = [await policy(api, listener["id"], name=name, tags=[name]) for name in ("b", "a")]
    for threshold in (2, 1):
        await rule(api, made[0]["id"], threshold=threshold, metric="KBYTES")

    async def names(query: str) -> list[str]:
        return [row["name"] for row in (await api.get(f"/ratelimitpolicies?{query}"))["ratelimitpolicies"]]

    assert await names("sort=name") == ["a", "b"]
    assert await names(f"tags=b&listener_id={listener['id']}&action=DENY&enabled=true") == ["b"]
    assert await names("project_id=other") == []
    found = await api.get(f"/ratelimitpolicies/{made[0]['id']}/rules?metric=KBYTES&sort=threshold&fields=threshold")
    assert found["rules"] == [{"threshold": 1}, {"threshold": 2}]


async def test_rule_of_another_policy_is_not_found(api: Client) -> None:
    listener = await listener_of(api)
    one, other = [await policy(api, listener["id"]) for _ in range(2)]
    counted = await rule(api, one["id"])
    for path in (f"/ratelimitpolicies/{other['id']}/rules/{counted['id']}", f"/ratelimitpolicies/{counted['id']}"):
        await api.get(path, 404)
        await api.delete(path, 404)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"threshold": 0}, ["threshold", "0"]),
        ({"threshold": 1_000_001}, ["threshold", "1000001"]),
        ({"interval": 3601}, ["interval", "3601"]),
        ({"metric": "REQUEST"}, ["metric", "REQUEST", "REQUESTS_PER_URL"]),
        ({"metric": "REQUESTS_PER_URL"}, ["urls", "at least one path"]),
        ({"metric": "REQUESTS_PER_URL", "urls": ["login"]}, ["urls", "login"]),
        ({"metric": "REQUESTS_PER_URL", "urls": ["/a b"]}, ["urls", "/a b"]),
        ({"metric": "REQUESTS_PER_URL", "urls": ["/%41"]}, ["urls", "/%41"]),
        ({"metric": "REQUESTS_PER_URL", "urls": ["/a?b"]}, ["urls", "/a?b"]),
        ({"metric": "REQUESTS_PER_URL", "urls": ["/"] * 33}, ["urls", "32"]),
        ({"project_id": "p2"}, ["project_id", "p1"]),
    ],
)
async def test_wrong_rules_are_refused_with_field_value_and_what_is_allowed(
    api: Client, attributes: dict[str, Any], words: list[str]
) -> None:
    made = await policy(api, (await listener_of(api))["id"])
    text = await rule(api, made["id"], 400, **attributes)
    assert all(word in text for word in words), text


@pytest.mark.parametrize("provider", ["haproxy", "bigip"])
async def test_metrics_and_actions_of_other_providers_are_refused_with_the_reason(api: Client, provider: str) -> None:
    listener = await listener_of(api, provider=provider)
    assert "action QUEUE (" in await policy(api, listener["id"], 501, action="QUEUE")
    # also while it is disabled, so that nothing has to be refused when it is enabled
    made = await policy(api, listener["id"], enabled=False)
    text = await rule(api, made["id"], 501, metric="PACKETS")
    assert "metric PACKETS (" in text and "packets" in text and "Allowed: REQUESTS," in text
    counted = await rule(api, made["id"])
    await api.put(f"/ratelimitpolicies/{made['id']}/rules/{counted['id']}", {"rule": {"metric": "PACKETS"}}, 501)
    await api.put(f"/ratelimitpolicies/{made['id']}", {"ratelimitpolicy": {"action": "QUEUE"}}, 501)
    tcp = await api.listener(listener["loadbalancers"][0]["id"], protocol="TCP", protocol_port=9)
    assert "listener of protocol TCP. Allowed: HTTP, TERMINATED_HTTPS." in await policy(api, tcp["id"], 501)


async def test_provider_whose_driver_has_no_rate_limits_refuses_all(api: Client) -> None:
    listener = await listener_of(api, provider="old")
    assert "Allowed: none." in await policy(api, listener["id"], 501)


async def test_more_different_counters_than_haproxy_has_are_refused(api: Client) -> None:
    listener = await listener_of(api, provider="haproxy")
    one, other = [await policy(api, listener["id"]) for _ in range(2)]
    for interval in (10, 20):
        await rule(api, one["id"], interval=interval)
    paths = {"metric": "REQUESTS_PER_URL", "urls": ["/"]}
    counted = await rule(api, other["id"], interval=10, **paths)
    await rule(api, other["id"], interval=10, metric="KBYTES")
    text = await rule(api, other["id"], 501, interval=30)
    assert "4 different counters" in text and "client in 30 s" in text and "Allowed: 3" in text
    await api.put(f"/ratelimitpolicies/{one['id']}", {"ratelimitpolicy": {"enabled": False}})
    await rule(api, other["id"], interval=30)
    await api.put(f"/ratelimitpolicies/{other['id']}/rules/{counted['id']}", {"rule": {"interval": 40}})
    await api.put(f"/ratelimitpolicies/{one['id']}", {"ratelimitpolicy": {"enabled": True}}, 501)


async def test_more_policies_and_rules_than_allowed_are_a_conflict(api: Client) -> None:
    listener = await listener_of(api)
    made = [await policy(api, listener["id"]) for _ in range(16)]
    assert "At most 16 are allowed" in await policy(api, listener["id"], 409)
    for _ in range(8):
        await rule(api, made[0]["id"])
    assert "At most 8 are allowed" in await rule(api, made[0]["id"], 409)


async def test_policies_go_with_their_listener(api: Client) -> None:
    listener = await listener_of(api)
    made = await policy(api, listener["id"])
    await rule(api, made["id"])
    await api.delete(f"/listeners/{listener['id']}")
    assert (await api.get("/ratelimitpolicies"))["ratelimitpolicies"] == []
    await api.get(f"/ratelimitpolicies/{made['id']}", 404)
