"""What the stock command line asks of services that are not there."""

from tests.api import bodies
from tests.api.client import Client
from tests.api.subnet import SUBNET


async def test_subnets_are_found_by_id_and_name(api: Client) -> None:
    for path in (f"/v2/subnets?id={SUBNET.id}", "/v2.0/subnets?name=blue", f"/v2/subnets?id={SUBNET.id}&id=x"):
        (subnet,) = (await api.get(path))["subnets"]
        assert (subnet["id"], subnet["network_id"]) == (SUBNET.id, SUBNET.network_id)
        assert (subnet["cidr"], subnet["ip_version"], subnet["gateway_ip"]) == ("10.10.0.0/16", 4, "10.10.0.1")
    assert (await api.get(f"/v2/subnets/{bodies.SUBNET_ID}"))["subnet"]["name"] == "blue"
    assert (await api.get("/v2/subnets?name=red"))["subnets"] == []
    await api.get("/v2/subnets/red", 404)


async def test_networks_are_those_of_the_subnets(api: Client) -> None:
    (network,) = (await api.get(f"/v2/networks?id={SUBNET.network_id}"))["networks"]
    assert network["subnets"] == [SUBNET.id]


async def test_ports_are_those_of_the_vips(api: Client) -> None:
    made = [await api.load_balancer(project_id=project) for project in ("pa", "pb")]
    root = made[0]
    port_id, device_id = root["vip_port_id"], f"lb-{root['id']}"
    port = (await api.get(f"/v2.0/ports/{port_id}"))["port"]

    assert port["fixed_ips"] == [{"subnet_id": SUBNET.id, "ip_address": root["vip_address"]}]
    assert (port["id"], port["network_id"], port["project_id"]) == (port_id, SUBNET.network_id, "pa")
    assert (port["device_id"], port["device_owner"], port["security_groups"]) == (device_id, "Octavia", [])
    assert {row["id"] for row in (await api.get("/v2/ports"))["ports"]} == {row["vip_port_id"] for row in made}
    for query in (
        f"id={port_id}",
        f"device_id={device_id}",
        f"name={port['name']}",
        f"id={port_id}&name={port['name']}",
        f"id=x&id={port_id}",
        f"name=x&name={port['name']}&device_owner=compute:nova&device_owner=Octavia",
    ):
        assert await api.get(f"/neutron/v2.0/ports?{query}") == {"ports": [port]}
    for query in ("id=x", "name=x", "device_id=x", "device_owner=compute:nova", f"name={port['name']}&device_id=lb-x"):
        assert await api.get(f"/v2/ports?{query}") == {"ports": []}
    await api.get("/v2.0/ports/x", 404)


async def test_no_vip_has_a_floating_ip(api: Client) -> None:
    for path in ("/v2.0/floatingips", "/neutron/v2.0/floatingips?port_id=p&fixed_ip_address=10.10.0.10"):
        assert await api.get(path) == {"floatingips": []}
    await api.get("/v2.0/floatingips/x", 404)


async def test_each_policy_and_group_that_is_named_is_there_for_nobody_knows_better(api: Client) -> None:
    for path, plural in (("/v2.0/qos/policies", "policies"), ("/v2/security-groups", "security_groups")):
        assert await api.get(path) == {plural: []}
        for query in ("id=gold", "name=gold"):
            (found,) = (await api.get(f"{path}?{query}"))[plural]
            assert (found["id"], found["name"]) == ("gold", "gold")
        named = (await api.get(f"{path}?id=gold&id=silver"))[plural]
        assert [row["id"] for row in named] == ["gold", "silver"]
    assert (await api.get("/v2/security-groups/web"))["security_group"]["id"] == "web"


async def test_projects_are_forbidden_so_that_clients_take_the_name_as_the_id(api: Client) -> None:
    for path in ("/projects/x", "/projects?name=x"):
        assert "faultstring" in await api.get(path, 403)
