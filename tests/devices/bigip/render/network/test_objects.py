"""What is on a device for each kind of network; that it is shared, and goes with its last user."""

from collections.abc import Awaitable
from operator import itemgetter
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import AddressUse, DeviceAddress, NetworkType, ServiceSubnet
from evenkeel.core.resources.model import Vip
from tests.devices.bigip.network_world import (
    ADJACENT,
    VTEP,
    balancer,
    host,
    hosts_of,
    make_vtep,
    network,
    subnet,
    there,
    tunnel,
    with_vtep,
)
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, bigip
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, session_of

P = f"/{PARTITION}"


async def applied(owner: Owner, *services: ServiceDefinition, complete: bool = False) -> dict[str, str]:
    """Why each load balancer was refused; what was applied is applied: a second pass writes nothing."""
    outcome = await owner.apply(batch(*services, complete=complete))
    errors = {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}
    if not errors:
        assert (await owner.apply(batch(*services, complete=complete))).writes == 0
    return errors


def without(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: item.get(name) for name in names}


async def forwarding(rig: BigIpRig, name: str) -> list[dict[str, Any]]:
    """The records of a tunnel's forwarding table, by name."""
    table = await rig.hands.call("GET", f"net/fdb/tunnel/~{PARTITION}~{name}/records")
    shown = ("name", "endpoint", "endpoints")
    found = [{part: one[part] for part in shown if part in one} for one in table["items"]]
    return sorted(found, key=itemgetter("name"))


async def test_a_vlan() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        assert not await applied(owner, balancer(1, network(1, subnet(1, [device]), mtu=1450)), complete=True)
        found = await there(rig)
        local = f"net/self local-{device.replace(':', '-')}-sub-1"
        assert sorted(found) == [
            "ltm/snat-translation snat-traffic-group-1-sub-1_0",
            f"ltm/snatpool {PARTITION}",
            "net/route default-7",
            f"net/route-domain {PARTITION}_7",
            local,
            "net/vlan vlan-101",
        ]
        assert without(found["net/vlan vlan-101"], "tag", "mtu") == {"tag": 101, "mtu": 1450}
        (interface,) = found["net/vlan vlan-101"]["interfacesReference"]["items"]
        assert (interface["name"], interface["tagged"]) == ("1.1", True)
        domain = found[f"net/route-domain {PARTITION}_7"]
        shown = without(domain, "id", "strict", "vlans", "parent")
        assert shown == {"id": 7, "strict": "disabled", "vlans": [f"{P}/vlan-101"], "parent": "/Common/0"}
        assert without(found[local], "address", "vlan", "trafficGroup") == {
            "address": "10.1.0.2%7/24",
            "vlan": f"{P}/vlan-101",
            "trafficGroup": "/Common/traffic-group-local-only",
        }
        assert without(found["net/route default-7"], "network", "gw") == {"network": "default%7", "gw": "10.1.0.1%7"}
        assert found["ltm/snat-translation snat-traffic-group-1-sub-1_0"]["address"] == "10.1.0.11%7"
        assert found[f"ltm/snatpool {PARTITION}"]["members"] == [f"{P}/snat-traffic-group-1-sub-1_0"]
        content = await rig.content()
        assert content["ltm/virtual-address dev_lb-1"]["address"] == "10.1.0.101%7"
        translation = content["ltm/virtual dev_listener-1"]["sourceAddressTranslation"]
        assert without(translation, "type", "pool") == {"type": "snat", "pool": f"{P}/{PARTITION}"}
        members = content["ltm/pool dev_pool-1"]["membersReference"]["items"]
        assert [item["name"] for item in members] == [f"10.1.0.{last}%7:8080" for last in (200, 201, 202)]


