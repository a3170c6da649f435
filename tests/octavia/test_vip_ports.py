"""A stock Octavia whose VIP ports two controllers make in a real Neutron; Octavia itself has no access to Neutron."""

import asyncio
import contextlib
import signal
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from openstack.connection import Connection

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster
from tests.network.conftest import NEEDS_NEUTRON, neutron_place, neutron_url, session_to
from tests.octavia.world import World
from tests.services import mariadb
from tests.services.installation import NotInstallable
from tests.services.mariadb import MariaDB
from tests.services.octavia import PROJECT, Octavia, installed
from tests.waiting import until

__all__ = ["neutron_place", "neutron_url"]
pytestmark = [*NEEDS_NEUTRON, pytest.mark.timeout(2400)]

ENVIRONMENTS = {"none": "noop", "prod": "haproxy"}
PROVIDERS = {"evenkeel-noop": "none", "evenkeel": "prod"}


class PortsWorld(World):
    """Octavia, two controllers, a no-op agent, and a network of the project in Neutron."""

    neutron: Any
    network_id: str

    @classmethod
    @contextlib.contextmanager
    def over(cls, folder: Path, venv: Path, neutron_url: str) -> Iterator[Self]:
        """Run until the block ends."""
        neutron = Connection(session=session_to(neutron_url)).network
        network = neutron.create_network(name="vips", project_id=PROJECT)
        cidr = {"ip_version": 4, "cidr": "10.79.0.0/24", "project_id": PROJECT}
        subnet = neutron.create_subnet(network_id=network.id, name="vips", **cidr)
        with contextlib.ExitStack() as stack:
            database = MariaDB()
            stack.callback(database.close)
            database.start()
            cluster = _cluster(folder / "evenkeel", neutron_url)
            stack.callback(cluster.close)
            asyncio.run(_start(cluster))
            options = {
                "controllers": ", ".join(cluster.controllers),
                "drift_interval": 5.0,
                "vip_ports": "evenkeel",
                "vip_port_timeout": 40.0,
            }
            octavia = Octavia(venv, database.create_database(), environments=PROVIDERS, options=options)
            stack.callback(octavia.close)
            octavia.register_providers()
            octavia.start()
            world = cls(cluster, octavia, database, subnet.id, None)
            world.neutron, world.network_id = neutron, network.id
            yield world

    def create(self, **fields: Any) -> dict[str, Any]:
        return super().create(**{"vip_address": None, **fields})

    def ports(self) -> dict[str, Any]:
        """Ports of VIPs in the project's network, by load balancer."""
        found = self.neutron.ports(network_id=self.network_id, device_owner="Octavia")
        return {port.device_id.removeprefix("lb-"): port for port in found}

    def make_port(self, id: str) -> None:
        """The driver's request for a load balancer of which Octavia commits nothing, because its host is lost."""
        body = {"provider": "none", "loadbalancer_id": id, "project_id": PROJECT, "vip_subnet_id": self.subnet_id}
        self.cluster.client().post(f"{API_PATH}/mirror/vip-ports", body)

    def age_claims(self, seconds: float) -> None:
        """Let the controllers believe that they made all ports earlier."""
        with contextlib.closing(sqlite3.connect(self.cluster.directory / "evenkeel.db", timeout=60.0)) as database:
            database.execute("UPDATE vip_claim SET made_at = made_at - ?", (seconds,))
            database.commit()


def _cluster(folder: Path, neutron_url: str) -> Cluster:
    environments = ",".join(f"{name}:{device}" for name, device in ENVIRONMENTS.items())
    return Cluster(
        folder,
        environment="prod",
        device="haproxy",
        controller_options={
            "DEFAULT": {"environments": environments},
            "network": {"driver": "neutron"},
            "neutron": {"auth_type": "none", "endpoint": neutron_url},
        },
    )


async def _start(cluster: Cluster) -> None:
    await cluster.start_devices()
    await cluster.start_controller(1)
    await cluster.start_controller(2)
    own = {"DEFAULT": {"environment_prefix": "none", "device_driver": "noop"}}
    await cluster.start_agent("none-1", options=own)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, neutron_url: str) -> Iterator[PortsWorld]:
    if reason := mariadb.missing():
        pytest.skip(reason)
    try:
        venv = installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    with PortsWorld.over(tmp_path_factory.mktemp("ports"), venv, neutron_url) as running:
        yield running


