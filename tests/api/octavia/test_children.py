"""Listeners, pools, members and health monitors through the API, over a real store."""

from typing import Any

import pytest

from tests.api import bodies
from tests.api.client import Client, Sink

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
async def root(api: Client) -> dict[str, Any]:
    """A load balancer of project p1."""
    return await api.load_balancer(project_id="p1")


@pytest.fixture
async def pool(api: Client, root: dict[str, Any]) -> dict[str, Any]:
    """An HTTP pool of it."""
    return await api.pool(root["id"])


# -- listeners


async def test_listener_has_octavias_defaults_and_its_load_balancers_project(
    api: Client, root: dict[str, Any], sink: Sink
) -> None:
    shown = await api.listener(root["id"])
    assert shown["project_id"] == shown["tenant_id"] == "p1"
    assert (shown["connection_limit"], shown["timeout_client_data"], shown["timeout_member_connect"]) == (
        -1,
        50000,
        5000,
    )
    assert (shown["l7policies"], shown["sni_container_refs"], shown["client_authentication"]) == ([], [], "NONE")
    assert shown["loadbalancers"] == [{"id": root["id"]}]
    assert (await api.get(f"/listeners/{shown['id']}"))["listener"] == shown
    assert sink.changes[-1].load_balancer_id == root["id"]


@pytest.mark.parametrize(
    ("attributes", "status", "words"),
    [
        ({"protocol": "TERMINATED_HTTPS"}, 400, ["default_tls_container_ref", "sni_container_refs"]),
        ({"protocol": "GOPHER"}, 400, ["protocol", "GOPHER", "HTTP"]),
        ({"protocol_port": 65536}, 400, ["protocol_port", "65536"]),
        ({"protocol_port": "eighty"}, 400, ["protocol_port", "integer"]),
        ({"connection_limit": -2}, 400, ["connection_limit", "-2"]),
        ({"timeout_client_data": 2_073_600_001}, 400, ["timeout_client_data"]),
        ({"allowed_cidrs": ["10.0.0.0/33"]}, 400, ["allowed_cidrs", "10.0.0.0/33", "CIDR"]),
        ({"allowed_cidrs": ["fe80::%eth0/64"]}, 400, ["allowed_cidrs", "%eth0"]),
        ({"allowed_cidrs": ["2001:db8::/32"]}, 400, ["allowed_cidrs", "2001:db8::/32", "IP version"]),
        ({"allowed_cidrs": ["10.0.0.0/8"] * 201}, 400, ["allowed_cidrs", "200"]),
        ({"timeout_member_connect": -1}, 400, ["timeout_member_connect", "-1"]),
        ({"timeout_tcp_inspect": 2_073_600_001}, 400, ["timeout_tcp_inspect"]),
        ({"default_tls_container_ref": "x"}, 400, ["default_tls_container_ref", "TERMINATED_HTTPS", "HTTP"]),
        ({"default_pool": {"protocol": "HTTP"}}, 400, ["lb_algorithm", "Mandatory"]),
        ({"default_pool_id": UNKNOWN}, 404, ["Pool", UNKNOWN]),
        ({"loadbalancer_id": UNKNOWN}, 404, [UNKNOWN]),
        ({"insert_headers": {"X-SSL-Issuer": "true"}}, 400, ["X-SSL-Issuer", "TERMINATED_HTTPS"]),
        ({"insert_headers": {"X-Other": "true"}}, 400, ["X-Other"]),
        ({"insert_headers": {"X-Forwarded-For": "maybe"}}, 400, ["X-Forwarded-For", "maybe"]),
        ({"protocol": "TCP", "insert_headers": {"X-Forwarded-For": "true"}}, 400, ["insert-headers", "TCP"]),
        ({"project_id": "p2"}, 400, ["project_id", "p2", "p1"]),
    ],
)
async def test_bad_listener_is_refused_naming_it(
    api: Client, root: dict[str, Any], attributes: dict[str, Any], status: int, words: list[str]
) -> None:
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80, **attributes}
    answer = await api.post("/listeners", {"listener": body}, status)
    for word in words:
        assert word in answer["faultstring"]


async def test_port_that_is_taken_is_a_conflict(api: Client, root: dict[str, Any]) -> None:
    await api.listener(root["id"])
    body = {"loadbalancer_id": root["id"], "protocol": "TCP", "protocol_port": 80}
    assert "80" in (await api.post("/listeners", {"listener": body}, 409))["faultstring"]


