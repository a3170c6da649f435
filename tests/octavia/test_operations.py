"""Every operation of Octavia's API on our provider ends as asked, with traffic, and leaves nothing PENDING."""

import time

import pytest

from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.world import SETTLED_SECONDS, World, page_at

pytestmark = IN_OCTAVIA
MONITOR = {"type": "HTTP", "delay": 2, "timeout": 1, "max_retries": 1}


def test_populated_load_balancer_carries_traffic_and_leaves_nothing(world: World) -> None:
    members = [{"address": "127.0.0.1", "protocol_port": port} for port in world.cluster.backend_ports]
    pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
    rules = [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/no"}]
    listener = {
        "protocol": "HTTP",
        "protocol_port": 18080,
        "default_pool": {**pool, "healthmonitor": MONITOR},
        "l7policies": [{"action": "REJECT", "rules": rules}],
    }
    created = world.create(name="site", tags=["blue"], listeners=[listener])
    assert world.settled(created["id"]) == "ACTIVE", world.logs()
    url = f"http://{created['vip_address']}:18080"
    seen = {page_at(f"{url}/").split()[0] for _ in range(20)}
    assert len(seen) == 2 and page_at(f"{url}/no") == ""
    wait_for_operating_status(world, created["id"], "ONLINE")
    assert world.pending() == []  # settled: the load balancer was ACTIVE before, with all its children
    world.ask("DELETE", f"/loadbalancers/{created['id']}?cascade=true")
    assert world.settled(created["id"]) == "DELETED"
    assert world.mirrored(created["id"]) is None and page_at(f"{url}/") == ""
    assert world.ask("GET", "/pools?name=web")["pools"] == []


def wait_for_operating_status(world: World, id: str, wanted: str) -> None:
    deadline = time.monotonic() + SETTLED_SECONDS
    while (found := world.ask("GET", f"/loadbalancers/{id}")["loadbalancer"]["operating_status"]) != wanted:
        assert time.monotonic() < deadline, f"{found}\n{world.logs()}"
        time.sleep(0.1)


def test_every_operation_on_every_kind_of_object_ends_active(world: World) -> None:
    id = world.create(name="all")["id"]
    assert world.settled(id) == "ACTIVE"

    def do(method: str, path: str, **body: object) -> str:
        return str(world.change(id, method, path, body or None).get("id"))

    http = {"loadbalancer_id": id, "protocol": "HTTP"}
    listener = do("POST", "/listeners", listener={**http, "protocol_port": 18081})
    pool = do("POST", "/pools", pool={**http, "lb_algorithm": "ROUND_ROBIN"})
    member = do("POST", f"/pools/{pool}/members", member={"address": "198.51.100.7", "protocol_port": 80})
    do("PUT", f"/pools/{pool}/members/{member}", member={"weight": 5})
    batch = [{"address": "198.51.100.7", "protocol_port": 80}, {"address": "198.51.100.8", "protocol_port": 80}]
    do("PUT", f"/pools/{pool}/members", members=batch)
    monitor = do("POST", "/healthmonitors", healthmonitor={"pool_id": pool, **MONITOR})
    do("PUT", f"/healthmonitors/{monitor}", healthmonitor={"delay": 9})
    do("PUT", f"/listeners/{listener}", listener={"default_pool_id": pool, "connection_limit": 50})
    do("PUT", f"/pools/{pool}", pool={"session_persistence": {"type": "HTTP_COOKIE"}})
    first = do("POST", "/l7policies", l7policy={"listener_id": listener, "action": "REJECT", "position": 1})
    to_pool = {"listener_id": listener, "action": "REDIRECT_TO_POOL", "redirect_pool_id": pool, "position": 2}
    second = do("POST", "/l7policies", l7policy=to_pool)
    path = {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/a"}
    rule = do("POST", f"/l7policies/{second}/rules", rule=path)
    do("PUT", f"/l7policies/{second}/rules/{rule}", rule={"value": "/b"})
    do("PUT", f"/l7policies/{second}", l7policy={"position": 1})
    do("PUT", f"/loadbalancers/{id}", loadbalancer={"name": "changed", "tags": ["green"]})
    do("PUT", f"/loadbalancers/{id}/failover")
    do("DELETE", f"/l7policies/{second}/rules/{rule}")
    do("DELETE", f"/l7policies/{second}")
    do("DELETE", f"/l7policies/{first}")
    do("DELETE", f"/pools/{pool}/members/{member}")
    do("DELETE", f"/healthmonitors/{monitor}")
    do("DELETE", f"/pools/{pool}")
    do("DELETE", f"/listeners/{listener}")
    assert world.pending() == []
    world.ask("DELETE", f"/loadbalancers/{id}")
    assert world.settled(id) == "DELETED" and world.mirrored(id) is None


def test_objects_that_a_change_does_not_touch_keep_their_time_of_change(world: World) -> None:
    # disabled: OFFLINE from the first moment on, so that no operating status is reported in between
    common = {"protocol": "TCP", "lb_algorithm": "SOURCE_IP", "admin_state_up": False}
    pools = [{"name": name, **common} for name in ("touched", "calm")]
    created = world.create(pools=pools)
    id, ids = created["id"], {pool["name"]: pool["id"] for pool in created["pools"]}
    assert world.settled(id) == "ACTIVE"
    before = world.ask("GET", f"/pools/{ids['calm']}")["pool"]["updated_at"]
    world.change(id, "PUT", f"/pools/{ids['touched']}", {"pool": {"description": "x"}})
    assert world.ask("GET", f"/pools/{ids['calm']}")["pool"]["updated_at"] == before
    world.ask("DELETE", f"/loadbalancers/{id}?cascade=true")
    assert world.settled(id) == "DELETED"


def test_option_that_the_device_type_does_not_have_is_refused_with_our_words(world: World) -> None:
    id = world.create(name="strict")["id"]
    assert world.settled(id) == "ACTIVE"
    pool = {"loadbalancer_id": id, "protocol": "UDP", "lb_algorithm": "LEAST_CONNECTIONS"}
    status, answer = world.octavia.request("POST", "/pools", {"pool": pool})
    assert status == 501 and "LEAST_CONNECTIONS" in answer["faultstring"]
    assert world.ask("GET", f"/pools?loadbalancer_id={id}")["pools"] == [] and world.status(id) == "ACTIVE"
    world.ask("DELETE", f"/loadbalancers/{id}")
    assert world.settled(id) == "DELETED"


def test_children_are_checked_with_the_flavor_of_their_load_balancer(world: World) -> None:
    data = {"name": "kernel", "provider_name": "evenkeel", "flavor_data": '{"data_path": "kernel"}'}
    profile = world.ask("POST", "/flavorprofiles", {"flavorprofile": data})["flavorprofile"]["id"]
    named = {"name": "kernel", "flavor_profile_id": profile}
    flavor = world.ask("POST", "/flavors", {"flavor": named})["flavor"]["id"]
    id = world.create(name="kernel", flavor_id=flavor)["id"]
    assert world.settled(id) == "ACTIVE", world.logs()
    plain = {"loadbalancer_id": id, "protocol": "TCP"}
    pool = world.change(id, "POST", "/pools", {"pool": {**plain, "lb_algorithm": "ROUND_ROBIN"}})["id"]
    member = {"address": "2001:db8::7", "protocol_port": 80}
    for method, path, body, words in (
        ("POST", "/listeners", {"listener": {**plain, "protocol": "HTTP", "protocol_port": 18090}}, "protocol HTTP"),
        (
            "POST",
            "/listeners",
            {"listener": {**plain, "protocol_port": 18090, "timeout_client_data": 1}},
            "timeout_client_data",
        ),
        ("POST", "/pools", {"pool": {**plain, "lb_algorithm": "LEAST_CONNECTIONS"}}, "LEAST_CONNECTIONS"),
        ("PUT", f"/pools/{pool}", {"pool": {"lb_algorithm": "LEAST_CONNECTIONS"}}, "LEAST_CONNECTIONS"),
        ("POST", f"/pools/{pool}/members", {"member": member}, "IPv4, as all VIPs"),
        ("PUT", f"/pools/{pool}/members", {"members": [member]}, "IPv4, as all VIPs"),
    ):
        status, answer = world.octavia.request(method, path, body)
        assert status == 501 and words in answer["faultstring"], (path, answer)
    assert world.status(id) == "ACTIVE"
    world.ask("DELETE", f"/loadbalancers/{id}?cascade=true")
    assert world.settled(id) == "DELETED"


def test_policy_of_a_populated_load_balancer_that_the_device_type_can_not_do_is_refused(world: World) -> None:
    rule = {"type": "HEADER", "key": "X-Kind", "compare_type": "REGEX", "value": "(?=a)b"}
    policy = {"action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "web"}, "rules": [rule]}
    listener = {"protocol": "HTTP", "protocol_port": 18083, "l7policies": [policy]}
    pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    populated = {"listeners": [listener], "pools": [pool], "vip_address": world.address(), "name": "look-ahead"}
    body = {"provider": "evenkeel-bigip", "vip_subnet_id": world.subnet_id, **populated}
    status, answer = world.octavia.request("POST", "/loadbalancers", {"loadbalancer": body})
    assert status == 501 and "(?=a)b" in answer["faultstring"], answer
    assert world.ask("GET", "/loadbalancers?name=look-ahead")["loadbalancers"] == []


def test_provider_without_its_environment_is_refused_and_nothing_is_left(world: World) -> None:
    body = {"provider": "evenkeel-elsewhere", "vip_subnet_id": world.subnet_id, "name": "nowhere"}
    status, answer = world.octavia.request("POST", "/loadbalancers", {"loadbalancer": body})
    assert status in (500, 501) and "elsewhere" in answer["faultstring"]
    assert world.ask("GET", "/loadbalancers?name=nowhere")["loadbalancers"] == []


@pytest.mark.parametrize("kind", ["flavor", "availability_zone"])
def test_capabilities_of_a_provider_are_those_of_its_device_type(world: World, kind: str) -> None:
    path = f"/providers/evenkeel/{kind}_capabilities"
    assert all(each["name"] and each["description"] for each in world.ask("GET", path)[f"{kind}_capabilities"])


def test_check_finds_the_provider_whose_environment_is_missing(world: World) -> None:
    output = world.octavia.evenkeel("check")
    assert f"controller {world.cluster.controllers[0]} answers" in output
    assert "environment prod is there" in output
    failures = [line for line in output.splitlines() if line.startswith("FAILURE")]
    assert len(failures) == 1 and "elsewhere" in failures[0]