async def test_a_flat_network_automap_and_no_translation() -> None:
    for options, type_ in (({"f5_snat_addresses_per_subnet": "0"}, "automap"), ({"f5_snat_mode": "False"}, "none")):
        async with bigip("bigip-1") as rig:
            owner, (device,) = rig.owner(**ADJACENT, **options), hosts_of(rig)
            own = subnet(1, [device], snat=0, floating=type_ == "none")
            flat = network(1, own, network_type=NetworkType.FLAT, physical_network="flatnet", segmentation_id=None)
            assert not await applied(owner, balancer(1, flat), complete=True)
            found = await there(rig)
            (interface,) = found["net/vlan flat-1.2"]["interfacesReference"]["items"]
            assert (interface["name"], interface.get("untagged")) == ("1.2", True)
            assert not any(name.startswith("ltm/snat") for name in found)
            virtual = (await rig.content())["ltm/virtual dev_listener-1"]
            assert virtual["sourceAddressTranslation"] == {"type": type_}
            floating = found.get("net/self gw-sub-1", {}).get("trafficGroup")
            assert floating == ("/Common/traffic-group-1" if type_ == "none" else None)


@pytest.mark.parametrize("kind", [NetworkType.VXLAN, NetworkType.GRE])
async def test_a_tunnel(kind: NetworkType) -> None:
    async with bigip("bigip-1") as rig:
        await with_vtep(rig)
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        hosts = (host("10.1.0.200", 1, "192.0.2.7"), host("10.1.0.201", 2, "192.0.2.8"))
        wanted = tunnel(1, subnet(1, [device], hosts=hosts), kind=kind, vteps=("192.0.2.9", VTEP))
        assert not await applied(owner, balancer(1, wanted), complete=True)
        found = await there(rig)
        name = f"tunnel-{kind.value}-5001"
        assert without(found[f"net/tunnels/tunnel {name}"], "profile", "key", "localAddress", "remoteAddress") == {
            "profile": f"{P}/{kind.value}_ovs",
            "key": 5001,
            "localAddress": VTEP,
            "remoteAddress": "any",
        }
        profile = found[f"net/tunnels/{kind.value} {kind.value}_ovs"]
        assert profile["floodingType"] == "multipoint"
        assert profile.get("encapsulation") == ("transparent-ethernet-bridging" if kind == NetworkType.GRE else None)
        assert await forwarding(rig, name) == [
            {"name": "fa:16:3e:00:00:01", "endpoint": "192.0.2.7"},
            {"name": "fa:16:3e:00:00:02", "endpoint": "192.0.2.8"},
            {"name": "ff:ff:ff:ff:ff:ff", "endpoints": ["192.0.2.7", "192.0.2.8", "192.0.2.9"]},
        ]
        assert found["net/arp arp-10.1.0.200-7"]["macAddress"] == "fa:16:3e:00:00:01"
        moved = replace(wanted, subnets=(subnet(1, [device], hosts=(host("10.1.0.200", 1, "192.0.2.8"), hosts[1])),))
        assert not await applied(owner, balancer(1, moved, revision=2))
        assert {"name": "fa:16:3e:00:00:01", "endpoint": "192.0.2.8"} in await forwarding(rig, name)
        assert not await applied(owner, gone(1))
        assert not await there(rig)


async def test_members_with_ipv6_in_a_tunnel() -> None:
    """The forwarding table forgets them, too, when they go."""
    async with bigip("bigip-1") as rig:
        await with_vtep(rig)
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        hosts = (host("2001:DB8::200", 1, "192.0.2.7"), host("2001:db8::201", 2, "192.0.2.8"))
        own = DeviceAddress(use=AddressUse.SELF, owner=device, address="2001:db8::2")
        six = ServiceSubnet(id="six", cidr="2001:db8::/64", gateway_ip="2001:db8::1", addresses=(own,), hosts=hosts)
        at = tunnel(1, subnet(1, [device]), six)
        both = balancer(1, at, members=("2001:db8::200", "2001:db8::201"))
        assert not await applied(owner, both, complete=True)
        found = await there(rig)
        assert [key for key in found if key.startswith("net/arp")] == []
        assert without(found["net/ndp ndp-2001-db8--200-7"], "ipAddress", "macAddress") == {
            "ipAddress": "2001:db8::200%7",
            "macAddress": "fa:16:3e:00:00:01",
        }
        one = balancer(1, tunnel(1, subnet(1, [device]), replace(six, hosts=hosts[1:])), members=("2001:db8::201",))
        assert not await applied(owner, replace(one, revision=2))
        assert [key for key in await there(rig) if key.startswith("net/ndp")] == ["net/ndp ndp-2001-db8--201-7"]
        assert await forwarding(rig, "tunnel-vxlan-5001") == [
            {"name": "fa:16:3e:00:00:02", "endpoint": "192.0.2.8"},
            {"name": "ff:ff:ff:ff:ff:ff", "endpoints": ["192.0.2.8"]},
        ]
        assert not await applied(owner, gone(1))
        assert not await there(rig)


