"""A tenant's partition on a pair of BIG-IPs goes after the last load balancer, and comes back with another agent."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, select
from sqlalchemy import delete as delete_rows

from evenkeel.core.kit.errors import NotFound
from evenkeel.core.ports import Device
from evenkeel.store.records import schema
from icontrol_emulator import Emulator
from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.sync.test_sync_mode import push
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

DEVICES = ("bigip-1", "bigip-2")


class PairWorld(World):
    """Agents of one pair."""

    device_driver = "bigip"
    rig: BigIpRig
    emulator: Emulator
    sync_mode = "replicate"

    def _device_of(self, host: str) -> Device:
        return self.rig.agent(environment=ENVIRONMENT, sync_mode=self.sync_mode)

    def have_partition(self, tenant: str) -> list[bool]:
        """Whether each device has the tenant's partition."""
        paths = [self.emulator.devices[name].engine.store.snapshot().objects for name in DEVICES]
        name = f"{ENVIRONMENT}_{tenant}"
        return [any(key.type == "auth/partition" and key.path == name for key in objects) for objects in paths]

    async def forget(self, shard_id: str) -> None:
        """The database loses a tenant's shard and load balancers; both agents are started anew, and know nothing."""
        for host in list(self.agents):
            await self.vanish(host)
        load_balancer, shard = schema.load_balancer, schema.shard

        def lose(connection: Connection) -> None:
            ids = list(connection.scalars(select(load_balancer.c.id).where(load_balancer.c.shard_id == shard_id)))
            for table in (schema.listener, schema.pool):
                connection.execute(delete_rows(table).where(table.c.load_balancer_id.in_(ids)))
            connection.execute(delete_rows(load_balancer).where(load_balancer.c.id.in_(ids)))
            connection.execute(delete_rows(shard).where(shard.c.id == shard_id))

        await self.store.database.write(lose)
        for host in ("h0", "h1"):
            await self.start_agent(host)

    def addresses(self, tenant: str) -> list[int]:
        devices = [self.emulator.devices[name] for name in DEVICES]
        return [len(list(one.objects("ltm/virtual-address", f"{ENVIRONMENT}_{tenant}"))) for one in devices]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[PairWorld]:
    async with emulated(*DEVICES) as emulator:
        made = PairWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        yield made
        await made.close()
        await made.rig.close()


async def gone(world: PairWorld, load_balancer_id: Any) -> bool:
    try:
        await world.root(load_balancer_id)
    except NotFound:
        return True
    return False


async def acts_elsewhere(world: PairWorld, load_balancer_id: str, host: str) -> bool:
    return await world.acting(load_balancer_id) not in ("", host)


async def delete(world: PairWorld, load_balancer_id: Any) -> None:
    change = await world.store.tenants.delete_load_balancer(load_balancer_id, cascade=True, project_id=None)
    await world.controllers["c0"].driver.change_accepted(change)


@pytest.mark.parametrize("sync_mode", ["replicate", "sync"])
async def test_partition_is_removed_with_the_last_load_balancer_and_made_again_by_another_agent(
    world: PairWorld, sync_mode: str
) -> None:
    world.sync_mode = sync_mode
    if sync_mode == "sync":
        await push(world.rig)
    await world.start(agents=2)
    first, second = await world.create("a"), await world.create("a")
    for load_balancer_id in (first, second):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    await delete(world, first)
    await eventually(lambda: gone(world, first))
    assert world.have_partition("a") == [True, True]  # settled: another load balancer needs it
    owner = await world.acting(second)
    await delete(world, second)
    await eventually(lambda: world.have_partition("a") == [False, False])
    await world.vanish(owner)
    again = await world.create("a")
    await eventually(lambda: world.active(again))
    assert await world.acting(again) not in ("", owner)  # settled: whoever made it ACTIVE acts
    assert world.have_partition("a") == [True, True]  # settled: ACTIVE means that the devices hold it


async def test_a_new_tenant_is_served_although_the_floor_is_above_its_first_epoch(world: PairWorld) -> None:
    await world.start(agents=2)
    old = await world.create("a")
    await eventually(lambda: world.active(old))
    for _ in range(2):
        await world.vanish(host := await world.acting(old))
        await eventually(lambda away=host: acts_elsewhere(world, old, away))  # type: ignore[misc]
        await world.start_agent(host)
    await delete(world, old)
    await eventually(lambda: world.have_partition("a") == [False, False])
    new = await world.create("b")
    await eventually(lambda: world.active(new))


async def test_the_partition_of_a_tenant_that_the_database_lost_goes_after_the_grace_time(world: PairWorld) -> None:
    world.controller_settings = replace(world.controller_settings, orphan_grace_seconds=0.3)
    await world.start(agents=2)
    kept, lost = await world.create("a"), await world.create("b")
    for load_balancer_id in (kept, lost):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    assert world.addresses("b") == [1, 1]  # settled: ACTIVE means that the devices hold it
    (shard,) = [one for one in await world.store.operators.shards() if one.project_id == "b"]
    await world.forget(shard.id)
    await eventually(lambda: world.have_partition("b") == [False, False])
    assert world.addresses("a") == [1, 1]  # settled: it may never change
    kinds = [event.kind for event in await world.store.operators.events(limit=1000)]
    assert "orphan_removed" in kinds
