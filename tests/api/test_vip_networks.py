"""Networks that an environment's VIPs may be on, in every API that makes VIPs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.ports import Store
from evenkeel.core.resources.model import Subnet
from tests.api.client import Client
from tests.api.operators.mirror.conftest import LB, MIRROR, whole
from tests.api.subnet import SUBNET

ENVIRONMENT = "/evenkeel/v1/environments/dev"
OTHER = Subnet(
    id="0a2f3c3e-9f61-4b0a-8a8e-6d1c5a8f0b03",
    network_id=SUBNET.network_id,
    name="green",
    cidr="2001:db8::/64",
    allocation_start="2001:db8::10",
    allocation_end="2001:db8::ff",
)


@pytest.fixture
async def other(store: Store) -> AsyncIterator[Subnet]:
    """A second subnet of the network."""
    await store.operators.add_subnet(OTHER)
    yield OTHER


async def deny(api: Client, *ids: str) -> None:
    await api.put(ENVIRONMENT, {"environment": {"vip_networks_denied": list(ids)}})


async def refused(api: Client, field: str, value: str, **vip: Any) -> None:
    text = (await api.post("/loadbalancers", {"loadbalancer": {"project_id": "p1", **vip}}, 400))["faultstring"]
    assert f"{field}. Value: '{value}'" in text and "is denied" in text


@pytest.mark.parametrize("denied", [SUBNET.id, SUBNET.network_id])
async def test_denied_subnet_is_refused_however_it_is_named(api: Client, denied: str) -> None:
    before = await api.load_balancer()
    await deny(api, denied)
    await refused(api, "vip_subnet_id", SUBNET.id, vip_subnet_id=SUBNET.id)
    await refused(api, "vip_network_id", SUBNET.network_id, vip_network_id=SUBNET.network_id)
    await refused(api, "vip_address", "10.10.0.77", vip_address="10.10.0.77")
    stored = (await api.get("/loadbalancers"))["loadbalancers"]
    assert [row["id"] for row in stored] == [before["id"]]


async def test_existing_load_balancer_is_changed_and_gets_children_as_before(api: Client) -> None:
    made = await api.load_balancer()
    await deny(api, SUBNET.id)
    await api.put(f"/loadbalancers/{made['id']}", {"loadbalancer": {"name": "still"}})
    assert (await api.listener(made["id"]))["loadbalancers"] == [{"id": made["id"]}]


async def test_named_network_gives_a_vip_of_its_allowed_subnet(api: Client, other: Subnet) -> None:
    await api.put(ENVIRONMENT, {"environment": {"vip_networks_allowed": [other.id]}})
    made = await api.load_balancer(vip_subnet_id=None, vip_network_id=SUBNET.network_id)
    assert made["vip_subnet_id"] == other.id


async def test_additional_vip_on_a_denied_subnet_is_refused(api: Client, other: Subnet) -> None:
    await deny(api, other.id)
    more = [{"subnet_id": other.id}]
    await refused(api, "additional_vips.subnet_id", other.id, vip_subnet_id=SUBNET.id, additional_vips=more)


async def test_other_environments_are_free(api: Client) -> None:
    await api.post("/evenkeel/v1/environments", {"environment": {"name": "gold", "device_driver": "noop"}})
    await deny(api, SUBNET.id)
    assert (await api.load_balancer(provider="gold"))["vip_subnet_id"] == SUBNET.id


async def test_lbaas_v2_and_v1_refuse_too(api: Client) -> None:
    pool = {"name": "p", "protocol": "TCP", "lb_method": "ROUND_ROBIN", "subnet_id": SUBNET.id, "tenant_id": "p1"}
    made = (await api.post("/neutron/v2.0/lb/pools", {"pool": pool}))["pool"]
    await deny(api, SUBNET.id)
    body = {"vip_subnet_id": SUBNET.id, "tenant_id": "p1"}
    answer = await api.post("/neutron/v2.0/lbaas/loadbalancers", {"loadbalancer": body}, 400)
    assert "is denied" in str(answer)
    vip = {"pool_id": made["id"], "protocol": "TCP", "protocol_port": 80, "subnet_id": SUBNET.id, "tenant_id": "p1"}
    assert "is denied" in str(await api.post("/neutron/v2.0/lb/vips", {"vip": vip}, 400))


async def test_check_of_a_new_load_balancer_of_an_octavia_refuses_and_what_octavia_stored_is_put(api: Client) -> None:
    await deny(api, SUBNET.id)
    there = whole(vip_subnet_id=SUBNET.id, vip_network_id=SUBNET.network_id)
    check = {"provider": "dev", "operation": "create", "kind": "loadbalancer", "object": {"id": LB, **there}}
    answer = await api.post(f"{MIRROR}/check", check, 400)
    assert f"vip_subnet_id. Value: '{SUBNET.id}'" in answer["faultstring"]
    put = {"snapshot": 1.0, "digest": "d", "loadbalancer": there}
    await api.put(f"{MIRROR}/loadbalancers/{LB}", put)


async def test_operator_imports_onto_a_denied_network(api: Client) -> None:
    await deny(api, SUBNET.id)
    there = whole(vip_subnet_id=SUBNET.id, vip_network_id=SUBNET.network_id, vip_address="10.10.7.5")
    await api.put(f"/evenkeel/v1/imports/loadbalancers/{LB}", {"loadbalancer": there, "apply": True})
    assert (await api.get(f"/loadbalancers/{LB}"))["loadbalancer"]["vip_subnet_id"] == SUBNET.id
