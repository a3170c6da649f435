"""A tenant names no address that leads a device to itself, by whatever way it is said; everybody else's is taken."""

from typing import Any

import msgspec
import pytest

from evenkeel.api.app import Application, create_app
from evenkeel.core.networking.addresses import AddressRules, parsed_networks
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.gateway import gateway
from tests.api.personas import MEMBER, PROJECT_ADMIN

OWN = "127.0.0.1"
FORMS = [OWN, "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "255.255.255.255", "64:ff9b::7f00:1"]
V1, V2 = "/neutron/v2.0/lb", "/neutron/v2.0/lbaas"


def reason(answer: Any) -> str:
    return str(answer.get("faultstring") or answer["NeutronError"]["message"])


async def pool_of(api: Client) -> str:
    root = await api.load_balancer()
    made: str = (await api.pool(root["id"]))["id"]
    return made


@pytest.mark.parametrize("address", FORMS)
async def test_a_member_is_refused_by_field_value_and_what_is_allowed(api: Client, address: str) -> None:
    pool_id = await pool_of(api)
    for field in ("address", "monitor_address"):
        wanted = {"address": "192.0.2.1", "protocol_port": 80, field: address}
        said = reason(await api.post(f"/pools/{pool_id}/members", {"member": wanted}, 400))
        words = "it should be" if field == "address" else "Value should be"
        assert field in said and f"{words} a unicast address" in said and address in said


async def test_a_member_is_refused_in_batches_and_changes_too(api: Client) -> None:
    pool_id = await pool_of(api)
    member = {"address": "192.0.2.1", "protocol_port": 80}
    made = (await api.post(f"/pools/{pool_id}/members", {"member": member}))["member"]
    for wanted in ({**member, "address": OWN}, {**member, "monitor_address": OWN}):
        await api.put(f"/pools/{pool_id}/members", {"members": [wanted]}, 400)
    said = await api.put(f"/pools/{pool_id}/members/{made['id']}", {"member": {"monitor_address": OWN}}, 400)
    assert "monitor_address" in reason(said)
    assert [row["address"] for row in (await api.get(f"/pools/{pool_id}/members"))["members"]] == ["192.0.2.1"]


async def test_a_member_is_refused_inside_whatever_is_made_with_it(api: Client) -> None:
    root = await api.load_balancer()
    members = [{"address": "192.0.2.1", "protocol_port": 80}, {"address": OWN, "protocol_port": 9876}]
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
    http = {"protocol": "HTTP", "protocol_port": 80}
    policy = {"action": "REDIRECT_TO_POOL", "redirect_pool": pool}
    listener = {"loadbalancer_id": root["id"], **http}
    before = (await api.get("/loadbalancers"))["loadbalancers"]
    for path, body in (
        ("/pools", {"pool": {"loadbalancer_id": root["id"], **pool}}),
        ("/listeners", {"listener": {**listener, "default_pool": pool}}),
        ("/listeners", {"listener": {**listener, "l7policies": [policy]}}),
        ("/loadbalancers", bodies.load_balancer(pools=[{"name": "p", **pool}])),
        ("/loadbalancers", bodies.load_balancer(listeners=[{**http, "default_pool": {"name": "p", **pool}}])),
        ("/loadbalancers", bodies.load_balancer(listeners=[{**http, "l7policies": [policy]}])),
    ):
        assert reason(await api.post(path, body, 400)).startswith(f"{OWN} is not a valid option for member address"), (
            path
        )
    assert (await api.get("/loadbalancers"))["loadbalancers"] == before


async def test_a_member_is_refused_by_lbaas_v2(api: Client) -> None:
    pool_id = await pool_of(api)
    member = {"address": OWN, "protocol_port": 80, "subnet_id": bodies.SUBNET_ID}
    good = {**member, "address": "192.0.2.1"}
    path = f"{V2}/pools/{pool_id}/members"
    assert OWN in reason(await api.post(path, {"member": member}, 400))
    assert OWN in reason(await api.post(path, {"members": [good, member]}, 400))
    pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": [member]}
    listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
    graph = {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID, "listeners": [listener]}}
    assert OWN in reason(await api.post(f"{V2}/graphs", {"graph": graph}, 400))


