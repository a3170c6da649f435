"""The partition of a deleted tenant goes in the end, whatever write of its removal a crash cuts, and comes back."""

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, service, session_of


async def has_partition(rig: BigIpRig) -> bool:
    found = await rig.hands.call("GET", "auth/partition")
    return PARTITION in {each["name"] for each in found["items"]}


async def remove(owner: Owner, epoch: int) -> bool:
    """What an agent does once the database has no load balancer: the partition is compared, and then removed."""
    await owner.apply(batch(epoch=epoch, complete=True))
    return not (await owner.retire(PROJECT, epoch, session_of(epoch))).left


@pytest.mark.parametrize("kind", ["drop_before", "drop_after"])
async def test_the_partition_goes_whatever_write_a_crash_cuts(rig: BigIpRig, kind: str) -> None:
    epoch, number, cut = 1, 0, True
    while cut:
        agent, heir = rig.owner(retry_time="0"), rig.owner()
        await agent.apply(batch(service(), epoch=epoch, complete=True))
        assert await has_partition(rig)
        fault = rig.emulator.faults.add(Fault(kind=kind, method="POST|PATCH|DELETE", skip=number))
        try:
            await agent.apply(batch(gone(), epoch=epoch))
            await remove(agent, epoch)
            cut = False
        except DeviceUnavailable:
            pass
        rig.emulator.faults.remove(fault)
        # as the next owner does: where no guard is left nothing is made to remove it
        if (await heir.retire(PROJECT, epoch + 1, session_of(epoch + 1))).left:
            assert await remove(heir, epoch + 1)
        assert not await has_partition(rig)
        epoch, number = epoch + 2, number + 1
    assert number > 10