async def test_neighbours_keep_the_names_that_earlier_versions_gave_them() -> None:
    async with bigip("bigip-1") as rig:
        await with_vtep(rig)
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        hosts = tuple(host(f"10.1.0.{200 + place}", place, "192.0.2.7") for place in range(3))
        await owner.apply(batch(balancer(1, tunnel(1, subnet(1, [device], hosts=hosts))), complete=True))
        made = (await there(rig))["net/arp arp-10.1.0.200-7"]
        former = without(made, "ipAddress", "macAddress", "description", "partition") | {"name": "10.1.0.200%7"}
        await rig.hands.call("DELETE", f"net/arp/~{PARTITION}~arp-10.1.0.200-7")
        await rig.hands.call("POST", "net/arp", former)
        later = rig.owner(**ADJACENT)
        changed = (host("10.1.0.200", 9, "192.0.2.7"), hosts[1])
        wanted = balancer(1, tunnel(1, subnet(1, [device], hosts=changed)), members=("10.1.0.200", "10.1.0.201"))
        outcome = await later.apply(batch(replace(wanted, revision=2), complete=True, epoch=2))
        assert not outcome.outcomes[0].error
        found = {key: item["macAddress"] for key, item in (await there(rig)).items() if key.startswith("net/arp")}
        assert found == {
            "net/arp 10.1.0.200%7": "fa:16:3e:00:00:09",
            "net/arp arp-10.1.0.201-7": "fa:16:3e:00:00:01",
        }
        await later.apply(batch(gone(1), epoch=2))
        assert not await there(rig)


async def test_the_last_user_takes_it_with_it_whoever_that_is() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        one, other = network(1, subnet(1, [device])), network(2, subnet(2, [device]))
        first = balancer(1, one)
        both = balancer(2, one, other, members=("10.2.0.200",))
        assert not await applied(owner, first, both, complete=True)
        whole = await there(rig)
        assert {"net/vlan vlan-101", "net/vlan vlan-102"} <= whole.keys()
        domain = f"net/route-domain {PARTITION}_7"
        assert whole[domain]["vlans"] == [f"{P}/vlan-101", f"{P}/vlan-102"]
        # another agent, which knows nothing but what is deleted
        other_owner = rig.owner(**ADJACENT)
        outcome = await other_owner.apply(batch(gone(2), epoch=2))
        assert not outcome.outcomes[0].error
        left = await there(rig)
        assert set(whole) - set(left) == {
            "net/vlan vlan-102",
            f"net/self local-{device.replace(':', '-')}-sub-2",
            "ltm/snat-translation snat-traffic-group-1-sub-2_0",
        }
        assert left[domain]["vlans"] == [f"{P}/vlan-101"]
        assert left[f"ltm/snatpool {PARTITION}"]["members"] == [f"{P}/snat-traffic-group-1-sub-1_0"]
        await other_owner.apply(batch(gone(1), epoch=2))
        assert not await there(rig)
        retirement = await other_owner.retire(PROJECT, 2, "session-2")
        assert not retirement.left


