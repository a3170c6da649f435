"""UDP and SCTP, and listeners that answer by themselves: ports, pools, monitors, persistence."""

from typing import Any

import pytest

from tests.api import bodies
from tests.api.client import Client

TERMINATED = {"default_tls_container_ref": "ref"}


@pytest.fixture
async def root(api: Client) -> dict[str, Any]:
    return await api.load_balancer()


async def test_tcp_udp_and_sctp_have_ports_of_their_own(api: Client, root: dict[str, Any]) -> None:
    for protocol in ("UDP", "SCTP", "TCP"):
        await api.listener(root["id"], protocol=protocol, protocol_port=53)
    for protocol, more in {
        "UDP": {},
        "SCTP": {},
        "TCP": {},
        "HTTP": {},
        "TERMINATED_HTTPS": TERMINATED,
        "PROMETHEUS": {},
    }.items():
        body = {"loadbalancer_id": root["id"], "protocol": protocol, "protocol_port": 53, **more}
        text = (await api.post("/listeners", {"listener": body}, 409))["faultstring"]
        assert "53" in text and protocol in text
    both = [{"protocol": protocol, "protocol_port": 53} for protocol in ("UDP", "TCP")]
    made = (await api.post("/loadbalancers", bodies.load_balancer(listeners=both)))["loadbalancer"]
    assert {each["protocol"] for each in made["listeners"]} == {"UDP", "TCP"}
    await api.post("/loadbalancers", bodies.load_balancer(listeners=[*both, both[0]]), 409)


async def test_a_port_is_free_again_when_its_listener_is_deleted(api: Client, root: dict[str, Any]) -> None:
    first = await api.listener(root["id"], protocol="UDP", protocol_port=53)
    await api.delete(f"/listeners/{first['id']}")
    await api.listener(root["id"], protocol="UDP", protocol_port=53)


