"""Load balancers through the API, over a real store."""

from typing import Any

import pytest

from evenkeel.core.kit.errors import StoreUnavailable
from tests.api import bodies
from tests.api.client import Client, Sink

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def test_create_answers_the_object_with_every_octavia_attribute(api: Client, sink: Sink) -> None:
    shown = await api.load_balancer(name="web", description="d", tags=["a", "b", "a"])
    assert (shown["name"], shown["description"], shown["tags"]) == ("web", "d", ["a", "b"])
    assert (shown["provisioning_status"], shown["operating_status"]) == ("PENDING_CREATE", "OFFLINE")
    assert shown["vip_address"].startswith("10.10.") and shown["vip_subnet_id"] == bodies.SUBNET_ID
    assert shown["project_id"] == shown["tenant_id"] == "default"
    assert shown["provider"] == "dev" and shown["updated_at"] is None
    assert len(shown["created_at"]) == 19 and shown["created_at"][10] == "T"
    for name in ("flavor_id", "vip_qos_policy_id", "availability_zone"):
        assert shown[name] is None
    assert shown["additional_vips"] == shown["vip_sg_ids"] == shown["listeners"] == shown["pools"] == []
    assert [change.load_balancer_id for change in sink.changes] == [shown["id"]]


async def test_created_load_balancer_is_shown_and_listed(api: Client) -> None:
    created = await api.load_balancer()
    assert (await api.get(f"/loadbalancers/{created['id']}"))["loadbalancer"] == created
    assert (await api.get("/loadbalancers"))["loadbalancers"] == [created]
    assert (await api.get(f"/v2.0/lbaas/loadbalancers/{created['id']}/"))["loadbalancer"] == created


async def test_given_vip_address_is_taken_once(api: Client) -> None:
    assert (await api.load_balancer(vip_address="10.10.3.4"))["vip_address"] == "10.10.3.4"
    answer = await api.post("/loadbalancers", bodies.load_balancer(vip_address="10.10.3.4"), 409)
    assert "10.10.3.4" in answer["faultstring"] and answer["faultcode"] == "Client" and answer["debuginfo"] is None


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"vip_subnet_id": UNKNOWN}, ["Subnet", UNKNOWN]),
        ({"vip_subnet_id": None}, ["VIP must contain one of"]),
        ({"vip_address": "10.11.0.1"}, ["vip_address", "10.11.0.1", "10.10.0.0/16"]),
        ({"vip_address": "10.10.0.1"}, ["vip_address", "gateway"]),
        ({"vip_address": "ten"}, ["vip_address", "ten", "IPv4 or IPv6"]),
        ({"provider": "amphora"}, ["amphora", "not enabled", "dev"]),
        ({"project_id": "a b"}, ["project_id", "a b"]),
        ({"project_id": "a", "tenant_id": "b"}, ["tenant_id", "project_id"]),
        ({"name": "x" * 256}, ["name", "255"]),
        ({"name": "nul\0"}, ["name", "NUL"]),
        ({"tags": ["x" * 256]}, ["tags", "255"]),
        ({"admin_state_up": "maybe"}, ["admin_state_up", "true or false"]),
        ({"color": "blue"}, ["color", "loadbalancer"]),
    ],
)
async def test_bad_value_is_refused_naming_it(api: Client, attributes: dict[str, Any], words: list[str]) -> None:
    answer = await api.post("/loadbalancers", bodies.load_balancer(**attributes), 400)
    for word in words:
        assert word in answer["faultstring"]
    assert (await api.get("/loadbalancers"))["loadbalancers"] == []


async def test_a_port_of_the_network_service_is_refused_where_there_is_none(api: Client) -> None:
    answer = await api.post("/loadbalancers", bodies.load_balancer(vip_port_id=UNKNOWN), 501)
    assert "vip_port_id" in answer["faultstring"] and answer["faultcode"] == "Server"


async def test_empty_defaults_are_accepted(api: Client) -> None:
    await api.load_balancer(
        vip_qos_policy_id=None, additional_vips=[], vip_sg_ids=[], flavor_id=None, availability_zone=None
    )


