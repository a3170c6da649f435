"""Load balancers of another system are imported with their ids: checked, created once, and never changed again."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evenkeel.api.app import create_app
from evenkeel.cli.moving_in.lbaas_v2 import LbaasDocuments, convert_load_balancers
from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.networking.network import RETRY
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.neutron.maker import LBAAS, Maker
from tests.api.operators.conftest import BASE, kinds
from tests.api.operators.mirror.conftest import (
    LB,
    LISTENER,
    MEMBER,
    POLICY,
    POOL,
    RULE,
    Octavia,
    member,
    pool,
    uid,
    whole,
)
from tests.api.stores import started_store


@pytest.fixture
def v2(api: Client) -> Maker:
    """Makes objects through LBaaS v2."""
    return Maker(api)


PORT = "11111111-2222-4333-8444-555555555555"


async def given(api: Client, **changes: Any) -> dict[str, Any]:
    """A whole load balancer with a VIP of the built-in network."""
    subnet = (await api.get(f"{BASE}/subnets"))["subnets"][0]
    body = whole(vip_subnet_id=subnet["id"], vip_port_id=PORT, vip_address="10.10.7.5", name="web", **changes)
    del body["vip_network_id"]
    return body


async def put(api: Client, body: dict[str, Any], *, apply: bool = True, status: int = 200, id_: str = LB) -> Any:
    answer = await api.put(f"{BASE}/imports/loadbalancers/{id_}", {"apply": apply, "loadbalancer": body}, status)
    return answer["import"] if status == 200 else answer


async def test_import_keeps_ids_vip_and_port_and_the_load_balancer_is_the_tenants(api: Client, sink: Sink) -> None:
    body = await given(api)
    assert (await put(api, body, apply=False))["outcome"] == "new"
    await api.get(f"/loadbalancers/{LB}", 404)
    assert (await put(api, body))["outcome"] == "imported"
    stored = (await api.get(f"/loadbalancers/{LB}"))["loadbalancer"]
    assert (stored["vip_address"], stored["vip_port_id"], stored["project_id"]) == ("10.10.7.5", PORT, "p1")
    assert (await api.get(f"/listeners/{LISTENER}"))["listener"]["default_pool_id"] == POOL
    assert (await api.get(f"/pools/{POOL}/members/{MEMBER}"))["member"]["id"] == MEMBER
    assert (await api.get(f"/l7policies/{POLICY}/rules/{RULE}"))["rule"]["value"] == "/api"
    assert [change.load_balancer_id for change in sink.changes] == [LB]
    assert (await kinds(api)).count("loadbalancer_imported") == 1
    # unlike a mirror, tenants change it
    await api.put(f"/loadbalancers/{LB}", {"loadbalancer": {"name": "theirs"}}, 200)


async def test_repeated_import_changes_nothing_and_lists_what_differs(api: Client, sink: Sink) -> None:
    body = await given(api)
    await put(api, body)
    for apply in (True, False):
        assert await put(api, body, apply=apply) == {"id": LB, "outcome": "present", "differences": []}
    other = body | {"name": "other", "pools": [pool(members=[member(weight=7)])]}
    found = await put(api, other)
    assert found["outcome"] == "differs"
    assert found["differences"][0] == "name"
    assert f"member {MEMBER}: weight" in found["differences"]
    assert [text for text in found["differences"] if text.endswith("exists only here")]
    assert len(sink.changes) == 1


@pytest.mark.parametrize("apply", [True, False])
async def test_import_is_refused_for_a_taken_id_or_address(api: Client, apply: bool) -> None:
    body = await given(api)
    await put(api, body)
    other = uid(77)
    taken = await put(api, body | {"vip_address": "10.10.7.6"}, id_=other, apply=apply, status=409)
    assert "already, and does not belong to this load balancer" in str(taken)
    bare = body | {"listeners": [], "pools": []}
    in_use = await put(api, bare, id_=other, apply=apply, status=409)
    assert "10.10.7.5" in str(in_use)


async def test_import_names_the_attribute_that_is_refused(api: Client) -> None:
    body = await given(api)
    for change, named in (
        ({"vip_subnet_id": "none"}, "vip_subnet_id"),
        ({"vip_address": "10.99.0.1"}, "vip_address"),
        ({"provider": "unknown"}, "unknown"),
        ({"pools": [pool(id="POOL")]}, "id"),
    ):
        for apply in (False, True):
            assert named in str(await put(api, body | change, apply=apply, status=400))


async def test_imported_load_balancer_has_the_flavor_and_the_zone_of_this_catalogue(api: Client) -> None:
    profile = {"name": "p", "provider_name": "dev", "flavor_data": "{}"}
    profile_id = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]["id"]
    flavor = (await api.post("/flavors", {"flavor": {"name": "big", "flavor_profile_id": profile_id}}))["flavor"]
    zone_data = {"name": "z", "provider_name": "dev", "availability_zone_data": '{"environment_group_number": 1}'}
    made = await api.post("/availabilityzoneprofiles", {"availability_zone_profile": zone_data})
    zone = {"name": "east", "availability_zone_profile_id": made["availability_zone_profile"]["id"]}
    await api.post("/availabilityzones", {"availability_zone": zone})
    body = await given(api, flavor_id=flavor["id"], availability_zone="east")
    assert (await put(api, body))["outcome"] == "imported"
    stored = (await api.get(f"/loadbalancers/{LB}"))["loadbalancer"]
    assert (stored["flavor_id"], stored["availability_zone"]) == (flavor["id"], "east")
    assert (await put(api, body))["outcome"] == "present"
    without = {name: value for name, value in body.items() if name != "flavor_id"}
    assert (await put(api, without))["differences"] == ["flavor_id"]


async def test_held_load_balancer_does_not_get_another_flavor_by_another_import(api: Client) -> None:
    profile = {"name": "p", "provider_name": "dev", "flavor_data": "{}"}
    profile_id = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]["id"]
    flavor = (await api.post("/flavors", {"flavor": {"name": "big", "flavor_profile_id": profile_id}}))["flavor"]
    body = await given(api)
    path = f"{BASE}/imports/loadbalancers/{LB}"
    await api.put(path, {"apply": True, "held": True, "loadbalancer": body}, 200)
    other = {"apply": True, "held": True, "loadbalancer": body | {"flavor_id": flavor["id"]}}
    assert "flavor_id: load balancer" in str(await api.put(path, other, 409))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"flavor_id": uid(5)}, "Invalid flavor_id"),
        ({"availability_zone": "nowhere"}, "Invalid availability zone"),
        ({"flavor_id": uid(5), "flavor_data": {}}, "flavor_data: must not be given together with flavor_id"),
    ],
)
async def test_import_with_an_unknown_flavor_or_zone_is_refused(
    api: Client, change: dict[str, Any], words: str
) -> None:
    assert words in str(await put(api, await given(api, **change), apply=False, status=400))


async def test_import_does_not_touch_a_mirrored_load_balancer(api: Client, store: SqlStore) -> None:
    await Octavia(api, store).put(whole())
    assert "mirrors that of an Octavia" in str(await put(api, await given(api), status=409))


async def test_imported_load_balancers_are_not_limited_by_quotas(api: Client) -> None:
    await api.put("/quotas/p1", {"quota": {"loadbalancer": 0}}, 202)
    assert (await put(api, await given(api)))["outcome"] == "imported"


async def test_tree_shown_by_lbaas_v2_is_the_same_after_its_import_elsewhere(
    api: Client, v2: Maker, tmp_path: Path
) -> None:
    root = await v2.root(name="web", description="a site")
    pool_ = await v2.pool(root, session_persistence={"type": "APP_COOKIE", "cookie_name": "sid"})
    listener = await v2.listener(root, default_pool_id=pool_["id"])
    await v2.monitor(pool_, url_path="/up")
    policy = await v2.make(
        "l7policy", listener_id=listener["id"], action="REDIRECT_TO_POOL", redirect_pool_id=pool_["id"]
    )
    rule = {"type": "PATH", "compare_type": "REGEX", "value": "/a.*", "invert": True}
    await v2.make("rule", f"/l7policies/{policy['id']}/rules", **rule)
    member_ = {"address": "10.20.0.1", "protocol_port": 80, "weight": 7, "subnet_id": bodies.SUBNET_ID}
    await v2.make("member", f"/pools/{pool_['id']}/members", **member_)
    before = await lists(api, pool_["id"], policy["id"])
    documents = LbaasDocuments()
    for name, rows in before.items():
        documents.add({name: rows}, name)
    (found,) = convert_load_balancers(documents)
    assert not found.lost
    (elsewhere_path := tmp_path / "other").mkdir()
    async with started_store(elsewhere_path) as store:
        other = create_app(store=store, network=BuiltinNetwork(store.operators), driver=Sink(), default_provider="dev")
        async with Client.of(other) as elsewhere:
            body = {**found.body, "provider": "dev"}
            assert (await put(elsewhere, body, id_=found.id))["outcome"] == "imported"
            assert await lists(elsewhere, pool_["id"], policy["id"]) == before
            assert (await put(elsewhere, body, id_=found.id))["outcome"] == "present"


async def lists(api: Client, pool_id: str, policy_id: str) -> dict[str, Any]:
    """Everything that LBaaS v2 shows."""
    paths = {name: f"/{name}" for name in ("loadbalancers", "listeners", "pools", "healthmonitors", "l7policies")} | {
        "members": f"/pools/{pool_id}/members",
        "rules": f"/l7policies/{policy_id}/rules",
    }
    return {name: (await api.get(f"{LBAAS}{path}"))[name] for name, path in paths.items()}


class PortsNetwork(BuiltinNetwork):
    """A network service that has one port."""

    port: ClassVar[dict[str, Any]] = {}
    has_ports = True

    async def look_up(self, kind: Any, filters: Any, *, project_id: Any) -> tuple[Any, ...]:
        return (self.port,) if kind == "ports" and filters == {"id": [self.port["id"]]} else ()


@pytest.fixture
async def with_ports(store: SqlStore) -> AsyncIterator[Client]:
    """The API with a network service that has the port of the load balancer's VIP."""
    PortsNetwork.port = {
        "id": PORT,
        "network_id": "net-1",
        "device_owner": "neutron:LOADBALANCERV2",
        "device_id": LB,
        "fixed_ips": [{"subnet_id": "sub-1", "ip_address": "10.0.0.9"}],
    }
    app = create_app(store=store, network=PortsNetwork(store.operators), driver=Sink(), default_provider="dev")
    async with Client.of(app) as client:
        yield client


