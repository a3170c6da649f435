"""A load balancer's port from the API's create to its confirmed delete, on a real Neutron; and creates that fail."""

import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from openstack.connection import Connection

from evenkeel.api.app import create_app
from evenkeel.controller.port_releases import PortReleases
from evenkeel.controller.settings import ControllerSettings
from evenkeel.controller.vip_port_search import VipPortSearch
from evenkeel.controller.vip_port_updates import VipPortUpdates
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.ports import Network
from evenkeel.network.neutron.client import NeutronClient
from evenkeel.network.neutron.driver import NeutronNetwork
from evenkeel.store.sql_store import SqlStore, open_store
from tests.api.client import Client
from tests.api.live import InstantAgent
from tests.network.conftest import NEEDS_NEUTRON, session_to
from tests.network.neutron.patience import eventually
from tests.network.worlds import World, neutron_world

pytestmark = NEEDS_NEUTRON


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with neutron_world(request) as found:
        yield found


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = open_store(f"sqlite:///{tmp_path / 'evenkeel.db'}")
    await opened.start()
    await opened.operators.add_environment(Environment(name="dev", device_driver="noop"))
    yield opened
    await opened.close()


class Site:
    """A controller's parts over a network: the API with an agent that confirms at once, and what gives VIPs back."""

    def __init__(self, store: SqlStore, network: Network, agent: InstantAgent) -> None:
        app = create_app(store=store, network=network, driver=agent, default_provider="dev")
        self.api = Client.of(app)
        self.releases = PortReleases(store.claims, network)
        self.updates = VipPortUpdates(store.ports, store.lost_ports, network)
        settings = ControllerSettings(port_search_seconds=3600.0)
        self.search = VipPortSearch(store.lost_ports, network, self.updates, settings)


@pytest.fixture
async def site(store: SqlStore, neutron_url: str) -> AsyncIterator[Site]:
    network = NeutronNetwork(
        NeutronClient(session_to(neutron_url)), store.claims, store.device_ports, timeout_seconds=60.0
    )
    agent = InstantAgent(store)
    await agent.register()
    made = Site(store, network, agent)
    async with made.api:
        yield made
    network.close()


@pytest.fixture
def addresses(neutron: Connection, world: World) -> Iterator[Any]:
    """The addresses that ports of the world's network hold."""

    def held() -> list[str]:
        return [
            fixed["ip_address"]
            for port in neutron.network.ports(network_id=world.network_id)
            for fixed in port.fixed_ips
        ]

    yield held
    for port in neutron.network.ports(network_id=world.network_id):
        neutron.network.delete_port(port)


def body(world: World, **more: Any) -> dict[str, Any]:
    return {"loadbalancer": {"vip_subnet_id": world.subnet_id, "project_id": world.project_id, **more}}


async def test_the_port_lives_as_long_as_the_load_balancer(
    site: Site, world: World, neutron: Connection, addresses: Any
) -> None:
    lb = (await site.api.post("/loadbalancers", body(world)))["loadbalancer"]

    port = neutron.network.get_port(lb["vip_port_id"])
    assert (port.name, port.device_id) == (f"octavia-lb-{lb['id']}", f"lb-{lb['id']}")
    assert [lb["vip_address"]] == addresses()
    assert lb["vip_network_id"] == world.network_id
    await site.releases.process_due()
    assert addresses()
    await site.api.delete(f"/loadbalancers/{lb['id']}")
    await site.api.get(f"/loadbalancers/{lb['id']}", 404)
    await site.releases.process_due()
    assert addresses() == []


async def test_a_create_that_is_refused_after_its_port_was_made_leaves_none(
    site: Site, world: World, addresses: Any
) -> None:
    twice = [{"protocol": "HTTP", "protocol_port": 80, "name": name} for name in "ab"]

    await site.api.post("/loadbalancers", body(world, listeners=twice), 409)
    await site.releases.process_due()
    assert addresses() == []


LB = "/neutron/v2.0/lb"


async def new_pool(site: Site, world: World) -> Any:
    wanted = {
        "subnet_id": world.subnet_id,
        "protocol": "HTTP",
        "lb_method": "ROUND_ROBIN",
        "tenant_id": world.project_id,
    }
    return (await site.api.post(f"{LB}/pools", {"pool": wanted}))["pool"]


def vip_of(pool: Any, world: World, **more: Any) -> dict[str, Any]:
    wanted = {"subnet_id": world.subnet_id, "protocol": "HTTP", "protocol_port": 80, "pool_id": pool["id"]}
    return {"vip": {**wanted, **more}}