async def test_project_comes_from_body_then_header_then_default(api: Client) -> None:
    headers = {"X-Project-Id": "from-header"}
    body = await api.post("/loadbalancers", bodies.load_balancer(tenant_id="from-body"), headers=headers)
    assert body["loadbalancer"]["project_id"] == "from-body"
    header = await api.post("/loadbalancers", bodies.load_balancer(), headers=headers)
    assert header["loadbalancer"]["project_id"] == "from-header"
    assert (await api.load_balancer())["project_id"] == "default"
    assert (await api.get("/loadbalancers", 400, headers={"X-Project-Id": "a/b"}))["faultcode"] == "Client"


async def test_fully_populated_create_answers_and_stores_the_whole_graph(api: Client) -> None:
    root = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    (listener,), (pool,) = root["listeners"], root["pools"]
    assert listener["default_pool_id"] == pool["id"]
    assert pool["healthmonitor"]["expected_codes"] == "200" and pool["healthmonitor"]["url_path"] == "/"
    assert sorted(member["address"] for member in pool["members"]) == ["10.20.0.1", "10.20.0.2", "10.20.0.3"]
    shown = (await api.get(f"/loadbalancers/{root['id']}"))["loadbalancer"]
    assert shown["listeners"] == [{"id": listener["id"]}] and shown["pools"] == [{"id": pool["id"]}]
    stored = (await api.get(f"/pools/{pool['id']}"))["pool"]
    assert len(stored["members"]) == 3 and stored["healthmonitor_id"] == pool["healthmonitor"]["id"]


async def test_listeners_may_name_a_pool_of_the_same_request(api: Client) -> None:
    pool = {"name": "shared", "protocol": "HTTP", "lb_algorithm": "SOURCE_IP"}
    listeners = [
        {"protocol": protocol, "protocol_port": port, "default_pool": {"name": "shared"}}
        for protocol, port in (("HTTP", 80), ("TCP", 81))
    ]
    root = (await api.post("/loadbalancers", bodies.load_balancer(listeners=listeners, pools=[pool])))["loadbalancer"]
    assert [row["default_pool_id"] for row in root["listeners"]] == [root["pools"][0]["id"]] * 2
    assert len(root["pools"][0]["listeners"]) == 2


