"""Objects, flavors and zones are checked before an Octavia stores them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.api.app import create_app
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.ports import Store
from evenkeel.devices.haproxy.capabilities import CAPABILITIES
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client, Sink
from tests.api.operators.mirror.conftest import (
    LB,
    LISTENER,
    MIRROR,
    POLICY,
    POOL,
    RULE,
    Octavia,
    listener,
    member,
    pool,
    uid,
    whole,
)
from tests.store.conftest import statements_of

RULE_BODY = {"id": RULE, "type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}
POLICY_BODY = {"id": POLICY, "action": "REDIRECT_TO_POOL", "redirect_pool_id": POOL, "rules": [RULE_BODY]}
MONITOR_BODY = {"id": uid(6), "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}


@pytest.fixture
async def haproxy(store: Store) -> AsyncIterator[Client]:
    """The API with the capabilities of HAProxy."""
    async with client_with(store, CAPABILITIES) as client:
        yield client


def client_with(store: Store, capabilities: Capabilities) -> Client:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        capabilities={"noop": capabilities},
    )
    return Client.of(app)


async def check(api: Client, kind: str, body: Any, status: int = 204, **more: Any) -> str:
    """The error's text; empty if the check passed."""
    asked = {"provider": "dev", "operation": "create", "kind": kind, "object": body, **more}
    answer = await api.post(f"{MIRROR}/check", asked, status)
    return "" if answer is None else str(answer["faultstring"])


NO_VIP = {name: value for name, value in whole().items() if not name.startswith("vip_")}
GOOD: dict[str, Any] = {
    "loadbalancer": whole(),
    "listener": listener(),
    "pool": pool(),
    "member": member(),
    "members": {"members": [member(), member(uid(9), 2)]},
    "healthmonitor": MONITOR_BODY,
    "l7policy": POLICY_BODY,
    "l7rule": RULE_BODY,
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("operation", ["create", "update"])
async def test_an_object_that_the_device_type_can_have_passes(api: Client, kind: str, operation: str) -> None:
    await check(api, kind, GOOD[kind], operation=operation)


async def test_a_load_balancer_without_vip_passes(api: Client) -> None:
    await check(api, "loadbalancer", NO_VIP)


@pytest.mark.parametrize("operation", ["delete", "failover"])
async def test_deletes_and_failovers_need_a_provider_only(api: Client, operation: str) -> None:
    await check(api, "pool", {}, operation=operation)
    assert "nowhere" in await check(api, "pool", {}, 400, operation=operation, provider="nowhere")


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        ("listener", listener(protocol="PROMETHEUS"), "PROMETHEUS"),
        ("pool", pool(lb_algorithm="SOMETHING"), "lb_algorithm"),
        ("pool", {"protocol": "HTTP"}, "id"),
        ("member", member(address="nowhere"), "address"),
        ("members", {"members": [member(), member(uid(9), 1)]}, "10.20.0.1"),
        ("healthmonitor", {**MONITOR_BODY, "type": "PING", "url_path": "/"}, "PING"),
        ("l7policy", {**POLICY_BODY, "action": "REDIRECT_TO_URL"}, "redirect_url"),
        ("l7rule", {**RULE_BODY, "value": ""}, "value"),
        ("loadbalancer", {**NO_VIP, "listeners": [listener(default_pool_id=uid(70))]}, "default_pool_id"),
        ("loadbalancer", {**NO_VIP, "surprise": 1}, "surprise"),
    ],
)
async def test_an_object_that_breaks_a_rule_is_refused_by_name(
    api: Client, kind: str, body: dict[str, Any], named: str
) -> None:
    assert named in await check(api, kind, body, 400)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("pool", pool(protocol="UDP", lb_algorithm="LEAST_CONNECTIONS", healthmonitor=None)),
        ("member", member(request_sriov=True)),
    ],
)
async def test_an_object_beyond_the_device_type_is_unsupported(
    haproxy: Client, kind: str, body: dict[str, Any]
) -> None:
    assert "Provider 'dev' does not support a requested option" in await check(haproxy, kind, body, 501)


@pytest.mark.parametrize(
    ("kind", "body", "more"),
    [
        ("listener", listener(protocol="UDP", l7policies=[]), {"pool_protocol": "HTTP"}),
        ("pool", pool(protocol="UDP", healthmonitor=None), {"listener_protocol": "HTTP"}),
        ("healthmonitor", {**MONITOR_BODY, "type": "UDP-CONNECT"}, {"pool_protocol": "HTTP"}),
        ("l7policy", POLICY_BODY, {"listener_protocol": "TCP"}),
        ("l7policy", POLICY_BODY, {"listener_protocol": "HTTP", "pool_protocol": "UDP"}),
    ],
)
async def test_protocols_around_an_object_are_part_of_the_check(
    api: Client, kind: str, body: dict[str, Any], more: dict[str, Any]
) -> None:
    assert await check(api, kind, body) == ""
    refused = await check(api, kind, body, 400, **more)
    assert any(protocol in refused for protocol in more.values())


