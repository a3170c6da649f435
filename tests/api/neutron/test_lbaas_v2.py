"""LBaaS v2 as ``neutron-lbaas`` answered it: attributes, lists, deleting, statuses."""

from typing import Any

import pytest

from tests.api import bodies
from tests.api.client import Client
from tests.api.neutron.maker import LBAAS, Maker, refused


async def test_load_balancer_is_shown_as_neutron_shows_it(v2: Maker) -> None:
    root = await v2.root(name="lb", admin_state_up="False")
    assert root == {
        "id": root["id"],
        "tenant_id": "default",
        "name": "lb",
        "description": "",
        "vip_subnet_id": bodies.SUBNET_ID,
        "vip_address": root["vip_address"],
        "vip_port_id": root["vip_port_id"],
        "admin_state_up": False,
        "provider": "dev",
        "provisioning_status": "PENDING_CREATE",
        "operating_status": "DISABLED",
        "listeners": [],
        "pools": [],
    }


async def test_listener_and_pool_have_no_status_and_default_as_neutrons(v2: Maker) -> None:
    root = await v2.root()
    listener = await v2.listener(root)
    assert {name: value for name, value in listener.items() if name not in ("id", "tenant_id")} == {
        "name": "",
        "description": "",
        "protocol": "HTTP",
        "protocol_port": 80,
        "connection_limit": -1,
        "default_pool_id": None,
        "default_tls_container_ref": None,
        "sni_container_refs": [],
        "admin_state_up": True,
        "loadbalancers": [{"id": root["id"]}],
        "l7policies": [],
    }
    pool = await v2.make(
        "pool",
        protocol="HTTP",
        lb_algorithm="SOURCE_IP",
        listener_id=listener["id"],
        session_persistence={"type": "HTTP_COOKIE"},
    )
    assert {name: value for name, value in pool.items() if name not in ("id", "tenant_id")} == {
        "name": "",
        "description": "",
        "protocol": "HTTP",
        "lb_algorithm": "SOURCE_IP",
        "session_persistence": {"type": "HTTP_COOKIE", "cookie_name": None},
        "admin_state_up": True,
        "healthmonitor_id": None,
        "members": [],
        "listeners": [{"id": listener["id"]}],
        "loadbalancers": [{"id": root["id"]}],
    }


@pytest.mark.parametrize("nothing", [None, {}])
async def test_session_persistence_is_taken_away_by_null_and_by_an_empty_object(
    api: Client, v2: Maker, nothing: Any
) -> None:
    pool = await v2.pool(await v2.root(), session_persistence={"type": "SOURCE_IP"})
    changed = await api.put(f"{LBAAS}/pools/{pool['id']}", {"pool": {"session_persistence": nothing}})
    assert changed["pool"]["session_persistence"] is None


async def test_monitor_shows_http_attributes_only_if_it_is_for_http(v2: Maker) -> None:
    root = await v2.root()
    http = await v2.monitor(await v2.pool(root))
    assert (http["http_method"], http["url_path"], http["expected_codes"]) == ("GET", "/", "200")
    ping = await v2.monitor(await v2.pool(root), type="PING")
    assert ping.keys() == http.keys() - {"http_method", "url_path", "expected_codes"}
    assert ping["max_retries_down"] == 3


async def test_checks_may_overlap_in_both_apis(api: Client, v2: Maker) -> None:
    monitor = await v2.monitor(await v2.pool(await v2.root()), delay="3", timeout="5")
    await api.put(f"{LBAAS}/healthmonitors/{monitor['id']}", {"healthmonitor": {"timeout": "7"}})
    path = f"/healthmonitors/{monitor['id']}"
    assert (await api.put(path, {"healthmonitor": {"name": "x"}}))["healthmonitor"]["timeout"] == 7
    await api.put(path, {"healthmonitor": {"timeout": 6}})
    await api.monitor((await v2.pool(await v2.root()))["id"], delay=2, timeout=9)


