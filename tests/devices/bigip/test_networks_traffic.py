"""Load balancers in networks of each type, as clients and members see them: on a switch, between namespaces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from emulator_tests.wired_site import WiredSite, wired
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import NetworkType
from icontrol_emulator import Emulator
from tests.devices.bigip.f5_networks import NUMBER, F5Agent, adopted, elsewhere
from tests.devices.bigip.network_world import (
    ADJACENT,
    VTEP,
    balancer,
    host,
    hosts_of,
    make_vtep,
    network,
    subnet,
    tunnel,
)
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.test_common_networks import networks, shared, used
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone
from tests.waiting import eventually

UNDERLAY = 4000
VIP = "10.1.0.101"
SNAT = "10.1.0.11"
MEMBERS = ("10.1.0.200", "10.1.0.201")


@asynccontextmanager
async def device(site: WiredSite) -> AsyncIterator[BigIpRig]:
    async with Emulator(["bigip-1"], users={"admin": "admin"}, cables=site.cables, monitor_scale=0.1) as emulator:
        rig = BigIpRig(emulator, "standalone")
        try:
            yield rig
        finally:
            await rig.close()


@pytest.fixture
async def site() -> AsyncIterator[WiredSite]:
    async with wired("bigip-1") as made:
        yield made


async def apply(owner: Owner, wanted: ServiceDefinition) -> None:
    outcome = await owner.apply(batch(wanted))
    assert [one.error for one in outcome.outcomes] == [""]


def in_turn(found: ServiceDefinition, **changes: Any) -> ServiceDefinition:
    """With two members and without a monitor, so that both answer from the beginning."""
    pools = tuple(replace(pool, monitor=None) for pool in found.pools)
    return replace(found, pools=pools, **changes)


@pytest.mark.parametrize("kind", [NetworkType.VLAN, NetworkType.FLAT])
async def test_vlans_with_and_without_a_tag(site: WiredSite, kind: NetworkType) -> None:
    flat = kind is NetworkType.FLAT
    vlan = 0 if flat else 101
    client = site.host("client", "10.1.0.50/24", vlan=vlan)
    servers = [await site.server(address, f"{address}/24", vlan=vlan) for address in MEMBERS]
    async with device(site) as rig:
        owner = rig.owner(**ADJACENT)
        changes = {"network_type": kind, "physical_network": "flatnet", "segmentation_id": None} if flat else {}
        wanted = balancer(1, network(1, subnet(1, hosts_of(rig)), **changes), members=MEMBERS)
        await apply(owner, in_turn(wanted))
        assert sorted(await client.ask(VIP, 4)) == sorted(MEMBERS * 2)
        assert {peer for server in servers for peer in server.peers} == {SNAT}
        await apply(owner, gone(1))
        assert await client.finds_nobody(VIP)


@pytest.mark.parametrize("kind", [NetworkType.VXLAN, NetworkType.GRE])
async def test_tunnels_to_the_hosts_of_members(site: WiredSite, kind: NetworkType) -> None:
    """A client and two members, each on a host of its own, of which the device knows by Neutron's facts."""
    ends, macs = ("192.0.2.11", "192.0.2.12", "192.0.2.13"), []
    machines = []
    for number, (end, name) in enumerate(zip(ends, ("10.1.0.50", *MEMBERS), strict=True), 1):
        machine = site.host(name, f"{end}/24", vlan=UNDERLAY)
        macs.append(f"fa:16:3e:00:00:{number:02x}")
        attach = machine.vxlan if kind is NetworkType.VXLAN else machine.gre
        attach(5001, end, [VTEP], f"{name}/24", macs[-1])
        machines.append(machine)
    client, *servers = machines
    for server in servers:
        await server.serve()
    async with device(site) as rig:
        await make_vtep(rig.hands, VTEP)
        port = {"interfaces": [{"name": "1.1", "tagged": True}]}
        await rig.hands.call("PATCH", "net/vlan/~Common~underlay", port)
        owner = rig.owner(**ADJACENT)
        known = [
            host(name, number, end)
            for number, (end, name) in enumerate(zip(ends, ("10.1.0.50", *MEMBERS), strict=True), 1)
        ]

        def wanted(*hosts: Any, members: tuple[str, ...] = MEMBERS, revision: int = 1) -> ServiceDefinition:
            made = tunnel(1, subnet(1, hosts_of(rig), hosts=hosts), kind=kind)
            return in_turn(balancer(1, made, members=members, revision=revision))

        # a member of whose host nothing is known is not reached, nor one that is looked for where it is not
        await apply(owner, wanted(known[0], members=MEMBERS[1:]))
        assert await client.finds_nobody(VIP)
        await apply(owner, wanted(known[0], host(MEMBERS[1], 3, "192.0.2.99"), members=MEMBERS[1:], revision=2))
        assert await client.finds_nobody(VIP)
        await apply(owner, wanted(*known, revision=3))
        assert sorted(await client.ask(VIP, 4)) == sorted(MEMBERS * 2)
        assert {peer for server in servers for peer in server.peers} == {SNAT}


