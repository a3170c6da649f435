"""VIPs through the API: additional ones, and what their port has."""

import asyncio
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.ports import Store
from evenkeel.core.resources.model import Subnet
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.subnet import SUBNET

UNKNOWN = "00000000-0000-4000-8000-000000000000"
SIX = Subnet(
    id="six",
    network_id=SUBNET.network_id,
    name="six",
    cidr="2001:db8::/64",
    gateway_ip="2001:db8::1",
    allocation_start="2001:db8::10",
    allocation_end="2001:db8::ff",
)
ELSEWHERE = Subnet(
    id="elsewhere",
    network_id="another-network",
    name="elsewhere",
    cidr="10.30.0.0/24",
    allocation_start="10.30.0.10",
    allocation_end="10.30.0.99",
)


@pytest.fixture(autouse=True)
async def subnets(store: Store) -> None:
    for subnet in (SIX, ELSEWHERE):
        await store.operators.add_subnet(subnet)


async def test_additional_vips_are_taken_shown_and_on_the_port_of_the_vip(api: Client) -> None:
    made = await api.load_balancer(additional_vips=[{"subnet_id": "six"}])
    (more,) = made["additional_vips"]
    assert more["ip_address"].startswith("2001:db8::")
    assert (more["subnet_id"], more["port_id"]) == ("six", made["vip_port_id"])
    assert (await api.get(f"/loadbalancers/{made['id']}"))["loadbalancer"] == made
    assert (await api.get("/loadbalancers"))["loadbalancers"][0]["additional_vips"] == [more]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([{"subnet_id": UNKNOWN}], ["Subnet", UNKNOWN]),
        ([{"subnet_id": bodies.SUBNET_ID}], ["Duplicate VIP subnet"]),
        ([{"subnet_id": "six"}, {"subnet_id": "six"}], ["Duplicate VIP subnet"]),
        ([{"subnet_id": "elsewhere"}], ["same network", "another-network"]),
        ([{"subnet_id": "six", "ip_address": "10.10.0.9"}], ["additional_vips.ip_address", "10.10.0.9", "2001:db8"]),
        ([{"subnet_id": "six", "ip_address": "2001:db8::1"}], ["additional_vips.ip_address", "gateway"]),
        ([{"subnet_id": "six", "ip_address": "six"}], ["additional_vips.ip_address", "'six'"]),
        ([{"subnet_id": "six", "port_id": "mine"}], ["additional_vips.port_id", "mine", "vip_port_id"]),
        ([{"ip_address": "2001:db8::9"}], ["subnet_id"]),
        ([{"subnet_id": "six", "weight": 1}], ["weight"]),
        ([{"subnet_id": "six"}] * 9, ["additional_vips", "8"]),
    ],
)
async def test_unfit_additional_vips_are_refused_by_name_and_take_nothing(
    api: Client, more: list[dict[str, Any]], words: list[str]
) -> None:
    answer = await api.post("/loadbalancers", bodies.load_balancer(additional_vips=more), 400)
    for word in words:
        assert word in answer["faultstring"], answer
    assert (await api.get("/loadbalancers"))["loadbalancers"] == []


async def test_an_address_is_taken_once_whether_as_vip_or_as_additional_one(api: Client) -> None:
    await api.load_balancer(additional_vips=[{"subnet_id": "six", "ip_address": "2001:db8:0::20"}])
    for attributes in (
        {"vip_subnet_id": "six", "vip_address": "2001:db8::20"},
        {"additional_vips": [{"subnet_id": "six", "ip_address": "2001:db8::20"}]},
    ):
        answer = await api.post("/loadbalancers", bodies.load_balancer(**attributes), 409)
        assert "2001:db8::20 is in use" in answer["faultstring"]