async def test_members_come_one_by_one_or_all_at_once(api: Client, v2: Maker) -> None:
    pool = await v2.pool(await v2.root())
    path = f"{LBAAS}/pools/{pool['id']}/members"
    wanted = [
        {"address": f"10.20.0.{n}", "protocol_port": "80", "subnet_id": bodies.SUBNET_ID, "weight": str(n)}
        for n in range(3)
    ]
    made = (await api.post(path, {"members": wanted}))["members"]
    assert [row["weight"] for row in made] == [0, 1, 2]
    assert made[0].keys() == {
        "id", "tenant_id", "name", "address", "protocol_port", "weight", "subnet_id", "admin_state_up"
    }  # fmt: skip
    answer = await api.post(path, {"members": [{**wanted[0], "address": "10.20.0.9"}, wanted[1]]}, 409)
    assert answer["NeutronError"]["type"] == "MemberExists"
    assert len((await api.get(path))["members"]) == 3
    answer = await api.post(path, {"members": [{**wanted[0], "address": "10.20.0.9"}] * 2}, 409)
    assert answer["NeutronError"]["type"] == "MemberExists"
    both = {"member": {**wanted[0], "address": "10.20.0.8"}, "members": [{**wanted[0], "address": "10.20.0.9"}]}
    answer = await api.post(path, both, 400)
    assert answer["NeutronError"]["message"] == "Only one of member, members may be in the request body"


async def test_flavor_is_shown_only_of_load_balancers_that_have_one(api: Client, v2: Maker) -> None:
    profile = {"name": "p", "provider_name": "dev", "flavor_data": "{}"}
    made = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]
    flavor = (await api.post("/flavors", {"flavor": {"name": "big", "flavor_profile_id": made["id"]}}))["flavor"]
    assert (await v2.root(flavor_id=flavor["id"]))["flavor_id"] == flavor["id"]
    listed = (await api.get("/neutron/v2.0/flavors?name=big"))["flavors"]
    assert [(row["id"], row["service_type"]) for row in listed] == [(flavor["id"], "LOADBALANCERV2")]
    body = {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID, "flavor_id": flavor["id"], "provider": "dev"}}
    await refused(api, "POST", "/loadbalancers", 409, "ProviderFlavorConflict", body)


async def test_an_object_made_through_one_api_is_seen_through_the_other(api: Client, v2: Maker) -> None:
    root = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    pool = await api.pool(root["id"], protocol="PROXY", lb_algorithm="SOURCE_IP_PORT")
    shown = (await api.get(f"{LBAAS}/pools/{pool['id']}"))["pool"]
    assert (shown["protocol"], shown["lb_algorithm"]) == ("PROXY", "SOURCE_IP_PORT")
    listener = await v2.listener(root, protocol_port=81)
    assert (await api.get(f"/listeners/{listener['id']}"))["listener"]["provisioning_status"] == "PENDING_CREATE"
    assert len((await api.get(f"{LBAAS}/loadbalancers/{root['id']}"))["loadbalancer"]["listeners"]) == 2


async def test_tls_needs_a_container_which_is_shown(api: Client, v2: Maker) -> None:
    root = await v2.root()
    body = {"listener": {"loadbalancer_id": root["id"], "protocol": "TERMINATED_HTTPS", "protocol_port": 443}}
    await refused(api, "POST", "/listeners", 400, "TLSDefaultContainerNotSpecified", body)
    refs = {"default_tls_container_ref": "https://k/containers/1", "sni_container_refs": ["https://k/containers/2"]}
    made = await v2.listener(root, protocol="TERMINATED_HTTPS", protocol_port=443, **refs)
    assert {name: made[name] for name in refs} == refs


async def test_an_empty_container_is_none(api: Client, v2: Maker) -> None:
    root = await v2.root()
    plain = await v2.listener(root, default_tls_container_ref="")
    assert plain["default_tls_container_ref"] is None
    refs = {"default_tls_container_ref": "https://k/containers/1"}
    made = await v2.listener(root, protocol="TERMINATED_HTTPS", protocol_port=443, **refs)
    path = f"/listeners/{made['id']}"
    for last in ("", None):
        await refused(api, "PUT", path, 400, "HTTPBadRequest", {"listener": {"default_tls_container_ref": last}})
    assert (await api.get(f"{LBAAS}{path}"))["listener"]["default_tls_container_ref"] == "https://k/containers/1"
    named = {"sni_container_refs": ["https://k/containers/2"]}
    await api.put(f"{LBAAS}{path}", {"listener": named})
    cleared = (await api.put(f"{LBAAS}{path}", {"listener": {"default_tls_container_ref": ""}}))["listener"]
    assert (cleared["default_tls_container_ref"], cleared["sni_container_refs"]) == (None, named["sni_container_refs"])


