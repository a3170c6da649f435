"""Devices that are guests of vCMP hosts: VLANs are made at the host, given to the guest, and taken back."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.networking.networks import NetworkType
from evenkeel.devices.bigip.vcmp import guest as guests
from evenkeel.devices.bigip.vcmp.host import VLAN_DESCRIPTION
from icontrol_emulator import Emulator
from icontrol_emulator.vcmp import deploy
from tests.devices.bigip.network_world import balancer, hosts_of, network, subnet
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands
from tests.devices.bigip.test_common_networks import errors, left, networks, shared
from tests.devices.owner import Owner
from tests.devices.services import batch, gone, session_of

MAPPINGS = "physnet:1.1:True, flatnet:1.2:False"


class Chassis:
    """Two vCMP hosts, each with a guest of a pair and one of a single device."""

    def __init__(self, hosts: Emulator, pair: Emulator, single: Emulator) -> None:
        self.emulator = hosts
        first, second = pair.devices.values()
        guests = {"host-1": [first, single.devices["alone"]], "host-2": [second]}
        self.vcmp = {name: deploy(device, guests[name]) for name, device in hosts.devices.items()}
        self.hands = {name: Hands(hosts, name) for name in hosts.devices}
        self.pair = BigIpRig(pair, "pair")
        self.single = BigIpRig(single, "standalone")

    def options(self, **changes: str) -> dict[str, str]:
        addresses = (device.url.removeprefix("https://") for device in self.emulator.devices.values())
        return {
            "icontrol_vcmp_hostname": ",".join(addresses),
            "f5_global_routed_mode": "False",
            "f5_external_physical_mappings": MAPPINGS,
            "ca_file": "",
            "verify_tls": "False",
            **changes,
        }

    async def vlans(self, host: str = "host-1") -> dict[str, dict[str, Any]]:
        answer = await self.hands[host].call("GET", "net/vlan?expandSubcollections=true")
        return {item["name"]: item for item in answer.get("items", ())}

    async def given(self, host: str, guest: str) -> list[str]:
        return list((await self.hands[host].call("GET", f"vcmp/guest/{guest}")).get("vlans", ()))


@pytest.fixture
async def chassis() -> AsyncIterator[Chassis]:
    users = {"admin": "admin"}
    async with (
        Emulator(devices=["host-1", "host-2"], users=users, data_plane=False) as hosts,
        Emulator(devices=["bigip-1", "bigip-2"], ha="pair", users=users, data_plane=False) as pair,
        Emulator(devices=["alone"], users=users, data_plane=False) as single,
    ):
        made = Chassis(hosts, pair, single)
        yield made
        await made.pair.close()
        await made.single.close()


def on_vlan(rig: BigIpRig, number: int = 1, **changes: Any) -> ServiceDefinition:
    return balancer(number, network(number, subnet(number, hosts_of(rig)), **changes))


def own(rig: BigIpRig, chassis: Chassis, **changes: str) -> Owner:
    return rig.owner(**chassis.options(**changes))


async def errors_of(owner: Owner, *services: ServiceDefinition) -> list[str]:
    return [each.error for each in (await owner.apply(batch(*services))).outcomes]


async def test_vlans_are_made_at_each_host_and_given_to_its_guest_until_nobody_needs_them(chassis: Chassis) -> None:
    owner = own(chassis.pair, chassis)
    wanted = on_vlan(chassis.pair)
    assert await errors_of(owner, wanted) == [""]

    for number, host in enumerate(chassis.vcmp, 1):
        (vlan,) = (await chassis.vlans(host)).values()
        assert (vlan["name"], vlan["tag"], vlan["partition"], vlan["description"]) == (
            "vlan-101",
            101,
            "Common",
            VLAN_DESCRIPTION,
        )
        assert [item["name"] for item in vlan["interfacesReference"]["items"]] == ["1.1"]
        assert await chassis.given(host, f"bigip-{number}") == ["/Common/vlan-101"]
        hands = Hands(chassis.pair.emulator, f"bigip-{number}")
        vlans = {**await hands.items("net/vlan"), **await hands.items("net/vlan", "Common")}
        assert [(vlan["partition"], vlan["tag"]) for vlan in vlans.values()] == [(PARTITION, 101)]
        assert "items" not in vlans["vlan-101"].get("interfacesReference", {})
    before = chassis.emulator.request_counts["host-1"].copy()
    assert await errors_of(owner, wanted) == [""]
    assert chassis.emulator.request_counts["host-1"] == before, "the host is not asked for what is there"

    assert await errors_of(owner, gone()) == [""]
    for number, host in enumerate(chassis.vcmp, 1):
        assert await chassis.vlans(host) == {} and await chassis.given(host, f"bigip-{number}") == []


async def test_guests_of_different_groups_share_a_vlan_of_their_host_until_the_last_one_is_done(
    chassis: Chassis,
) -> None:
    first = own(chassis.pair, chassis)
    second = chassis.single.owner(environment="other", **chassis.options())
    mine, others = on_vlan(chassis.pair), on_vlan(chassis.single)
    assert await errors_of(first, mine) == [""] and await errors_of(second, others) == [""]
    assert list(await chassis.vlans()) == ["vlan-101"]

    assert await errors_of(first, gone()) == [""]
    assert list(await chassis.vlans()) == ["vlan-101"] and await chassis.vlans("host-2") == {}
    assert await chassis.given("host-1", "bigip-1") == [] and await chassis.given("host-1", "alone")
    assert await errors_of(second, gone()) == [""]
    assert await chassis.vlans() == {}


async def test_a_host_that_is_out_of_reach_keeps_only_new_vlans_from_its_guest(chassis: Chassis) -> None:
    owner = own(chassis.pair, chassis, connect_timeout="5", request_timeout="5", retry_time="0")
    old, new = on_vlan(chassis.pair), on_vlan(chassis.pair, 2)
    assert await errors_of(owner, old) == [""]
    await chassis.emulator.power_off("host-2")

    refused, served = await errors_of(owner, new, old)
    host = chassis.emulator.devices["host-2"].url.removeprefix("https://")
    assert "VLAN 102 cannot be assigned to device" in refused and host in refused and served == ""

    await chassis.emulator.power_on("host-2", lose_unsaved=False)
    assert await errors_of(owner, new, old) == ["", ""]
    assert sorted(await chassis.vlans("host-2")) == ["vlan-101", "vlan-102"]


async def test_a_vlan_that_does_not_appear_is_the_load_balancers_problem_and_tried_again(
    chassis: Chassis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guests, "VLAN_WAIT_SECONDS", 0.0)
    chassis.vcmp["host-1"].delay_seconds = 3600.0
    owner = own(chassis.single, chassis)
    (refused,) = await errors_of(owner, on_vlan(chassis.single))
    assert "VLAN 101 has not appeared on device" in refused and "assigned it to guest alone" in refused

    hands = Hands(chassis.single.emulator, "alone")
    await hands.call("POST", "net/vlan", {"name": "vlan-101", "partition": "Common", "tag": 101})
    assert await errors_of(owner, on_vlan(chassis.single)) == [""]


async def test_operators_vlan_at_the_vcmp_host_stays_theirs(chassis: Chassis) -> None:
    hand_made = {"name": "by-hand", "partition": "Common", "tag": 101}
    await chassis.hands["host-1"].call("POST", "net/vlan", hand_made)
    owner = own(chassis.single, chassis)
    wanted = on_vlan(chassis.single)
    (refused,) = await errors_of(owner, wanted)
    assert "VLAN /Common/by-hand with tag 101 is another program's and is not assigned to guest alone" in refused

    await chassis.hands["host-1"].call("PATCH", "vcmp/guest/alone", {"vlans": ["/Common/by-hand"]})
    assert await errors_of(owner, wanted) == [""]
    assert await errors_of(owner, gone()) == [""]
    assert list(await chassis.vlans()) == ["by-hand"]
    assert await chassis.given("host-1", "alone") == ["/Common/by-hand"]


async def test_bad_mappings_and_networks_without_tags_are_reported(chassis: Chassis) -> None:
    owner = own(chassis.single, chassis)
    flat = on_vlan(chassis.single, network_type=NetworkType.FLAT, segmentation_id=None, physical_network="flatnet")
    unmapped = on_vlan(chassis.single, 2, physical_network="elsewhere")
    first, second = await errors_of(owner, flat, unmapped)
    assert "is the guest of a vCMP host: it can be attached to VLANs and tunnels" in first
    assert "no interface with tags of physical network 'elsewhere'" in second
    assert await chassis.vlans() == {}


async def test_a_device_that_is_no_guest_of_any_host_is_reported(chassis: Chassis) -> None:
    for guest in ("alone", "bigip-1"):
        await chassis.hands["host-1"].call("PATCH", f"vcmp/guest/{guest}", {"managementIp": "192.0.2.99/24"})
    owner = own(chassis.single, chassis)
    (refused,) = await errors_of(owner, on_vlan(chassis.single))
    assert "no vCMP host has a guest with management address" in refused


async def test_vlans_of_a_dead_agent_are_removed_and_lost_assignments_restored(
    chassis: Chassis, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = own(chassis.single, chassis)
    assert await errors_of(owner, on_vlan(chassis.single)) == [""]
    hands = chassis.hands["host-1"]
    left = {"name": "vlan-150", "partition": "Common", "tag": 150, "description": VLAN_DESCRIPTION}
    await hands.call("POST", "net/vlan", left)
    # an agent of another group wrote the list that it had read before, and died before it took its own back
    await hands.call("PATCH", "vcmp/guest/alone", {"vlans": ["/Common/vlan-150"]})
    monkeypatch.setattr(guests, "RECONCILE_SECONDS", 0.0)

    await owner.observe()
    assert sorted(await chassis.given("host-1", "alone")) == ["/Common/vlan-101", "/Common/vlan-150"]
    assert sorted(await chassis.vlans()) == ["vlan-101", "vlan-150"], "it may be in use in a moment"
    monkeypatch.setattr(guests, "UNUSED_VLAN_SECONDS", 0.0)
    await owner.observe()
    assert await chassis.given("host-1", "alone") == ["/Common/vlan-101"]
    assert list(await chassis.vlans()) == ["vlan-101"]
    shown = await Hands(chassis.single.emulator, "alone").call("GET", "net/vlan")
    assert [vlan["name"] for vlan in shown["items"]] == ["vlan-101"]


async def test_after_a_crash_the_next_owner_takes_back_what_it_deletes(chassis: Chassis) -> None:
    first = own(chassis.single, chassis)
    wanted = on_vlan(chassis.single)
    assert await errors_of(first, wanted) == [""]
    second = own(chassis.single, chassis)
    await second.apply(batch(gone(), complete=True, epoch=2))
    assert await chassis.vlans() == {}


async def test_networks_that_projects_share_are_in_common_of_the_guest(
    chassis: Chassis, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = own(chassis.pair, chassis)
    definition = shared(1, *hosts_of(chassis.pair))
    outcome = await owner.apply(networks(definition, complete=True))
    assert errors(outcome) == {}
    for number in (1, 2):
        assert await chassis.given(f"host-{number}", f"bigip-{number}") == ["/Common/vlan-101"]
        hands = Hands(chassis.pair.emulator, f"bigip-{number}")
        vlan = (await hands.items("net/vlan", "Common"))["vlan-101"]
        assert vlan["tag"] == 101 and str(vlan["description"]).startswith("evenkeel:dev/1:net-vlan")
    # another agent looks after it, who has given nothing itself
    again = own(chassis.pair, chassis)
    await again.take_over(COMMON_PROJECT, 2, session_of(2))
    monkeypatch.setattr(guests, "RECONCILE_SECONDS", 0.0)
    monkeypatch.setattr(guests, "UNUSED_VLAN_SECONDS", 0.0)
    await again.observe()
    assert errors(await again.apply(networks(definition, epoch=2, complete=True))) == {}
    assert await chassis.given("host-1", "bigip-1") == ["/Common/vlan-101"]
    assert errors(await again.apply(networks(left(1), epoch=2))) == {}
    for number in (1, 2):
        assert await chassis.given(f"host-{number}", f"bigip-{number}") == []
        assert "vlan-101" not in await chassis.vlans(f"host-{number}")
        hands = Hands(chassis.pair.emulator, f"bigip-{number}")
        assert "vlan-101" not in await hands.items("net/vlan", "Common")
