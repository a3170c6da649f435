"""Monitors and policies that a device takes for used in the transaction that detaches them."""

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig
from tests.devices.services import PROJECT, batch, gone, listener, member, pool, service, session_of

MONITOR = "ltm/monitor/http"
CHANGED = {
    "monitor deleted": service(revision=2, pools=(pool(monitor=None),)),
    "monitor disabled": service(revision=2, pools=(pool(monitor=replace(pool().monitor, admin_state_up=False)),)),
    "monitor of another type": service(
        revision=2, pools=(pool(monitor=replace(pool().monitor, id="monitor-2", type="TCP")),)
    ),
    "TLS to members": service(revision=2, pools=(pool(tls_enabled=True),)),
    "members checked elsewhere": service(revision=2, pools=(pool(members=(member(1, 1, monitor_port=81),)),)),
}


def refused(outcome: PartitionOutcome) -> list[str]:
    return [one.error for one in outcome.outcomes if one.error]


async def monitors(rig: BigIpRig) -> set[str]:
    kinds = (MONITOR, "ltm/monitor/https", "ltm/monitor/tcp")
    return {name for kind in kinds for name in await rig.hands.items(kind)}


@pytest.mark.parametrize("wanted", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("deletes_detached", [False, True], ids=["device refuses", "device takes it"])
async def test_a_monitor_is_deleted_after_the_pool_has_let_go_of_it(
    rig: BigIpRig, wanted: ServiceDefinition, deletes_detached: bool
) -> None:
    rig.emulator.devices["bigip-1"].engine.deletes_detached = deletes_detached
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    before = await monitors(rig)
    assert not refused(await agent.apply(batch(wanted)))
    left = await rig.content()
    assert not before & await monitors(rig) or wanted is CHANGED["members checked elsewhere"]
    assert (await rig.owner().apply(batch(wanted, complete=True))).writes == 0
    await agent.apply(batch(gone()))
    await agent.apply(batch(replace(wanted, revision=10)))
    assert await rig.content() == left


async def test_a_pool_and_its_monitor_are_deleted_in_one_transaction(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    assert (await agent.apply(batch(gone()))).writes == 1
    assert not await rig.content()


async def test_the_next_owner_deletes_what_was_only_detached(rig: BigIpRig) -> None:
    agent = rig.owner(retry_time="0.1")
    await agent.apply(batch(service(), complete=True))
    wanted = CHANGED["monitor deleted"]
    rig.emulator.faults.add(Fault(kind="refuse", method="DELETE", path="monitor"))
    with pytest.raises(DeviceUnavailable):
        await agent.apply(batch(wanted))
    assert not (await rig.hands.items("ltm/pool"))["dev_pool-1"].get("monitor")
    assert await monitors(rig)
    rig.emulator.faults.clear()
    successor = rig.owner()
    await successor.take_over(PROJECT, 2, session_of(2))
    assert not refused(await successor.apply(batch(wanted, epoch=2, complete=True)))
    assert not await monitors(rig)
    assert (await successor.apply(batch(wanted, epoch=2, complete=True))).writes == 0


async def test_a_monitor_that_an_operators_pool_uses_is_the_only_thing_refused(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    (name,) = await monitors(rig)
    body = {"name": "hand-made", "partition": PARTITION, "monitor": f"/{PARTITION}/{name}"}
    await rig.hands.call("POST", "ltm/pool", body)
    wanted = service(revision=2, pools=(pool(monitor=None),), listeners=(listener(name="changed"),))
    (error,) = refused(await agent.apply(batch(wanted)))
    assert "is in use" in error
    pools = await rig.hands.items("ltm/pool")
    assert not pools["dev_pool-1"].get("monitor")
