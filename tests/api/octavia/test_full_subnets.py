"""VIPs on a network of several subnets, some of which are full."""

from typing import Any

from msgspec.structs import replace

from tests.api.client import Client
from tests.api.subnet import SUBNET

NETWORK = "7a2f3c3e-9f61-4b0a-8a8e-6d1c5a8f0b0b"
FIRST, SECOND = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0b01", "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0b02"


async def test_a_vip_of_a_network_comes_from_the_first_subnet_with_a_free_address(api: Client, store: Any) -> None:
    for place, subnet_id in enumerate((FIRST, SECOND), start=1):
        start, end = (f"10.{60 + place}.0.{last}" for last in (10, 10 + place - 1))
        small = {"cidr": f"10.{60 + place}.0.0/24", "gateway_ip": f"10.{60 + place}.0.1"}
        of_network = {"id": subnet_id, "network_id": NETWORK, "name": f"small-{place}", "project_id": None}
        await store.operators.add_subnet(
            replace(SUBNET, **small, **of_network, allocation_start=start, allocation_end=end)
        )

    async def made(status: int, **wanted: str) -> Any:
        return await api.call("POST", "/loadbalancers", status, {"loadbalancer": wanted})

    subnets = [(await made(201, vip_network_id=NETWORK))["loadbalancer"]["vip_subnet_id"] for _ in range(2)]
    assert subnets == [FIRST, SECOND]
    assert f"Subnet {FIRST} has no free VIP address" in (await made(409, vip_subnet_id=FIRST))["faultstring"]
    others = [{"subnet_id": SECOND}]
    both = {"loadbalancer": {"vip_network_id": NETWORK, "additional_vips": others}}
    assert f"Subnet {FIRST} has no free" in (await api.call("POST", "/loadbalancers", 409, both))["faultstring"]
    await made(201, vip_network_id=NETWORK)
    full = (await made(409, vip_network_id=NETWORK))["faultstring"]
    assert f"Network {NETWORK} has no free VIP address" in full
