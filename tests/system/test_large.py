"""Load balancers that do not fit a message, among others of their tenant."""

import asyncio
import uuid
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenkeel.bus.codec import MAX_MESSAGE_BYTES
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.message_chunks import encoded_bytes
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Vip
from tests.system.world import ENVIRONMENT, WatchedBus, World
from tests.waiting import eventually

PROJECT = "tenant"
MEMBERS = 4000


class BusWithoutParts(WatchedBus):
    """The bus of an agent that takes no answer in parts."""

    async def call(self, queue: str, message: m.Call, *, timeout_seconds: float) -> m.AnyReply:
        if isinstance(message, m.GetServices | m.GetAssignments | m.GetCertificates):
            message = replace(message, takes_parts=False)
        return await super().call(queue, message, timeout_seconds=timeout_seconds)


class WorldWithoutParts(World):
    """Some agents take no answer in parts."""

    def __init__(self, directory: Path, hosts: frozenset[str]) -> None:
        super().__init__(directory)
        self._without_parts = hosts

    async def _bus(self, name: str) -> WatchedBus:
        if name not in self._without_parts:
            return await super()._bus(name)
        bus = self._buses[name] = BusWithoutParts(self.hub, name)
        await bus.start()
        return bus


def large_tree(address: str, members: int = MEMBERS, listeners: int = 0, pools: int = 1) -> LoadBalancerTree:
    """So many members in one pool, all with the longest of names, and more pools and listeners without any."""
    ids = {"load_balancer_id": str(uuid.uuid4()), "project_id": PROJECT}
    vip = Vip(address=address, subnet_id="s", network_id="n", port_id=str(uuid.uuid4()))
    root = LoadBalancer(id=ids["load_balancer_id"], project_id=PROJECT, vip=vip, provider=ENVIRONMENT)
    pool = Pool(id=str(uuid.uuid4()), protocol="HTTP", lb_algorithm="ROUND_ROBIN", **ids)
    rows = tuple(
        Member(
            id=str(uuid.uuid4()),
            pool_id=pool.id,
            address=f"10.{number >> 8}.{number & 255}.1",
            protocol_port=80,
            name=f"{number:x}".rjust(255, "n"),
            **ids,
        )
        for number in range(members)
    )
    more = (replace(pool, id=str(uuid.uuid4())) for _ in range(1, pools))
    fronts = (
        Listener(id=str(uuid.uuid4()), protocol="HTTP", protocol_port=number, default_pool_id=pool.id, **ids)
        for number in range(1, listeners + 1)
    )
    return LoadBalancerTree(load_balancer=root, listeners=tuple(fronts), pools=(pool, *more), members=rows)


async def test_the_largest_that_is_allowed_is_applied(tmp_path: Path) -> None:
    limits = LoadBalancerLimits()
    world = World(tmp_path)
    try:
        await world.start(controllers=1, agents=1)
        tree = large_tree("192.0.2.251", limits.member, limits.listener, limits.pool)
        load_balancer_id = await create(world, tree)
        await eventually(lambda: world.active(load_balancer_id))
        # settled: ACTIVE means that the devices hold it
        assert held_members(world, load_balancer_id) == limits.member
    finally:
        await world.close()


async def create(world: World, tree: LoadBalancerTree) -> str:
    root = tree.load_balancer
    assert root.vip is not None
    plan = VipPlan(subnet_id="s", network_id="n", port_id=root.vip.port_id, address=root.vip.address)
    change = await world.store.tenants.create_load_balancer(tree, plan)
    await world.controllers["c0"].driver.change_accepted(change)
    return root.id


def held_members(world: World, load_balancer_id: str) -> int:
    held = world.memory.partitions[PROJECT].holds[load_balancer_id]
    return sum(len(pool.members) for pool in held.pools)


async def test_one_that_is_larger_than_a_message_is_applied_also_by_complete_passes_and_amid_changes(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    try:
        await world.start()
        tree = large_tree("192.0.2.251")
        assert encoded_bytes(service_definition_of_tree(tree)) > MAX_MESSAGE_BYTES
        small = await world.create(PROJECT)
        large = await create(world, tree)
        for load_balancer_id in (small, large):
            await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
        # settled: ACTIVE means that the devices hold it
        assert held_members(world, large) == MEMBERS

        await world.kill(await world.acting(large))  # the next owner begins with a complete pass
        changes = asyncio.create_task(renamed_all_the_time(world, large))
        try:
            before = (await world.root(large)).applied_revision
            await eventually(lambda: applied_beyond(world, large, before))
        finally:
            changes.cancel()
            await asyncio.gather(changes, return_exceptions=True)
        for load_balancer_id in (small, large):
            await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
        # settled: ACTIVE means that the devices hold it
        assert held_members(world, large) == MEMBERS
        assert not world.hub.dead  # settled: nothing may ever be dead
    finally:
        await world.close()


async def renamed_all_the_time(world: World, load_balancer_id: str) -> None:
    for number in range(1_000_000):
        await world.rename(load_balancer_id, f"n{number}")
        await asyncio.sleep(0.01)


async def applied_beyond(world: World, load_balancer_id: str, revision: int) -> bool:
    return (await world.root(load_balancer_id)).applied_revision > revision


@pytest.mark.parametrize("grown", [False, True], ids=["new", "grown"])
async def test_an_agent_that_takes_no_parts_reports_it_of_that_load_balancer_and_serves_the_others(
    tmp_path: Path, grown: bool
) -> None:
    world = WorldWithoutParts(tmp_path, frozenset({"h0"}))
    try:
        await world.start(agents=0)
        if grown:  # an agent of today had put it there
            await world.start_agent("h1")
        else:
            await world.start_agent("h0")
        small = await world.create(PROJECT)
        large = await create(world, large_tree("192.0.2.251"))
        await eventually(lambda: world.active(small))
        if grown:
            await eventually(lambda: world.active(large))
            await world.start_agent("h0")
            await world.kill("h1")
            await eventually(lambda: acts(world, large, "h0"))
            await world.rename(large, "renamed")
        await eventually(lambda: said_to_be_too_large(world, large))
        await world.rename(small, "renamed")  # the takeover's complete pass came through, and what follows does
        await eventually(lambda: world.active(small))
        # settled: ACTIVE means that the devices hold it
        assert world.on_device(PROJECT)[small] == "renamed"
        # settled: it may never change
        assert (held_members(world, large) == MEMBERS) if grown else (large not in world.on_device(PROJECT))
        assert not world.hub.dead  # settled: nothing may ever be dead
    finally:
        await world.close()


async def acts(world: World, load_balancer_id: str, host: str) -> bool:
    return await world.acting(load_balancer_id) == host


async def said_to_be_too_large(world: World, load_balancer_id: str) -> bool:
    root = await world.root(load_balancer_id)
    return root.provisioning_status == "ERROR" and "bytes; its agent accepts at most" in root.status_reason