@pytest.mark.parametrize("protocol", ["HTTP", "TERMINATED_HTTPS"])
async def test_a_list_of_containers_has_no_empty_one(api: Client, v2: Maker, protocol: str) -> None:
    root = await v2.root()
    empty = {"sni_container_refs": ["https://k/containers/2", ""]}
    attributes = {"protocol": protocol, "protocol_port": 443, "default_tls_container_ref": "https://k/containers/1"}
    body = {"listener": {"loadbalancer_id": root["id"], **attributes, **empty}}
    await refused(api, "POST", "/listeners", 400, "HTTPBadRequest", body)
    made = await v2.listener(root, **attributes)
    await refused(api, "PUT", f"/listeners/{made['id']}", 400, "HTTPBadRequest", {"listener": empty})


async def test_graph_makes_everything_at_once(api: Client) -> None:
    member = {"address": "10.20.0.1", "protocol_port": "80", "subnet_id": bodies.SUBNET_ID}
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": [member], "healthmonitor": bodies.MONITOR}
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/a"}
    policy = {"action": "REDIRECT_TO_POOL", "redirect_pool": pool, "rules": [rule]}
    listener = {"protocol": "HTTP", "protocol_port": "80", "default_pool": pool, "l7policies": [policy]}
    graph = {"graph": {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID, "listeners": [listener]}}}
    made = (await api.post(f"{LBAAS}/graphs", graph))["graph"]["loadbalancer"]
    (shown,) = made["listeners"]
    assert shown["default_pool"]["members"][0]["address"] == "10.20.0.1"
    assert shown["default_pool"]["healthmonitor"]["type"] == "HTTP"
    (policy,) = shown["l7policies"]
    assert policy["redirect_pool"]["id"] == policy["redirect_pool_id"] != shown["default_pool_id"]
    assert policy["rules"][0]["value"] == "/a"
    assert len((await api.get(f"{LBAAS}/pools?loadbalancer_id={made['id']}"))["pools"]) == 2


# -- lists


async def test_lists_filter_choose_and_page(api: Client, v2: Maker) -> None:
    made = [await v2.root(name=f"lb-{n}", admin_state_up=n != 1) for n in range(3)]
    path = f"{LBAAS}/loadbalancers"
    assert (await api.get(f"{path}?name=lb-2&fields=id&verbose=True"))["loadbalancers"] == [{"id": made[2]["id"]}]
    assert [row["name"] for row in (await api.get(f"{path}?operating_status=DISABLED"))["loadbalancers"]] == ["lb-1"]
    assert len((await api.get(f"{path}?operating_status=OFFLINE"))["loadbalancers"]) == 2
    for nothing in ("DISABLED&admin_state_up=True", "OFFLINE&admin_state_up=False", "unknown"):
        assert (await api.get(f"{path}?operating_status={nothing}"))["loadbalancers"] == []
    refused = await api.get(f"{path}?operating_status=DISABLED&operating_status=OFFLINE", 400)
    assert "operating_status" in refused["NeutronError"]["message"]
    page = await api.get(f"{path}?limit=2&sort_key=name&sort_dir=desc")
    assert [row["name"] for row in page["loadbalancers"]] == ["lb-2", "lb-1"]
    (link,) = page["loadbalancers_links"]
    assert link["rel"] == "next" and link["href"].startswith("http://api.test/neutron/v2.0/lbaas/loadbalancers?")
    rest = await api.get(link["href"].removeprefix("http://api.test"))
    assert [row["name"] for row in rest["loadbalancers"]] == ["lb-0"]
    assert [link["rel"] for link in rest["loadbalancers_links"]] == ["previous"]
    assert "loadbalancers_links" not in await api.get(path)
    assert (await api.get(f"{path}?tenant_id=nobody"))["loadbalancers"] == []