async def test_default_pool_must_fit_and_be_of_the_same_load_balancer(api: Client, root: dict[str, Any]) -> None:
    tcp = await api.pool(root["id"], protocol="TCP")
    stranger = await api.pool((await api.load_balancer())["id"])
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80}
    answer = await api.post("/listeners", {"listener": {**body, "default_pool_id": tcp["id"]}}, 400)
    assert "'TCP'" in answer["faultstring"]
    await api.post("/listeners", {"listener": {**body, "default_pool_id": stranger["id"]}}, 404)
    listener = await api.listener(root["id"])
    await api.put(f"/listeners/{listener['id']}", {"listener": {"default_pool_id": tcp["id"]}}, 400)
    await api.put(f"/listeners/{listener['id']}", {"listener": {"default_pool_id": stranger["id"]}}, 404)


async def test_listener_is_changed_null_means_default(api: Client, root: dict[str, Any], pool: dict[str, Any]) -> None:
    listener = await api.listener(root["id"], connection_limit=5, default_pool_id=pool["id"])
    headers = {"X-Forwarded-For": "true"}
    body = {"connection_limit": None, "insert_headers": headers, "default_pool_id": None, "tls_versions": []}
    changed = (await api.put(f"/listeners/{listener['id']}", {"listener": body}))["listener"]
    assert (changed["connection_limit"], changed["insert_headers"], changed["default_pool_id"]) == (-1, headers, None)
    answer = await api.put(f"/listeners/{listener['id']}", {"listener": {"protocol_port": 81}}, 400)
    assert "protocol_port" in answer["faultstring"]


