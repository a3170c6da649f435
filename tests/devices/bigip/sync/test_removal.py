"""``sync_mode = sync``: an empty partition goes from every device, and none is ever without guard and floor."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.devices.device import PartitionRetirement
from evenkeel.core.kit.errors import DeviceUnavailable, StaleOwner
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, bigip
from tests.devices.bigip.sync.test_sync_mode import QUICK, push, state
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, service, session_of
from tests.waiting import eventually

DEVICES = ("bigip-1", "bigip-2")
GROUPS = "ltm/data-group/internal"


@pytest.fixture
async def synced() -> AsyncIterator[BigIpRig]:
    async with bigip(*DEVICES, ha="pair", ha_type="pair") as rig:
        await push(rig)
        yield rig


async def emptied(agent: Owner, epoch: int) -> Any:
    """The tenant's last load balancer goes; what became of its partition."""
    await agent.apply(batch(service(), epoch=epoch, complete=True))
    await agent.apply(batch(gone(), epoch=epoch))
    await agent.apply(batch(epoch=epoch, complete=True))
    return await agent.retire(PROJECT, epoch, session_of(epoch))


def have_partition(rig: BigIpRig) -> list[bool]:
    return [PARTITION in rig.emulator.devices[name].objects("auth/partition") for name in DEVICES]


async def guards_and_floors(rig: BigIpRig, device: str) -> tuple[list[str], list[str]]:
    hands = Hands(rig.emulator, device)
    guards = (
        await hands.items(GROUPS, PARTITION)
        if PARTITION in rig.emulator.devices[device].objects("auth/partition")
        else {}
    )
    floors = await hands.items(GROUPS, "Common")
    return [name for name in guards if "guard_" in name], [name for name in floors if "floor_dev_" in name]


async def test_empty_partition_is_removed_from_every_device_and_former_owners_stay_refused(synced: BigIpRig) -> None:
    stale, agent = synced.owner(**QUICK), synced.owner(**QUICK)
    await stale.apply(batch(service(), epoch=1, complete=True))
    assert await emptied(agent, 2) == PartitionRetirement()
    assert have_partition(synced) == [False, False] and state(synced) == "In Sync"
    for away in DEVICES:
        fault = synced.emulator.faults.add(Fault(kind="refuse", device=away))
        late = synced.owner(**QUICK)
        for former in (stale, late):
            await eventually(lambda one=former: is_refused(one))  # type: ignore[misc]
        synced.emulator.faults.remove(fault)
    new = synced.owner(**QUICK)
    again = await new.apply(batch(service(), epoch=3, complete=True))
    assert not again.lagging and have_partition(synced) == [True, True]


async def is_refused(former: Owner) -> bool:
    """By a device, and not for being out of reach."""
    try:
        await former.apply(batch(service(), epoch=1, complete=True))
    except StaleOwner:
        return True
    except DeviceUnavailable:
        return False
    pytest.fail("a former owner made the partition again")


async def test_every_device_has_the_floor_before_a_guard_goes_from_any(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    hold = synced.emulator.faults.add(Fault(kind="mcpd_lost", method="POST", path="/tm/cm$", skip=2))
    seen = await emptied_until_refused(agent)
    assert seen
    found = [await guards_and_floors(synced, device) for device in DEVICES]
    assert [len(guards) for guards, _ in found] == [1, 1]
    assert sorted("floor_dev_1_" in floor for _, floors in found for floor in floors) == [False, True]
    synced.emulator.faults.remove(hold)
    new = synced.owner(**QUICK)
    await new.take_over(PROJECT, 2, session_of(2))
    assert await emptied(new, 2) == PartitionRetirement()
    assert have_partition(synced) == [False, False]


async def emptied_until_refused(agent: Owner) -> bool:
    """Whether the device refused to synchronise on the way."""
    try:
        return bool((await emptied(agent, 1)).left)
    except DeviceUnavailable:
        return True


async def test_empty_partition_stays_until_all_devices_are_back(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    peer = max(synced.emulator.devices.values(), key=lambda device: device.url).name  # the first one is written
    await synced.emulator.power_off(peer)
    await agent.apply(batch(gone()))
    await agent.apply(batch(complete=True))
    retirement = await agent.retire(PROJECT, 1, session_of(1))
    assert retirement.left and have_partition(synced) == [True, True]
    await synced.emulator.power_on(peer)

    async def removed() -> bool:
        try:
            await agent.apply(batch(complete=True))
            return bool(await agent.retire(PROJECT, 1, session_of(1)) == PartitionRetirement())
        except DeviceUnavailable:
            return False

    await eventually(removed)
    assert have_partition(synced) == [False, False]  # settled: an outcome without anything left is of both devices


async def test_a_device_that_goes_away_on_the_way_loses_it_later(synced: BigIpRig) -> None:
    """Nothing makes the partition again meanwhile, and a new owner is served."""
    agent = synced.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    await agent.apply(batch(gone()))
    await agent.apply(batch(complete=True))
    fault = Fault(kind="mcpd_lost", method="POST", path="/tm/cm$", skip=1)
    number = synced.emulator.faults.add(fault)
    with pytest.raises(DeviceUnavailable):
        await agent.retire(PROJECT, 1, session_of(1))
    assert sorted(have_partition(synced)) == [False, True]
    synced.emulator.faults.remove(number)

    async def removed() -> bool:
        try:
            retired = await agent.retire(PROJECT, 1, session_of(1)) == PartitionRetirement()
        except DeviceUnavailable:
            return False
        return retired and have_partition(synced) == [False, False] and state(synced) == "In Sync"

    await eventually(removed)
    # settled: the write is the action of which this is the outcome
    assert not (await synced.owner(**QUICK).apply(batch(service(), epoch=2, complete=True))).lagging


async def test_a_partition_that_does_not_exist_costs_no_config_sync(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    await agent.check()
    assert await agent.retire(PROJECT, 1, session_of(1)) == PartitionRetirement()
    paths = [entry["path"] for entry in synced.emulator.write_log.entries(after=0)]
    assert paths.count("/mgmt/tm/cm") == 1  # the test's own


async def test_a_newer_owners_partition_stays(synced: BigIpRig) -> None:
    old, new = synced.owner(**QUICK), synced.owner(**QUICK)
    await old.apply(batch(service(), epoch=1, complete=True))
    await old.apply(batch(gone(), epoch=1))
    await old.apply(batch(epoch=1, complete=True))
    await new.apply(batch(service(), epoch=2, complete=True))
    with contextlib.suppress(StaleOwner):
        assert (await old.retire(PROJECT, 1, session_of(1))).left
    assert have_partition(synced) == [True, True]
    assert (await new.apply(batch(service(), epoch=2, complete=True))).writes == 0