async def test_the_port_of_a_vip_of_lbaas_v1_lives_as_long_as_the_vip(
    site: Site, world: World, neutron: Connection, addresses: Any
) -> None:
    pool = await new_pool(site, world)
    assert addresses() == []
    for _ in range(2):
        vip = (await site.api.post(f"{LB}/vips", vip_of(pool, world, address="10.77.0.40")))["vip"]

        port = neutron.network.get_port(vip["port_id"])
        marks = (port.name, port.device_owner, port.device_id, port.project_id)
        assert marks == (f"vip-{vip['id']}", "neutron:LOADBALANCER", vip["id"], world.project_id)
        assert addresses() == ["10.77.0.40"]
        await site.releases.process_due()
        assert addresses() == ["10.77.0.40"]
        await site.api.delete(f"{LB}/vips/{vip['id']}")
        await site.api.get(f"{LB}/vips/{vip['id']}", 404)
        await site.releases.process_due()
        assert addresses() == []
    await site.api.delete(f"{LB}/pools/{pool['id']}")


async def test_a_vip_of_lbaas_v1_that_is_refused_leaves_no_port(site: Site, world: World, addresses: Any) -> None:
    pool = await new_pool(site, world)
    await site.api.post(f"{LB}/vips", vip_of(pool, world, address="10.77.0.41"))

    refused = await site.api.post(f"{LB}/vips", vip_of(pool, world, protocol_port=81), 409)
    assert refused["NeutronError"]["type"] == "VipExists"
    for address, kind in (("10.77.0.1", "IpAddressInUse"), ("10.77.0.41", "IpAddressInUse")):
        other = await new_pool(site, world)
        refused = await site.api.post(f"{LB}/vips", vip_of(other, world, address=address), 409)
        assert refused["NeutronError"]["type"] == kind
    await site.releases.process_due()
    assert addresses() == ["10.77.0.41"]


async def test_a_controller_that_died_between_port_and_commit_leaves_none(
    site: Site, store: SqlStore, world: World, neutron_url: str, addresses: Any
) -> None:
    dying = NeutronNetwork(
        NeutronClient(session_to(neutron_url)), store.claims, store.device_ports, timeout_seconds=60.0
    )
    plan = await dying.plan_vip(
        project_id=world.project_id,
        load_balancer_id="never-stored",
        subnet_id=world.subnet_id,
        network_id=None,
        port_id=None,
        address=None,
    )
    await site.releases.process_due()
    assert len(addresses()) == 1, "it may still be on its way"
    await dying.abandon_vip(plan)  # as time does
    dying.close()
    await site.releases.process_due()
    assert addresses() == []


async def test_an_address_in_use_is_409_and_names_it(site: Site, world: World, addresses: Any) -> None:
    await site.api.post("/loadbalancers", body(world, vip_address="10.77.0.30"))

    told = await site.api.post("/loadbalancers", body(world, vip_address="10.77.0.30"), 409)
    assert "10.77.0.30" in told["faultstring"]
    await site.releases.process_due()
    assert addresses() == ["10.77.0.30"]


async def test_unknown_subnet_network_or_port_is_400_as_in_octavia(site: Site, world: World) -> None:
    unknown = "0c4d4b4e-0000-4000-8000-000000000000"
    for field, kind in (("vip_subnet_id", "Subnet"), ("vip_network_id", "Network"), ("vip_port_id", "Port")):
        asked = {"loadbalancer": {field: unknown, "project_id": world.project_id}}
        assert (await site.api.post("/loadbalancers", asked, 400))["faultstring"] == f"{kind} {unknown} not found."
    await site.api.post("/loadbalancers", body(world, vip_address="10.99.0.1"), 400)


async def test_a_port_of_the_tenants_stays_when_the_load_balancer_goes(
    site: Site, world: World, neutron: Connection, addresses: Any
) -> None:
    port = neutron.network.create_port(network_id=world.network_id, project_id=world.project_id)
    asked = {"loadbalancer": {"vip_port_id": port.id, "project_id": world.project_id}}

    lb = (await site.api.post("/loadbalancers", asked))["loadbalancer"]
    assert (lb["vip_port_id"], lb["vip_subnet_id"]) == (port.id, world.subnet_id)
    assert [lb["vip_address"]] == addresses()
    told = await site.api.post("/loadbalancers", asked, 409)
    assert lb["vip_address"] in told["faultstring"]
    await site.api.delete(f"/loadbalancers/{lb['id']}")
    await site.releases.process_due()
    assert [lb["vip_address"]] == addresses()