@pytest.mark.parametrize(
    "query", ["sort_key=colour", "sort_key=name&sort_dir=up", "limit=many", "limit=", "admin_state_up=maybe"]
)
async def test_bad_list_parameter_is_refused(api: Client, query: str) -> None:
    answer = await api.get(f"{LBAAS}/loadbalancers?{query}", 400)
    assert answer["NeutronError"]["type"] in ("HTTPBadRequest", "InvalidInput", "BadRequest")


# -- deleting


async def test_nothing_goes_that_something_depends_on(api: Client, v2: Maker) -> None:
    root = await v2.root()
    listener = await v2.listener(root)
    pool = await v2.pool(root)
    monitor = await v2.monitor(pool)
    policy = await v2.make("l7policy", listener_id=listener["id"], action="REJECT")
    for path in (f"/loadbalancers/{root['id']}", f"/listeners/{listener['id']}", f"/pools/{pool['id']}"):
        await refused(api, "DELETE", path, 409, "EntityInUse")
    for path in (
        f"/healthmonitors/{monitor['id']}",
        f"/l7policies/{policy['id']}",
        f"/pools/{pool['id']}",
        f"/listeners/{listener['id']}",
        f"/loadbalancers/{root['id']}",
    ):
        await api.delete(LBAAS + path)


async def test_deleting_a_pool_lets_go_of_listeners_and_makes_policies_reject(api: Client, v2: Maker) -> None:
    root = await v2.root()
    listener = await v2.listener(root)
    pool = await v2.make("pool", protocol="HTTP", lb_algorithm="ROUND_ROBIN", listener_id=listener["id"])
    policy = await v2.make(
        "l7policy", listener_id=listener["id"], action="REDIRECT_TO_POOL", redirect_pool_id=pool["id"]
    )
    await api.delete(f"{LBAAS}/pools/{pool['id']}")
    shown = (await api.get(f"{LBAAS}/l7policies/{policy['id']}"))["l7policy"]
    assert (shown["action"], shown["redirect_pool_id"]) == ("REJECT", None)
    assert (await api.get(f"{LBAAS}/listeners/{listener['id']}"))["listener"]["default_pool_id"] is None


# -- statuses


async def test_status_tree_is_neutrons(api: Client, v2: Maker) -> None:
    root = await v2.root(name="lb")
    listener = await v2.listener(root, name="l")
    pool = await v2.make("pool", protocol="HTTP", lb_algorithm="ROUND_ROBIN", listener_id=listener["id"], name="p")
    policy = await v2.make("l7policy", listener_id=listener["id"], action="REJECT", name="y")
    member = {"address": "10.20.0.1", "protocol_port": "80", "subnet_id": bodies.SUBNET_ID, "admin_state_up": "False"}
    await api.post(f"{LBAAS}/pools/{pool['id']}/members", {"member": member})
    tree = (await api.get(f"{LBAAS}/loadbalancers/{root['id']}/statuses"))["statuses"]["loadbalancer"]
    (shown,) = tree["listeners"]
    assert shown["l7policies"] == [
        {"id": policy["id"], "name": "y", "action": "REJECT", "provisioning_status": "PENDING_CREATE", "rules": []}
    ]
    assert shown["pools"] == tree["pools"] and tree["pools"][0]["healthmonitor"] == {}
    (below,) = tree["pools"][0]["members"]
    assert (below["operating_status"], below["address"], below["protocol_port"]) == ("DISABLED", "10.20.0.1", 80)
    await api.put(f"{LBAAS}/loadbalancers/{root['id']}", {"loadbalancer": {"admin_state_up": "0"}})
    tree = (await api.get(f"{LBAAS}/loadbalancers/{root['id']}/statuses"))["statuses"]["loadbalancer"]
    assert tree["operating_status"] == "DISABLED" and "pools" not in tree
    assert (
        tree["listeners"][0]["operating_status"] == tree["listeners"][0]["pools"][0]["operating_status"] == "DISABLED"
    )


async def test_statistics_are_four_totals(api: Client, v2: Maker) -> None:
    root = await v2.root()
    stats = (await api.get(f"{LBAAS}/loadbalancers/{root['id']}/stats"))["stats"]
    assert stats == {"bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0}