ON_PORT = {"vip_subnet_id": "sub-1", "vip_address": "10.0.0.9", "vip_port_id": PORT}


@pytest.mark.parametrize(("owner", "deleted"), [("neutron:LOADBALANCERV2", True), ("compute:nova", False)])
async def test_port_of_an_imported_vip_goes_with_it_only_if_it_was_made_for_it(
    with_ports: Client, store: SqlStore, owner: str, deleted: bool
) -> None:
    PortsNetwork.port["device_owner"] = owner
    body = whole(**ON_PORT)
    del body["vip_network_id"]
    assert (await put(with_ports, body))["outcome"] == "imported"
    shown = (await with_ports.get(f"/loadbalancers/{LB}"))["loadbalancer"]
    assert (shown["vip_network_id"], shown["vip_port_id"]) == ("net-1", PORT)
    assert not await store.claims.take_due_claims(limit=9, backoff=RETRY)
    await with_ports.delete(f"/loadbalancers/{LB}?cascade=true", 204)
    (due,) = await store.claims.take_due_claims(limit=9, backoff=RETRY)
    assert (due.claim.port_id, due.claim.borrowed) == (PORT, not deleted)
    assert due.claim.device_owner == (owner if deleted else "")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vip_port_id": uid(5)}, "vip_port_id: the network service has no port"),
        ({"vip_port_id": None}, "vip_port_id: the id of the VIP's port"),
        ({"vip_address": "10.0.0.8"}, "has not 10.0.0.8 of subnet sub-1, but 10.0.0.9 of subnet sub-1"),
        ({"vip_network_id": "net-2"}, "vip_network_id: port"),
    ],
)
async def test_vip_that_is_not_on_its_port_is_refused(with_ports: Client, change: dict[str, Any], words: str) -> None:
    body = {**whole(**ON_PORT), "vip_network_id": "net-1", **change}
    assert words in str(await put(with_ports, body, apply=False, status=400))


async def test_held_imports_are_refused_while_controllers_of_two_versions_run(api: Client, store: SqlStore) -> None:
    body = await given(api)
    for version in ("0.1.0", "0.2.0"):
        await store.scheduling.record_heartbeat(
            ControllerHeartbeat(id=f"of-{version}", host=version, url="http://c", version=version)
        )
    asked = {"apply": True, "held": True, "loadbalancer": body}
    refused = await api.put(f"{BASE}/imports/loadbalancers/{LB}", asked, 409)
    assert "controllers run versions 0.1.0 and 0.2.0: upgrade all of them first" in str(refused)
    assert (await put(api, body))["outcome"] == "imported"
