"""Partitions of F5's agent with route domains, VLANs and tunnels, self IPs and SNAT addresses: taken over in place,
without what an operator made, and left empty in the end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.devices.adoption import FoundNetworks
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.core.networking.networks import AddressUse, NetworkType, ServiceNetwork
from icontrol_emulator import Fault
from tests.devices.bigip.f5_agent.tenants import HaType
from tests.devices.bigip.f5_networks import NUMBER, F5Agent, adopted, elsewhere
from tests.devices.bigip.network_world import ADJACENT, balancer, hosts_of, make_vtep, network, subnet, there, tunnel
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, bigip
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, session_of

IN_PLACE = {
    "net/route-domain": [PARTITION],
    "net/vlan": ["vlan-101"],
    "net/self": ["local-host-192-0-2-9.local-sub-1"],
    "ltm/snat-translation": ["snat-traffic-group-local-only-sub-1_0"],
    "ltm/snatpool": [PARTITION],
}


def kept(networks: tuple[ServiceNetwork, ...]) -> tuple[ServiceNetwork, ...]:
    return tuple(map(elsewhere, networks))


async def names(rig: BigIpRig, kind: str, hands: Hands | None = None) -> list[str]:
    return sorted(await (hands or rig.hands).items(kind))


class Scene:
    """A device that F5's agent attached to VLAN 101, with one load balancer, and the definition that we have of it."""

    def __init__(self, rig: BigIpRig) -> None:
        self.rig = rig
        self.f5 = F5Agent(rig.hands)
        self.theirs = network(1, subnet(1, hosts_of(rig)), route_domain=NUMBER)
        self.wanted = balancer(1, self.theirs)
        self.before = replace(self.wanted, networks=kept(self.wanted.networks))

    async def build(self) -> None:
        await self.f5.begin()
        await self.f5.serve(self.wanted, await self.f5.attach(self.theirs))

    async def found(self, owner: Owner) -> FoundNetworks:
        found: FoundNetworks = await owner.found_networks(batch(self.before, complete=True))
        return found


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with bigip("bigip-1") as rig:
        made = Scene(rig)
        await made.build()
        yield made


async def apply(owner: Owner, *services: ServiceDefinition) -> int:
    outcome = await owner.apply(batch(*services, complete=True))
    assert not [one.error for one in outcome.outcomes if one.error]
    writes: int = outcome.writes
    return writes


async def test_everything_is_taken_over_in_place(scene: Scene) -> None:
    owner, rig = scene.rig.owner(**ADJACENT), scene.rig
    with pytest.raises(DeviceRejected, match="'evenkeel adopt'"):
        await owner.apply(batch(scene.before, complete=True))
    untouched = await there(rig), await rig.content()
    found = await scene.found(owner)
    assert found.route_domain == NUMBER
    assert {(each.use, each.owner, each.address, each.name) for each in found.addresses} == {
        (AddressUse.SELF, hosts_of(rig)[0], "10.1.0.2", "local-host-192-0-2-9.local-sub-1"),
        (AddressUse.SNAT, "traffic-group-1", "10.1.0.11", "snat-traffic-group-local-only-sub-1_0"),
    }
    services = adopted([scene.before], found)
    assert services == (scene.wanted,)
    (plan,) = await owner.plan(batch(*services, complete=True))
    assert not plan.refusal and not plan.left
    shown = {(step.verb, step.type, step.name.rpartition("/")[2]) for step in plan.operations}
    assert {("modify", kind, name) for kind, some in IN_PLACE.items() for name in some} <= shown
    assert {step for step in shown if step[0] == "delete"} == {("delete", "net/tunnels/tunnel", "disconnected_network")}
    assert (await there(rig), await rig.content()) == untouched

    await owner.adopt(PROJECT)
    await owner.adopt(PROJECT)
    assert await apply(owner, *services) == 1
    for kind, some in IN_PLACE.items():
        assert await names(rig, kind) == some
    (virtual,) = (await rig.hands.items("ltm/virtual")).values()
    assert virtual["description"].startswith("evenkeel:dev/1:")
    assert virtual["vlansDisabled"] is True and not virtual.get("vlans")
    (domain,) = (await rig.hands.items("net/route-domain")).values()
    assert domain["id"] == NUMBER and domain["description"] == "evenkeel:dev/1:net-routedomain"
    # this agent and another one have nothing to do any more, and nothing is found to adopt
    assert await apply(owner, *services) == 0
    assert await apply(scene.rig.owner(**ADJACENT), *services) == 0
    assert await owner.found_networks(batch(*services, complete=True)) is None