async def test_of_many_that_want_one_additional_address_one_gets_it(api: Client) -> None:
    wanted = bodies.load_balancer(additional_vips=[{"subnet_id": "six", "ip_address": "2001:db8::20"}])
    answers = await asyncio.gather(*(api.http.post("/v2/lbaas/loadbalancers", json=wanted) for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 11


async def test_clients_of_both_families_may_be_allowed_where_there_are_vips_of_both(api: Client) -> None:
    cidrs = ["10.0.0.0/8", "2001:db8::/32"]
    listener = {"protocol": "HTTP", "protocol_port": 80, "allowed_cidrs": cidrs}
    more = [{"subnet_id": "six"}]
    made = await api.load_balancer(additional_vips=more, listeners=[listener])
    another = {"listener": {**listener, "protocol_port": 81, "loadbalancer_id": made["id"]}}
    assert (await api.post("/listeners", another))["listener"]["allowed_cidrs"] == cidrs
    await api.post("/loadbalancers", bodies.load_balancer(listeners=[listener]), 400)


async def test_policy_and_groups_of_the_port_are_kept_shown_changed_and_found(api: Client) -> None:
    made = await api.load_balancer(vip_qos_policy_id="gold", vip_sg_ids=["web", "ssh", "web"])
    await api.load_balancer()
    assert (made["vip_qos_policy_id"], made["vip_sg_ids"], made["vip_vnic_type"]) == ("gold", ["web", "ssh"], "normal")
    for query in ("vip_qos_policy_id=gold", "vip_qos_policy_id=gold&vip_vnic_type=normal"):
        assert [row["id"] for row in (await api.get(f"/loadbalancers?{query}"))["loadbalancers"]] == [made["id"]]
    assert (await api.get("/loadbalancers?vip_vnic_type=direct"))["loadbalancers"] == []

    path = f"/loadbalancers/{made['id']}"
    changed = (await api.put(path, {"loadbalancer": {"vip_sg_ids": ["ssh"]}}))["loadbalancer"]
    assert (changed["vip_sg_ids"], changed["vip_qos_policy_id"]) == (["ssh"], "gold")
    changed = (await api.put(path, {"loadbalancer": {"vip_sg_ids": None, "vip_qos_policy_id": None}}))["loadbalancer"]
    assert (changed["vip_sg_ids"], changed["vip_qos_policy_id"]) == ([], None)
    answer = await api.put(path, {"loadbalancer": {"vip_sg_ids": ["a b"]}}, 400)
    assert "vip_sg_ids" in answer["faultstring"]
    for fixed in ("additional_vips", "vip_vnic_type", "vip_address"):
        assert fixed in (await api.put(path, {"loadbalancer": {fixed: None}}, 400))["faultstring"]


async def test_a_flavor_may_request_a_virtual_function(api: Client) -> None:
    profile = {"name": "p", "provider_name": "dev", "flavor_data": '{"sriov_vip": true}'}
    made = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]
    flavor = {"name": "f", "flavor_profile_id": made["id"]}
    chosen = (await api.post("/flavors", {"flavor": flavor}))["flavor"]
    assert (await api.load_balancer(flavor_id=chosen["id"]))["vip_vnic_type"] == "direct"


async def test_a_device_type_without_additional_vips_refuses_them_by_name(store: Store, sink: Sink) -> None:
    await store.operators.add_environment(Environment(name="plain", device_driver="plain"))
    tables = {"plain": Capabilities(options=())}
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=sink, default_provider="plain", capabilities=tables)
    async with Client.of(app) as api:
        wanted = bodies.load_balancer(additional_vips=[{"subnet_id": "six", "ip_address": "2001:db8::20"}])
        answer = await api.post("/loadbalancers", wanted, 501)
        assert "Provider 'plain'" in answer["faultstring"] and "additional_vips 2001:db8::20" in answer["faultstring"]
        assert (await api.get("/loadbalancers"))["loadbalancers"] == []


async def test_failover_is_accepted_and_makes_it_pending(api: Client, sink: Sink) -> None:
    made = await api.load_balancer()
    path = f"/loadbalancers/{made['id']}"
    await api.call("PUT", f"{path}/failover", 202)
    assert [change.revision for change in sink.changes] == [1, 2]
    await api.call("PUT", f"/loadbalancers/{UNKNOWN}/failover", 404)
