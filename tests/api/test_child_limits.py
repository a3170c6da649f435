"""Every API says of which limit a load balancer has no room left."""

from pathlib import Path
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.neutron.maker import LBAAS, Maker, refused
from tests.api.stores import started_store

MEMBER = {"address": "10.20.0.9", "protocol_port": 80}
MET = "may have at most 3 members: it has 3, and 1 more were requested."


@pytest.fixture
async def api(tmp_path: Path) -> Any:
    """A client of an application with narrow limits."""
    limits = LoadBalancerLimits(listener=1, member=3)
    async with started_store(tmp_path, load_balancer_limits=limits) as store:
        app = create_app(store=store, network=BuiltinNetwork(store.operators), driver=Sink(), default_provider="dev")
        async with Client.of(app) as client:
            yield client


async def test_octavia_answers_409_to_one_to_a_batch_and_to_a_tree(api: Client) -> None:
    root = await api.post("/loadbalancers", bodies.populated())  # three members, one listener
    root_id = root["loadbalancer"]["id"]
    pool_id = root["loadbalancer"]["pools"][0]["id"]
    answer = await api.post(f"/pools/{pool_id}/members", {"member": MEMBER}, 409)
    assert answer["faultstring"] == f"Load balancer {root_id} {MET}"
    await api.put(f"/pools/{pool_id}/members?additive_only=true", {"members": [MEMBER]}, 409)
    await api.put(f"/pools/{pool_id}/members", {"members": [*bodies.MEMBERS, MEMBER]}, 409)
    await api.put(f"/pools/{pool_id}/members", {"members": [*bodies.MEMBERS[1:], MEMBER]}, 202)
    listener = {"protocol": "HTTP", "protocol_port": 81, "loadbalancer_id": root_id}
    assert "at most 1 listeners" in (await api.post("/listeners", {"listener": listener}, 409))["faultstring"]
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "name": "p", "members": [*bodies.MEMBERS, MEMBER]}
    answer = await api.post("/loadbalancers", bodies.load_balancer(pools=[pool]), 409)
    assert "at most 3 members: it has 0, and 4 more" in answer["faultstring"]
    assert len((await api.get("/loadbalancers"))["loadbalancers"]) == 1


async def test_lbaas_v2_and_v1_answer_409_too(api: Client) -> None:
    v2 = Maker(api)
    member = {**MEMBER, "subnet_id": bodies.SUBNET_ID}
    pool = await v2.pool(await v2.root())
    for number in range(3):
        await v2.make("member", f"/pools/{pool['id']}/members", **{**member, "protocol_port": 80 + number})
    body = {"member": {**member, "protocol_port": 99}}
    assert MET in await refused(api, "POST", f"/pools/{pool['id']}/members", 409, "HTTPConflict", body)

    lb = LBAAS.removesuffix("aas")
    wanted = {"subnet_id": bodies.SUBNET_ID, "protocol": "HTTP", "lb_method": "ROUND_ROBIN"}
    pool_id = (await api.post(f"{lb}/pools", {"pool": wanted}))["pool"]["id"]
    for number in range(4):
        body = {"member": {**MEMBER, "protocol_port": 80 + number, "pool_id": pool_id}}
        answer = await api.post(f"{lb}/members", body, 201 if number < 3 else 409)
    assert MET in answer["NeutronError"]["message"]
