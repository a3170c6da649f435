"""Partitions of F5's agent with several route domains: taken over in place, with the numbers that they have."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.networking.networks import NetworkType, ServiceNetwork
from icontrol_emulator import Fault
from tests.devices.bigip.f5_adoption import (
    DEVICE,
    KINDS,
    Scene,
    apart,
    delete_everything,
    gone,
    take_over,
    tenant_of,
    unaccounted,
)
from tests.devices.bigip.f5_agent.identities import uuid_of, with_uuids
from tests.devices.bigip.f5_agent.links import Unit
from tests.devices.bigip.f5_agent.scenes import Replay, of_everything
from tests.devices.bigip.f5_agent.tenants import Generation, HaType
from tests.devices.bigip.f5_networks import adopted
from tests.devices.bigip.network_world import ADJACENT, balancer, hosts_of, network, subnet
from tests.devices.bigip.rig import PARTITION, BigIpRig, bigip
from tests.devices.bigip.snapshots import differences, snapshot
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch

SEVERAL = {**ADJACENT, "max_namespaces_per_tenant": "2"}


def place(rig: BigIpRig, number: int, kind: NetworkType = NetworkType.VLAN, **changes: Any) -> ServiceNetwork:
    return KINDS[kind](number, subnet(number, hosts_of(rig), **changes))


def on_two_networks(
    rig: BigIpRig, first: NetworkType = NetworkType.VLAN, second: NetworkType = NetworkType.VLAN, **changes: Any
) -> list[ServiceDefinition]:
    """Load balancers of one tenant. ``changes``: of the second network's subnet."""
    return [balancer(1, place(rig, 1, first)), balancer(2, place(rig, 2, second, **changes))]


def numbers_of(services: list[ServiceDefinition]) -> dict[str, int]:
    return {each.id: each.route_domain for one in services for each in one.networks}


async def assert_settled(owner: Owner, services: list[ServiceDefinition]) -> None:
    (then,) = await owner.plan(batch(*services, complete=True))
    assert not then.operations and not then.left


@pytest.mark.parametrize(
    ("first", "second"), [(NetworkType.VLAN, NetworkType.VLAN), (NetworkType.VXLAN, NetworkType.VLAN)]
)
async def test_each_network_keeps_its_route_domain_and_the_last_deletion_leaves_the_device_as_before(
    first: NetworkType, second: NetworkType
) -> None:
    async with bigip("bigip-1") as rig:
        plain, other = on_two_networks(rig, first, second)
        wanted = [of_everything(plain), with_uuids(other)]
        scene = Scene(rig, Replay(tenant_of(Generation.NETWORK), DEVICE, wanted))
        await scene.build()
        owner = rig.owner(**SEVERAL)
        services, (plan,) = await take_over(owner, wanted)
        assert numbers_of(services) == numbers_of(wanted)
        assert not [step for step in plan.operations if "cannot be changed in place" in step.note]
        await owner.apply(batch(*services, complete=True))
        now = await snapshot(rig.emulator)
        assert unaccounted(scene.made, plan, now) == []
        routed = {key for key in scene.made if key.startswith(("net/route", "net/self"))}
        assert len(routed) == 6 and routed <= now.keys()
        await assert_settled(owner, services)
        third = with_uuids(balancer(3, network(3, subnet(3, hosts_of(rig)), route_domain=103)))
        outcome = await owner.apply(batch(third))
        assert [one.error for one in outcome.outcomes] == [""]
        await assert_settled(owner, [*services, third])
        await delete_everything(owner, [*services, third])
        assert await scene.rest() == {}


async def test_a_network_that_a_load_balancer_joins_to_an_attached_one_is_in_its_route_domain() -> None:
    async with bigip("bigip-1") as rig:
        wanted = [with_uuids(each) for each in on_two_networks(rig)]
        scene = Scene(rig, Replay(tenant_of(Generation.NETWORK), DEVICE, wanted))
        await scene.build()
        first, second = wanted
        # Of members alone: F5's agent has not attached it.
        (beside,) = with_uuids(balancer(3, network(3, subnet(3, hosts_of(rig))))).networks
        joined = [first, replace(second, networks=(*second.networks, beside))]
        owner = rig.owner(**SEVERAL)
        services, _ = await take_over(owner, joined)
        assert numbers_of(services) == {uuid_of("net-1"): 101, uuid_of("net-2"): 102, uuid_of("net-3"): 102}
        await owner.apply(batch(*services, complete=True))
        await assert_settled(owner, services)
        await delete_everything(owner, services)
        assert await scene.rest() == {}


async def test_further_route_domains_of_a_tenant_whose_subnets_overlap_are_kept() -> None:
    """F5's agent until 9.6, with ``max_namespaces_per_tenant = 2``."""
    async with bigip("bigip-1") as rig:
        wanted = [with_uuids(each) for each in on_two_networks(rig, base="10.1.0", snat=0)]
        wanted[0] = replace(wanted[0], networks=with_uuids(balancer(1, place(rig, 1, snat=0))).networks)
        tenant = replace_tenant(first_domain=101)
        scene = Scene(rig, Replay(tenant, DEVICE, wanted))
        await scene.build()
        owner = rig.owner(**SEVERAL, f5_snat_addresses_per_subnet="0")
        services, (plan,) = await take_over(owner, wanted)
        assert services == wanted
        await owner.apply(batch(*services, complete=True))
        now = await snapshot(rig.emulator)
        assert unaccounted(scene.made, plan, now) == []
        assert {f"net/route-domain /{PARTITION}/{PARTITION}", f"net/route-domain /{PARTITION}/{PARTITION}_aux_102"} <= (
            now.keys()
        )
        await assert_settled(owner, services)
        await delete_everything(owner, services)
        assert await scene.rest() == {}


