"""Partitions of F5's agent, made by replaying its requests: taken over, accounted for, and left as they were before."""

import pytest

from evenkeel.core.networking.networks import NetworkType
from tests.devices.bigip.f5_adoption import (
    DEVICE,
    Scene,
    attached,
    delete_everything,
    take_over,
    tenant_of,
    unaccounted,
)
from tests.devices.bigip.f5_agent.requests import replay
from tests.devices.bigip.f5_agent.scenes import Replay, of_everything
from tests.devices.bigip.f5_agent.tenants import Generation
from tests.devices.bigip.network_world import ADJACENT
from tests.devices.bigip.rig import bigip
from tests.devices.bigip.snapshots import snapshot
from tests.devices.services import batch

CASES = [
    (NetworkType.VLAN, Generation.TENANT),
    (NetworkType.GRE, Generation.TENANT),
    (NetworkType.VLAN, Generation.NETWORK),
    (NetworkType.FLAT, Generation.NETWORK),
    (NetworkType.VXLAN, Generation.NETWORK),
]


@pytest.mark.parametrize(("kind", "generation"), CASES)
async def test_objects_of_f5s_agent_are_accounted_for_and_their_deletion_leaves_the_device_as_before(
    kind: NetworkType, generation: Generation
) -> None:
    async with bigip("bigip-1") as rig:
        wanted = of_everything(attached(rig, kind))
        scene = Scene(rig, Replay(tenant_of(generation), DEVICE, [wanted]))
        await scene.build()
        owner = rig.owner(**ADJACENT)
        services, plan = await take_over(owner, [wanted])
        assert all("a later pass removes it" in each for each in plan.left)
        assert bool(plan.left) == (generation is Generation.NETWORK)
        await owner.apply(batch(*services, complete=True))
        assert unaccounted(scene.made, plan, await snapshot(rig.emulator)) == []
        (then,) = await owner.plan(batch(*services, complete=True))
        assert not then.operations and not then.left
        await delete_everything(owner, services)
        assert await scene.rest() == {}


@pytest.mark.parametrize("generation", Generation)
async def test_f5s_agent_itself_leaves_the_device_as_before(generation: Generation) -> None:
    """The order of its deletions is one that a device takes."""
    async with bigip("bigip-1") as rig:
        scene = Scene(rig, Replay(tenant_of(generation), DEVICE, [of_everything(attached(rig, NetworkType.VXLAN))]))
        await scene.build()
        await replay(rig.emulator, scene.replayed.deletions())
        assert await scene.rest() == {}
