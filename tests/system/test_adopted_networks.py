"""Tenants of F5's agent on a pair of BIG-IPs, whose networks an operator has adopted: served, and gone in the end."""

import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import AddressUse, DeclaredNetwork, DeviceAddress, ServiceNetwork
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Subnet, Vip
from evenkeel.store.records import schema
from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.f5_agent.identities import with_uuids
from tests.devices.bigip.f5_agent.links import Unit
from tests.devices.bigip.f5_agent.requests import replay
from tests.devices.bigip.f5_agent.scenes import Replay
from tests.devices.bigip.f5_agent.tenants import HaType, Tenant
from tests.devices.bigip.f5_networks import F5Agent
from tests.devices.bigip.network_world import balancer, network, subnet
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.devices.bigip.test_networks_traffic import in_turn
from tests.devices.services import PROJECT, listener
from tests.system.adoptions import adoption_answer
from tests.system.test_networks import TENANTS, AttachedWorld
from tests.system.test_removed_partitions import DEVICES, delete
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

THEIR_NUMBERS = {"a": 2, "b": 1}
"""Route domains by F5's agent; ours come in the order of the tenants."""
SELF_IPS = ("10.0.0.4", "10.0.0.3")
SNAT = "10.0.0.8"


class AdoptionWorld(AttachedWorld):
    """F5's agent served a load balancer of each tenant before."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.ids = {tenant: str(uuid.uuid4()) for tenant in TENANTS}

    async def build(self, tenant: str) -> None:
        """What F5's agent left on both devices."""
        devices = [device.url.removeprefix("https://") for device in self.emulator.devices.values()]
        addresses = [
            DeviceAddress(use=AddressUse.SELF, owner=owner, address=address)
            for owner, address in zip(devices, SELF_IPS, strict=True)
        ]
        addresses.append(DeviceAddress(use=AddressUse.SNAT, owner="traffic-group-1", address=SNAT))
        place = subnet(1, devices, base="10.0.0", id=f"sub-{tenant}", addresses=tuple(addresses))
        segment = 101 + TENANTS.index(tenant)
        number = THEIR_NUMBERS[tenant]
        theirs = network(1, place, id=f"net-{tenant}", segmentation_id=segment, route_domain=number)
        wanted = replace(
            balancer(1, theirs),
            load_balancer_id=self.ids[tenant],
            listeners=(listener(id=f"listener-{tenant}"),),
            pools=(replace(balancer(1, theirs).pools[0], id=f"pool-{tenant}", monitor=None),),
        )
        for at, device in enumerate(DEVICES):
            hands = Hands(self.emulator, device)
            f5 = F5Agent(hands, name=f"unit-{at}", ha=HaType.PAIR, place=at, tenant=tenant, prefix=ENVIRONMENT)
            await f5.begin(number)
            await f5.serve(wanted, await f5.attach(theirs), number)

    async def create_again(self, tenant: str) -> None:
        """The load balancer with the ids that it had in Neutron."""
        id_, port_id = self.ids[tenant], str(uuid.uuid4())
        vip = Vip(address="10.0.0.101", subnet_id=f"sub-{tenant}", network_id=f"net-{tenant}", port_id=port_id)
        below = {"load_balancer_id": id_, "project_id": tenant}
        port: dict[str, Any] = {"protocol": "HTTP", "protocol_port": 80}
        tree = LoadBalancerTree(
            load_balancer=LoadBalancer(id=id_, project_id=tenant, vip=vip, provider=ENVIRONMENT),
            listeners=(Listener(id=f"listener-{tenant}", default_pool_id=f"pool-{tenant}", **port, **below),),
            pools=(Pool(id=f"pool-{tenant}", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **below),),
            members=tuple(
                Member(
                    id=f"member-{tenant}-{last}",
                    pool_id=f"pool-{tenant}",
                    address=f"10.0.0.{last}",
                    protocol_port=8080,
                    subnet_id=f"sub-{tenant}",
                    **below,
                )
                for last in (200, 201, 202)
            ),
        )
        plan = VipPlan(subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id, address=vip.address)
        change = await self.store.tenants.create_load_balancer(tree, plan, [])
        await self.controllers["c0"].driver.change_accepted(change)

    def numbers(self, tenant: str) -> list[set[int]]:
        """Of each device: the route domains of the tenant."""
        return [
            {
                each.props["id"]
                for each in self.emulator.devices[name].engine.store.top("net/route-domain", f"{ENVIRONMENT}_{tenant}")
            }
            for name in DEVICES
        ]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[AdoptionWorld]:
    async with emulated(*DEVICES) as emulator:
        made = AdoptionWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        made.retire_seconds = 0.1
        yield made
        await made.close()
        await made.rig.close()