async def test_nothing_is_left_after_the_last_load_balancer(scene: Scene) -> None:
    owner = scene.rig.owner(**ADJACENT)
    await owner.adopt(PROJECT)
    await apply(owner, scene.wanted)
    outcome = await owner.apply(batch(gone(1)))
    assert not outcome.outcomes[0].error
    assert not await there(scene.rig) and not await scene.rig.content()
    await apply(owner)
    assert not (await owner.retire(PROJECT, 1, session_of(1))).left
    partitions = (await scene.rig.hands.call("GET", "auth/partition"))["items"]
    assert PARTITION not in {item["name"] for item in partitions}


async def test_an_adopted_network_moves_to_another_segment(scene: Scene) -> None:
    owner = scene.rig.owner(**ADJACENT)
    await owner.adopt(PROJECT)
    await apply(owner, scene.wanted)
    moved = replace(scene.theirs, segmentation_id=105)
    await apply(owner, replace(scene.wanted, networks=(moved,), revision=2))
    assert await names(scene.rig, "net/vlan") == ["vlan-105"]
    assert await names(scene.rig, "net/route-domain") == [PARTITION]


@pytest.mark.parametrize("missing", [AddressUse.SELF, AddressUse.SNAT])
async def test_addresses_that_are_not_ours_to_have_are_replaced(scene: Scene, missing: AddressUse) -> None:
    owner = scene.rig.owner(**ADJACENT)
    services = adopted([scene.before], await scene.found(owner), without=[missing])
    (plan,) = await owner.plan(batch(*services, complete=True))
    kind = "net/self" if missing is AddressUse.SELF else "ltm/snat-translation"
    (old,) = IN_PLACE[kind]
    assert ("delete", kind, f"/{PARTITION}/{old}") in {(step.verb, step.type, step.name) for step in plan.operations}
    assert not plan.left
    await owner.adopt(PROJECT)
    assert await apply(owner, *services) == 1
    (new,) = await names(scene.rig, kind)
    assert new != old
    assert await apply(owner, *services) == 0
    assert not (await owner.apply(batch(gone(1)))).outcomes[0].error
    assert not await there(scene.rig)


async def test_operators_network_objects_stay_in_an_adopted_partition(scene: Scene) -> None:
    rig, f5 = scene.rig, scene.f5
    place = {"address": f"10.1.0.77%{NUMBER}/24", "vlan": f"/{PARTITION}/vlan-101"}
    await f5.call("net/self", "by-hand", **place)
    await f5.call("ltm/snat-translation", "snat-by-hand", address=f"10.1.0.78%{NUMBER}")
    await f5.call("ltm/snatpool", "by-hand", members=[f"/{PARTITION}/snat-by-hand"])
    await f5.call("net/route", "by-hand", network=f"default%{NUMBER}", gw=f"10.1.0.1%{NUMBER}")
    await f5.call("net/vlan", "by-hand", tag=3000)
    theirs = {key: item for key, item in (await there(rig)).items() if "by-hand" in key}
    assert len(theirs) == 5
    owner = rig.owner(**ADJACENT)
    services = adopted([scene.before], await scene.found(owner))
    (plan,) = await owner.plan(batch(*services, complete=True))
    assert len(plan.left) == 5 and all("by-hand" in one for one in plan.left)
    await owner.adopt(PROJECT)
    await apply(owner, *services)
    assert await apply(owner, *services) == 0
    assert {key: item for key, item in (await there(rig)).items() if "by-hand" in key} == theirs
    assert not (await owner.apply(batch(gone(1)))).outcomes[0].error
    left = await there(rig)
    assert {key for key in left if "by-hand" not in key} == {
        f"net/route-domain {PARTITION}",
        "net/vlan vlan-101",
    }
    assert {key: item for key, item in left.items() if "by-hand" in key} == theirs
    assert await apply(owner) == 0


