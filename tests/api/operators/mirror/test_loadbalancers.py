"""A whole load balancer is put, put again with differences, and deleted."""

from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.operators.mirror.conftest import (
    LB,
    LISTENER,
    MEMBER,
    MIRROR,
    MONITOR,
    OTHER_MEMBER,
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

NEW = uid(99)


async def shown(api: Client, id_: str = LB) -> Any:
    return (await api.get(f"/loadbalancers/{id_}"))["loadbalancer"]


async def test_a_load_balancer_that_is_put_has_its_ids_vip_and_children(api: Client, octavia: Octavia) -> None:
    answer = await octavia.put(whole(name="web", tags=["t"]))
    assert answer == {"id": LB, "revision": 1, "provisioning_status": "PENDING_CREATE"}
    stored = await shown(api)
    assert (stored["name"], stored["tags"], stored["project_id"]) == ("web", ["t"], "p1")
    assert (stored["vip_address"], stored["vip_port_id"]) == ("203.0.113.5", "octavia-port")
    assert (stored["vip_subnet_id"], stored["vip_network_id"]) == ("octavia-subnet", "octavia-network")
    assert [row["id"] for row in (await api.get(f"/pools/{POOL}/members"))["members"]] == [MEMBER, OTHER_MEMBER]
    assert (await api.get(f"/listeners/{LISTENER}"))["listener"]["default_pool_id"] == POOL
    assert (await api.get(f"/pools/{POOL}"))["pool"]["healthmonitor_id"] == MONITOR
    assert (await api.get(f"/l7policies/{POLICY}"))["l7policy"]["redirect_pool_id"] == POOL
    assert (await api.get(f"/l7policies/{POLICY}/rules/{RULE}"))["rule"]["value"] == "/api"


async def test_the_driver_hears_of_each_written_revision_once(octavia: Octavia, sink: Sink) -> None:
    await octavia.put(whole())
    await octavia.put(whole())
    await octavia.put(whole(name="other"))
    assert [(change.load_balancer_id, change.revision) for change in sink.changes] == [(LB, 1), (LB, 2)]


async def test_the_same_tree_again_writes_nothing_but_snapshot_and_digest(octavia: Octavia) -> None:
    await octavia.put(whole())
    before = await octavia.status()
    answer = await octavia.put(whole(), digest="e")
    after = await octavia.status()
    assert answer["revision"] == 1
    assert after == before | {"snapshot": before["snapshot"] + 1, "digest": "e"}


async def test_differences_are_one_revision_and_only_what_they_touch_is_pending(api: Client, placed: Octavia) -> None:
    changed = pool(members=[member(weight=7), member(NEW, 3)])
    answer = await placed.put(whole(pools=[changed]))
    assert answer == {"id": LB, "revision": 2, "provisioning_status": "PENDING_UPDATE"}
    status = await placed.status()
    pending = {
        row["id"]: row["provisioning_status"]
        for name in ("listeners", "pools", "members", "healthmonitors", "l7policies", "l7rules")
        for row in status[name]
    }
    assert pending == {
        LISTENER: "PENDING_UPDATE",
        POOL: "PENDING_UPDATE",
        MEMBER: "PENDING_UPDATE",
        OTHER_MEMBER: "PENDING_DELETE",
        NEW: "PENDING_CREATE",
        MONITOR: "ACTIVE",
        POLICY: "ACTIVE",
        RULE: "ACTIVE",
    }
    rows = {row["id"]: row for row in (await api.get(f"/pools/{POOL}/members"))["members"]}
    assert rows[MEMBER]["weight"] == 7


async def test_a_tree_without_children_deletes_them_all(placed: Octavia) -> None:
    await placed.put(whole(listeners=[], pools=[]))
    status = await placed.status()
    for name in ("listeners", "pools", "members", "healthmonitors", "l7policies", "l7rules"):
        assert {row["provisioning_status"] for row in status[name]} == {"PENDING_DELETE"}


async def test_an_object_that_comes_back_before_its_delete_was_applied_is_live_again(
    api: Client, placed: Octavia
) -> None:
    await placed.put(whole(pools=[pool(members=[])]))
    await placed.put(whole(pools=[pool(members=[member(weight=3), member(OTHER_MEMBER, 2)])]))
    rows = {row["id"]: row for row in (await placed.status())["members"]}
    assert {row["provisioning_status"] for row in rows.values()} == {"PENDING_UPDATE"}
    assert (await api.get(f"/pools/{POOL}/members/{MEMBER}"))["member"]["weight"] == 3


async def test_members_that_swap_their_addresses_keep_their_ids(api: Client, placed: Octavia) -> None:
    await placed.put(whole(pools=[pool(members=[member(MEMBER, 2), member(OTHER_MEMBER, 1)])]))
    rows = {row["id"]: row["address"] for row in (await api.get(f"/pools/{POOL}/members"))["members"]}
    assert rows == {MEMBER: "10.20.0.2", OTHER_MEMBER: "10.20.0.1"}


async def test_a_member_of_another_id_may_have_the_address_of_one_that_goes(placed: Octavia) -> None:
    await placed.put(whole(pools=[pool(members=[member(NEW, 1)])]))
    rows = {row["id"]: row["provisioning_status"] for row in (await placed.status())["members"]}
    assert rows == {MEMBER: "PENDING_DELETE", OTHER_MEMBER: "PENDING_DELETE", NEW: "PENDING_CREATE"}


async def test_children_that_go_before_the_load_balancer_was_placed_leave_no_row(octavia: Octavia) -> None:
    await octavia.put(whole())
    await octavia.put(whole(listeners=[], pools=[]))
    status = await octavia.status()
    assert (status["listeners"], status["members"], status["l7rules"]) == ([], [], [])


async def test_a_new_pending_operation_is_applied_even_if_the_tree_is_equal(placed: Octavia, sink: Sink) -> None:
    assert (await placed.put(whole(), change="failover-1"))["revision"] == 2
    assert (await placed.put(whole(), change="failover-1"))["revision"] == 2
    assert (await placed.put(whole()))["revision"] == 2
    assert (await placed.put(whole(), change="failover-2"))["revision"] == 3


# -- the order of states


async def test_an_older_snapshot_is_refused_and_changes_nothing(octavia: Octavia) -> None:
    await octavia.put(whole(), snapshot=2_000.5)
    before = await octavia.status()
    refused = await octavia.put(whole(name="old"), snapshot=2_000.25, status=409)
    assert (refused["faultcode"], refused["debuginfo"]) == ("Client", "stale_snapshot")
    assert (await octavia.delete(snapshot=1_999, status=409))["debuginfo"] == "stale_snapshot"
    assert await octavia.status() == before


async def test_a_state_from_before_the_delete_does_not_bring_a_load_balancer_back(octavia: Octavia) -> None:
    await octavia.put(whole(), snapshot=1)
    await octavia.delete(snapshot=3)
    assert (await octavia.put(whole(), snapshot=2, status=409))["debuginfo"] == "stale_snapshot"
    assert await octavia.status() is None
    assert (await octavia.put(whole(), snapshot=4))["revision"] == 1


async def test_a_delete_that_overtakes_the_first_put_wins(octavia: Octavia) -> None:
    await octavia.delete(snapshot=5)
    assert (await octavia.put(whole(), snapshot=4, status=409))["debuginfo"] == "stale_snapshot"


# -- deletes


async def test_a_delete_takes_everything_and_may_be_repeated(api: Client, placed: Octavia, sink: Sink) -> None:
    await placed.delete()
    status = await placed.status()
    assert status["provisioning_status"] == "PENDING_DELETE"
    assert {row["provisioning_status"] for row in status["members"]} == {"PENDING_DELETE"}
    told = len(sink.changes)
    await placed.delete()
    assert len(sink.changes) == told


async def test_a_load_balancer_that_was_never_placed_is_gone_at_once(octavia: Octavia) -> None:
    await octavia.put(whole())
    await octavia.delete()
    assert await octavia.status() is None


async def test_a_put_of_one_that_is_being_deleted_is_refused(placed: Octavia) -> None:
    await placed.delete()
    assert (await placed.put(whole(), status=409))["debuginfo"] == "being_deleted"


# -- ids


@pytest.mark.parametrize("kind", ["unmirrored", "own pool as member", "another's listener", "another's member"])
async def test_an_id_of_another_object_is_refused_and_nothing_changes(api: Client, placed: Octavia, kind: str) -> None:
    before = await placed.status()
    if kind == "unmirrored":
        own = (await api.load_balancer(project_id="p1"))["id"]
        refused = await placed.put(whole(vip_address="203.0.113.6"), id_=own, status=409)
    elif kind == "own pool as member":
        # the pool that is there becomes a member of a new one
        body = whole(listeners=[], pools=[pool(id=NEW, healthmonitor=None, members=[member(POOL)])])
        refused = await placed.put(body, status=409)
    elif kind == "another's listener":
        body = whole(vip_address="203.0.113.6", pools=[], listeners=[listener(default_pool_id=None, l7policies=[])])
        refused = await placed.put(body, id_=NEW, status=409)
    else:
        other = pool(id=uid(50), healthmonitor=None, members=[member()])
        refused = await placed.put(whole(vip_address="203.0.113.6", listeners=[], pools=[other]), id_=NEW, status=409)
    assert refused["debuginfo"] == "id_taken"
    assert await placed.status() == before
    assert await placed.status(NEW) is None


async def test_another_providers_load_balancer_is_refused(api: Client, octavia: Octavia) -> None:
    await api.post("/evenkeel/v1/environments", {"environment": {"name": "gold", "device_driver": "noop"}})
    await octavia.put(whole())
    assert (await octavia.put(whole(provider="gold"), status=409))["debuginfo"] == "id_taken"
    refused = await api.delete(f"{MIRROR}/loadbalancers/{LB}?provider=gold&snapshot=9999", 409)
    assert refused["debuginfo"] == "id_taken"


async def test_a_load_balancer_that_is_no_mirror_is_not_deleted(api: Client, octavia: Octavia) -> None:
    own = (await api.load_balancer(project_id="p1"))["id"]
    assert (await octavia.delete(id_=own, status=409))["debuginfo"] == "id_taken"
    assert (await shown(api, own))["provisioning_status"] == "PENDING_CREATE"
    assert await octavia.status(own) is None


async def test_a_vip_address_of_another_load_balancer_is_refused(octavia: Octavia) -> None:
    await octavia.put(whole())
    refused = await octavia.put(whole(listeners=[], pools=[]), id_=NEW, status=409)
    assert refused["debuginfo"] == "address_taken"


async def test_an_address_that_a_deleted_load_balancer_still_has_becomes_free_later(placed: Octavia) -> None:
    await placed.delete()
    refused = await placed.put(whole(listeners=[], pools=[]), id_=NEW, status=409)
    assert refused["debuginfo"] == "being_deleted"


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("vip_address", "203.0.113.9"),
        ("vip_port_id", "another"),
        ("project_id", "p2"),
        ("additional_vips", [{"subnet_id": "more", "ip_address": "203.0.113.77"}]),
        ("availability_zone_data", {"environment_group_number": 2}),
    ],
)
async def test_a_change_of_a_fixed_attribute_is_refused(octavia: Octavia, attribute: str, value: Any) -> None:
    await octavia.put(whole())
    refused = await octavia.put(whole(**{attribute: value}), status=400)
    assert "cannot be changed" in refused["faultstring"]
    assert (await octavia.status())["revision"] == 1


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (whole(listeners=[listener(default_pool_id=NEW, l7policies=[])]), "default_pool_id"),
        (whole(pools=[pool(members=[member(), member(NEW, 1)])]), "10.20.0.1"),
        (whole(pools=[pool(members=[member(), member(MEMBER, 2)])]), MEMBER),
        (whole(id=NEW), "id"),
        (whole(listeners=[listener(id="no")]), "id"),
        (whole(listeners=[listener(), listener(id=NEW, l7policies=[])]), "80"),
        (whole(pools=[pool(protocol="TCP")]), "protocol"),
        (whole(provider="nowhere"), "nowhere"),
        (whole(vip_address="127.0.0.1"), "vip_address"),
        (whole(surprise=1), "surprise"),
        (whole(flavor_data={"enhanced_services": "no list"}), "flavor_data"),
    ],
)
async def test_a_tree_that_contradicts_itself_is_refused_by_name(
    octavia: Octavia, body: dict[str, Any], named: str
) -> None:
    refused = await octavia.put(body, status=400)
    assert named in refused["faultstring"]
    assert await octavia.status() is None


