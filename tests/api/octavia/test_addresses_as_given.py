"""Addresses are shown as the request wrote them, and compared in their one short form."""

from typing import Any

from evenkeel.core.model import Subnet
from tests.api import bodies
from tests.api.client import Client
from tests.api.subnet import SUBNET

SIX = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a06"
LONG, SHORT = "2001:DB8:0:0:0:0:0:15", "2001:db8::15"


async def test_a_vip_is_shown_as_it_was_given(api: Client, store: Any) -> None:
    await store.operators.add_subnet(
        Subnet(
            id=SIX,
            network_id=SUBNET.network_id,
            cidr="2001:db8::/64",
            allocation_start="2001:db8::10",
            allocation_end="2001:db8::fff",
        )
    )
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
