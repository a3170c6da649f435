"""One VIP address on several networks: each network has its own addresses."""

from typing import Any

from msgspec.structs import replace

from tests.api import bodies
from tests.api.client import Client
from tests.api.subnet import SUBNET

OTHER = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a0b"


async def test_a_vip_is_unique_on_its_network_only(api: Client, store: Any) -> None:
    twin = replace(SUBNET, id=OTHER, network_id="7a2f3c3e-9f61-4b0a-8a8e-6d1c5a8f0b0b", name="twin")
    await store.operators.add_subnet(twin)
    for subnet_id, status in ((bodies.SUBNET_ID, 201), (OTHER, 201), (OTHER, 409), (bodies.SUBNET_ID, 409)):
        wanted = {"vip_subnet_id": subnet_id, "vip_address": "10.10.0.77"}
        await api.call("POST", "/loadbalancers", status, {"loadbalancer": wanted})
    rows = (await api.get("/loadbalancers?vip_address=10.10.0.77"))["loadbalancers"]
    assert {row["vip_network_id"] for row in rows} == {SUBNET.network_id, twin.network_id}