@pytest.mark.parametrize(
    ("kind", "name", "body", "reason"),
    [
        ("net/route-domain", f"{PARTITION}_aux_six", {"id": 6}, r"_aux_six \(6\)"),
        (
            "net/self",
            "gw-sub-1",
            {"address": f"10.1.0.1%{NUMBER}/24", "vlan": f"/{PARTITION}/vlan-101"},
            "f5_snat_mode was False",
        ),
    ],
)
async def test_partition_whose_networks_cannot_be_adopted_is_refused_with_the_reason(
    scene: Scene, kind: str, name: str, body: dict[str, Any], reason: str
) -> None:
    await scene.f5.call(kind, name, **body)
    with pytest.raises(DeviceRejected, match=reason):
        await scene.found(scene.rig.owner(**ADJACENT))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"f5_global_routed_mode": "True"}, "f5_global_routed_mode is True here"),
        ({"use_namespaces": "False"}, "use_namespaces is False here"),
        ({"f5_common_networks": "True"}, "f5_common_networks is True here"),
    ],
)
async def test_other_options_than_f5s_agent_had_are_refused(scene: Scene, options: dict[str, str], reason: str) -> None:
    with pytest.raises(DeviceRejected, match=reason):
        await scene.found(scene.rig.owner(**{**ADJACENT, **options}))


async def test_a_default_route_domain_is_refused(scene: Scene) -> None:
    await scene.rig.hands.call("PATCH", f"auth/partition/{PARTITION}", {"defaultRouteDomain": NUMBER})
    with pytest.raises(DeviceRejected, match="default route domain is 5"):
        await scene.found(scene.rig.owner(**ADJACENT))


async def test_a_route_domain_of_another_name_is_refused(scene: Scene) -> None:
    async with bigip("bigip-1") as rig:
        other = Scene(rig)
        await rig.hands.call("POST", "auth/partition", {"name": PARTITION})
        await other.f5.call("net/route-domain", "by-hand", id=9)
        owner = rig.owner(**ADJACENT)
        with pytest.raises(DeviceRejected, match=r"it has by-hand \(9\)"):
            await other.found(owner)
        with pytest.raises(DeviceRejected, match="route domain 9, which another program numbered"):
            await owner.adopt(PROJECT)


async def test_a_tunnel_with_another_end_point_is_refused() -> None:
    async with bigip("bigip-1") as rig:
        scene = Scene(rig)
        await make_vtep(rig.hands, "192.0.2.55")  # moved since
        net = tunnel(1, subnet(1, hosts_of(rig)), route_domain=NUMBER)
        wanted = balancer(1, net)
        await scene.f5.begin()
        await scene.f5.serve(wanted, await scene.f5.attach(net))
        (plan,) = await rig.owner(**ADJACENT).plan(batch(wanted, complete=True))
        assert "tunnel-vxlan-5001 has localAddress 192.0.2.1 instead of 192.0.2.55" in plan.refusal


NETWORK_ID, BALANCER_ID = "00000001-0000-4000-8000-000000000000", "00000002-0000-4000-8000-000000000000"


