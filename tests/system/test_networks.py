"""Tenants' networks on a pair of BIG-IPs: attached with the first load balancer, followed, taken over, and gone."""

import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.networking.networks import DeclaredNetwork, NetworkType
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Device
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Subnet, Vip
from evenkeel.store.records import schema
from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig
from tests.system.test_removed_partitions import DEVICES, PairWorld, acts_elsewhere, delete, gone
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

TENANTS = ("a", "b")


class AttachedWorld(PairWorld):
    """Both tenants have a network with the subnet 10.0.0.0/24."""

    agent_options: Mapping[str, str] = {}
    """Of the agents, beside or instead of those that all of these worlds have."""

    def _device_of(self, host: str) -> Device:
        options = {
            "f5_global_routed_mode": "False",
            "f5_external_physical_mappings": "physnet:1.1:True",
            "full_read_interval": "0",
            **self.agent_options,
        }
        return self.rig.agent(environment=ENVIRONMENT, **options)

    async def declare_shared(self) -> None:
        """A network that projects share, with the subnet 10.8.0.0/24."""
        network = DeclaredNetwork(
            id="net-s",
            name="s",
            network_type=NetworkType.VLAN,
            physical_network="physnet",
            segmentation_id=180,
            shared=True,
        )
        await self.store.operators.add_network(network)
        await self.store.operators.add_subnet(
            Subnet(
                id="sub-s",
                network_id="net-s",
                cidr="10.8.0.0/24",
                gateway_ip="10.8.0.1",
                allocation_start="10.8.0.20",
                allocation_end="10.8.0.250",
                device_addresses=("10.8.0.2-10.8.0.9",),
            )
        )

    def in_common(self) -> list[list[str]]:
        """Of each device: what is ours in /Common of the shared network."""
        types = ("net/vlan", "net/self", "ltm/snat-translation")
        found = [[self.emulator.devices[name].objects(type_, "Common") for type_ in types] for name in DEVICES]
        return [sorted(path.rpartition("/")[2] for paths in each for path in paths) for each in found]

    async def observer(self) -> str:
        """The host that acts for the common shard; empty if none does."""
        shards = await self.store.operators.shards()
        (agent_id,) = (one.acting_agent_id for one in shards if one.project_id == COMMON_PROJECT)
        agent = None if agent_id is None else await self.store.operators.agent(agent_id)
        return agent.host if agent is not None and agent.alive else ""

    async def declare(self) -> None:
        for number, tenant in enumerate(TENANTS, 1):
            await self.declare_own(tenant, segmentation_id=100 + number)

    async def declare_own(self, tenant: str, **network: Any) -> None:
        """A network of the tenant's, in a VLAN of ``physnet`` unless ``network`` says otherwise."""
        values = {"network_type": NetworkType.VLAN, "physical_network": "physnet", **network}
        await self.store.operators.add_network(DeclaredNetwork(id=f"net-{tenant}", name=tenant, **values))
        await self.store.operators.add_subnet(
            Subnet(
                id=f"sub-{tenant}",
                network_id=f"net-{tenant}",
                cidr="10.0.0.0/24",
                gateway_ip="10.0.0.1",
                allocation_start="10.0.0.20",
                allocation_end="10.0.0.250",
                device_addresses=("10.0.0.2-10.0.0.9",),
            )
        )

    async def create_in(self, tenant: str, *, shared: bool = False) -> str:
        return await self.create_at(tenant, "s" if shared else tenant)

    async def create_at(self, tenant: str, place: str) -> str:
        """A load balancer of the tenant with a VIP in ``sub-<place>``."""
        subnets = await self.store.operators.subnets()
        cidr = next(each.cidr for each in subnets if each.id == f"sub-{place}")
        address = f"{cidr.rpartition('.')[0]}.{next(self._addresses) + 20}"
        vip = Vip(address=address, subnet_id=f"sub-{place}", network_id=f"net-{place}", port_id=str(uuid.uuid4()))
        root = LoadBalancer(id=str(uuid.uuid4()), project_id=tenant, vip=vip, provider=ENVIRONMENT)
        plan = VipPlan(subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id, address=address)
        change = await self.store.tenants.create_load_balancer(LoadBalancerTree(load_balancer=root), plan, [])
        await self.controllers["c0"].driver.change_accepted(change)
        return root.id

    def there(self, type_: str, tenant: str) -> list[list[str]]:
        """Of each device: names of such objects of the tenant."""
        devices = [self.emulator.devices[name] for name in DEVICES]
        found = [device.objects(type_, f"{ENVIRONMENT}_{tenant}") for device in devices]
        return [sorted(path.rpartition("/")[2] for path in paths) for paths in found]

    async def allocated(self) -> int:
        tables = (schema.attached_network, schema.common_network, schema.route_domain, schema.device_address)
        counts = [select(func.count()).select_from(table).scalar_subquery() for table in tables]
        found = await self.store.database.read(lambda connection: connection.execute(select(*counts)).one())
        return sum(found)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[AttachedWorld]:
    async with emulated(*DEVICES) as emulator:
        made = AttachedWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        made.retire_seconds = 0.1
        yield made
        await made.close()
        await made.rig.close()