@pytest.mark.parametrize("change", [{"kind": "amphora"}, {"operation": "show"}, {"object": []}, {"other": 1}])
async def test_a_check_of_another_form_is_refused(api: Client, change: dict[str, Any]) -> None:
    body = {"provider": "dev", "operation": "create", "kind": "pool", "object": pool(), **change}
    await api.post(f"{MIRROR}/check", body, 400)


# -- what is around an object

KERNEL = {"data_path": "kernel"}
PLAIN_POOL = pool(protocol="TCP", healthmonitor=None)
PLAIN = {"listeners": [listener(protocol="TCP", protocol_port=7000, l7policies=[])], "pools": [PLAIN_POOL]}


@pytest.fixture
async def forwarded(haproxy: Client, store: SqlStore) -> Client:
    """With a mirrored load balancer whose TCP connections the kernel forwards."""
    await Octavia(haproxy, store).put(whole(flavor_data=KERNEL, **PLAIN))
    return haproxy


@pytest.mark.parametrize(
    ("kind", "body", "above", "named"),
    [
        ("listener", listener(default_pool_id=None, l7policies=[]), {"loadbalancer_id": LB}, "protocol HTTP"),
        (
            "listener",
            {"id": uid(20), "protocol": "TCP", "protocol_port": 7001, "timeout_client_data": 1},
            {"loadbalancer_id": LB},
            "timeout_client_data 1",
        ),
        (
            "listener",
            {"id": uid(20), "protocol": "TCP", "protocol_port": 7001, "tags": ["esd:any"]},
            {"loadbalancer_id": LB},
            "tags 'esd:any'",
        ),
        ("pool", pool(id=uid(21), members=[], healthmonitor=None), {"loadbalancer_id": LB}, "protocol HTTP"),
        (
            "pool",
            {"id": uid(21), "protocol": "TCP", "lb_algorithm": "LEAST_CONNECTIONS"},
            {"listener_id": LISTENER},
            "LEAST_CONNECTIONS",
        ),
        ("member", member(uid(22), address="2001:db8::9"), {"pool_id": POOL}, "IPv4, as all VIPs"),
        ("members", {"members": [member(uid(22), address="2001:db8::9")]}, {"pool_id": POOL}, "IPv4, as all VIPs"),
        ("healthmonitor", {**MONITOR_BODY, "delay": 100_000}, {"pool_id": POOL}, "delay 100000"),
    ],
)
async def test_a_child_is_checked_with_the_flavor_of_its_stored_load_balancer(
    forwarded: Client, kind: str, body: dict[str, Any], above: dict[str, str], named: str
) -> None:
    assert named in await check(forwarded, kind, body, 501, **above)


async def test_a_policy_is_checked_with_its_stored_listener_and_pool(haproxy: Client, store: SqlStore) -> None:
    plain = [listener(), listener(id=uid(25), protocol="TCP", protocol_port=7000, l7policies=[])]
    await Octavia(haproxy, store).put(
        whole(listeners=plain, pools=[pool(), {**PLAIN_POOL, "id": uid(26), "members": []}])
    )
    rejecting = {"id": uid(23), "action": "REJECT"}
    await check(haproxy, "l7policy", rejecting, listener_id=LISTENER)
    await check(haproxy, "l7policy", rejecting, 400, listener_id=uid(25))
    redirecting = {"id": uid(23), "action": "REDIRECT_TO_POOL", "redirect_pool_id": uid(26)}
    assert "TCP" in await check(haproxy, "l7policy", redirecting, 400, listener_id=LISTENER)


async def test_changes_and_children_that_the_kernels_path_has_pass(forwarded: Client) -> None:
    more = {"id": uid(20), "protocol": "HTTPS", "protocol_port": 7001, "default_pool_id": POOL}
    await check(forwarded, "listener", more, loadbalancer_id=LB)
    await check(forwarded, "member", member(uid(22), 9), pool_id=POOL)
    await check(forwarded, "pool", {**PLAIN_POOL, "members": []}, operation="update", loadbalancer_id=LB)


async def test_a_child_of_a_load_balancer_that_is_not_stored_is_checked_without_it(haproxy: Client) -> None:
    await check(haproxy, "listener", listener(default_pool_id=None, l7policies=[]), loadbalancer_id=uid(77))
    await check(haproxy, "member", member(uid(22), address="2001:db8::9"), pool_id=uid(78))


