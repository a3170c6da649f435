"""A tenant's partition on a pair of BIG-IPs goes after the last load balancer, and comes back with another agent."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.errors import NotFound
from evenkeel.core.ports import Device
from icontrol_emulator import Emulator
from tests.devices.bigip.rig import BigIpRig
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

DEVICES = ("bigip-1", "bigip-2")


class PairWorld(World):
    """Agents of one pair."""

    device_driver = "bigip"
    rig: BigIpRig
    emulator: Emulator

    def _device_of(self, host: str) -> Device:
        return self.rig.agent(environment=ENVIRONMENT)

    def have_partition(self, tenant: str) -> list[bool]:
        """Whether each device has the tenant's partition."""
        paths = [self.emulator.devices[name].engine.store.snapshot().objects for name in DEVICES]
        name = f"{ENVIRONMENT}_{tenant}"
        return [any(key.type == "auth/partition" and key.path == name for key in objects) for objects in paths]

    def virtuals(self, tenant: str) -> list[int]:
        found = (self.emulator.devices[name].objects("ltm/virtual", f"{ENVIRONMENT}_{tenant}") for name in DEVICES)
        return [len(list(each)) for each in found]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[PairWorld]:
    async with Emulator(devices=list(DEVICES), ha="pair", users={"admin": "admin"}, data_plane=False) as emulator:
        made = PairWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        made.retire_seconds = 0.1
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
    await world.controllers["c0"].driver.accepted(change)


async def test_it_goes_with_the_last_load_balancer_and_comes_back_with_another_agent(world: PairWorld) -> None:
    await world.start(agents=2)
    first, second = await world.create("a"), await world.create("a")
    for load_balancer_id in (first, second):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    await delete(world, first)
    await eventually(lambda: gone(world, first))
    assert world.have_partition("a") == [True, True]
    owner = await world.acting(second)
    await delete(world, second)
    await eventually(lambda: world.have_partition("a") == [False, False])
    await world.vanish(owner)
    again = await world.create("a")
    await eventually(lambda: world.active(again))
    assert await world.acting(again) not in ("", owner)
    assert world.have_partition("a") == [True, True]


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