async def test_overlapping_networks_of_two_tenants_live_and_go(world: AttachedWorld) -> None:
    await world.start(agents=2)
    await world.declare()
    ids = {tenant: [await world.create_in(tenant) for _ in range(2)] for tenant in TENANTS}
    # settled: ACTIVE means that the devices hold it
    for load_balancer_id in (*ids["a"], *ids["b"]):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    assert world.there("net/vlan", "a") == [["vlan-101"]] * 2
    assert world.there("net/vlan", "b") == [["vlan-102"]] * 2
    (one,), (other,) = world.there("net/self", "a")
    assert one != other
    domains = {name.rpartition("_")[2] for tenant in TENANTS for name in world.there("net/route-domain", tenant)[0]}
    assert domains == {"1", "2"}

    # the operator moves a network to another segment
    changed = DeclaredNetwork(
        id="net-a", name="a", network_type=NetworkType.VLAN, physical_network="physnet", segmentation_id=105
    )
    for change in await world.store.operators.update_network(changed):
        await world.controllers["c0"].driver.change_accepted(change)
    await eventually(lambda: world.there("net/vlan", "a") == [["vlan-105"]] * 2)
    for load_balancer_id in ids["a"]:
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]

    # another agent takes over and removes what is deleted
    owner = await world.acting(ids["a"][0])
    await world.vanish(owner)
    await eventually(lambda: acts_elsewhere(world, ids["a"][0], owner))
    await delete(world, ids["a"][0])
    await eventually(lambda: gone(world, ids["a"][0]))
    assert world.there("net/vlan", "a") == [["vlan-105"]] * 2  # settled: another load balancer needs it
    for load_balancer_id in (ids["a"][1], *ids["b"]):
        await delete(world, load_balancer_id)
    await eventually(lambda: world.have_partition("a") == [False, False])
    await eventually(lambda: world.have_partition("b") == [False, False])
    for type_ in ("net/vlan", "net/self", "net/route-domain", "ltm/snatpool", "ltm/snat-translation", "net/route"):
        assert world.there(type_, "a") == world.there(type_, "b") == [[], []], type_

    async def released() -> bool:
        return await world.allocated() == 0

    await eventually(released)


async def test_a_shared_network_lives_in_common_as_long_as_anybody_uses_it(world: AttachedWorld) -> None:
    await world.start(agents=2)
    await world.declare()
    await world.declare_shared()
    before = world.in_common()
    ids = {tenant: await world.create_in(tenant, shared=True) for tenant in TENANTS}
    own = await world.create_in("a")
    for load_balancer_id in (*ids.values(), own):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    for names, there in zip(before, world.in_common(), strict=True):
        made = sorted(set(there) - set(names))
        assert made[1:] == ["snat-traffic-group-1-sub-s_0", "vlan-180"] and made[0].startswith("local-")
    assert world.there("net/vlan", "b") == [[], []]

    # another agent takes the common shard over: what it finds is right
    owner = await world.observer()
    await world.vanish(owner)

    async def moved() -> bool:
        return await world.observer() not in (owner, "")

    await eventually(moved)
    await delete(world, ids["a"])
    await eventually(lambda: gone(world, ids["a"]))
    assert all("vlan-180" in each for each in world.in_common())  # settled: another load balancer needs it

    # the operator moves it to another segment
    network = DeclaredNetwork(
        id="net-s",
        name="s",
        network_type=NetworkType.VLAN,
        physical_network="physnet",
        segmentation_id=181,
        shared=True,
    )
    for change in await world.store.operators.update_network(network):
        await world.controllers["c0"].driver.change_accepted(change)
    await eventually(lambda: world.active(ids["b"]))
    await eventually(lambda: all("vlan-181" in each and "vlan-180" not in each for each in world.in_common()))

    await delete(world, ids["b"])
    await eventually(lambda: world.in_common() == before)
    await delete(world, own)
    await eventually(lambda: world.have_partition("a") == [False, False])
    await eventually(lambda: world.have_partition("-common") == [False, False])

    async def released() -> bool:
        return await world.allocated() == 0

    await eventually(released)
