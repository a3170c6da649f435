"""Partitions of F5's agent, made by replaying its requests: taken over, accounted for, and left as they were before."""

import pytest
from msgspec.structs import replace

from evenkeel.core.kit.errors import DeviceRejected
from evenkeel.core.networking.networks import NetworkType
from tests.devices.bigip.f5_adoption import (
    DEVICE,
    Scene,
    apart,
    attached,
    delete_everything,
    gone,
    take_over,
    tenant_of,
    unaccounted,
)
from tests.devices.bigip.f5_agent.identities import uuid_of, with_uuids
from tests.devices.bigip.f5_agent.links import Unit
from tests.devices.bigip.f5_agent.requests import create, replay
from tests.devices.bigip.f5_agent.scenes import Replay, of_everything
from tests.devices.bigip.f5_agent.tenants import LOCAL_ONLY, Generation, HaType
from tests.devices.bigip.network_world import ADJACENT, balancer, hosts_of, network, subnet
from tests.devices.bigip.rig import PARTITION, bigip
from tests.devices.bigip.snapshots import differences, snapshot
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
        services, (plan,) = await take_over(owner, [wanted])
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


@pytest.mark.parametrize("count", [0, 2])
async def test_source_addresses_of_f5s_agent_are_accounted_for_however_many_it_had(count: int) -> None:
    """None: the self IPs (SNAT automap), as with ``f5_snat_addresses_per_subnet = 0``."""
    async with bigip("bigip-1") as rig:
        wanted = with_uuids(attached(rig, NetworkType.VLAN, snat=count))
        scene = Scene(rig, Replay(tenant_of(Generation.TENANT), DEVICE, [wanted]))
        await scene.build()
        owner = rig.owner(**ADJACENT, f5_snat_addresses_per_subnet=str(count))
        services, (plan,) = await take_over(owner, [wanted])
        assert not plan.left
        assert unaccounted(scene.made, plan, await snapshot(rig.emulator)) == []
        kept = {key for key in scene.made if key.startswith("ltm/snat")}
        assert len(kept) == (count + 1 if count else 0) and kept <= (await snapshot(rig.emulator)).keys()
        await delete_everything(owner, services)
        assert await scene.rest() == {}


async def test_load_balancers_of_f5s_agent_that_were_not_imported_keep_their_networks() -> None:
    async with bigip("bigip-1") as rig:
        places = [network(number, subnet(number, hosts_of(rig)), route_domain=5) for number in (1, 2)]
        wanted, other = (with_uuids(balancer(number, place)) for number, place in enumerate(places, 1))
        scene = Scene(rig, Replay(tenant_of(Generation.TENANT), DEVICE, [wanted, other]))
        await scene.build()
        owner = rig.owner(**ADJACENT)
        services, (plan,) = await take_over(owner, [wanted])
        for _ in range(2):
            await owner.apply(batch(*services, complete=True))
        now = await snapshot(rig.emulator)
        theirs = [key for key in scene.made if "vlan-102" in key or other.networks[0].subnets[0].id in key]
        assert theirs and [key for key in theirs if now.get(key) != scene.made[key]] == []
        assert unaccounted(scene.made, plan, now) == []
        await owner.apply(batch(gone(wanted)))
        await owner.apply(batch(complete=True))
        now = await snapshot(rig.emulator)
        assert [key for key in theirs if now.get(key) != scene.made[key]] == []


async def test_a_deletion_right_after_the_adoption_leaves_the_device_as_before() -> None:
    async with bigip("bigip-1") as rig:
        wanted = with_uuids(attached(rig, NetworkType.VLAN))
        scene = Scene(rig, Replay(tenant_of(Generation.NETWORK), DEVICE, [wanted]))
        await scene.build()
        owner = rig.owner(**ADJACENT)
        services, _ = await take_over(owner, [wanted])
        await delete_everything(owner, services)
        assert await scene.rest() == {}


async def test_a_network_that_f5s_agent_made_for_source_addresses_alone_goes_with_them() -> None:
    async with bigip("bigip-1") as rig:
        wanted = with_uuids(attached(rig, NetworkType.VLAN))
        own = wanted.networks[0]
        place = subnet(9, hosts_of(rig), id=uuid_of("sub-9"), snat=2)
        apart = network(9, place, id=uuid_of("net-9"), route_domain=own.route_domain)
        replayed = Replay(tenant_of(Generation.NETWORK), DEVICE, [wanted], {wanted.load_balancer_id: apart})
        scene = Scene(rig, replayed)
        await scene.build()
        owner = rig.owner(**ADJACENT)
        services, (plan,) = await take_over(owner, [wanted])
        assert len(plan.left) == 5 and all("a later pass removes it" in each for each in plan.left)
        await owner.apply(batch(*services, complete=True))
        now = await snapshot(rig.emulator)
        assert not [key for key in now if key.endswith(("vlan-109", place.id)) or "10.9.0." in key]
        assert unaccounted(scene.made, plan, now) == []
        (then,) = await owner.plan(batch(*services, complete=True))
        assert not then.operations and not then.left
        await delete_everything(owner, services)
        assert await scene.rest() == {}


@pytest.mark.parametrize("generation", Generation)
async def test_both_devices_of_a_pair_are_left_as_before(generation: Generation) -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        wanted = with_uuids(attached(rig, NetworkType.VXLAN))
        units = [Unit(name=f"unit-{place}", place=place, vtep=f"192.0.2.{place + 1}") for place in (0, 1)]
        tenant = tenant_of(generation, HaType.PAIR)
        scenes = [
            Scene(rig, Replay(tenant, unit, [wanted]), device)
            for unit, device in zip(units, rig.emulator.devices, strict=True)
        ]
        for scene in scenes:
            await scene.build()
        owner = rig.owner(**ADJACENT)
        services, plans = await take_over(owner, [wanted])
        await owner.apply(batch(*services, complete=True))
        for scene, plan in zip(scenes, plans, strict=True):
            now = await snapshot(rig.emulator, scene.hands.device)
            assert unaccounted(scene.made, plan, now) == []
        assert not [then.operations for then in await owner.plan(batch(*services, complete=True)) if then.operations]
        await delete_everything(owner, services)
        assert [await scene.rest() for scene in scenes] == [{}, {}]


async def test_a_tenant_on_a_network_that_projects_share_is_refused_and_nothing_is_changed() -> None:
    """Its objects are in /Common, in route domain 0, and its SNAT pool has addresses of it."""
    async with bigip("bigip-1") as rig:
        wanted = with_uuids(attached(rig, NetworkType.VLAN))
        (theirs,) = wanted.networks
        scene = Scene(rig, Replay(tenant_of(Generation.TENANT), DEVICE, [replace(wanted, networks=())]))
        await scene.build()
        name = f"snat-traffic-group-local-only-{theirs.subnets[0].id}_0"
        await replay(
            rig.emulator,
            [
                create("ltm/snat-translation", "Common", name, address="10.1.0.11", trafficGroup=LOCAL_ONLY),
                create("ltm/snatpool", PARTITION, PARTITION, members=[f"/Common/{name}"]),
            ],
        )
        before = await snapshot(rig.emulator)
        owner = rig.owner(**ADJACENT)
        with pytest.raises(DeviceRejected, match="addresses of networks that projects share"):
            await owner.found_networks(batch(*apart([wanted]), complete=True))
        assert differences(before, await snapshot(rig.emulator)) == {}
