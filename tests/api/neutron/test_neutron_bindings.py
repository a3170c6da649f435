"""openstacksdk's network proxy and neutronclient's bindings against a real server, unpatched."""

import warnings
from collections.abc import Iterator
from typing import Any

import openstack
import pytest

from tests.api import bodies
from tests.api.live import LiveServer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the client's own past
    from neutronclient.common import exceptions
    from neutronclient.v2_0 import client

pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose load balancers become ACTIVE at once."""
    with LiveServer.started(tmp_path_factory.mktemp("bindings")) as server:
        yield server


@pytest.fixture
def sdk(live: LiveServer) -> Iterator[Any]:
    """openstacksdk's network proxy, without Keystone."""
    endpoint = {"endpoint": f"{live.url}/neutron"}
    connection = openstack.connect(
        load_envvars=False, load_yaml_config=False, auth_type="none", auth=endpoint, region_name="x"
    )
    yield connection.network
    connection.close()


@pytest.fixture
def neutron(live: LiveServer) -> Any:
    """neutronclient's bindings, without Keystone."""
    return client.Client(endpoint_url=f"{live.url}/neutron", auth_strategy="noauth")


def test_sdk_lives_a_whole_life_cycle(sdk: Any) -> None:
    root = sdk.create_load_balancer(name="sdk", vip_subnet_id=bodies.SUBNET_ID)
    assert sdk.find_load_balancer("sdk").id == root.id
    assert [row.id for row in sdk.load_balancers(name="sdk")] == [root.id]
    listener = sdk.create_listener(name="l", loadbalancer_id=root.id, protocol="HTTP", protocol_port=80)
    pool = sdk.create_pool(name="p", listener_id=listener.id, protocol="HTTP", lb_algorithm="ROUND_ROBIN")
    member = sdk.create_pool_member(pool, address="10.20.0.1", protocol_port=80, subnet_id=bodies.SUBNET_ID)
    monitor = sdk.create_health_monitor(pool_id=pool.id, type="HTTP", delay=5, timeout=3, max_retries=2)
    assert sdk.get_listener(listener.id).default_pool_id == pool.id
    assert sdk.update_listener(listener, name="l2").name == "l2"
    assert sdk.update_pool(pool, lb_algorithm="SOURCE_IP").lb_algorithm == "SOURCE_IP"
    assert sdk.update_pool_member(member, pool, weight=5).weight == 5
    assert [row.id for row in sdk.pool_members(pool)] == [member.id]
    assert sdk.update_health_monitor(monitor, delay=9).delay == 9
    assert sdk.get_load_balancer(root.id).provisioning_status == "ACTIVE"
    sdk.delete_health_monitor(monitor)
    sdk.delete_pool_member(member, pool)
    sdk.delete_pool(pool)
    sdk.delete_listener(listener)
    sdk.delete_load_balancer(root)
    assert sdk.find_load_balancer("sdk") is None


def test_sdk_finds_what_load_balancers_need_of_the_network(sdk: Any) -> None:
    assert sdk.find_subnet("blue").id == bodies.SUBNET_ID
    assert sdk.find_network("blue") is not None
    assert [row.agent_type for row in sdk.agents()] == ["Loadbalancerv2 agent"]
    assert "lbaasv2" in {row.alias for row in sdk.extensions()}
    assert sdk.get_quota("p1").load_balancers == -1


def test_bindings_live_a_whole_life_cycle(neutron: Any) -> None:
    root = neutron.create_loadbalancer({"loadbalancer": {"name": "b", "vip_subnet_id": bodies.SUBNET_ID}})
    root_id = root["loadbalancer"]["id"]
    body = {"loadbalancer_id": root_id, "protocol": "HTTP", "protocol_port": 80}
    listener_id = neutron.create_listener({"listener": body})["listener"]["id"]
    body = {"listener_id": listener_id, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    pool_id = neutron.create_lbaas_pool({"pool": body})["pool"]["id"]
    body = {"address": "10.20.0.1", "protocol_port": 80, "subnet_id": bodies.SUBNET_ID}
    neutron.create_lbaas_member(pool_id, {"member": body})
    body = {"pool_id": pool_id, "type": "PING", "delay": 5, "timeout": 3, "max_retries": 2}
    monitor_id = neutron.create_lbaas_healthmonitor({"healthmonitor": body})["healthmonitor"]["id"]
    tree = neutron.retrieve_loadbalancer_status(root_id)["statuses"]["loadbalancer"]
    assert tree["pools"][0]["healthmonitor"]["id"] == monitor_id
    agent = neutron.get_lbaas_agent_hosting_loadbalancer(root_id)["agent"]
    hosted = neutron.list_loadbalancers_on_lbaas_agent(agent["id"])["loadbalancers"]
    assert [row["id"] for row in hosted] == [root_id]
    assert neutron.retrieve_loadbalancer_stats(root_id)["stats"]["bytes_in"] == 0
    with pytest.raises(exceptions.Conflict) as caught:
        neutron.delete_loadbalancer(root_id)
    assert "has children" in str(caught.value)
    neutron.delete_lbaas_healthmonitor(monitor_id)
    neutron.delete_lbaas_pool(pool_id)
    neutron.delete_listener(listener_id)
    neutron.delete_loadbalancer(root_id)
    with pytest.raises(exceptions.NotFound, match="could not be found"):
        neutron.show_loadbalancer(root_id)


def test_bindings_page_through_lists(neutron: Any) -> None:
    made = [
        neutron.create_loadbalancer({"loadbalancer": {"name": f"n-{n}", "vip_subnet_id": bodies.SUBNET_ID}})
        for n in range(3)
    ]
    listed = neutron.list_loadbalancers(limit=1, sort_key="name", sort_dir="asc", retrieve_all=True)["loadbalancers"]
    assert [row["id"] for row in listed] == [each["loadbalancer"]["id"] for each in made]
    for row in listed:
        neutron.delete_loadbalancer(row["id"])  # other tests count what the agent hosts, and may run after this one