async def test_a_listeners_stored_pool_and_a_pools_listeners_are_part_of_the_check(
    haproxy: Client, store: SqlStore
) -> None:
    of_http = pool(healthmonitor=None)
    await Octavia(haproxy, store).put(whole(listeners=PLAIN["listeners"], pools=[of_http]))
    web = {"id": uid(20), "protocol": "UDP", "protocol_port": 81, "default_pool_id": POOL}
    assert "UDP" in await check(haproxy, "listener", web, 400, loadbalancer_id=LB)
    sticky = {**of_http, "members": [], "session_persistence": {"type": "HTTP_COOKIE"}}
    refused = await check(haproxy, "pool", sticky, 501, operation="update", loadbalancer_id=LB)
    assert "HTTP_COOKIE" in refused
    monitor = {"id": uid(24), "type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 2}
    assert "UDP-CONNECT" in await check(haproxy, "healthmonitor", monitor, 400, pool_id=POOL)


async def test_another_providers_load_balancer_does_not_count(haproxy: Client, store: SqlStore) -> None:
    await store.operators.add_environment(Environment(name="other", device_driver="noop"))
    await Octavia(haproxy, store).put(whole(flavor_data=KERNEL, **PLAIN))
    wanted = listener(default_pool_id=None, l7policies=[])
    await check(haproxy, "listener", wanted, provider="other", loadbalancer_id=LB)
    await check(haproxy, "listener", wanted, 501, loadbalancer_id=LB)


async def test_services_are_not_for_load_balancers_that_the_kernel_forwards(haproxy: Client) -> None:
    flavor = {**KERNEL, "enhanced_services": ["any"]}
    refused = await check(haproxy, "loadbalancer", whole(flavor_data=flavor, **PLAIN), 501)
    assert "enhanced_services 'any'" in refused
    body = {"snapshot": 1.0, "digest": "d", "loadbalancer": whole(flavor_data=flavor, **PLAIN)}
    stored = await haproxy.put(f"{MIRROR}/loadbalancers/{LB}", body, 501)
    assert "enhanced_services 'any'" in stored["faultstring"]


@pytest.mark.parametrize("kind", ["member", "members", "pool", "loadbalancer"])
async def test_members_that_are_vips_of_the_same_devices_are_refused_where_these_cannot_chain(
    store: SqlStore, kind: str
) -> None:
    async with client_with(store, replace(CAPABILITIES, chaining=False)) as api:
        await Octavia(api, store).put(whole())
        vip = member(uid(22), address=whole()["vip_address"])
        bodies: dict[str, Any] = {
            "member": vip,
            "members": {"members": [vip]},
            "pool": pool(id=uid(21), members=[vip], healthmonitor=None),
            "loadbalancer": {**NO_VIP, "listeners": [], "pools": [pool(members=[vip], healthmonitor=None)]},
        }
        above = {"loadbalancer": {}, "pool": {"loadbalancer_id": LB}}.get(kind, {"pool_id": POOL})
        assert whole()["vip_address"] in await check(api, kind, bodies[kind], 501, **above)


async def test_a_check_writes_nothing_and_reads_no_load_balancer(api: Client, store: SqlStore) -> None:
    await check(api, "loadbalancer", whole())
    with statements_of(store.database) as seen:
        await check(api, "loadbalancer", whole())
    assert seen == []


# -- flavors and zones


async def test_metadata_that_the_provider_knows_pass_and_others_do_not(haproxy: Client) -> None:
    async def asked(path: str, status: int, **metadata: Any) -> Any:
        return await haproxy.post(f"{MIRROR}/{path}", {"provider": "dev", "metadata": metadata}, status)

    await asked("check-flavor", 204)
    await asked("check-availability-zone", 204, environment_group_number=2)
    assert "compute_zone" in (await asked("check-availability-zone", 501, compute_zone="x"))["faultstring"]
    await asked("check-availability-zone", 400, environment_group_number="two")
    assert "amp_image" in (await asked("check-flavor", 501, amp_image="x"))["faultstring"]


async def test_known_metadata_are_listed_with_their_meanings(haproxy: Client) -> None:
    zones = (await haproxy.get(f"{MIRROR}/availability-zone-metadata?provider=dev"))["metadata"]
    assert zones[0]["name"] == "environment_group_number" and zones[0]["description"]
    flavors = (await haproxy.get(f"{MIRROR}/flavor-metadata?provider=dev"))["metadata"]
    assert {row["name"] for row in flavors} == set(CAPABILITIES.flavor_metadata or {})
    await haproxy.get(f"{MIRROR}/flavor-metadata", 400)
