"""Flavors whose load balancers' TCP connections go through the kernel of the device's host."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.cli.client import API_PATH
from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.core.control.environments import Environment
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink

KERNEL = '{"data_path": "kernel"}'


@pytest.fixture
async def api(store: SqlStore, sink: Sink) -> AsyncIterator[Client]:
    for name, driver in {"hap": "haproxy", "big": "bigip"}.items():
        await store.operators.add_environment(Environment(name=name, device_driver=driver))
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="hap",
        capabilities=load_capabilities(),
    )
    async with Client.of(app) as client:
        yield client


async def flavor(api: Client, data: str, provider: str = "hap") -> str:
    profile = {"name": "p", "provider_name": provider, "flavor_data": data}
    made = (await api.post("/flavorprofiles", {"flavorprofile": profile}))["flavorprofile"]
    body = {"name": f"flavor-{made['id']}", "flavor_profile_id": made["id"]}
    shown = (await api.post("/flavors", {"flavor": body}))["flavor"]
    return str(shown["id"])


@pytest.mark.parametrize(
    ("provider", "data", "status", "words"),
    [
        ("hap", '{"data_path": "user"}', 400, "data_path should be one of proxy, kernel"),
        ("hap", '{"data_path": ["kernel"]}', 400, "data_path should be one of proxy, kernel"),
        ("big", KERNEL, 501, "flavor_data data_path"),
        ("dev", KERNEL, 501, "data_path"),
    ],
)
async def test_a_data_path_that_devices_do_not_have_is_refused(
    api: Client, provider: str, data: str, status: int, words: str
) -> None:
    profile = {"name": "p", "provider_name": provider, "flavor_data": data}
    assert words in (await api.post("/flavorprofiles", {"flavorprofile": profile}, status))["faultstring"]


async def test_the_definition_of_has_the_data_path_of_the_flavor(api: Client, store: SqlStore) -> None:
    paths = []
    for chosen in (await flavor(api, KERNEL), await flavor(api, '{"data_path": "proxy"}'), None):
        root = await api.load_balancer(**({} if chosen is None else {"flavor_id": chosen}))
        assert "data_path" not in root
        tree = await store.tenants.tree(LoadBalancerId(root["id"]), project_id=None)
        paths.append(service_definition_of_tree(tree).data_path)
        hosting = (await api.get(f"{API_PATH}/loadbalancers/{root['id']}/agent"))["hosting"]
        assert hosting["data_path"] == paths[-1]
    assert paths == ["kernel", "proxy", "proxy"]


async def test_plain_listeners_pools_and_members_are_accepted(api: Client) -> None:
    root = (await api.load_balancer(flavor_id=await flavor(api, KERNEL)))["id"]
    for protocol, port in (("TCP", 53), ("HTTPS", 443), ("UDP", 53), ("SCTP", 53)):
        listener = await api.listener(root, protocol=protocol, protocol_port=port, allowed_cidrs=["10.0.0.0/8"])
        await api.listener(root, protocol=protocol, protocol_port=port + 1, connection_limit=7)
        pool = await api.pool(
            root,
            listener_id=listener["id"],
            protocol=protocol,
            lb_algorithm="SOURCE_IP",
            session_persistence={"type": "SOURCE_IP"},
        )
        await api.member(pool["id"], backup=True)
    await api.monitor(pool["id"], type="TCP")


LISTENERS = {
    "protocol HTTP": {"protocol": "HTTP"},
    "protocol TERMINATED_HTTPS": {"protocol": "TERMINATED_HTTPS", "default_tls_container_ref": "some-secret"},
    "protocol PROMETHEUS": {"protocol": "PROMETHEUS"},
    "timeout_client_data 7": {"protocol": "TCP", "timeout_client_data": 7},
}
POOLS = {
    "protocol PROXY": {"protocol": "PROXY"},
    "protocol HTTP": {"protocol": "HTTP"},
    "lb_algorithm LEAST_CONNECTIONS": {"protocol": "TCP", "lb_algorithm": "LEAST_CONNECTIONS"},
    "tls_enabled True": {"protocol": "TCP", "tls_enabled": True},
    "address 2001:db8::5 of a member of a TCP pool. Allowed: IPv4": {
        "protocol": "TCP",
        "members": [{"address": "2001:db8::5", "protocol_port": 80}],
    },
}


async def test_attributes_that_need_haproxy_are_refused_by_name(api: Client) -> None:
    chosen = await flavor(api, KERNEL)
    root = (await api.load_balancer(flavor_id=chosen))["id"]

    async def refused(path: str, body: Any, words: str) -> None:
        assert words in (await api.post(path, body, 501))["faultstring"]

    for words, listener in LISTENERS.items():
        body = {"protocol_port": 80, **listener}
        await refused("/listeners", {"listener": body | {"loadbalancer_id": root}}, words)
        await refused("/loadbalancers", bodies.load_balancer(flavor_id=chosen, listeners=[body]), words)
    for words, pool in POOLS.items():
        body = {"lb_algorithm": "ROUND_ROBIN", **pool}
        await refused("/pools", {"pool": body | {"loadbalancer_id": root}}, words)
        await refused("/loadbalancers", bodies.load_balancer(flavor_id=chosen, pools=[body | {"name": "p"}]), words)
    # other load balancers of the provider have them
    other = (await api.load_balancer())["id"]
    await api.listener(other, protocol="HTTP")


async def test_a_load_balancer_keeps_its_data_path(api: Client) -> None:
    kernel, proxy = await flavor(api, KERNEL), await flavor(api, "{}")
    for made_with, other in ((kernel, proxy), (proxy, kernel)):
        root = (await api.load_balancer(flavor_id=made_with))["id"]
        refused = await api.put(f"/loadbalancers/{root}/resize", {"new_flavor_id": other}, 400)
        assert "data_path" in refused["faultstring"]
        await api.put(f"/loadbalancers/{root}/resize", {"new_flavor_id": made_with}, 202)