async def test_a_member_that_leaves_a_network_takes_it_along_and_brings_it_back() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        one, other = network(1, subnet(1, [device])), network(2, subnet(2, [device]))
        wide = balancer(1, one, other, members=("10.1.0.200", "10.2.0.200"))
        narrow = balancer(1, one, members=("10.1.0.200",), revision=2)
        seen = []
        for wanted in (wide, narrow, replace(wide, revision=3), replace(narrow, revision=4)):
            assert not await applied(owner, wanted)
            seen.append((await there(rig), await rig.content()))
        assert seen[0] == seen[2] and seen[1] == seen[3]
        assert "net/vlan vlan-102" in seen[0][0] and "net/vlan vlan-102" not in seen[1][0]


async def test_impossible_network_is_the_error_of_its_load_balancer_only() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        await rig.hands.call("POST", "net/vlan", {"name": "hand-made", "tag": 104})
        own = {number: subnet(number, [device]) for number in range(1, 7)}
        errors = await applied(
            owner,
            balancer(1, network(1, own[1])),
            balancer(2, network(2, own[2], physical_network="unknown")),
            balancer(3, network(3, own[3], physical_network="flatnet")),
            balancer(4, network(4, own[4])),
            balancer(5, tunnel(5, own[5])),
            balancer(6, network(6, own[6], physical_network="elsewhere")),
            complete=True,
        )
        assert errors.keys() == {"lb-2", "lb-3", "lb-4", "lb-5", "lb-6"}
        assert "interface (9.9) was not found" in errors["lb-6"]
        assert "'unknown' is not in f5_external_physical_mappings" in errors["lb-2"]
        assert "VLAN 103 needs an interface with tags; 1.2" in errors["lb-3"]
        assert "104" in errors["lb-4"] and "hand-made" in errors["lb-4"]
        assert "has no self IP /Common/vtep" in errors["lb-5"]
        assert "net/vlan vlan-101" in await there(rig)
        assert "hand-made" in await rig.hands.items("net/vlan", "Common")


async def test_two_tenants_have_the_same_subnet() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        assert not await applied(owner, balancer(1, network(1, subnet(1, [device], base="10.0.0"))), complete=True)
        theirs = balancer(2, network(2, subnet(2, [device], base="10.0.0"), route_domain=8), project_id="other")
        outcome = await owner.apply(replace(batch(theirs, complete=True), project_id="other"))
        assert not outcome.outcomes[0].error
        found = await there(rig, "dev_other")
        assert found["net/route-domain dev_other_8"]["vlans"] == ["/dev_other/vlan-102"]


async def test_ipv6() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        own = DeviceAddress(use=AddressUse.SELF, owner=device, address="2001:db8::2")
        six = ServiceSubnet(id="six", cidr="2001:db8::/64", gateway_ip="2001:db8::1", addresses=(own,))
        at = network(1, six)
        vip = Vip(address="2001:db8::100", subnet_id="six", network_id="net-1", port_id="p")
        wanted = replace(balancer(1, at, members=("2001:db8::200",)), vip=vip)
        assert not await applied(owner, wanted, complete=True)
        found = await there(rig)
        local = f"net/self local-{device.replace(':', '-')}-six"
        assert found[local]["address"] == "2001:db8::2%7/64"
        route = {"network": "default-inet6%7", "gw": "2001:db8::1%7"}
        assert without(found["net/route default-inet6-7"], "network", "gw") == route
        (member,) = (await rig.content())["ltm/pool dev_pool-1"]["membersReference"]["items"]
        assert member["name"] == "2001:db8::200%7.8080"
        assert not await applied(owner, gone(1))
        assert not await there(rig)


