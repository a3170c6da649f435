"""LBaaS v2 refuses by the types of ``neutron-lbaas``."""

from typing import Any

from tests.api import bodies
from tests.api.client import Client
from tests.api.neutron.maker import NOBODY, Maker, refused


async def test_unknown_object_is_not_found_by_its_kind(api: Client, v2: Maker) -> None:
    for kind, path in (
        ("loadbalancer", "/loadbalancers"),
        ("listener", "/listeners"),
        ("pool", "/pools"),
        ("healthmonitor", "/healthmonitors"),
        ("l7policy", "/l7policies"),
    ):
        said = await refused(api, "GET", f"{path}/{NOBODY}", 404, "EntityNotFound")
        assert said == f"{kind} {NOBODY} could not be found"
    assert "pool" in await refused(api, "GET", f"/pools/{NOBODY}/members", 404, "EntityNotFound")
    pool = await v2.pool(await v2.root())
    assert "member" in await refused(api, "GET", f"/pools/{pool['id']}/members/{NOBODY}", 404, "EntityNotFound")
    await refused(api, "GET", f"/loadbalancers/{NOBODY}/status", 404, "HTTPNotFound")
    member = {"member": {"address": "10.20.0.1", "protocol_port": 80, "subnet_id": NOBODY}}
    assert "Subnet" in await refused(api, "POST", f"/pools/{pool['id']}/members", 404, "EntityNotFound", member)


async def test_vips_are_refused_by_name(api: Client, v2: Maker) -> None:
    taken = await v2.root()

    async def post(status: int, kind: str, **attributes: Any) -> None:
        await refused(api, "POST", "/loadbalancers", status, kind, {"loadbalancer": attributes})

    subnet = {"vip_subnet_id": bodies.SUBNET_ID}
    await post(400, "RequiredAttributeNotSpecified", name="x")
    await post(404, "SubnetNotFound", vip_subnet_id=NOBODY)
    await post(400, "VipNetworkInvalid", vip_network_id=NOBODY)
    await post(409, "IpAddressAlreadyAllocated", vip_address=taken["vip_address"], **subnet)
    await post(400, "InvalidIpForSubnet", vip_address="192.0.2.1", **subnet)
    await post(400, "ServiceProviderNotFound", provider="nobody", **subnet)
    await post(404, "FlavorNotFound", flavor_id=NOBODY, **subnet)


async def test_listeners_and_pools_are_refused_by_name(api: Client, v2: Maker) -> None:
    root, other = await v2.root(), await v2.root()
    listener = await v2.listener(root)
    pool = await v2.make("pool", protocol="HTTP", lb_algorithm="ROUND_ROBIN", listener_id=listener["id"])
    apart = "ListenerAndPoolMustBeOnSameLoadbalancer"

    async def new_listener(status: int, kind: str, **attributes: Any) -> None:
        body = {"protocol": "HTTP", "protocol_port": 81, **attributes}
        await refused(api, "POST", "/listeners", status, kind, {"listener": body})

    async def new_pool(status: int, kind: str, **attributes: Any) -> None:
        body = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **attributes}
        await refused(api, "POST", "/pools", status, kind, {"pool": body})

    await new_listener(400, "ListenerMustHaveLoadbalancer")
    await new_listener(400, apart, loadbalancer_id=other["id"], default_pool_id=pool["id"])
    taken = {"loadbalancer_id": root["id"], "protocol_port": 80, "protocol": "TCP"}
    await new_listener(409, "LoadBalancerListenerProtocolPortExists", **taken)
    await new_listener(409, "ListenerPoolProtocolMismatch", default_pool_id=pool["id"], protocol="HTTPS")
    await new_pool(400, "PoolMustHaveLoadbalancer")
    await new_pool(400, apart, loadbalancer_id=other["id"], listener_id=listener["id"])
    await new_pool(409, "ListenerDefaultPoolAlreadySet", listener_id=listener["id"])
    bare = await v2.listener(root, protocol_port=82)
    await new_pool(409, "ListenerPoolProtocolMismatch", listener_id=bare["id"], protocol="TCP")
    at = {"loadbalancer_id": root["id"]}
    await new_pool(400, "HTTPBadRequest", session_persistence={"cookie_name": "c"}, **at)
    for persistence in ({"type": "APP_COOKIE"}, {"type": "SOURCE_IP", "cookie_name": "c"}):
        await new_pool(400, "SessionPersistenceConfigurationInvalid", session_persistence=persistence, **at)
    theirs = await v2.pool(other)
    change = {"listener": {"default_pool_id": theirs["id"]}}
    await refused(api, "PUT", f"/listeners/{listener['id']}", 400, apart, change)


async def test_monitors_and_policies_are_refused_by_name(api: Client, v2: Maker) -> None:
    root = await v2.root()
    pool, listener = await v2.pool(root), await v2.listener(root)
    await v2.monitor(pool)
    body = {"healthmonitor": {"pool_id": pool["id"], "type": "PING", "delay": 5, "timeout": 3, "max_retries": 2}}
    await refused(api, "POST", "/healthmonitors", 409, "OneHealthMonitorPerPool", body)
    policy = {"l7policy": {"listener_id": listener["id"], "action": "REDIRECT_TO_POOL"}}
    await refused(api, "POST", "/l7policies", 409, "L7PolicyRedirectPoolIdMissing", policy)
    url = {"l7policy": {"listener_id": listener["id"], "action": "REDIRECT_TO_URL", "redirect_url": "nonsense"}}
    await refused(api, "POST", "/l7policies", 400, "HTTPBadRequest", url)
    made = await v2.make("l7policy", listener_id=listener["id"], action="REJECT")
    redirect = {"l7policy": {"action": "REDIRECT_TO_POOL"}}
    await refused(api, "PUT", f"/l7policies/{made['id']}", 409, "L7PolicyRedirectPoolIdMissing", redirect)
    rules = f"/l7policies/{made['id']}/rules"

    async def new_rule(status: int, kind: str, **attributes: Any) -> None:
        await refused(api, "POST", rules, status, kind, {"rule": {"value": "x", **attributes}})

    await new_rule(404, "L7RuleKeyMissing", type="HEADER", compare_type="EQUAL_TO")
    await new_rule(400, "L7RuleInvalidRegex", type="PATH", compare_type="REGEX", value="(")
    await new_rule(400, "L7RuleUnsupportedCompareType", type="FILE_TYPE", compare_type="CONTAINS")


async def test_graph_that_contradicts_itself_is_refused_by_name(api: Client) -> None:
    listener = {"protocol": "HTTP", "protocol_port": 80}
    graph = {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID, "listeners": [listener, listener]}}
    await refused(api, "POST", "/graphs", 409, "LoadBalancerListenerProtocolPortExists", {"graph": graph})
    policy = {"action": "REDIRECT_TO_POOL"}
    graph["loadbalancer"]["listeners"] = [{**listener, "l7policies": [policy]}]
    await refused(api, "POST", "/graphs", 409, "L7PolicyRedirectPoolIdMissing", {"graph": graph})


async def test_quota_is_reported_as_neutron_reports_it(api: Client, v2: Maker) -> None:
    await api.put("/neutron/v2.0/quotas/default", {"quota": {"loadbalancer": "1"}})
    await v2.root()
    body = {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID}}
    assert "Load Balancer" in await refused(api, "POST", "/loadbalancers", 409, "OverQuota", body)