POOL: dict[str, Any] = {"name": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
WEB: dict[str, Any] = {"protocol": "HTTP", "protocol_port": 80}


@pytest.mark.parametrize(
    ("attributes", "status", "words"),
    [
        ({"listeners": [WEB, WEB]}, 409, ["protocol_port 80"]),
        ({"listeners": [{**WEB, "default_pool": {"name": "nowhere"}}]}, 400, ["nowhere", "full definition"]),
        (
            {"listeners": [{**WEB, "default_pool": {"name": "p"}}], "pools": [POOL, POOL]},
            400,
            ["Pool names must be unique", "'p'"],
        ),
        ({"listeners": [{**WEB, "default_pool": {"name": "p", "members": []}}]}, 400, ["protocol", "Mandatory"]),
        ({"listeners": [{**WEB, "default_pool": {**POOL, "protocol": "TCP"}}]}, 400, ["'TCP'", "'HTTP'"]),
        ({"listeners": [{**WEB, "default_pool_id": UNKNOWN}]}, 400, ["default_pool_id", "default_pool"]),
        ({"listeners": [{**WEB, "protocol": "TERMINATED_HTTPS"}]}, 400, ["default_tls_container_ref"]),
        ({"listeners": [{**WEB, "hsts_preload": True}]}, 400, ["hsts_preload", "TERMINATED_HTTPS"]),
        ({"pools": [{**POOL, "tls_enabled": True, "tls_versions": []}]}, 400, ["tls_versions"]),
        ({"pools": [{**POOL, "healthmonitor": {**bodies.MONITOR, "type": "SCTP"}}]}, 400, ["SCTP"]),
        ({"listeners": [{**WEB, "protocol_port": 0}]}, 400, ["protocol_port", "'0'", "1 to 65535"]),
        ({"listeners": [{**WEB, "project_id": "other"}]}, 400, ["project_id", "other"]),
        ({"pools": [{**POOL, "members": [bodies.MEMBERS[0]] * 2}]}, 409, ["10.20.0.1", "8080"]),
        ({"pools": [{**POOL, "members": [{"address": "x", "protocol_port": 1}]}]}, 400, ["address", "'x'"]),
        ({"listeners": [WEB] * 201}, 400, ["listeners", "200"]),
        ({"pools": [{**POOL, "members": [bodies.MEMBERS[0]] * 1001}]}, 400, ["members", "1000"]),
    ],
)
async def test_bad_part_of_a_graph_is_refused_and_nothing_is_stored(
    api: Client, attributes: dict[str, Any], status: int, words: list[str]
) -> None:
    answer = await api.post("/loadbalancers", bodies.load_balancer(**attributes), status)
    for word in words:
        assert word in answer["faultstring"]
    for kind in ("loadbalancers", "listeners", "pools"):
        assert (await api.get(f"/{kind}"))[kind] == []


async def test_change_answers_the_changed_object(api: Client, sink: Sink) -> None:
    created = await api.load_balancer()
    body = {"loadbalancer": {"name": "new", "admin_state_up": False, "tags": ["x"], "description": None}}
    changed = (await api.put(f"/loadbalancers/{created['id']}", body))["loadbalancer"]
    assert (changed["name"], changed["admin_state_up"], changed["tags"]) == ("new", False, ["x"])
    assert changed["updated_at"] is not None
    assert len(sink.changes) == 2


async def test_change_of_nothing_writes_nothing(api: Client, sink: Sink) -> None:
    created = await api.load_balancer()
    assert (await api.put(f"/loadbalancers/{created['id']}", {"loadbalancer": {}}))["loadbalancer"] == created
    assert len(sink.changes) == 1


@pytest.mark.parametrize("name", ["vip_address", "vip_subnet_id", "provider", "project_id", "listeners"])
async def test_attribute_that_cannot_be_changed_is_refused_by_name(api: Client, name: str) -> None:
    created = await api.load_balancer()
    answer = await api.put(f"/loadbalancers/{created['id']}", {"loadbalancer": {name: "x"}}, 400)
    assert f"Unknown attribute for argument load_balancer.loadbalancer: {name}" in answer["faultstring"]


async def test_delete_needs_cascade_when_there_are_children(api: Client) -> None:
    root = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    answer = await api.delete(f"/loadbalancers/{root['id']}", 400)
    assert root["id"] in answer["faultstring"] or "listener" in answer["faultstring"]
    await api.delete(f"/loadbalancers/{root['id']}?cascade=true")
    await api.get(f"/loadbalancers/{root['id']}", 404)


async def test_unknown_ids_are_not_found_whatever_they_look_like(api: Client) -> None:
    for name in (UNKNOWN, "nonsense", "x" * 300, "%00", "%F0%9F%92%A5"):
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/status"), ("GET", "/stats")):
            answer = await api.call(method, f"/loadbalancers/{name}{path}", 404)
            assert "not found" in answer["faultstring"]
        await api.put(f"/loadbalancers/{name}", {"loadbalancer": {"name": "x"}}, 404)


async def test_status_tree_holds_everything(api: Client) -> None:
    root = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    for name in ("status", "statuses"):
        tree = (await api.get(f"/loadbalancers/{root['id']}/{name}"))["statuses"]["loadbalancer"]
        assert (tree["id"], tree["provisioning_status"]) == (root["id"], "PENDING_CREATE")
        (pool,) = tree["listeners"][0]["pools"]
        assert pool["health_monitor"]["type"] == "HTTP"
        assert sorted(member["address"] for member in pool["members"]) == ["10.20.0.1", "10.20.0.2", "10.20.0.3"]
        assert set(tree) == {"id", "name", "provisioning_status", "operating_status", "listeners"}


async def test_statistics_of_a_new_load_balancer_are_zero(api: Client) -> None:
    created = await api.load_balancer()
    totals = (await api.get(f"/loadbalancers/{created['id']}/stats"))["stats"]
    assert totals == {
        "bytes_in": 0,
        "bytes_out": 0,
        "active_connections": 0,
        "total_connections": 0,
        "request_errors": 0,
    }


@pytest.mark.parametrize("failure", [RuntimeError("boom"), StoreUnavailable("gone")])
async def test_driver_that_fails_does_not_fail_the_request(api: Client, sink: Sink, failure: Exception) -> None:
    sink.failure = failure
    created = await api.load_balancer()
    assert (await api.get(f"/loadbalancers/{created['id']}"))["loadbalancer"]["id"] == created["id"]