async def test_listener_statistics_and_delete(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"])
    assert (await api.get(f"/listeners/{listener['id']}/stats"))["stats"]["bytes_in"] == 0
    await api.delete(f"/listeners/{listener['id']}")
    await api.get(f"/listeners/{UNKNOWN}/stats", 404)
    await api.delete(f"/listeners/{UNKNOWN}", 404)


# -- pools


async def test_pool_of_a_listener_becomes_its_default(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"])
    pool = await api.pool(root["id"], listener_id=listener["id"])
    assert pool["listeners"] == [{"id": listener["id"]}] and pool["loadbalancers"] == [{"id": root["id"]}]
    assert (await api.get(f"/listeners/{listener['id']}"))["listener"]["default_pool_id"] == pool["id"]
    body = {"listener_id": listener["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    await api.post("/pools", {"pool": body}, 409)


async def test_pool_brings_its_members_and_monitor(api: Client, root: dict[str, Any]) -> None:
    pool = await api.pool(root["id"], members=bodies.MEMBERS, healthmonitor=bodies.MONITOR)
    assert len(pool["members"]) == 3 and pool["healthmonitor_id"]


@pytest.mark.parametrize(
    ("attributes", "status", "words"),
    [
        ({"loadbalancer_id": None}, 400, ["loadbalancer_id", "listener_id"]),
        ({"loadbalancer_id": UNKNOWN}, 404, [UNKNOWN]),
        ({"listener_id": UNKNOWN}, 404, [UNKNOWN]),
        ({"lb_algorithm": "RANDOM"}, 400, ["lb_algorithm", "RANDOM", "ROUND_ROBIN"]),
        ({"session_persistence": {"type": "APP_COOKIE"}}, 400, ["cookie_name", "APP_COOKIE"]),
        ({"session_persistence": {"type": "APP_COOKIE", "cookie_name": "a b"}}, 400, ["cookie_name", "a b"]),
        ({"session_persistence": {"type": "APP_COOKIE", "cookie_name": "a;b"}}, 400, ["cookie_name", "a;b"]),
        ({"session_persistence": {"type": "SOURCE_IP", "cookie_name": "c"}}, 400, ["cookie_name", "SOURCE_IP"]),
        ({"session_persistence": {"type": "SOURCE_IP", "persistence_timeout": 5}}, 400, ["persistence_timeout", "UDP"]),
        ({"session_persistence": {}}, 400, ["type", "Mandatory"]),
        ({"protocol": "TCP", "session_persistence": {"type": "HTTP_COOKIE"}}, 400, ["HTTP_COOKIE", "TCP"]),
        ({"protocol": "PROXY", "session_persistence": {"type": "HTTP_COOKIE"}}, 400, ["HTTP_COOKIE", "PROXY"]),
    ],
)
async def test_bad_pool_is_refused_naming_it(
    api: Client, root: dict[str, Any], attributes: dict[str, Any], status: int, words: list[str]
) -> None:
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **attributes}
    answer = await api.post("/pools", {"pool": body}, status)
    for word in words:
        assert word in answer["faultstring"]


async def test_pool_of_a_listener_of_another_load_balancer_is_refused(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener((await api.load_balancer())["id"])
    body = {"loadbalancer_id": root["id"], "listener_id": listener["id"], "protocol": "HTTP"}
    answer = await api.post("/pools", {"pool": {**body, "lb_algorithm": "ROUND_ROBIN"}}, 400)
    assert listener["id"] in answer["faultstring"]


async def test_session_persistence_is_set_changed_and_removed(
    api: Client, root: dict[str, Any], pool: dict[str, Any]
) -> None:
    path = f"/pools/{pool['id']}"
    cookie = {"session_persistence": {"type": "HTTP_COOKIE"}}
    changed = (await api.put(path, {"pool": cookie}))["pool"]
    assert changed["session_persistence"] == {
        "type": "HTTP_COOKIE",
        "cookie_name": None,
        "persistence_timeout": None,
        "persistence_granularity": None,
    }
    assert (await api.put(path, {"pool": {"session_persistence": None}}))["pool"]["session_persistence"] is None
    tcp = await api.pool(root["id"], protocol="TCP")
    await api.put(f"/pools/{tcp['id']}", {"pool": cookie}, 400)
    await api.put(path, {"pool": {"protocol": "TCP"}}, 400)


# -- members


async def test_member_has_octavias_defaults(api: Client, pool: dict[str, Any]) -> None:
    member = await api.member(pool["id"])
    assert (member["weight"], member["backup"], member["operating_status"]) == (1, False, "NO_MONITOR")
    assert member["project_id"] == "p1" and member["vnic_type"] == "normal"
    assert (await api.get(f"/pools/{pool['id']}/members/{member['id']}"))["member"] == member
    assert (await api.get(f"/pools/{pool['id']}/members"))["members"] == [member]


async def test_addresses_are_shown_as_they_were_given(api: Client, pool: dict[str, Any]) -> None:
    member = await api.member(pool["id"], address="2001:0DB8::0:1")
    assert member["address"] == "2001:0DB8::0:1"


@pytest.mark.parametrize(
    ("attributes", "status", "words"),
    [
        ({"address": "10.0.0.256"}, 400, ["address", "10.0.0.256"]),
        ({"address": "fe80::1%eth0"}, 400, ["address", "%eth0"]),
        ({"address": "0.0.0.0"}, 400, ["address", "unicast"]),
        ({"address": "224.0.0.1"}, 400, ["address", "unicast"]),
        ({"weight": 257}, 400, ["weight", "257", "256"]),
        ({"protocol_port": None}, 400, ["protocol_port"]),
        ({"monitor_port": 0}, 400, ["monitor_port", "0"]),
        ({"monitor_address": "10.0.0.999"}, 400, ["monitor_address", "10.0.0.999"]),
        ({"monitor_address": "224.0.0.1"}, 400, ["monitor_address", "unicast"]),
        ({"vnic_type": "direct"}, 400, ["vnic_type", "request_sriov"]),
    ],
)
async def test_bad_member_is_refused_naming_it(
    api: Client, pool: dict[str, Any], attributes: dict[str, Any], status: int, words: list[str]
) -> None:
    body = {"address": "10.20.0.5", "protocol_port": 80, **attributes}
    answer = await api.post(f"/pools/{pool['id']}/members", {"member": body}, status)
    for word in words:
        assert word in answer["faultstring"]


async def test_same_address_and_port_is_a_conflict(api: Client, pool: dict[str, Any]) -> None:
    await api.member(pool["id"])
    body = {"member": {"address": "10.20.0.5", "protocol_port": 8080}}
    await api.post(f"/pools/{pool['id']}/members", body, 409)


async def test_member_is_changed_and_deleted(api: Client, pool: dict[str, Any]) -> None:
    member = await api.member(pool["id"], weight=7)
    path = f"/pools/{pool['id']}/members/{member['id']}"
    changed = (await api.put(path, {"member": {"weight": None, "monitor_address": None}}))["member"]
    assert (changed["weight"], changed["monitor_address"]) == (1, None)
    await api.put(path, {"member": {"address": "10.0.0.1"}}, 400)
    await api.delete(path)
    await api.get(f"/pools/{UNKNOWN}/members/{member['id']}", 404)
    await api.get(f"/pools/{UNKNOWN}/members", 404)


async def test_batch_replaces_members_and_keeps_ids_and_names(api: Client, pool: dict[str, Any]) -> None:
    kept = await api.member(pool["id"], address="10.20.0.1", weight=9, monitor_port=99, name="kept")
    gone = await api.member(pool["id"], address="10.20.0.9")
    batch = {"members": [{"address": "10.20.0.1", "protocol_port": 8080, "backup": True}, bodies.MEMBERS[1]]}
    assert await api.put(f"/pools/{pool['id']}/members", batch, 202) is None
    rows = {row["address"]: row for row in (await api.get(f"/pools/{pool['id']}/members"))["members"]}
    row = rows["10.20.0.1"]
    assert (row["id"], row["name"], row["backup"]) == (kept["id"], "kept", True)
    assert (row["weight"], row["monitor_port"]) == (1, None)
    assert "10.20.0.2" in rows
    assert rows.get("10.20.0.9", {"provisioning_status": "PENDING_DELETE"})["provisioning_status"] == "PENDING_DELETE"
    assert gone["id"] != kept["id"]


async def test_additive_batch_removes_none(api: Client, pool: dict[str, Any]) -> None:
    await api.member(pool["id"], address="10.20.0.9")
    await api.put(f"/pools/{pool['id']}/members?additive_only=true", {"members": [bodies.MEMBERS[0]]}, 202)
    rows = (await api.get(f"/pools/{pool['id']}/members"))["members"]
    assert {row["address"]: row["provisioning_status"] for row in rows} == {
        "10.20.0.9": "PENDING_CREATE",
        "10.20.0.1": "PENDING_CREATE",
    }


async def test_batch_with_doubles_is_refused_and_changes_nothing(api: Client, pool: dict[str, Any]) -> None:
    await api.put(f"/pools/{pool['id']}/members", {"members": [bodies.MEMBERS[0]] * 2}, 400)
    await api.put(f"/pools/{pool['id']}/members?additive_only=perhaps", {"members": []}, 400)
    assert (await api.get(f"/pools/{pool['id']}/members"))["members"] == []


# -- health monitors


async def test_http_monitor_gets_https_defaults_others_have_none(
    api: Client, root: dict[str, Any], pool: dict[str, Any]
) -> None:
    monitor = await api.monitor(pool["id"])
    assert (monitor["http_method"], monitor["url_path"], monitor["expected_codes"]) == ("GET", "/", "200")
    assert monitor["max_retries_down"] == 3 and monitor["pools"] == [{"id": pool["id"]}]
    tcp = await api.monitor((await api.pool(root["id"]))["id"], type="TCP")
    assert (tcp["http_method"], tcp["url_path"], tcp["expected_codes"]) == (None, None, None)
    assert (await api.get(f"/healthmonitors?pool_id={pool['id']}"))["healthmonitors"] == [monitor]


@pytest.mark.parametrize(
    ("attributes", "status", "words"),
    [
        ({"max_retries": 11}, 400, ["max_retries", "11"]),
        ({"delay": -1}, 400, ["delay", "-1"]),
        ({"type": "UDP-CONNECT"}, 400, ["UDP-CONNECT", "UDP/SCTP", "HTTP"]),
        ({"type": "SCTP"}, 400, ["SCTP", "UDP/SCTP", "HTTP"]),
        ({"type": "TLS-HELLO", "url_path": "/x"}, 400, ["url_path", "TLS-HELLO"]),
        ({"type": "SMTP"}, 400, ["type", "SMTP"]),
        ({"type": "TCP", "url_path": "/x"}, 400, ["url_path", "TCP"]),
        ({"url_path": "x"}, 400, ["url_path", "'x'", "slash"]),
        ({"url_path": "/a b"}, 400, ["url_path"]),
        ({"url_path": "/%zz"}, 400, ["url_path"]),
        ({"expected_codes": "2xx"}, 400, ["expected_codes", "2xx", "range"]),
        ({"expected_codes": "299-200"}, 400, ["expected_codes", "299-200"]),
        ({"http_method": "BREW"}, 400, ["http_method", "BREW"]),
        ({"domain_name": "a.example"}, 400, ["http_version", "domain_name"]),
        ({"domain_name": "a.example", "http_version": 1.0}, 400, ["http_version 1.0"]),
        ({"domain_name": "-", "http_version": 1.1}, 400, ["domain_name"]),
        ({"http_version": 1.05}, 400, ["http_version", "1.05"]),
        ({"pool_id": UNKNOWN}, 404, [UNKNOWN]),
    ],
)
async def test_bad_monitor_is_refused_naming_it(
    api: Client, pool: dict[str, Any], attributes: dict[str, Any], status: int, words: list[str]
) -> None:
    answer = await api.post(
        "/healthmonitors", {"healthmonitor": {**bodies.MONITOR, "pool_id": pool["id"], **attributes}}, status
    )
    for word in words:
        assert word in answer["faultstring"]


async def test_second_monitor_of_a_pool_is_a_conflict(api: Client, pool: dict[str, Any]) -> None:
    await api.monitor(pool["id"])
    body = {"healthmonitor": {**bodies.MONITOR, "pool_id": pool["id"]}}
    await api.post("/healthmonitors", body, 409)


async def test_monitor_change_is_checked_as_a_whole(api: Client, pool: dict[str, Any]) -> None:
    monitor = await api.monitor(pool["id"], url_path="/health")
    path = f"/healthmonitors/{monitor['id']}"
    changed = (await api.put(path, {"healthmonitor": {"delay": 2, "timeout": 3, "url_path": None}}))["healthmonitor"]
    assert (changed["delay"], changed["timeout"], changed["url_path"]) == (2, 3, "/")
    await api.put(path, {"healthmonitor": {"type": "TCP"}}, 400)
    await api.put(path, {"healthmonitor": {"domain_name": "a.example"}}, 400)
    await api.put(path, {"healthmonitor": {"domain_name": "a.example", "http_version": 1.1}})
    await api.delete(path)


@pytest.mark.parametrize("monitor_type", ["PING", "TCP", "TLS-HELLO"])
async def test_http_version_and_domain_name_are_kept_by_monitors_without_http(
    api: Client, pool: dict[str, Any], monitor_type: str
) -> None:
    name = {"http_version": 1.1, "domain_name": "a.example"}
    monitor = await api.monitor(pool["id"], type=monitor_type, **name)
    assert name.items() <= monitor.items()
    path = f"/healthmonitors/{monitor['id']}"
    changed = (await api.put(path, {"healthmonitor": {"domain_name": None}}))["healthmonitor"]
    assert (changed["http_version"], changed["domain_name"], changed["url_path"]) == (1.1, None, None)
    await api.put(path, {"healthmonitor": {"url_path": "/"}}, 400)


async def test_expected_codes_may_be_one_a_list_or_a_range(api: Client, root: dict[str, Any]) -> None:
    for codes in ("204", "200, 202", "200-204"):
        pool = await api.pool(root["id"])
        assert (await api.monitor(pool["id"], expected_codes=codes))["expected_codes"] == codes


async def test_numbers_and_booleans_may_be_texts(api: Client) -> None:
    root = await api.load_balancer()
    listener = await api.listener(root["id"], protocol_port="80", connection_limit="7", admin_state_up=0)
    assert (listener["protocol_port"], listener["connection_limit"], listener["admin_state_up"]) == (80, 7, False)
    pool = await api.pool(root["id"])
    await api.put(
        f"/pools/{pool['id']}/members",
        {"members": [{"address": "10.0.0.9", "protocol_port": "8080", "weight": 5.0, "backup": "true"}]},
        202,
    )
    (member,) = (await api.get(f"/pools/{pool['id']}/members"))["members"]
    assert (member["protocol_port"], member["weight"], member["backup"]) == (8080, 5, True)
    monitor = await api.monitor(pool["id"], http_version="1.1", domain_name="a.example", admin_state_up=1)
    assert (monitor["http_version"], monitor["admin_state_up"]) == (1.1, True)
    for wrong in ("80.5", " 80", "8e", "null", "65536"):
        assert "protocol_port" in (await api.post("/listeners", {"listener": {
            "loadbalancer_id": root["id"], "protocol": "TCP", "protocol_port": wrong
        }}, 400))["faultstring"]  # fmt: skip