async def test_a_network_that_projects_share(site: WiredSite) -> None:
    """VIP in the shared network, in route domain 0; members there and in the project's own one."""
    client = site.host("client", "10.2.0.50/24", vlan=102)
    await site.server("shared", "10.2.0.200/24", vlan=102)
    await site.server("own", "10.1.0.200/24", vlan=101)
    async with device(site) as rig:
        owner = rig.owner(**ADJACENT, f5_route_domain_strictness="False")
        definition = shared(2, *hosts_of(rig))
        outcome = await owner.apply(networks(definition, complete=True))
        assert [one.error for one in outcome.outcomes] == [""]
        own = network(1, subnet(1, hosts_of(rig)))
        wanted = in_turn(balancer(1, used(definition), own, members=("10.2.0.200", "10.1.0.200")))
        await apply(owner, wanted)
        # the operator of the devices has not let the route domains exchange traffic yet
        assert set(await client.ask("10.2.0.101", 4)) == {"shared"}
        await rig.hands.call("PATCH", "net/route-domain/~Common~0", {"strict": "disabled"})
        assert set(await client.ask("10.2.0.101", 4)) == {"shared", "own"}


async def test_members_behind_the_device_as_their_gateway(site: WiredSite) -> None:
    """Without SNAT: members see the client, answer by the floating self IP, and get out by it."""
    client = site.host("client", "10.2.0.50/24", vlan=102)
    outside = site.host("outside", "10.2.0.60/24", vlan=102)
    await outside.serve(80)
    servers = [await site.server(address, f"{address}/24", vlan=101) for address in MEMBERS]
    for server in servers:
        server.run("route add default via 10.1.0.10")
    client.run("route add 10.1.0.0/24 via 10.2.0.10")
    outside.run("route add 10.1.0.0/24 via 10.2.0.10")
    async with device(site) as rig:
        owner = rig.owner(**ADJACENT, f5_snat_mode="False")
        inner = network(1, subnet(1, hosts_of(rig), snat=0, floating=True))
        outer = network(2, subnet(2, hosts_of(rig), snat=0, floating=True))
        await apply(owner, in_turn(balancer(1, outer, inner, members=MEMBERS)))
        assert sorted(await client.ask("10.2.0.101", 4)) == sorted(MEMBERS * 2)
        assert {peer for server in servers for peer in server.peers} == {"10.2.0.50"}
        assert await servers[0].ask("10.2.0.60") == ["outside"]
        assert outside.peers == {MEMBERS[0]}
        await apply(owner, gone(1))
        assert await servers[0].finds_nobody("10.2.0.60")


async def test_global_routed_mode_uses_what_operators_made(site: WiredSite) -> None:
    client = site.host("client", "10.1.0.50/24", vlan=300)
    servers = [await site.server(address, f"{address}/24", vlan=301) for address in ("10.3.0.200", "10.3.0.201")]
    async with device(site) as rig:
        for name, tag, address in (("outer", 300, "10.1.0.2/24"), ("inner", 301, "10.3.0.2/24")):
            vlan = {"name": name, "tag": tag, "interfaces": [{"name": "1.1", "tagged": True}]}
            await rig.hands.call("POST", "net/vlan", vlan)
            await rig.hands.call("POST", "net/self", {"name": f"self-{name}", "vlan": name, "address": address})
        owner = rig.owner()
        made = network(1, subnet(1, hosts_of(rig)))
        wanted = replace(balancer(1, made, members=("10.3.0.200", "10.3.0.201")), networks=())
        await apply(owner, in_turn(wanted))
        assert set(await client.ask(VIP, 4)) == {"10.3.0.200", "10.3.0.201"}
        assert {peer for server in servers for peer in server.peers} == {"10.3.0.2"}


async def test_networks_of_f5s_agent_are_adopted_under_traffic(site: WiredSite) -> None:
    """Requests are answered before, meanwhile and afterwards, by the same members with the same source address."""
    client = site.host("client", "10.1.0.50/24", vlan=101)
    servers = [await site.server(address, f"{address}/24", vlan=101) for address in MEMBERS]
    async with device(site) as rig:
        theirs = network(1, subnet(1, hosts_of(rig)), route_domain=NUMBER)
        wanted = in_turn(balancer(1, theirs, members=MEMBERS))
        f5 = F5Agent(rig.hands)
        await f5.begin()
        await f5.serve(wanted, await f5.attach(theirs))
        assert sorted(await client.ask(VIP, 4)) == sorted(MEMBERS * 2)
        owner = rig.owner(**ADJACENT)
        before = replace(wanted, networks=tuple(map(elsewhere, wanted.networks)))
        found = await owner.found_networks(batch(before, complete=True))
        answers: list[str] = []
        done = asyncio.Event()

        async def browse() -> None:
            while not done.is_set():
                answers.extend(await client.ask(VIP, 3))

        browsing = [asyncio.create_task(browse()) for _ in range(2)]
        await eventually(lambda: len(answers) >= 10)
        await owner.adopt(PROJECT)
        for service in adopted([before], found):
            await apply(owner, service)
        so_far = len(answers)
        await eventually(lambda: len(answers) >= so_far + 10)
        done.set()
        await asyncio.gather(*browsing)
        assert set(answers) == set(MEMBERS)
        assert sorted(await client.ask(VIP, 4)) == sorted(MEMBERS * 2)
        assert {peer for server in servers for peer in server.peers} == {SNAT}
        await apply(owner, gone(1))
        assert await client.finds_nobody(VIP)
