"""Networks that projects share, on a device: in /Common, guarded by the common shard's owner, used by tenants."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition, network_definition, removal_definition
from evenkeel.core.kit.errors import StaleOwner
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.networking.networks import AddressUse, DeviceAddress, ServiceNetwork, ServiceSubnet
from tests.devices.bigip.network_world import (
    ADJACENT,
    balancer,
    host,
    hosts_of,
    network,
    subnet,
    there,
    tunnel,
    with_vtep,
)
from tests.devices.bigip.rig import PARTITION, BigIpRig, bigip
from tests.devices.owner import Owner
from tests.devices.services import batch, gone, session_of

GUARDS = "dev_-common"


def shared(number: int, *devices: str, revision: int = 1, **changes: Any) -> ServiceDefinition:
    """``net-<number>`` as the common shard has it."""
    made = network(number, subnet(number, list(devices)), common=True, route_domain=0, project_id="", **changes)
    return network_definition(made.id, revision, made)


def used(definition: ServiceDefinition) -> ServiceNetwork:
    """The same network, as it is in the definition of a load balancer."""
    (found,) = definition.networks
    subnets = (
        replace(each, addresses=tuple(one for one in each.addresses if one.use is AddressUse.SNAT), hosts=())
        for each in found.subnets
    )
    return replace(found, subnets=tuple(subnets))


def left(number: int, revision: int = 9) -> ServiceDefinition:
    return network_definition(f"net-{number}", revision, None)


def networks(*services: ServiceDefinition, epoch: int = 1, complete: bool = False) -> PartitionBatch:
    return PartitionBatch(
        project_id=COMMON_PROJECT,
        epoch=epoch,
        session_id=session_of(epoch),
        services=services,
        complete=complete,
    )


async def apply(owner: Owner, wanted: PartitionBatch) -> int:
    outcome = await owner.apply(wanted)
    assert not errors(outcome)
    writes: int = outcome.writes
    return writes


def errors(outcome: PartitionOutcome) -> dict[str, str]:
    return {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}


async def in_common(rig: BigIpRig) -> dict[str, dict[str, Any]]:
    """What is ours in /Common."""
    found = await there(rig, "Common")
    return {key: item for key, item in found.items() if str(item.get("description")).startswith("evenkeel:dev/1:net-")}


async def test_objects_are_f5s_in_common_and_go_with_the_network() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT)
        assert await apply(owner, networks(shared(1, device), complete=True)) == 1
        name = device.replace(":", "-")
        assert set(await in_common(rig)) == {
            "net/vlan vlan-101",
            f"net/self local-{name}-sub-1",
            "ltm/snat-translation snat-traffic-group-1-sub-1_0",
        }
        assert await apply(owner, networks(shared(1, device))) == 0
        assert await apply(rig.owner(**ADJACENT), networks(shared(1, device), epoch=2, complete=True)) == 0
        owner = rig.owner(**ADJACENT)
        assert await apply(owner, networks(left(1), epoch=3)) == 1
        assert not await in_common(rig)
        await apply(owner, networks(epoch=3, complete=True))
        assert not (await owner.retire(COMMON_PROJECT, 3, session_of(3))).left
        assert GUARDS not in await rig.hands.items("auth/partition", "Common")


async def test_complete_batch_that_keeps_orphans_names_a_network_and_its_removal_takes_it_away() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT)
        await apply(owner, networks(shared(1, device), complete=True))
        there_before = await in_common(rig)
        keeping = replace(networks(complete=True), keeps_orphans=True)
        outcome = await owner.apply(keeping)
        assert (outcome.orphans, outcome.left, outcome.writes) == (("net-1",), (), 0)
        assert (await owner.retire(COMMON_PROJECT, 1, session_of(1))).left
        assert await in_common(rig) == there_before
        gone_too = (removal_definition(LoadBalancerId("net-1"), COMMON_PROJECT),)
        outcome = await owner.apply(replace(keeping, services=gone_too))
        assert outcome.orphans == () and not errors(outcome) and not await in_common(rig)


async def test_two_tenants_use_it_and_their_pools_have_its_addresses() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner, wanted = rig.owner(**ADJACENT), shared(1, device)
        await apply(owner, networks(wanted))
        own = network(2, subnet(2, [device]))
        await apply(owner, batch(balancer(1, used(wanted)), balancer(2, used(wanted), own, members=("10.2.0.200",))))
        found = await there(rig)
        (pool,) = (item for key, item in found.items() if key.startswith("ltm/snatpool"))
        mine = f"/{PARTITION}/snat-traffic-group-1-sub-2_0"
        assert sorted(pool["members"]) == ["/Common/snat-traffic-group-1-sub-1_0", mine]
        assert not any("vlan-101" in key for key in found)
        addresses = await rig.hands.items("ltm/virtual-address")
        assert {item["address"] for item in addresses.values()} == {"10.1.0.101", "10.1.0.102"}
        assert set(await rig.hands.items("ltm/node")) == {"10.2.0.200%7"}
        assert "dev_10.1.0.200" in await rig.hands.items("ltm/node", "Common")

        # a device refuses to give up what a tenant uses, and that is the network's reason
        refused = await owner.apply(networks(left(1)))
        assert "net-1" in errors(refused)
        await apply(owner, batch(gone(1)))
        assert "net-1" in errors(await owner.apply(networks(left(1))))
        await apply(owner, batch(gone(2)))
        assert not await there(rig)
        await apply(owner, networks(left(1)))
        assert not await in_common(rig)


@pytest.mark.parametrize("anew", [False, True])
async def test_the_pool_loses_the_address_with_the_last_load_balancer_of_that_network(anew: bool) -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner, first, second = rig.owner(**ADJACENT), shared(1, device), shared(2, device)
        await apply(owner, networks(first, second))
        await apply(owner, batch(balancer(1, used(first)), balancer(2, used(second))))
        epoch = 1
        if anew:  # another agent, which knows only what it reads
            owner, epoch = rig.owner(**ADJACENT), 2
        await apply(owner, batch(gone(1), epoch=epoch))
        (pool,) = (item for key, item in (await there(rig)).items() if key.startswith("ltm/snatpool"))
        assert pool["members"] == ["/Common/snat-traffic-group-1-sub-2_0"]
        assert await apply(owner, batch(balancer(2, used(second)), epoch=epoch, complete=True)) == 0
        await apply(owner, networks(left(1), epoch=epoch))
        await apply(owner, batch(gone(2), epoch=epoch))
        await apply(owner, networks(left(2), epoch=epoch))
        assert not await in_common(rig) and not await there(rig)


async def test_a_stale_owner_is_refused_by_the_device() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        old, new = rig.owner(**ADJACENT), rig.owner(**ADJACENT)
        await apply(old, networks(shared(1, device)))
        await apply(new, networks(shared(1, device), epoch=2, complete=True))
        with pytest.raises(StaleOwner):
            await old.apply(networks(left(1)))
        assert len(await in_common(rig)) == 3
        # the guards of tenants are others
        await apply(old, batch(balancer(1, used(shared(1, device)))))


async def test_operators_objects_stay_and_are_a_reason() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT)
        await rig.hands.call("POST", "net/vlan", {"name": "vlan-101", "tag": 900, "partition": "Common"})
        await rig.hands.call("POST", "net/self", {"name": "mine", "address": "10.9.0.2/24", "vlan": "/Common/vlan-101"})
        before = await there(rig, "Common")
        outcome = await owner.apply(networks(shared(1, device), shared(2, device), complete=True))
        assert "/Common/vlan-101 was not made by us" in errors(outcome)["net-1"]
        assert errors(outcome).keys() == {"net-1"}
        await apply(owner, networks(left(1), left(2)))
        await apply(owner, networks(complete=True))
        assert await there(rig, "Common") == before


async def test_a_bad_network_does_not_hold_up_others() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT)
        bad = shared(1, device, physical_network="elsewhere")  # an interface that the device does not have
        unmapped = shared(3, device, physical_network="unknown")
        outcome = await owner.apply(networks(bad, shared(2, device), unmapped, complete=True))
        assert "interface" in errors(outcome)["net-1"] and "not in f5_external_physical" in errors(outcome)["net-3"]
        assert errors(outcome).keys() == {"net-1", "net-3"}


async def test_tunnels_have_their_hosts_and_lose_those_that_vanish() -> None:
    async with bigip("bigip-1") as rig:
        await with_vtep(rig)
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT)

        def wanted(revision: int, *hosts: Any) -> ServiceDefinition:
            made = tunnel(1, subnet(1, [device], hosts=hosts), common=True, route_domain=0, project_id="")
            return network_definition(made.id, revision, made)

        one, two = host("10.1.0.200", 1, "192.0.2.11"), host("10.1.0.201", 2, "192.0.2.12")
        await apply(owner, networks(wanted(1, one, two)))
        path = "net/fdb/tunnel/~Common~tunnel-vxlan-5001"
        mine = {"name": "02:00:00:00:00:01", "endpoint": "192.0.2.99"}
        await rig.hands.call("POST", f"{path}/records", mine)
        await apply(owner, networks(wanted(2, two)))
        records = {each["name"]: each for each in (await rig.hands.call("GET", f"{path}/records"))["items"]}
        assert set(records) == {"ff:ff:ff:ff:ff:ff", "fa:16:3e:00:00:02", "02:00:00:00:00:01"}
        assert records["ff:ff:ff:ff:ff:ff"]["endpoints"] == ["192.0.2.12"]
        assert not any("10.1.0.200" in key for key in await in_common(rig))
        assert await apply(owner, networks(wanted(2, two), complete=True)) == 0
        await apply(owner, networks(left(1)))
        assert not await in_common(rig)


async def test_a_changed_segment_replaces_the_vlan() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT)
        await apply(owner, networks(shared(1, device)))
        await apply(owner, networks(shared(1, device, revision=2, segmentation_id=222)))
        found = await in_common(rig)
        assert "net/vlan vlan-222" in found and "net/vlan vlan-101" not in found


async def test_external_gateway_mode_has_the_default_route_of_route_domain_0() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**ADJACENT, f5_common_networks="True", external_gateway_mode="True")
        await apply(owner, networks(shared(1, device), shared(2, device)))
        route = (await in_common(rig))["net/route default-0"]
        assert (route["network"], route["gw"]) == ("default", "10.1.0.1")
        await apply(owner, networks(left(1)))
        assert (await in_common(rig))["net/route default-0"]["gw"] == "10.2.0.1"
        assert await apply(owner, networks(shared(2, device), complete=True)) == 0
        await apply(owner, networks(left(2)))
        assert not await in_common(rig)


async def test_the_default_route_leads_by_an_external_network_if_there_is_one() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        options = {**ADJACENT, "f5_common_networks": "True", "external_gateway_mode": "True"}
        owner = rig.owner(**options)

        async def gateway() -> str:
            return str((await in_common(rig))["net/route default-0"]["gw"])

        await apply(owner, networks(shared(1, device), complete=True))
        assert await gateway() == "10.1.0.1"
        await apply(owner, networks(shared(2, device, external=True)))
        assert await gateway() == "10.2.0.1"
        # as another owner finds it
        both = shared(1, device), shared(2, device, external=True)
        assert await apply(rig.owner(**options), networks(*both, epoch=2, complete=True)) == 0
        owner = rig.owner(**options)
        await apply(owner, networks(left(2), epoch=3))
        assert await gateway() == "10.1.0.1"
        await apply(owner, networks(left(1), epoch=3))
        assert not await in_common(rig)


async def test_owners_that_take_turns_leave_nothing() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owners = [rig.owner(**ADJACENT) for _ in range(3)]
        await apply(owners[0], networks(shared(1, device)))
        await asyncio.gather(
            *(one.apply(networks(left(1), epoch=epoch)) for epoch, one in enumerate(owners, 1)), return_exceptions=True
        )
        await apply(owners[2], networks(left(1), epoch=3, complete=True))
        assert not await in_common(rig)


GATEWAY = ADJACENT | {"f5_snat_mode": "False"}


async def forwarders(rig: BigIpRig, partition: str) -> dict[str, dict[str, Any]]:
    found = await rig.hands.items("ltm/virtual", partition)
    return {name: item for name, item in found.items() if item.get("ipForward") is True}


async def test_without_snat_a_wildcard_virtual_server_forwards_what_members_send() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**GATEWAY)
        first, second = (network(number, subnet(number, [device], snat=0, floating=True)) for number in (1, 2))
        await apply(owner, batch(balancer(1, first), balancer(2, second)))
        found = await forwarders(rig, PARTITION)
        assert set(found) == {"gw-sub-1", "gw-sub-2"}
        one = found["gw-sub-1"]
        assert (one["destination"], one["vlans"], one["mask"]) == (
            f"/{PARTITION}/gw-7:0",
            [f"/{PARTITION}/vlan-101"],
            "any",
        )
        assert one["sourceAddressTranslation"] == {"type": "none"}
        assert (await rig.hands.items("ltm/virtual-address"))["gw-7"]["address"] == "any%7"
        everything = balancer(1, first), balancer(2, second)
        assert await apply(owner, batch(*everything, complete=True)) == 0
        assert await apply(rig.owner(**GATEWAY), batch(*everything, complete=True, epoch=2)) == 0
        owner = rig.owner(**GATEWAY)
        seen = await owner.observe()
        assert {one.id for one in seen.statuses if one.kind == "loadbalancer"} == {"lb-1", "lb-2"}
        await apply(owner, batch(gone(1), epoch=3))
        assert set(await forwarders(rig, PARTITION)) == {"gw-sub-2"}
        await apply(owner, batch(gone(2), epoch=3))
        assert not await forwarders(rig, PARTITION) and not await there(rig)
        assert not await rig.hands.items("ltm/virtual-address")


async def test_forwarding_virtual_server_is_made_in_a_shared_network() -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        owner = rig.owner(**GATEWAY)
        made = network(1, subnet(1, [device], snat=0, floating=True), common=True, route_domain=0, project_id="")
        wanted = network_definition(made.id, 1, made)
        await apply(owner, networks(wanted, complete=True))
        one = (await forwarders(rig, "Common"))["gw-sub-1"]
        assert (one["destination"], one["vlans"]) == ("/Common/0.0.0.0:0", ["/Common/vlan-101"])
        assert await apply(owner, networks(wanted, complete=True)) == 0
        await apply(owner, batch(balancer(1, used(wanted))))
        (server,) = (await rig.hands.items("ltm/virtual")).values()
        assert server["sourceAddressTranslation"]["type"] == "none"
        await apply(owner, networks(left(1)))
        assert not await forwarders(rig, "Common") and not await in_common(rig)


@pytest.mark.parametrize("common", [False, True])
async def test_and_in_networks_with_ipv6(common: bool) -> None:
    async with bigip("bigip-1") as rig:
        (device,) = hosts_of(rig)
        uses = ((AddressUse.SELF, device, "2"), (AddressUse.FLOATING, "traffic-group-1", "10"))
        own = tuple(DeviceAddress(use=use, owner=owner, address=f"2001:db8::{last}") for use, owner, last in uses)
        six = ServiceSubnet(id="six", cidr="2001:db8::/64", gateway_ip="2001:db8::1", addresses=own)
        here: dict[str, Any] = {"common": True, "route_domain": 0, "project_id": ""} if common else {}
        made = network(1, six, **here)
        wanted = networks(network_definition(made.id, 1, made), complete=True) if common else None
        wanted = wanted or batch(balancer(1, made, base="10.1.0", members=("2001:db8::200",)), complete=True)
        await apply(rig.owner(**GATEWAY), wanted)
        found = await forwarders(rig, "Common" if common else PARTITION)
        assert found["gw-six"]["destination"] == ("/Common/::.any" if common else f"/{PARTITION}/gw-six-7:0")
        for epoch in (1, 2):
            assert await apply(rig.owner(**GATEWAY), replace(wanted, epoch=epoch, session_id=session_of(epoch))) == 0
