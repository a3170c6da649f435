"""The database is replaced by one that does not know the networks of projects to which BIG-IPs are attached."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig
from tests.system.test_lost_commits import started
from tests.system.test_networks import AttachedWorld
from tests.system.test_removed_partitions import DEVICES
from tests.system.test_replaced_database import LONG_SECONDS, passed, quick, replaced
from tests.waiting import eventually


class RoutedWorld(AttachedWorld):
    """Without SNAT: BIG-IPs let a shared network go although load balancers use it."""

    agent_options = {"f5_snat_mode": "False"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RoutedWorld]:
    async with emulated(*DEVICES) as emulator:
        made = RoutedWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        made.controller_settings = quick(made.controller_settings)
        yield made
        await made.close()
        await made.rig.close()


async def test_shared_network_stays_on_devices_until_an_operator_accepts_the_history(world: RoutedWorld) -> None:
    await started(world)
    await world.declare_shared()
    before = world.in_common()
    served = await world.create_in("a", shared=True)
    await eventually(lambda: world.active(served))
    there = world.in_common()
    assert all("vlan-180" in each for each in there)
    await replaced(world)
    await eventually(lambda: world.alive("h0"))
    await passed(LONG_SECONDS)
    # settled: the complete pass after the replacement is over
    assert world.in_common() == there

    (unknown,) = (await world.store.operators.history()).unknown
    await world.store.operators.accept_history(unknown.id)
    await eventually(lambda: world.in_common() == before, within_seconds=3600)