@pytest.mark.parametrize("id_", ["x", uid(1).upper().replace("0", "A"), uid(1) + "0"])
async def test_an_id_that_is_no_uuid_is_refused(octavia: Octavia, id_: str) -> None:
    await octavia.put(whole(), id_=id_, status=400)
    await octavia.delete(id_=id_, status=400)


@pytest.mark.parametrize(
    "query", ["", "provider=dev", "snapshot=1", "provider=dev&snapshot=-1", "provider=&snapshot=1"]
)
async def test_a_delete_needs_a_provider_and_a_snapshot(api: Client, query: str) -> None:
    await api.delete(f"{MIRROR}/loadbalancers/{LB}?{query}", 400)


# -- tenants


CHANGES = {
    "load balancer": ("PUT", f"/loadbalancers/{LB}", {"loadbalancer": {"name": "mine"}}),
    "delete": ("DELETE", f"/loadbalancers/{LB}?cascade=true", None),
    "listener": ("PUT", f"/listeners/{LISTENER}", {"listener": {"name": "mine"}}),
    "pool": ("DELETE", f"/pools/{POOL}", None),
    "new pool": ("POST", "/pools", {"pool": {"loadbalancer_id": LB, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}),
    "new member": ("POST", f"/pools/{POOL}/members", {"member": {"address": "10.1.1.1", "protocol_port": 1}}),
    "members": ("PUT", f"/pools/{POOL}/members", {"members": []}),
    "member": ("DELETE", f"/pools/{POOL}/members/{MEMBER}", None),
    "monitor": ("PUT", f"/healthmonitors/{MONITOR}", {"healthmonitor": {"delay": 9}}),
    "policy": ("DELETE", f"/l7policies/{POLICY}", None),
    "rule": ("PUT", f"/l7policies/{POLICY}/rules/{RULE}", {"rule": {"value": "/mine"}}),
    "LBaaS v2": ("PUT", f"/neutron/v2.0/lbaas/loadbalancers/{LB}", {"loadbalancer": {"name": "mine"}}),
    "LBaaS v2 pool": ("DELETE", f"/neutron/v2.0/lbaas/pools/{POOL}", None),
    "LBaaS v1 pool": ("PUT", f"/neutron/v2.0/lb/pools/{POOL}", {"pool": {"name": "mine"}}),
    "LBaaS v1 pool's delete": ("DELETE", f"/neutron/v2.0/lb/pools/{POOL}", None),
    "LBaaS v1 member": ("PUT", f"/neutron/v2.0/lb/members/{MEMBER}", {"member": {"weight": 7}}),
    "LBaaS v1 vip": ("PUT", f"/neutron/v2.0/lb/vips/{LISTENER}", {"vip": {"name": "mine"}}),
    "LBaaS v1 vip's delete": ("DELETE", f"/neutron/v2.0/lb/vips/{LISTENER}", None),
    "LBaaS v1 monitor": ("PUT", f"/neutron/v2.0/lb/health_monitors/{MONITOR}", {"health_monitor": {"delay": 9}}),
    "LBaaS v1 association": ("DELETE", f"/neutron/v2.0/lb/pools/{POOL}/health_monitors/{MONITOR}", None),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_by_our_own_apis_is_refused(api: Client, placed: Octavia, change: str) -> None:
    before = await placed.status()
    method, path, body = CHANGES[change]
    refused = await api.call(method, path, 409, body)
    assert "'dev'" in str(refused)
    assert await placed.status() == before


async def test_an_administrators_failover_is_a_revision_that_changes_nothing(api: Client, placed: Octavia) -> None:
    await api.put(f"/loadbalancers/{LB}/failover", None, 202)
    assert (await placed.status())["revision"] == 2
    assert (await placed.put(whole()))["revision"] == 2


async def test_quotas_of_the_project_do_not_apply(api: Client, octavia: Octavia, store: SqlStore) -> None:
    await api.put("/quotas/p1", {"quota": {"loadbalancer": 0, "member": 0, "pool": 0}}, 202)
    await octavia.put(whole())
    await octavia.put(whole(pools=[pool(members=[member(), member(OTHER_MEMBER, 2), member(NEW, 3)])]))


async def test_a_tenants_own_load_balancer_is_no_mirror(api: Client, octavia: Octavia) -> None:
    own = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    assert await octavia.status(own["id"]) is None
    await api.put(f"/loadbalancers/{own['id']}", {"loadbalancer": {"name": "mine"}})


async def test_a_tree_larger_than_other_bodies_may_be_is_taken(store: SqlStore) -> None:
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=Sink(), default_provider="dev", max_body_bytes=4096)
    async with Client.of(app) as api:
        members = [member(uid(100 + number), 1, protocol_port=1 + number) for number in range(200)]
        assert (await Octavia(api, store).put(whole(pools=[pool(members=members)])))["revision"] == 1
        await api.post(f"{MIRROR}/statuses", {"ids": [uid(number) for number in range(200)]}, 413)


# -- statuses


async def test_statuses_of_many_load_balancers_are_a_constant_number_of_queries(
    api: Client, octavia: Octavia, store: SqlStore
) -> None:
    for number in range(3):
        id_ = uid(1_000 + number)
        bare = whole(vip_address=f"203.0.113.{10 + number}", listeners=[], pools=[])
        await octavia.put(bare, id_=id_)
    counts = []
    for ids in ([uid(1_000)], [uid(1_000 + number) for number in range(500)]):
        with statements_of(store.database) as seen:
            found = (await api.post(f"{MIRROR}/statuses", {"ids": ids}, 200))["loadbalancers"]
        counts.append((len(seen), len(found)))
    assert counts == [(7, 1), (7, 3)]


async def test_more_ids_than_allowed_are_refused(api: Client) -> None:
    await api.post(f"{MIRROR}/statuses", {"ids": [uid(number) for number in range(501)]}, 400)
    await api.post(f"{MIRROR}/statuses", {"ids": ["x"]}, 400)


async def test_the_reason_of_an_error_is_shown(octavia: Octavia, store: SqlStore) -> None:
    await octavia.put(whole())
    await store.scheduling.store_unplaced_reason([LB], "no agent is there")  # type: ignore[list-item]
    assert (await octavia.status())["status_reason"] == "no agent is there"


@pytest.mark.parametrize("protocol", ["HTTP", "HTTPS", "TCP", "UDP", "SCTP", "PROMETHEUS", "TERMINATED_HTTPS"])
async def test_values_that_octavia_stores_for_attributes_nobody_gave_are_taken(octavia: Octavia, protocol: str) -> None:
    """Defaults of the columns of Octavia 19's tables, as its API shows them."""
    stored: dict[str, Any] = {
        "name": "",
        "description": "",
        "connection_limit": -1,
        "admin_state_up": True,
        "insert_headers": {},
        "timeout_client_data": 50000,
        "timeout_member_connect": 5000,
        "timeout_member_data": 50000,
        "timeout_tcp_inspect": 0,
        "client_authentication": "NONE",
        "hsts_include_subdomains": False,
        "hsts_preload": False,
        "allowed_cidrs": [],
        "sni_container_refs": [],
        "tags": [],
        "default_pool_id": None,
        "l7policies": [],
    }
    if protocol == "TERMINATED_HTTPS":
        stored["default_tls_container_ref"] = "http://barbican/v1/containers/1"
    pools = [
        {
            "id": uid(60),
            "protocol": protocol if protocol in ("HTTP", "HTTPS", "TCP", "UDP", "SCTP") else "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "name": "",
            "description": "",
            "admin_state_up": True,
            "tls_enabled": False,
            "session_persistence": None,
            "tags": [],
            "members": [member(name="", admin_state_up=True, weight=1, backup=False, subnet_id=None, tags=[])],
        }
    ]
    body = whole(
        listeners=[{"id": LISTENER, "protocol": protocol, "protocol_port": 80, **stored}],
        pools=pools,
        name="",
        description="",
        additional_vips=[],
        vip_sg_ids=[],
        flavor_data={},
    )
    first = await octavia.put(body)
    assert (await octavia.put(body)) == first