async def test_tenants_are_adopted_whatever_their_numbers_were_and_leave_nothing(world: AdoptionWorld) -> None:
    for tenant in TENANTS:
        await world.build(tenant)
    await world.start(agents=2)
    await world.declare()
    for tenant in TENANTS:
        await world.create_again(tenant)

        async def refused(tenant: str = tenant) -> bool:
            return "'evenkeel adopt'" in (await world.root(world.ids[tenant])).status_reason

        await eventually(refused)
    shown = await adoption_answer(world, world.ids["a"], adopt=False)
    names = {step.name for plan in shown.devices for step in plan.operations if step.verb == "modify"}
    assert not shown.problem and {f"/{ENVIRONMENT}_a/{ENVIRONMENT}_a", f"/{ENVIRONMENT}_a/vlan-101"} <= names
    assert not [step for plan in shown.devices for step in plan.operations if step.note]
    for tenant in TENANTS:
        answer = await adoption_answer(world, world.ids[tenant], adopt=True)
        assert not answer.problem
        # settled: ACTIVE means that the devices hold it
        await eventually(lambda tenant=tenant: world.active(world.ids[tenant]))  # type: ignore[misc]
        assert world.numbers(tenant) == [{THEIR_NUMBERS[tenant]}] * 2
        assert world.there("net/self", tenant) == [[f"local-unit-{at}-sub-{tenant}"] for at in (0, 1)]
        assert world.there("ltm/snat-translation", tenant) == [[f"snat-traffic-group-1sub-{tenant}_0"]] * 2
    # a new load balancer of the tenant finds its place
    more = await world.create_in("a")
    await eventually(lambda: world.active(more))
    assert world.numbers("a") == [{2}] * 2  # settled: ACTIVE means that the devices hold it
    for id_ in (more, *world.ids.values()):
        await delete(world, id_)
    for tenant in TENANTS:
        await eventually(lambda tenant=tenant: world.have_partition(tenant) == [False, False])  # type: ignore[misc]

    async def released() -> bool:
        return await world.allocated() == 0

    await eventually(released)


async def test_a_number_that_is_in_service_is_refused_and_nothing_is_changed(world: AdoptionWorld) -> None:
    await world.start(agents=1)
    await world.declare()
    served = await world.create_in("a")
    await eventually(lambda: world.active(served))
    assert world.numbers("a") == [{1}] * 2  # settled: ACTIVE means that the devices hold it
    devices = [Hands(world.emulator, name) for name in DEVICES]
    for hands in devices:
        f5 = F5Agent(hands, tenant="b", prefix=ENVIRONMENT)
        await f5.begin(9)
        await f5.call("ltm/pool", f"{ENVIRONMENT}_other")
    await world.create_again("b")

    async def refused() -> bool:
        return "'evenkeel adopt'" in (await world.root(world.ids["b"])).status_reason

    await eventually(refused)
    shard = await world.store.operators.shard_of_load_balancer(served)
    assert shard is not None
    # whatever made it so: the database says that the other tenant's devices have that number
    await world.store.database.write(
        lambda connection: connection.execute(
            update(schema.route_domain).where(schema.route_domain.c.shard_id == shard.id).values(number=9)
        )
    )
    answer = await adoption_answer(world, world.ids["b"], adopt=True)
    assert "route domain 9" in answer.problem and "project a" in answer.problem
    for hands in devices:
        partition = await hands.call("GET", f"auth/partition/{ENVIRONMENT}_b")
        assert "description" not in partition


# -- several route domains