def replace_tenant(*, first_domain: int) -> Any:
    return dataclasses.replace(tenant_of(Generation.TENANT), first_domain=first_domain)


# -- refused


async def refusal(owner: Owner, services: list[ServiceDefinition]) -> str:
    with pytest.raises(DeviceRejected) as raised:
        await owner.found_networks(batch(*apart(services), complete=True))
    return str(raised.value)


async def test_networks_that_cannot_be_adopted_are_refused_by_name_and_nothing_is_changed() -> None:
    async with bigip("bigip-1") as rig:
        first, second = (with_uuids(each) for each in on_two_networks(rig))
        scene = Scene(rig, Replay(tenant_of(Generation.NETWORK), DEVICE, [first, second]))
        await scene.build()
        before = await snapshot(rig.emulator)
        across = replace(first, networks=(*first.networks, *second.networks))
        owner = rig.owner(**SEVERAL)
        assert (
            f"load balancers {first.load_balancer_id} join networks of different route domains:"
            f" {min(uuid_of('net-1'), uuid_of('net-2'))} in"
        ) in await refusal(owner, [across, second])
        # its VIP's address would be recreated when it is imported later
        assert f"virtual addresses dev_{second.load_balancer_id} (102) are in route domains" in await refusal(
            owner, [first]
        )
        assert "2 route domains (101, 102), and max_namespaces_per_tenant is 1 here" in await refusal(
            rig.owner(**ADJACENT), [first, second]
        )
        assert differences(before, await snapshot(rig.emulator)) == {}
        with pytest.raises(DeviceRejected, match="'evenkeel adopt'"):
            await owner.apply(batch(first, second, complete=True))


async def test_a_route_domain_without_virtual_addresses_is_left_and_shown() -> None:
    """F5's agent has it for a network whose load balancers it deleted, or an operator made it."""
    async with bigip("bigip-1") as rig:
        wanted = with_uuids(balancer(1, place(rig, 1)))
        scene = Scene(rig, Replay(tenant_of(Generation.NETWORK), DEVICE, [wanted]))
        await scene.build()
        name = f"dev_{uuid_of('net-2')}"
        await rig.hands.call("POST", "net/route-domain", {"name": name, "partition": PARTITION, "id": 102})
        owner = rig.owner(**ADJACENT)
        services, (plan,) = await take_over(owner, [wanted])
        assert numbers_of(services) == numbers_of([wanted])
        assert [each for each in plan.left if each.startswith(f"net/route-domain /{PARTITION}/{name}")]
        await owner.apply(batch(*services, complete=True))
        await owner.apply(batch(gone(wanted)))
        assert (await rig.hands.items("net/route-domain")).keys() == {name}


# -- pairs


async def built_pair(rig: BigIpRig, wanted: list[ServiceDefinition]) -> list[Scene]:
    units = [Unit(name=f"unit-{at}", place=at, vtep=f"192.0.2.{at + 1}") for at in (0, 1)]
    tenant = tenant_of(Generation.NETWORK, HaType.PAIR)
    scenes = [
        Scene(rig, Replay(tenant, unit, wanted), device)
        for unit, device in zip(units, rig.emulator.devices, strict=True)
    ]
    for scene in scenes:
        await scene.build()
    return scenes


async def test_on_a_pair_nothing_is_found_while_a_device_is_away_and_a_crash_between_them_is_repeated() -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        wanted = [with_uuids(each) for each in on_two_networks(rig, NetworkType.VXLAN, NetworkType.VLAN)]
        scenes = await built_pair(rig, wanted)
        had = batch(*apart(wanted), complete=True)
        owner = rig.owner(**SEVERAL)
        away = rig.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
        with pytest.raises(DeviceUnavailable):
            await owner.found_networks(had)
        rig.emulator.faults.remove(away)
        owner = rig.owner(**SEVERAL)
        found = await owner.found_networks(had)
        services = list(adopted(had.services, found))
        assert numbers_of(services) == numbers_of(wanted)
        # The mark of the first device was written, and no pass has been made.
        mark = {"description": "evenkeel:dev/1:partition"}
        await scenes[0].hands.call("PATCH", f"auth/partition/{PARTITION}", mark)
        again = await owner.found_networks(had)
        assert again.route_domains == found.route_domains
        await owner.adopt(PROJECT)
        for _ in range(2):
            outcome = await owner.apply(batch(*services, complete=True))
            assert [one.error for one in outcome.outcomes] == ["", ""]
        assert not [then.operations for then in await owner.plan(batch(*services, complete=True)) if then.operations]
        await delete_everything(owner, services)
        assert [await scene.rest() for scene in scenes] == [{}, {}]


async def test_devices_whose_networks_have_different_numbers_are_refused() -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        wanted = [with_uuids(each) for each in on_two_networks(rig)]
        units = [Unit(name=f"unit-{at}", place=at, vtep=f"192.0.2.{at + 1}") for at in (0, 1)]
        for at, device in enumerate(rig.emulator.devices):
            theirs = [
                replace(
                    one, networks=tuple(replace(each, route_domain=each.route_domain + at) for each in one.networks)
                )
                for one in wanted
            ]
            tenant = tenant_of(Generation.NETWORK, HaType.PAIR)
            await Scene(rig, Replay(tenant, units[at], theirs), device).build()
        reason = await refusal(rig.owner(**SEVERAL), wanted)
        assert "another route domain on each device" in reason and f"102 of network {uuid_of('net-1')}" in reason