@pytest.mark.parametrize("protocol", ["UDP", "SCTP"])
async def test_datagrams_go_to_pools_of_their_own(api: Client, root: dict[str, Any], protocol: str) -> None:
    listener = await api.listener(root["id"], protocol=protocol)
    body = {"listener_id": listener["id"], "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
    assert "'TCP'" in (await api.post("/pools", {"pool": body}, 400))["faultstring"]
    pool = await api.pool(root["id"], listener_id=listener["id"], protocol=protocol)
    assert pool["listeners"] == [{"id": listener["id"]}]
    http = await api.listener(root["id"], protocol_port=81)
    change = {"listener": {"default_pool_id": pool["id"]}}
    assert f"'{protocol}'" in (await api.put(f"/listeners/{http['id']}", change, 400))["faultstring"]
    headers = {"listener": {"insert_headers": {"X-Forwarded-For": "true"}}}
    assert protocol in (await api.put(f"/listeners/{listener['id']}", headers, 400))["faultstring"]


async def test_a_prometheus_listener_has_neither_pools_nor_policies(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"], protocol="PROMETHEUS", protocol_port=9100)
    words = "PROMETHEUS listeners cannot have child objects"
    pool = await api.pool(root["id"])
    new_pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    another = {"loadbalancer_id": root["id"], "protocol": "PROMETHEUS", "protocol_port": 9101}
    for method, path, body in (
        ("POST", "/pools", {"pool": {"listener_id": listener["id"], **new_pool}}),
        ("POST", "/l7policies", {"l7policy": {"listener_id": listener["id"], "action": "REJECT"}}),
        ("PUT", f"/listeners/{listener['id']}", {"listener": {"default_pool_id": pool["id"]}}),
        ("POST", "/listeners", {"listener": another | {"default_pool_id": pool["id"]}}),
        ("POST", "/listeners", {"listener": another | {"default_pool": new_pool}}),
        ("POST", "/listeners", {"listener": another | {"l7policies": [{"action": "REJECT"}]}}),
    ):
        assert words in (await api.call(method, path, 400, body))["faultstring"]
    whole = bodies.load_balancer(listeners=[{"protocol": "PROMETHEUS", "protocol_port": 1, "default_pool": new_pool}])
    assert words in (await api.post("/loadbalancers", whole, 400))["faultstring"]


MONITOR = {"delay": 5, "timeout": 3, "max_retries": 2}


@pytest.mark.parametrize(
    ("protocol", "good", "bad"),
    [
        ("UDP", ("UDP-CONNECT", "SCTP", "TCP", "HTTP"), ("PING", "HTTPS", "TLS-HELLO")),
        ("SCTP", ("SCTP", "UDP-CONNECT", "TCP", "HTTP"), ("PING", "HTTPS", "TLS-HELLO")),
        ("TCP", ("TCP", "PING"), ("UDP-CONNECT", "SCTP")),
    ],
)
async def test_monitors_fit_the_protocol_of_the_pool(
    api: Client, root: dict[str, Any], protocol: str, good: tuple[str, ...], bad: tuple[str, ...]
) -> None:
    pool = await api.pool(root["id"], protocol=protocol)
    new_pool = {"protocol": protocol, "lb_algorithm": "ROUND_ROBIN"}
    for type_ in bad:
        body = {"pool_id": pool["id"], "type": type_, **MONITOR}
        text = (await api.post("/healthmonitors", {"healthmonitor": body}, 400))["faultstring"]
        assert type_ in text and protocol in text
        nested = new_pool | {"loadbalancer_id": root["id"], "healthmonitor": {"type": type_, **MONITOR}}
        assert type_ in (await api.post("/pools", {"pool": nested}, 400))["faultstring"]
    for type_ in good:
        body = {"pool_id": pool["id"], "type": type_, **MONITOR}
        made = (await api.post("/healthmonitors", {"healthmonitor": body}))["healthmonitor"]
        assert (made["type"], made["url_path"]) == (type_, "/" if type_ == "HTTP" else None)
        await api.delete(f"/healthmonitors/{made['id']}")


async def test_datagram_monitors_take_their_time(api: Client, root: dict[str, Any]) -> None:
    pool = await api.pool(root["id"], protocol="UDP")
    body = {"pool_id": pool["id"], "type": "UDP-CONNECT", **MONITOR, "delay": 2, "timeout": 2}
    text = (await api.post("/healthmonitors", {"healthmonitor": body}, 400))["faultstring"]
    assert "delay" in text and "2" in text and "UDP-CONNECT" in text
    made = (await api.post("/healthmonitors", {"healthmonitor": body | {"delay": 3}}))["healthmonitor"]
    path = f"/healthmonitors/{made['id']}"
    assert "delay" in (await api.put(path, {"healthmonitor": {"delay": 2}}, 400))["faultstring"]
    http = {"healthmonitor": {"url_path": "/"}}
    assert "url_path" in (await api.put(path, http, 400))["faultstring"]


SOURCE_IP = {"type": "SOURCE_IP", "persistence_timeout": 360, "persistence_granularity": "255.255.255.0"}


@pytest.mark.parametrize("protocol", ["UDP", "SCTP"])
async def test_clients_stay_together_by_network_and_for_a_time(
    api: Client, root: dict[str, Any], protocol: str
) -> None:
    pool = await api.pool(root["id"], protocol=protocol, session_persistence=SOURCE_IP)
    path = f"/pools/{pool['id']}"
    assert pool["session_persistence"] == {**SOURCE_IP, "cookie_name": None}
    six = SOURCE_IP | {"persistence_granularity": "FFFF:ffff::0", "persistence_timeout": 0}
    changed = (await api.put(path, {"pool": {"session_persistence": six}}))["pool"]["session_persistence"]
    assert (changed["persistence_granularity"], changed["persistence_timeout"]) == ("ffff:ffff::", 0)
    assert (await api.get(path))["pool"]["session_persistence"] == changed


@pytest.mark.parametrize(
    ("protocol", "persistence", "words"),
    [
        ("UDP", {"type": "HTTP_COOKIE"}, ["HTTP_COOKIE", "UDP"]),
        ("SCTP", {"type": "APP_COOKIE", "cookie_name": "c"}, ["APP_COOKIE", "SCTP"]),
        ("UDP", {"type": "SOURCE_IP", "cookie_name": "c"}, ["cookie_name"]),
        ("UDP", SOURCE_IP | {"persistence_granularity": "255.0.255.0"}, ["persistence_granularity", "netmask"]),
        ("UDP", SOURCE_IP | {"persistence_granularity": "24"}, ["persistence_granularity", "24"]),
        ("UDP", SOURCE_IP | {"persistence_timeout": -1}, ["persistence_timeout", "-1"]),
        ("TCP", {"type": "SOURCE_IP", "persistence_timeout": 5}, ["persistence_timeout", "TCP"]),
        ("HTTP", SOURCE_IP | {"persistence_timeout": None}, ["persistence_granularity", "HTTP"]),
    ],
)
async def test_bad_persistence_is_refused_on_create_and_change(
    api: Client, root: dict[str, Any], protocol: str, persistence: dict[str, Any], words: list[str]
) -> None:
    body = {"loadbalancer_id": root["id"], "protocol": protocol, "lb_algorithm": "ROUND_ROBIN"}
    created = await api.post("/pools", {"pool": body | {"session_persistence": persistence}}, 400)
    pool = await api.pool(root["id"], protocol=protocol)
    changed = await api.put(f"/pools/{pool['id']}", {"pool": {"session_persistence": persistence}}, 400)
    for answer in (created, changed):
        assert all(word in answer["faultstring"] for word in words), answer


async def test_members_may_request_a_virtual_function_if_the_flavor_allows_it(
    api: Client, root: dict[str, Any]
) -> None:
    body = {"address": "10.20.0.5", "protocol_port": 8080, "request_sriov": True}
    without = await api.pool(root["id"])
    for method, path in (("POST", {"member": body}), ("PUT", {"members": [body]})):
        answer = await api.call(method, f"/pools/{without['id']}/members", 400, path)
        assert "does not allow SR-IOV member ports." in answer["faultstring"]
    profile = {"name": "p", "provider_name": "dev", "flavor_data": '{"allow_member_sriov": true}'}
    made = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]
    flavor = {"name": "f", "flavor_profile_id": made["id"]}
    flavor_id = (await api.post("/flavors", {"flavor": flavor}))["flavor"]["id"]
    pool = await api.pool((await api.load_balancer(flavor_id=flavor_id))["id"])
    member = await api.member(pool["id"], request_sriov=True)
    plain = await api.member(pool["id"], address="10.20.0.6", request_sriov=False)
    assert (member["vnic_type"], plain["vnic_type"]) == ("direct", "normal")
    path = f"/pools/{pool['id']}/members"
    assert [each["id"] for each in (await api.get(f"{path}?vnic_type=direct"))["members"]] == [member["id"]]
    batch = [{"address": "10.20.0.5", "protocol_port": 8080}, {"address": "10.20.0.7", "protocol_port": 1}]
    batch[1]["request_sriov"] = True
    await api.put(path, {"members": batch}, 202)
    shown = {each["address"]: each["vnic_type"] for each in (await api.get(path))["members"]}
    assert shown.items() >= {"10.20.0.5": "direct", "10.20.0.7": "direct"}.items()
    await api.put(f"{path}/{member['id']}", {"member": {"request_sriov": False}}, 400)