async def test_look_ups_of_the_command_line_are_answered_from_neutron(
    site: Site, world: World, neutron: Connection
) -> None:
    headers = {"X-Project-Id": world.project_id}
    (subnet,) = (await site.api.get(f"/v2.0/subnets?id={world.subnet_id}", headers=headers))["subnets"]
    assert subnet["cidr"] == "10.77.0.0/24"
    shown = await site.api.get(f"/v2/networks/{world.network_id}", headers=headers)
    assert shown["network"]["subnets"] == [world.subnet_id]
    assert (await site.api.get("/v2/ports?name=no-such", headers=headers))["ports"] == []


async def test_without_neutron_a_create_is_503_and_leaves_nothing(store: SqlStore, world: World) -> None:
    with socket.socket() as held:  # nobody listens there, nor can anybody begin to
        held.bind(("127.0.0.1", 0))
        nobody = Session(auth=NoAuth(endpoint=f"http://127.0.0.1:{held.getsockname()[1]}"))
        network = NeutronNetwork(NeutronClient(nobody), store.claims, store.device_ports, timeout_seconds=60.0)
        site = Site(store, network, InstantAgent(store))
        async with site.api:
            answer = await site.api.http.post("/v2/lbaas/loadbalancers", json=body(world))
        network.close()

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert "Neutron" in answer.json()["faultstring"]
    assert await store.claims.take_due_claims(limit=10, backoff=Backoff(initial_seconds=1.0, max_seconds=300.0)) == ()


async def test_a_port_that_something_else_needs_is_a_conflict_and_stays(world: World, neutron: Connection) -> None:
    """A router's, as an example of what Neutron refuses to delete."""
    router = neutron.network.create_router(name="r", project_id=world.project_id)
    made = neutron.network.add_interface_to_router(router, subnet_id=world.subnet_id)
    claim = PortClaim(claim_id="lb", device_owner="Octavia", device_id="", port_id=made["port_id"])

    with pytest.raises(Conflict, match="refuses to delete"):
        await world.driver.release_vip(claim)
    neutron.network.remove_interface_from_router(router, subnet_id=world.subnet_id)
    neutron.network.delete_router(router)


async def octavia(site: Site, world: World) -> str:
    """Makes a load balancer; the path that shows its VIP's port."""
    return f"/loadbalancers/{(await site.api.post('/loadbalancers', body(world)))['loadbalancer']['id']}"


async def lbaas_v2(site: Site, world: World) -> str:
    wanted = {"loadbalancer": {"vip_subnet_id": world.subnet_id, "tenant_id": world.project_id}}
    made = await site.api.post("/neutron/v2.0/lbaas/loadbalancers", wanted)
    return f"/neutron/v2.0/lbaas/loadbalancers/{made['loadbalancer']['id']}"


async def lbaas_v1(site: Site, world: World) -> str:
    made = await site.api.post(f"{LB}/vips", vip_of(await new_pool(site, world), world, tenant_id=world.project_id))
    return f"{LB}/vips/{made['vip']['id']}"


@pytest.mark.parametrize("make", [octavia, lbaas_v2, lbaas_v1])
async def test_by_each_api_the_port_is_bound_found_lost_and_made_again(
    site: Site, world: World, neutron: Connection, addresses: Any, store: SqlStore, make: Any
) -> None:
    path = await make(site, world)

    async def port_id() -> str:
        (shown,) = (await site.api.get(path)).values()
        return str(shown.get("vip_port_id") or shown["port_id"])

    first = await port_id()
    before = neutron.network.get_port(first)
    assert not before.is_admin_state_up and not before.binding_host_id

    async def is_bound() -> Any:
        """At once if the controller that accepted the request does it, else by any one after some seconds."""
        await site.updates.update_due()
        port = neutron.network.get_port(first)
        return port if port.is_admin_state_up and port.binding_host_id == "host" else None

    bound = await eventually(is_bound, every_seconds=0.5)

    held = addresses()
    neutron.network.delete_port(first)
    for _ in range(2):  # the search begins with its first look
        await site.search.query_due()

    async def is_made_again() -> Any:
        await site.updates.update_due()
        port = neutron.network.find_port(await port_id())
        if port is None or port.id == first:
            return None
        if not (port.is_admin_state_up and port.binding_host_id == "host"):
            return None
        told = {each.kind for each in await store.operators.events()} >= {"vip_port_lost", "vip_port_made_again"}
        return port if told else None

    again = await eventually(is_made_again, every_seconds=0.5)
    assert addresses() == held  # settled: no address may ever be given back
    assert (again.name, again.device_owner, again.device_id) == (bound.name, bound.device_owner, bound.device_id)

    await site.api.delete(path)
    await site.releases.process_due()
    assert addresses() == []
