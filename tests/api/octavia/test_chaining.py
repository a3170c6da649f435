"""A member that is a VIP of the same devices, and a VIP that is a member's address, where devices cannot send to
themselves: refused in every request that can bring them, by name.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.core.control.environments import Environment
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.neutron.maker import LBAAS as V2
from tests.api.operators.conftest import BASE
from tests.api.operators.mirror.conftest import LB, whole
from tests.api.operators.mirror.conftest import member as foreign_member
from tests.api.operators.mirror.conftest import pool as foreign_pool
from tests.store.builders import member

VIP = "10.10.7.5"
MEMBER = {"address": VIP, "protocol_port": 8080}
POOL = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
PORT = "11111111-2222-4333-8444-555555555555"
OF_MEMBER = f"address {VIP} of a member is a VIP of the same devices. Allowed: addresses that are no VIPs of theirs."
OF_VIP = f"vip_address {VIP} is the address of a member behind the same devices."


@pytest.fixture
async def api(store: SqlStore, sink: Sink) -> AsyncIterator[Client]:
    for name, driver in {"big": "bigip", "hap": "haproxy"}.items():
        await store.operators.add_environment(Environment(name=name, device_driver=driver))
    network, tables = BuiltinNetwork(store.operators), load_capabilities()
    app = create_app(store=store, network=network, driver=sink, default_provider="big", capabilities=tables)
    async with Client.of(app) as client:
        yield client


@pytest.fixture
async def pool(api: Client) -> dict[str, Any]:
    """A pool of one load balancer beside another one with the VIP."""
    await api.load_balancer(vip_address=VIP)
    return await api.pool((await api.load_balancer(vip_address="10.10.7.6"))["id"])


def is_of_member(answer: Any) -> bool:
    return f"Provider 'big' does not support a requested option: {OF_MEMBER}" in str(answer)


async def test_member_that_is_a_vip_is_refused_in_every_request(api: Client, pool: dict[str, Any]) -> None:
    root = pool["loadbalancers"][0]["id"]
    listener = await api.listener(root)
    to_pool = {"action": "REDIRECT_TO_POOL", "redirect_pool": {**POOL, "members": [MEMBER]}}
    in_pool = {**POOL, "loadbalancer_id": root, "members": [MEMBER]}
    front = {"loadbalancer_id": root, "protocol": "HTTP", "protocol_port": 81}
    for method, path, body in (
        ("POST", f"/pools/{pool['id']}/members", {"member": MEMBER}),
        ("PUT", f"/pools/{pool['id']}/members", {"members": [bodies.MEMBERS[0], MEMBER]}),
        ("POST", "/pools", {"pool": in_pool}),
        ("POST", "/listeners", {"listener": {**front, "default_pool": {**POOL, "members": [MEMBER]}}}),
        ("POST", "/listeners", {"listener": {**front, "l7policies": [to_pool]}}),
        ("POST", "/l7policies", {"l7policy": {**to_pool, "listener_id": listener["id"]}}),
        ("POST", "/loadbalancers", bodies.load_balancer(pools=[{**POOL, "name": "p", "members": [MEMBER]}])),
    ):
        assert is_of_member(await api.call(method, path, 501, body)), (method, path)
    assert not (await api.get(f"/pools/{pool['id']}/members"))["members"]


async def test_member_that_is_a_vip_is_refused_in_neutrons_apis(api: Client, pool: dict[str, Any]) -> None:
    body = {"member": {**MEMBER, "subnet_id": bodies.SUBNET_ID}}
    assert OF_MEMBER in str(await api.post(f"{V2}/pools/{pool['id']}/members", body, 501))


async def test_load_balancer_with_its_own_vip_as_a_member_is_refused(api: Client) -> None:
    pools = [{**POOL, "name": "p", "members": [MEMBER]}]
    body = bodies.load_balancer(vip_address=VIP, pools=pools)
    assert is_of_member(await api.post("/loadbalancers", body, 501))
    root = await api.load_balancer(vip_address=VIP)
    made = await api.pool(root["id"])
    assert is_of_member(await api.post(f"/pools/{made['id']}/members", {"member": MEMBER}, 501))


async def test_vip_that_is_a_members_address_is_refused_until_the_member_is_gone(api: Client) -> None:
    made = await api.pool((await api.load_balancer(vip_address="10.10.7.6"))["id"])
    there = await api.member(made["id"], **MEMBER)
    wanted = bodies.load_balancer(vip_address=VIP)
    assert OF_VIP in str(await api.post("/loadbalancers", wanted, 501))
    await api.delete(f"/pools/{made['id']}/members/{there['id']}")
    await api.post("/loadbalancers", wanted)


async def test_batch_may_keep_a_member_of_earlier_versions(api: Client, store: SqlStore, pool: dict[str, Any]) -> None:
    await store.tenants.add_members((member(pool_id=pool["id"], **MEMBER),), project_id=None)
    await api.put(f"/pools/{pool['id']}/members", {"members": [MEMBER, bodies.MEMBERS[0]]}, 202)


async def test_devices_that_send_to_their_own_addresses_may_chain(api: Client) -> None:
    await api.load_balancer(provider="hap", vip_address=VIP)
    made = await api.pool((await api.load_balancer(provider="hap"))["id"])
    await api.member(made["id"], **MEMBER)


async def test_vip_of_another_environment_may_be_a_member(api: Client) -> None:
    await api.load_balancer(provider="hap", vip_address=VIP)
    made = await api.pool((await api.load_balancer(provider="big"))["id"])
    await api.member(made["id"], **MEMBER)


async def test_import_that_would_chain_is_refused_before_anything_is_stored(api: Client, pool: dict[str, Any]) -> None:
    subnet = (await api.get(f"{BASE}/subnets"))["subnets"][0]
    body = whole(vip_subnet_id=subnet["id"], vip_port_id=PORT, vip_address="10.10.7.9", name="web")
    del body["vip_network_id"]
    body |= {"provider": "big", "project_id": "default", "pools": [foreign_pool(members=[foreign_member(address=VIP)])]}
    put = {"apply": False, "loadbalancer": body}
    assert is_of_member(await api.put(f"{BASE}/imports/loadbalancers/{LB}", put, 501))