async def test_a_vip_in_a_network_that_operators_attached_reaches_members_in_the_tenants() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        made = balancer(1, network(1, subnet(1, [device])), members=("10.1.0.200", "192.0.2.7"))
        vip = Vip(address="203.0.113.9", subnet_id="by-hand", network_id="by-hand", port_id="p")
        crossing = replace(made, vip=vip)
        assert not await applied(owner, crossing, complete=True)
        content = await rig.content()
        assert content["ltm/virtual-address dev_lb-1"]["address"] == "203.0.113.9"
        members = content["ltm/pool dev_pool-1"]["membersReference"]["items"]
        assert sorted(each["address"] for each in members) == ["10.1.0.200%7", "192.0.2.7"]
        found = await there(rig)
        assert "net/vlan vlan-101" in found and "net/route default-7" not in found  # no client comes that way
        assert found[f"net/route-domain {PARTITION}_7"]["parent"] == "/Common/0"
        await owner.apply(batch(crossing, complete=True))
        assert await there(rig) == found
        await owner.apply(batch(complete=True))
        assert not await there(rig)


@pytest.mark.parametrize("strict", ["True", "False"])
async def test_strictness_is_set_once(strict: str) -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT, f5_route_domain_strictness=strict), hosts_of(rig)
        wanted = balancer(1, network(1, subnet(1, [device])))
        assert not await applied(owner, wanted, complete=True)
        before, commits = await there(rig), len(rig.commits())
        domain = before[f"net/route-domain {PARTITION}_7"]
        assert (domain["strict"], domain.get("parent")) == (
            ("enabled", None) if strict == "True" else ("disabled", "/Common/0")
        )
        await owner.apply(batch(wanted, complete=True))
        assert await there(rig) == before and len(rig.commits()) == commits


async def test_drift_is_put_right_and_what_operators_made_stays() -> None:
    async with bigip("bigip-1") as rig:
        owner, (device,) = rig.owner(**ADJACENT), hosts_of(rig)
        wanted = balancer(1, network(1, subnet(1, [device])))
        assert not await applied(owner, wanted, complete=True)
        before = await there(rig)
        await rig.hands.call("PATCH", f"net/vlan/~{PARTITION}~vlan-101", {"mtu": 9000})
        await rig.hands.call("PATCH", f"net/route-domain/~{PARTITION}~{PARTITION}_7", {"strict": "enabled"})
        await rig.hands.call("DELETE", f"net/route/~{PARTITION}~default-7")
        hand_made = {"name": "by-hand", "partition": PARTITION, "address": "10.1.0.77%7/24", "vlan": f"{P}/vlan-101"}
        await rig.hands.call("POST", "net/self", hand_made)
        await owner.apply(batch(wanted, complete=True))
        after = await there(rig)
        assert after.pop("net/self by-hand") and after == before


async def cost(rig: BigIpRig, *work: Awaitable[Any]) -> dict[str, int]:
    """Requests to each device."""
    rig.emulator.reset_counts()
    for each in work:
        await each
    counted = rig.emulator.request_counts
    return {device: sum(counted[device][kind] for kind in ("reads", "writes", "stats")) for device in counted}


async def test_first_load_balancer_in_a_network_takes_22_requests_for_each_device_of_a_pair() -> None:
    """From nothing, with listener, pool, monitor and three members: 22 requests at most; a second one 7."""
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        for number, device in enumerate(rig.emulator.devices, 1):
            await make_vtep(Hands(rig.emulator, device), f"192.0.2.{number}")
        owner = rig.owner(**ADJACENT)
        await owner.check()
        hosts = tuple(host(f"10.1.0.{200 + last}", last, f"192.0.2.{100 + last}") for last in range(3))
        shared = tunnel(1, subnet(1, hosts_of(rig), hosts=hosts))
        first, second = balancer(1, shared), balancer(2, shared)
        taken_over = await cost(rig, owner.take_over(PROJECT, 1, session_of(1)))
        made = await cost(rig, apply_all(owner, first))
        from_nothing = {device: taken_over[device] + made[device] for device in made}
        one_more = await cost(rig, apply_all(owner, first, second))
        assert max(from_nothing.values()) <= 22
        assert max(one_more.values()) <= 7


async def apply_all(owner: Owner, *services: ServiceDefinition) -> None:
    outcome = await owner.apply(batch(*services))
    assert not [one.error for one in outcome.outcomes if one.error]
