"""Networks that operators declare, and addresses for devices in subnets."""

from typing import Any

import pytest

from tests.api import bodies
from tests.api.client import Client

NETWORKS = "/evenkeel/v1/networks"
VLAN = {"network_type": "vlan", "physical_network": "physnet", "segmentation_id": 101}


async def test_a_network_is_declared_changed_and_deleted(api: Client) -> None:
    made = (await api.post(NETWORKS, {"network": {**VLAN, "name": "blue", "mtu": 1450}}, 201))["network"]
    assert (made["name"], made["segmentation_id"], made["vteps"]) == ("blue", 101, [])
    path = f"{NETWORKS}/{made['id']}"
    changed = (await api.put(path, {"network": {"segmentation_id": 102, "mtu": None}}))["network"]
    assert changed == made | {"segmentation_id": 102, "mtu": None}
    assert (await api.get(path))["network"] == changed
    assert (await api.get(NETWORKS))["networks"] == [changed]
    await api.delete(path, 204)
    await api.get(path, 404)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"network_type": "geneve"}, "network_type"),
        ({"segmentation_id": 4095}, "segmentation_id"),
        ({"segmentation_id": None}, "segmentation_id"),
        ({"physical_network": None}, "physical_network"),
        ({"physical_network": "a/b"}, "physical_network"),
        ({"network_type": "vxlan"}, "physical_network"),
        ({"network_type": "flat"}, "segmentation_id"),
        ({"vteps": ["192.0.2.1"]}, "vteps"),
        ({"mtu": 100}, "mtu"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_invalid_network_is_refused_with_field_and_value(
    api: Client, changes: dict[str, Any], field: str
) -> None:
    assert field in (await api.post(NETWORKS, {"network": {**VLAN, **changes}}, 400))["faultstring"]
    assert not (await api.get(NETWORKS))["networks"]


async def test_a_segment_is_there_once(api: Client) -> None:
    await api.post(NETWORKS, {"network": {**VLAN, "name": "blue"}}, 201)
    text = (await api.post(NETWORKS, {"network": {**VLAN, "name": "green"}}, 409))["faultstring"]
    assert "vlan segment 101 on physnet" in text
    vxlan = {"network_type": "vxlan", "segmentation_id": 101, "vteps": ["192.0.2.1", "2001:DB8::1"]}
    made = (await api.post(NETWORKS, {"network": vxlan}, 201))["network"]
    assert made["vteps"] == ["192.0.2.1", "2001:db8::1"]


async def test_devices_addresses_are_never_vips(api: Client) -> None:
    lbs = "/v2/lbaas/loadbalancers"
    ranges = ["10.10.0.20-10.10.0.29"]
    changed = (await set_addresses(api, ranges, 200))["subnet"]
    assert changed["device_addresses"] == ranges and ranges[0] in changed["reserved"]
    refused = await api.post(lbs, bodies.load_balancer(vip_address="10.10.0.25"), 400)
    assert "10.10.0.25" in refused["faultstring"]
    assert "device_addresses" in (await set_addresses(api, ["10.99.0.1"], 400))["faultstring"]
    vip = (await api.post(lbs, bodies.load_balancer(), 201))["loadbalancer"]["vip_address"]
    assert "a load balancer has it" in (await set_addresses(api, [vip], 409))["faultstring"]
    assert (await set_addresses(api, [], 200))["subnet"]["reserved"] == []
    await set_addresses(api, [], 404, subnet_id="none")


async def set_addresses(api: Client, ranges: list[str], status: int, subnet_id: str = bodies.SUBNET_ID) -> Any:
    return await api.put(f"/evenkeel/v1/subnets/{subnet_id}", {"subnet": {"device_addresses": ranges}}, status)
