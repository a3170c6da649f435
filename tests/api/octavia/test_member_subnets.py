"""A member's subnet is there, where the network service can say."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client

THERE = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a01"
MISSING = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0aff"


class WithPorts(BuiltinNetwork):
    """Knows all subnets, as Neutron does."""

    has_ports = True
    asked = 0

    async def look_up(self, kind: Any, filters: Mapping[str, Sequence[str]], *, project_id: Any) -> Any:
        self.asked += 1
        return ({"id": THERE},) if kind == "subnets" and THERE in filters.get("id", [THERE]) else ()


@pytest.fixture
async def knowing(store: Any, sink: Any) -> AsyncIterator[Client]:
    """An API whose network service knows :data:`THERE` alone."""
    network = WithPorts(store.operators)
    async with Client.of(create_app(store=store, network=network, driver=sink, default_provider="dev")) as api:
        yield api


def _member(number: int, subnet_id: str) -> dict[str, Any]:
    return {"address": f"192.0.2.{number}", "protocol_port": 80, "subnet_id": subnet_id}


async def test_a_subnet_that_does_not_exist_is_not_found(knowing: Client) -> None:
    made = (await knowing.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    pool = f"/pools/{made['pools'][0]['id']}"
    before = await knowing.get(f"{pool}/members")
    wrong = _member(7, MISSING)
    new_pool = {"loadbalancer_id": made["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": [wrong]}
    whole = {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID, "pools": [{**new_pool, "name": "p"}]}}
    whole["loadbalancer"]["pools"][0].pop("loadbalancer_id")  # type: ignore[index]
    for method, path, body in (
        ("POST", f"{pool}/members", {"member": wrong}),
        ("PUT", f"{pool}/members", {"members": [_member(6, THERE), wrong]}),
        ("POST", "/pools", {"pool": new_pool}),
        ("POST", "/loadbalancers", whole),
    ):
        answer = await knowing.call(method, path, 404, body)
        assert answer["faultstring"] == f"Subnet {MISSING} not found.", (method, path)
    assert await knowing.get(f"{pool}/members") == before
    assert len((await knowing.get("/loadbalancers"))["loadbalancers"]) == 1


async def test_one_that_is_there_is_taken(knowing: Client) -> None:
    made = (await knowing.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    pool = f"/pools/{made['pools'][0]['id']}"
    await knowing.call("POST", f"{pool}/members", 201, {"member": _member(7, THERE)})
    await knowing.call("PUT", f"{pool}/members", 202, {"members": [_member(n, THERE) for n in (8, 9)]})


async def test_the_built_in_network_does_not_say(api: Client) -> None:
    made = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]
    await api.call("POST", f"/pools/{made['pools'][0]['id']}/members", 201, {"member": _member(7, MISSING)})