async def test_route_domain_of_a_network_and_snat_pool_of_a_load_balancer_are_taken_over_and_go() -> None:
    """F5's agent since 9.8 names them so, and gives the pool addresses instead of objects."""
    async with bigip("bigip-1") as rig:
        newer = Scene(rig)
        domain, pool = f"dev_{NETWORK_ID}", f"dev_{BALANCER_ID}"
        f5 = newer.f5
        await rig.hands.call("POST", "auth/partition", {"name": PARTITION})
        await f5.call("net/route-domain", domain, id=NUMBER, strict="disabled", parent="/Common/0")
        await f5.call("net/vlan", "vlan-101", tag=101, interfaces=[{"name": "1.1", "tagged": True}])
        vlan = f"/{PARTITION}/vlan-101"
        await rig.hands.call("PATCH", f"net/route-domain/~{PARTITION}~{domain}", {"vlans": [vlan]})
        await f5.call("net/self", "local-host-192-0-2-9.local-sub-1", address=f"10.1.0.2%{NUMBER}/24", vlan=vlan)
        await f5.call("ltm/snatpool", pool, members=[f"10.1.0.77%{NUMBER}"])
        await f5.serve(newer.wanted, "vlan-101", snat_pool=pool)
        owner = rig.owner(**ADJACENT)
        found = await newer.found(owner)
        assert found.route_domain == NUMBER
        services = adopted([newer.before], found)
        (plan,) = await owner.plan(batch(*services, complete=True))
        later = "(replaced: a later pass removes it, when requests with it are over)"
        assert not plan.refusal and plan.left == (
            f"ltm/snat-translation /{PARTITION}/10.1.0.77%{NUMBER} {later}",
            f"ltm/snatpool /{PARTITION}/{pool} {later}",
        )
        await owner.adopt(PROJECT)
        assert [await apply(owner, *services) for _ in range(2)] == [1, 1]
        assert await names(rig, "net/route-domain") == [domain]
        assert await names(rig, "ltm/snatpool") == [PARTITION]
        assert not [name for name in await names(rig, "ltm/snat-translation") if "10.1.0.77" in name]
        assert await apply(owner, *services) == 0
        assert not (await owner.apply(batch(gone(1)))).outcomes[0].error
        assert not await there(rig) and not await rig.content()


# -- pairs


@pytest.fixture
async def pair() -> AsyncIterator[tuple[BigIpRig, list[Hands], ServiceDefinition]]:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        theirs = network(1, subnet(1, hosts_of(rig)), route_domain=NUMBER)
        wanted = balancer(1, theirs)
        hands = [Hands(rig.emulator, name) for name in rig.emulator.devices]
        for place, one in enumerate(hands):
            f5 = F5Agent(one, name=f"unit-{place}", ha=HaType.PAIR, place=place)
            await f5.begin()
            await f5.serve(wanted, await f5.attach(theirs))
        yield rig, hands, wanted


async def test_both_devices_of_a_pair_are_taken_over(
    pair: tuple[BigIpRig, list[Hands], ServiceDefinition],
) -> None:
    rig, hands, wanted = pair
    owner = rig.owner(**ADJACENT)
    before = replace(wanted, networks=kept(wanted.networks))
    found = await owner.found_networks(batch(before, complete=True))
    assert adopted([before], found) == (wanted,)
    await owner.adopt(PROJECT)
    await apply(owner, wanted)
    for place, one in enumerate(hands):
        assert await names(rig, "net/self", one) == [f"local-unit-{place}-sub-1"]
        assert await names(rig, "ltm/snat-translation", one) == ["snat-traffic-group-1sub-1_0"]
    assert await apply(owner, wanted) == 0


async def test_after_a_crash_between_the_devices_it_is_repeated(
    pair: tuple[BigIpRig, list[Hands], ServiceDefinition],
) -> None:
    rig, hands, wanted = pair
    before = replace(wanted, networks=kept(wanted.networks))
    mark = {"description": "evenkeel:dev/1:partition"}
    await hands[0].call("PATCH", f"auth/partition/{PARTITION}", mark)
    owner = rig.owner(**ADJACENT)
    found = await owner.found_networks(batch(before, complete=True))
    assert found.route_domain == NUMBER and {each.owner for each in found.addresses} == {
        hosts_of(rig)[1],
        "traffic-group-1",
    }
    await owner.adopt(PROJECT)
    await apply(owner, wanted)
    assert await apply(owner, wanted) == 0