async def test_a_member_and_a_vip_are_refused_by_lbaas_v1(api: Client) -> None:
    pool = {"subnet_id": bodies.SUBNET_ID, "protocol": "HTTP", "lb_method": "ROUND_ROBIN"}
    pool_id = (await api.post(f"{V1}/pools", {"pool": pool}))["pool"]["id"]
    member = {"pool_id": pool_id, "address": OWN, "protocol_port": 80}
    assert OWN in reason(await api.post(f"{V1}/members", {"member": member}, 400))
    vip = {"subnet_id": bodies.SUBNET_ID, "protocol": "HTTP", "protocol_port": 80, "pool_id": pool_id, "address": OWN}
    assert "loopback" in reason(await api.post(f"{V1}/vips", {"vip": vip}, 400))


@pytest.mark.parametrize("address", FORMS)
async def test_a_vip_is_refused(api: Client, address: str) -> None:
    assert address in reason(await api.post("/loadbalancers", bodies.load_balancer(vip_address=address), 400))
    more = {"subnet_id": bodies.SUBNET_ID, "ip_address": address}
    said = reason(await api.post("/loadbalancers", bodies.load_balancer(additional_vips=[more]), 400))
    assert "additional_vips.ip_address" in said
    wanted = {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID, "vip_address": address}}
    assert address in reason(await api.post(f"{V2}/loadbalancers", wanted, 400))


class Careless(BuiltinNetwork):
    """A network service whose tenants make subnets and ports as they like."""

    abandoned = 0

    async def plan_vip(self, **wanted: Any) -> VipPlan:
        return msgspec.structs.replace(await super().plan_vip(**wanted), address="169.254.7.7")

    async def abandon_vip(self, plan: VipPlan) -> None:
        self.abandoned += 1


async def test_an_address_that_the_network_service_names_is_refused_and_given_back(store: Store) -> None:
    network = Careless(store.operators)
    app = create_app(store=store, network=network, driver=Sink(), default_provider="dev")
    async with Client.of(app) as api:
        assert "link-local" in reason(await api.post("/loadbalancers", bodies.load_balancer(), 400))
    assert network.abandoned == 1


def with_rules(store: Store, rules: AddressRules) -> Application:
    return create_app(
        store=store, network=BuiltinNetwork(store.operators), driver=Sink(), default_provider="dev", addresses=rules
    )


async def test_loopback_is_taken_where_an_operator_allows_it(store: Store) -> None:
    async with Client.of(with_rules(store, AddressRules(allow_loopback=True))) as api:
        pool_id = await pool_of(api)
        wanted = {"address": OWN, "protocol_port": 80}
        await api.post(f"/pools/{pool_id}/members", {"member": wanted})
        await api.post(f"/pools/{pool_id}/members", {"member": {**wanted, "address": "169.254.169.254"}}, 400)


async def test_an_operators_networks_are_closed_to_members(store: Store) -> None:
    rules = AddressRules(denied_networks=parsed_networks(["192.0.2.0/24"]))
    async with Client.of(with_rules(store, rules)) as api:
        pool_id = await pool_of(api)
        for address, status in (("192.0.2.7", 400), ("2002:c000:207::", 400), ("192.0.3.7", 201)):
            wanted = {"address": address, "protocol_port": 80}
            await api.post(f"/pools/{pool_id}/members", {"member": wanted}, status)


@pytest.mark.parametrize("address", ["１２７.0.0.1", "0177.0.0.1", "2130706433", "fe80::1%eth0", "localhost", "127.1"])
async def test_other_ways_to_write_an_address_are_none(api: Client, address: str) -> None:
    pool_id = await pool_of(api)
    await api.post(f"/pools/{pool_id}/members", {"member": {"address": address, "protocol_port": 80}}, 400)
    root = (await api.get("/loadbalancers"))["loadbalancers"][0]["id"]
    listener = {"loadbalancer_id": root, "protocol": "HTTP", "protocol_port": 80, "allowed_cidrs": [f"{address}/32"]}
    await api.post("/listeners", {"listener": listener}, 400)


async def test_a_tenant_takes_no_vip_outside_the_allocation_range(store: Store) -> None:
    async with gateway(store) as client:
        for address in ("10.10.0.5", "10.10.255.201"):
            body = bodies.load_balancer(vip_address=address)
            for persona in (MEMBER, PROJECT_ADMIN):
                said = reason(await client.post("/loadbalancers", body, 400, headers=persona.headers))
                assert "outside the allocation range" in said and "allowed are 10.10.0.10 to 10.10.255.200" in said
        await client.post("/loadbalancers", bodies.load_balancer(vip_address="10.10.0.10"), headers=MEMBER.headers)


async def test_an_operator_takes_one(api: Client) -> None:
    assert (await api.load_balancer(vip_address="10.10.0.5"))["vip_address"] == "10.10.0.5"
