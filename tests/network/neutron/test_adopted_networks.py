"""A tenant of F5's agent, whose devices' addresses are ports in a real Neutron: they become ours, and go in the end."""

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from openstack.connection import Connection

from evenkeel.core.networking.networks import AddressUse, DeviceAddress
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Vip
from tests.devices.bigip.f5_agent.tenants import HaType
from tests.devices.bigip.f5_networks import F5Agent
from tests.devices.bigip.network_world import network, subnet
from tests.devices.bigip.rig import Hands
from tests.network.conftest import NEEDS_NEUTRON
from tests.network.neutron.conftest import Cloud
from tests.network.neutron.patience import eventually
from tests.network.neutron.test_device_networks import NeutronWorld, world
from tests.system.adoptions import adoption_answer
from tests.system.test_removed_partitions import DEVICES, delete
from tests.system.world import ENVIRONMENT

__all__ = ["world"]

pytestmark = NEEDS_NEUTRON
NUMBER = 9
VIP = "10.0.0.101"


class Ports:
    """What F5's agent made in Neutron for its addresses in a subnet."""

    def __init__(self, cloud: Cloud, network_id: str, subnet_id: str) -> None:
        self._place = network_id, subnet_id
        self._cloud = cloud
        self.ids: dict[str, str] = {}
        for at in range(len(DEVICES)):
            self._make(f"local-unit-{at}-{subnet_id}", f"10.0.0.{40 + at}")
        self._make(f"snat-traffic-group-1{subnet_id}_0", "10.0.0.42")

    def _make(self, name: str, address: str) -> None:
        network_id, subnet_id = self._place
        fixed = [{"subnet_id": subnet_id, "ip_address": address}]
        made = self._cloud.neutron.create_port(
            network_id=network_id, fixed_ips=fixed, name=name, device_owner="network:f5lbaasv2", device_id="of-f5"
        )
        self.ids[address] = made.id

    async def now(self) -> dict[str, tuple[str, str]]:
        """Id and owner of the network's ports for devices, by address."""
        return await asyncio.to_thread(self._now)  # controllers of the test need the loop meanwhile

    def _now(self) -> dict[str, tuple[str, str]]:
        network_id, _ = self._place
        ports = [each for each in self._cloud.neutron.ports(network_id=network_id) if each.device_owner != "Octavia"]
        return {each.fixed_ips[0]["ip_address"]: (each.id, each.device_owner) for each in ports}


@pytest.fixture
def place(cloud: Cloud) -> Iterator[tuple[str, str, str]]:
    """A project, its network and its subnet."""
    project_id = uuid.uuid4().hex
    how = {"provider_network_type": "vlan", "provider_physical_network": "physnet1"}
    yield project_id, *cloud.network(project_id, **how)


async def build(world: NeutronWorld, place: tuple[str, str, str], id_: str, segment: int) -> None:
    """What F5's agent left on both devices, of a load balancer without listeners."""
    project_id, network_id, subnet_id = place
    hosts = [device.url.removeprefix("https://") for device in world.emulator.devices.values()]
    addresses = [
        DeviceAddress(use=AddressUse.SELF, owner=host, address=f"10.0.0.{40 + at}") for at, host in enumerate(hosts)
    ]
    snat = DeviceAddress(use=AddressUse.SNAT, owner="traffic-group-1", address="10.0.0.42")
    own = subnet(1, hosts, base="10.0.0", id=subnet_id, addresses=(*addresses, snat))
    theirs = network(1, own, id=network_id, segmentation_id=segment, route_domain=NUMBER)
    for at, device in enumerate(DEVICES):
        hands = Hands(world.emulator, device)
        f5 = F5Agent(hands, name=f"unit-{at}", ha=HaType.PAIR, place=at, tenant=project_id, prefix=ENVIRONMENT)
        await f5.begin(NUMBER)
        await f5.attach(theirs)
        await f5.call("ltm/virtual-address", f"{ENVIRONMENT}_{id_}", address=f"{VIP}%{NUMBER}", autoDelete="false")


async def create(world: NeutronWorld, place: tuple[str, str, str], id_: str) -> None:
    project_id, network_id, subnet_id = place
    assert world.network is not None
    wanted: dict[str, Any] = {"network_id": None, "port_id": None, "address": VIP}
    plan: VipPlan = await world.network.plan_vip(
        project_id=project_id, load_balancer_id=id_, subnet_id=subnet_id, **wanted
    )
    vip = Vip(address=VIP, subnet_id=subnet_id, network_id=network_id, port_id=plan.port_id)
    root = LoadBalancer(id=id_, project_id=project_id, vip=vip, provider=ENVIRONMENT)
    change = await world.store.tenants.create_load_balancer(LoadBalancerTree(load_balancer=root), plan, [])
    await world.controllers["c0"].driver.change_accepted(change)


async def test_ports_of_f5s_agent_are_ours_after_the_adoption_and_gone_with_the_last_load_balancer(
    world: NeutronWorld, cloud: Cloud, place: tuple[str, str, str], neutron: Connection
) -> None:
    project_id, network_id, subnet_id = place
    ports, id_ = Ports(cloud, network_id, subnet_id), str(uuid.uuid4())
    segment = cloud.neutron.get_network(network_id).provider_segmentation_id  # one that no other test has
    await build(world, place, id_, segment)
    await world.start(agents=2)
    await create(world, place, id_)

    async def refused() -> bool:
        return "'evenkeel adopt'" in (await world.root(id_)).status_reason

    await eventually(refused)

    async def both_wait() -> bool:
        """Ours are unused, and those of an attempt whose answer came too late go by themselves."""
        owners = [owner for _, owner in (await ports.now()).values()]
        return owners.count("network:evenkeel") == owners.count("network:f5lbaasv2") == 3

    await eventually(both_wait, every_seconds=0.5)
    shown = await adoption_answer(world, id_, adopt=False)
    assert not shown.problem and not [step for plan in shown.devices for step in plan.operations if step.note]
    assert [owner for _, owner in (await ports.now()).values()].count("network:f5lbaasv2") == 3

    for _ in range(2):
        assert not (await adoption_answer(world, id_, adopt=True)).problem
    await eventually(lambda: world.active(id_))
    ours = {address: (port_id, "network:evenkeel") for address, port_id in ports.ids.items()}

    async def only_ours() -> bool:
        return await ports.now() == ours

    await eventually(only_ours, every_seconds=0.5)
    for at, device in enumerate(DEVICES):
        ((name, self_ip),) = world.shown("net/self", project_id, device).items()
        assert (name, self_ip["address"]) == (f"local-unit-{at}-{subnet_id}", f"10.0.0.{40 + at}%{NUMBER}/24")
    await delete(world, id_)

    async def none_left() -> bool:
        return not await ports.now()

    await eventually(lambda: world.have_partition(project_id) == [False, False])
    await eventually(none_left, every_seconds=0.5)