async def test_devices_with_different_route_domains_are_refused(
    pair: tuple[BigIpRig, list[Hands], ServiceDefinition],
) -> None:
    rig, hands, wanted = pair
    await hands[1].call("DELETE", f"net/tunnels/tunnel/~{PARTITION}~disconnected_network")
    for kind in ("ltm/virtual", "ltm/pool", "ltm/virtual-address", "ltm/node", "ltm/snatpool", "ltm/snat-translation"):
        for name in await hands[1].items(kind):
            await hands[1].call("DELETE", f"{kind}/~{PARTITION}~{name}".replace("%", "%25"))
    for kind in ("net/self", "net/vlan", "net/route-domain"):
        for name in await hands[1].items(kind):
            await hands[1].call("DELETE", f"{kind}/~{PARTITION}~{name}")
    await hands[1].call("POST", "net/route-domain", {"name": PARTITION, "partition": PARTITION, "id": 8})
    with pytest.raises(DeviceRejected, match="another route domain on each device"):
        await rig.owner(**ADJACENT).found_networks(batch(wanted, complete=True))


async def test_all_devices_have_to_be_in_reach(pair: tuple[BigIpRig, list[Hands], ServiceDefinition]) -> None:
    rig, _, wanted = pair
    owner = rig.owner(**ADJACENT)
    rig.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
    with pytest.raises(DeviceUnavailable):
        await owner.found_networks(batch(wanted, complete=True))


# -- any of them

KINDS = {
    1: lambda own: network(1, own, route_domain=NUMBER),
    2: lambda own: tunnel(2, own, route_domain=NUMBER),
    3: lambda own: tunnel(3, own, kind=NetworkType.GRE, route_domain=NUMBER),
    4: lambda own: network(
        4,
        own,
        route_domain=NUMBER,
        network_type=NetworkType.FLAT,
        physical_network="flatnet",
        segmentation_id=None,
    ),
}


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(
    numbers=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4, unique=True),
    without=st.sets(st.sampled_from([AddressUse.SELF, AddressUse.SNAT])),
    ha=st.sampled_from(HaType),
    snat=st.integers(0, 2),
    backwards=st.booleans(),
    our_name=st.booleans(),
)
def test_whatever_f5s_agent_made_is_served_and_then_gone(
    numbers: list[int], without: set[AddressUse], ha: str, snat: int, *, backwards: bool, our_name: bool
) -> None:
    """Some load balancers on networks of any type, of whose addresses some cannot be kept; with more or fewer SNAT
    addresses than before, on a device that is named as we name it, or not. They are adopted together, and deleted one
    after the other."""

    async def run() -> None:
        async with bigip("bigip-1") as rig:
            await make_vtep(rig.hands, "192.0.2.1")
            name = hosts_of(rig)[0].replace(":", "-") if our_name else "unit"
            f5 = F5Agent(rig.hands, ha=ha, name=name)
            await f5.begin()
            wanted = []
            for number in numbers:
                theirs = KINDS[number](subnet(number, hosts_of(rig)))
                one = balancer(number, theirs)
                await f5.serve(one, await f5.attach(theirs))
                ours = KINDS[number](subnet(number, hosts_of(rig), snat=snat))
                wanted.append(replace(one, networks=kept((ours,))))
            owner = rig.owner(**{**ADJACENT, "f5_snat_addresses_per_subnet": str(snat)})
            found = await owner.found_networks(batch(*wanted, complete=True))
            services = adopted(wanted, found, without=sorted(without))
            (plan,) = await owner.plan(batch(*services, complete=True))
            assert not plan.refusal and not plan.problem
            assert all("a later pass removes it" in each for each in plan.left)
            replaced = {step.name for step in plan.operations if step.note}
            assert not replaced
            await owner.adopt(PROJECT)
            await apply(owner, *services)
            await apply(owner, *services)
            assert await apply(rig.owner(**ADJACENT, f5_snat_addresses_per_subnet=str(snat)), *services) == 0
            for number in reversed(numbers) if backwards else numbers:
                outcome = await owner.apply(batch(gone(number)))
                assert not outcome.outcomes[0].error
            assert not await there(rig) and not await rig.content()

    asyncio.run(run())