class SeveralWorld(AttachedWorld):
    """F5's agent 9.8 to 9.10 served a load balancer of one tenant on each of two networks."""

    agent_options = {"max_namespaces_per_tenant": "2"}

    async def build(self) -> list[ServiceDefinition]:
        """What F5's agent left on both devices; returns the load balancers."""
        devices = [device.url.removeprefix("https://") for device in self.emulator.devices.values()]
        wanted = [
            with_uuids(in_turn(balancer(number, network(number, subnet(number, devices), route_domain=100 + number))))
            for number in (1, 2)
        ]
        tenant = Tenant(id=PROJECT, prefix=ENVIRONMENT, ha=HaType.PAIR)
        for at, device in enumerate(DEVICES):
            made = Replay(tenant, Unit(name=f"unit-{at}", place=at), wanted)
            await replay(self.emulator, made.requests(), device)
        return wanted

    async def declare_networks(self, wanted: Iterable[ServiceNetwork]) -> None:
        for each in wanted:
            await self.store.operators.add_network(
                DeclaredNetwork(
                    id=each.id,
                    name=each.id,
                    network_type=each.network_type,
                    physical_network=each.physical_network,
                    segmentation_id=each.segmentation_id,
                )
            )
            for one in each.subnets:
                base = one.cidr.rpartition(".")[0]
                await self.store.operators.add_subnet(
                    Subnet(
                        id=one.id,
                        network_id=each.id,
                        cidr=one.cidr,
                        gateway_ip=one.gateway_ip,
                        allocation_start=f"{base}.20",
                        allocation_end=f"{base}.250",
                        device_addresses=(f"{base}.2-{base}.9",),
                    )
                )

    async def create(self, wanted: ServiceDefinition) -> None:
        """The load balancer with the ids that it had in Neutron."""
        assert wanted.vip is not None
        (front,), (pool,) = wanted.listeners, wanted.pools
        below = {"load_balancer_id": wanted.load_balancer_id, "project_id": PROJECT}
        tree = LoadBalancerTree(
            load_balancer=LoadBalancer(
                id=wanted.load_balancer_id, project_id=PROJECT, vip=wanted.vip, provider=ENVIRONMENT
            ),
            listeners=(Listener(id=front.id, protocol="HTTP", protocol_port=80, default_pool_id=pool.id, **below),),
            pools=(Pool(id=pool.id, protocol="HTTP", lb_algorithm="ROUND_ROBIN", **below),),
            members=tuple(
                Member(
                    id=each.id,
                    pool_id=pool.id,
                    address=each.address,
                    protocol_port=each.protocol_port,
                    subnet_id=wanted.vip.subnet_id,
                    **below,
                )
                for each in pool.members
            ),
        )
        vip = wanted.vip
        plan = VipPlan(subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id, address=vip.address)
        change = await self.store.tenants.create_load_balancer(tree, plan, [])
        await self.controllers["c0"].driver.change_accepted(change)

    def numbers(self) -> list[set[int]]:
        """Of each device: the tenant's route domains."""
        return [
            {
                each.props["id"]
                for each in self.emulator.devices[name].engine.store.top("net/route-domain", f"{ENVIRONMENT}_{PROJECT}")
            }
            for name in DEVICES
        ]


@pytest.fixture
async def several(tmp_path: Path) -> AsyncIterator[SeveralWorld]:
    async with emulated(*DEVICES) as emulator:
        made = SeveralWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        made.retire_seconds = 0.1
        yield made
        await made.close()
        await made.rig.close()


async def test_a_tenant_on_two_networks_is_adopted_with_both_numbers_and_leaves_nothing(several: SeveralWorld) -> None:
    world = several
    wanted = await world.build()
    await world.start(agents=2)
    await world.declare_networks(each for one in wanted for each in one.networks)
    for one in wanted:
        await world.create(one)

        async def refused(one: ServiceDefinition = one) -> bool:
            return "'evenkeel adopt'" in (await world.root(one.load_balancer_id)).status_reason

        await eventually(refused)
    first, second = (one.load_balancer_id for one in wanted)
    shown = await adoption_answer(world, first, adopt=False)
    assert not shown.problem
    assert not [step for plan in shown.devices for step in plan.operations if "cannot be changed" in step.note]
    for _ in range(2):  # repeated, as after a lost answer
        assert not (await adoption_answer(world, first, adopt=True)).problem
    for id_ in (first, second):
        await eventually(lambda id_=id_: world.active(id_))  # type: ignore[misc]
    assert world.numbers() == [{101, 102}] * 2  # settled: ACTIVE means that the devices hold it
    # A third network gets its place beside these two: its subnet overlaps with none of theirs.
    (third,) = with_uuids(balancer(3, network(3, subnet(3, [])))).networks
    await world.declare_networks([third])
    vip = Vip(address="10.3.0.30", subnet_id=third.subnets[0].id, network_id=third.id, port_id=str(uuid.uuid4()))
    more = replace(wanted[0], load_balancer_id=str(uuid.uuid4()), vip=vip)
    more = replace(
        more,
        listeners=(replace(more.listeners[0], id=str(uuid.uuid4())),),
        pools=(replace(more.pools[0], id=str(uuid.uuid4()), members=()),),
    )
    await world.create(more)
    await eventually(lambda: world.active(more.load_balancer_id))
    assert world.numbers() == [{101, 102}] * 2  # settled: ACTIVE means that the devices hold it
    for id_ in (first, second, more.load_balancer_id):
        await delete(world, id_)
    await eventually(lambda: world.have_partition(PROJECT) == [False, False])

    async def released() -> bool:
        return await world.allocated() == 0

    await eventually(released)