def test_port_is_made_with_the_load_balancer_and_deleted_with_it(world: PortsWorld) -> None:
    created = world.create(name="whole")
    id = created["id"]
    port = world.ports()[id]
    (fixed,) = port.fixed_ips
    assert (port.name, port.project_id) == (f"octavia-lb-{id}", PROJECT)
    assert (created["vip_port_id"], created["vip_address"]) == (port.id, fixed["ip_address"])
    assert (created["vip_network_id"], created["vip_subnet_id"]) == (world.network_id, world.subnet_id)
    assert world.settled(id) == "ACTIVE", world.logs()
    until(lambda: bool(world.ports()[id].binding_host_id))
    world.ask("DELETE", f"/loadbalancers/{id}")
    assert world.settled(id) == "DELETED", world.logs()
    until(lambda: id not in world.ports())


def test_address_and_subnet_that_the_project_can_not_have_are_refused_and_leave_nothing(world: PortsWorld) -> None:
    first = world.create(vip_address="10.79.0.77")
    status, answer = world.octavia.request(
        "POST",
        "/loadbalancers",
        {"loadbalancer": {"vip_subnet_id": world.subnet_id, "vip_address": "10.79.0.77"}},
    )
    assert status == 409 and "VIP address 10.79.0.77 is in use" in answer["faultstring"], answer
    theirs = world.neutron.create_network(name="theirs", project_id=uuid.uuid4().hex)
    cidr = {"ip_version": 4, "cidr": "10.80.0.0/24", "project_id": theirs.project_id}
    subnet = world.neutron.create_subnet(network_id=theirs.id, **cidr)
    status, answer = world.octavia.request("POST", "/loadbalancers", {"loadbalancer": {"vip_subnet_id": subnet.id}})
    assert status == 501 and f"Subnet {subnet.id} not found." in answer["faultstring"], answer
    assert not list(world.neutron.ports(network_id=theirs.id))
    assert world.settled(first["id"]) == "ACTIVE"
    assert [row["id"] for row in world.ask("GET", "/loadbalancers?vip_address=10.79.0.77")["loadbalancers"]] == [
        first["id"]
    ]


def test_port_of_a_refused_create_is_given_back_at_once(world: PortsWorld) -> None:
    before = set(world.ports())
    pool = {"name": "refused", "protocol": "UDP", "lb_algorithm": "LEAST_CONNECTIONS"}
    body = {"provider": "evenkeel", "vip_subnet_id": world.subnet_id, "pools": [pool]}
    status, answer = world.octavia.request("POST", "/loadbalancers", {"loadbalancer": body})
    assert status == 501, answer
    until(lambda: set(world.ports()) == before)


def test_port_of_a_lost_api_host_is_given_back_and_one_that_octavia_committed_is_kept(world: PortsWorld) -> None:
    lost = str(uuid.uuid4())
    world.octavia.kill_driver_agent()
    kept = world.create(name="kept")
    world.make_port(lost)
    world.make_port(lost)
    assert {lost, kept["id"]} <= world.ports().keys()
    world.age_claims(3000.0)
    for name in ("controller-1", "controller-2"):
        world.cluster.kill(name)
    asyncio.run(_restart(world.cluster))
    world.octavia.start_driver_agent()
    assert world.settled(kept["id"]) == "ACTIVE", world.logs()
    until(lambda: {lost, kept["id"]} & world.ports().keys() == {kept["id"]})
    assert world.ports()[kept["id"]].id == kept["vip_port_id"]


async def _restart(cluster: Cluster) -> None:
    await cluster.start_controller(1)
    await cluster.start_controller(2)


def test_create_succeeds_beside_a_controller_that_hangs(world: PortsWorld) -> None:
    world.cluster.kill("controller-1", signal.SIGSTOP)
    try:
        made = [world.create(name=f"beside-{number}") for number in range(4)]
    finally:
        world.cluster.kill("controller-1", signal.SIGCONT)
    assert [world.settled(each["id"]) for each in made] == ["ACTIVE"] * 4, world.logs()
    found = [port.id for port in world.neutron.ports(network_id=world.network_id, device_owner="Octavia")]
    # whatever the suspended controller had received makes no second port
    assert sorted(set(found)) == sorted(found) and {each["vip_port_id"] for each in made} <= set(found)
    assert len(world.ports()) == len(found)
