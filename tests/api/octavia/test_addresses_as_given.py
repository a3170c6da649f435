"""Addresses are shown as the request wrote them, and compared in their one short form."""

from typing import Any

import pytest

from evenkeel.core.resources.model import Subnet
from tests.api import bodies
from tests.api.client import Client
from tests.api.subnet import SUBNET

SIX = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a06"
LONG, SHORT = "2001:DB8:0:0:0:0:0:15", "2001:db8::15"
NEUTRON = "/neutron/v2.0"
POOL = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}


async def add_six(store: Any) -> None:
    """A subnet of IPv6."""
    await store.operators.add_subnet(
        Subnet(
            id=SIX,
            network_id=SUBNET.network_id,
            cidr="2001:db8::/64",
            allocation_start="2001:db8::10",
            allocation_end="2001:db8::fff",
        )
    )


async def test_a_vip_is_shown_as_it_was_given(api: Client, store: Any) -> None:
    await add_six(store)
    wanted = {"vip_subnet_id": bodies.SUBNET_ID, "additional_vips": [{"subnet_id": SIX, "ip_address": LONG}]}
    made = (await api.post("/loadbalancers", {"loadbalancer": wanted}))["loadbalancer"]
    assert [vip["ip_address"] for vip in made["additional_vips"]] == [LONG]
    for spelling in (LONG, SHORT):
        body = {"loadbalancer": {"vip_subnet_id": SIX, "vip_address": spelling}}
        answer = await api.call("POST", "/loadbalancers", 409, body)
        assert SHORT in answer["faultstring"]
    await api.call("POST", "/loadbalancers", 201, {"loadbalancer": {"vip_subnet_id": SIX, "vip_address": LONG + "0"}})
    shown = [each["vip_address"] for each in (await api.get("/loadbalancers"))["loadbalancers"]]
    assert LONG + "0" in shown


async def test_a_member_is_shown_as_it_was_first_given(api: Client) -> None:
    pool = (await api.post("/loadbalancers", bodies.populated()))["loadbalancer"]["pools"][0]["id"]
    wanted = {"address": LONG, "protocol_port": 80, "monitor_address": LONG}
    made = (await api.post(f"/pools/{pool}/members", {"member": wanted}))["member"]
    assert (made["address"], made["monitor_address"]) == (LONG, LONG)
    path = f"/pools/{pool}/members/{made['id']}"
    await api.call("POST", f"/pools/{pool}/members", 409, {"member": wanted | {"address": SHORT}})

    changed = (await api.call("PUT", path, 200, {"member": {"monitor_address": SHORT}}))["member"]
    assert (changed["address"], changed["monitor_address"]) == (LONG, SHORT)
    changed = (await api.call("PUT", path, 200, {"member": {"monitor_address": None}}))["member"]
    assert changed["monitor_address"] is None

    again = {"address": SHORT, "protocol_port": 80, "monitor_address": LONG}
    await api.call("PUT", f"/pools/{pool}/members", 202, {"members": [again]})
    (row,) = (await api.get(f"/pools/{pool}/members"))["members"]
    assert (row["id"], row["address"], row["monitor_address"]) == (made["id"], LONG, LONG)


FOUND = (LONG, SHORT, "2001:0db8::0015")
OTHERS = ("2001:db8::16", "10.0.0.1", "nonsense", "2001:db8::15%eth0", "")


async def count(api: Client, path: str, **query: str) -> int:
    """How many a list has."""
    answer = await api.get(path, params=query)
    return len(next(value for name, value in answer.items() if not name.endswith("links")))


async def test_a_member_is_found_by_its_address_in_any_form(api: Client) -> None:
    pool = (await api.post("/loadbalancers", bodies.load_balancer(pools=[{"name": "p", **POOL}])))["loadbalancer"][
        "pools"
    ][0]["id"]
    path = f"/pools/{pool}/members"
    await api.post(path, {"member": {"address": LONG, "protocol_port": 80, "monitor_address": LONG}})

    for lists in (path, f"{NEUTRON}/lbaas/pools/{pool}/members", f"{NEUTRON}/lb/members"):
        assert [await count(api, lists, address=form) for form in FOUND] == [1, 1, 1], lists
        assert [await count(api, lists, address=form) for form in OTHERS] == [0] * len(OTHERS), lists
    assert [await count(api, path, monitor_address=form) for form in FOUND] == [1, 1, 1]
    assert [await count(api, path, monitor_address=form) for form in OTHERS] == [0] * len(OTHERS)
    await api.post(path, {"member": {"address": SHORT, "protocol_port": 81}})
    assert await count(api, path, monitor_address="") == 1


async def test_a_vip_is_found_by_its_address_in_any_form(api: Client, store: Any) -> None:
    await add_six(store)
    await api.post("/loadbalancers", {"loadbalancer": {"vip_subnet_id": SIX, "vip_address": LONG}})
    for path in ("/loadbalancers", f"{NEUTRON}/lbaas/loadbalancers"):
        assert [await count(api, path, vip_address=form) for form in FOUND] == [1, 1, 1], path
        assert [await count(api, path, vip_address=form) for form in OTHERS] == [0] * len(OTHERS), path


async def test_a_vip_of_lbaas_v1_is_found_by_its_address_in_any_form(api: Client, store: Any) -> None:
    await add_six(store)
    pool = {"subnet_id": SIX, "protocol": "HTTP", "lb_method": "ROUND_ROBIN"}
    made = (await api.post(f"{NEUTRON}/lb/pools", {"pool": pool}))["pool"]["id"]
    vip = {"subnet_id": SIX, "protocol": "HTTP", "protocol_port": 80, "pool_id": made, "address": LONG}
    await api.post(f"{NEUTRON}/lb/vips", {"vip": vip})
    assert [await count(api, f"{NEUTRON}/lb/vips", address=form) for form in FOUND] == [1, 1, 1]
    assert [await count(api, f"{NEUTRON}/lb/vips", address=form) for form in OTHERS] == [0] * len(OTHERS)


@pytest.mark.parametrize(
    ("path", "pools"),
    [
        ("/loadbalancers/{}/status", lambda root: root["listeners"][0]["pools"]),
        (f"{NEUTRON}/lbaas/loadbalancers/{{}}/statuses", lambda root: root["pools"]),
    ],
)
async def test_status_trees_show_members_as_they_were_given(api: Client, path: str, pools: Any) -> None:
    member = {"address": LONG, "protocol_port": 80}
    listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": {**POOL, "members": [member]}}
    made = (await api.post("/loadbalancers", bodies.load_balancer(listeners=[listener])))["loadbalancer"]
    root = (await api.get(path.format(made["id"])))["statuses"]["loadbalancer"]
    assert [each["address"] for each in pools(root)[0]["members"]] == [LONG]
