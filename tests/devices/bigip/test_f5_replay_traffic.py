"""Clients of what F5's agent made notice nothing of its adoption, in networks of each type."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from emulator_tests.wired_site import Host, WiredSite, wired
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import MemberHost, NetworkType
from tests.devices.bigip.f5_adoption import DEVICE, KINDS, Scene, delete_everything, take_over, tenant_of
from tests.devices.bigip.f5_agent import links
from tests.devices.bigip.f5_agent.identities import with_uuids
from tests.devices.bigip.f5_agent.requests import replay
from tests.devices.bigip.f5_agent.scenes import Replay
from tests.devices.bigip.f5_agent.tenants import Generation, Tenant
from tests.devices.bigip.network_world import ADJACENT, VTEP, balancer, host, hosts_of, subnet
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.test_networks_traffic import MEMBERS, UNDERLAY, VIP, device, in_turn
from tests.devices.services import batch
from tests.waiting import eventually

CLIENT = "10.1.0.50"
ANSWER_SECONDS = 10.0
PAUSE_SECONDS = 0.02
"""Between a client's requests, which otherwise take the core from the device that is changed."""
ENOUGH = 4
"""Requests of each client before and after the adoption."""


class Browsing:
    """Requests, each on a connection of its own, and of one connection that lasts as long as it may."""

    def __init__(self, client: Host, vip: str = VIP) -> None:
        self._client = client
        self._vip = vip
        self._over = asyncio.Event()
        self.answers: list[str] = []
        self.lasting = 0
        self.failures: list[str] = []

    async def _often(self) -> None:
        while not self._over.is_set():
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self.answers += await self._client.ask(self._vip)
            except (OSError, EOFError, TimeoutError) as error:
                self.failures.append(repr(error))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _on_one_connection(self) -> None:
        reader, writer = await self._client.connect(self._vip)
        try:
            while not self._over.is_set():
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                async with asyncio.timeout(ANSWER_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split()[0])
                self.answers.append((await reader.readexactly(length)).decode())
                self.lasting += 1
                await asyncio.sleep(PAUSE_SECONDS)
        except (OSError, EOFError, TimeoutError) as error:
            self.failures.append(f"after {self.lasting}: {error!r}")
        finally:
            writer.transport.abort()

    async def enough(self) -> None:
        """So many more requests."""
        answers, lasting = len(self.answers), self.lasting
        await eventually(
            lambda: self.failures or (len(self.answers) >= answers + 2 * ENOUGH and self.lasting >= lasting + ENOUGH)
        )

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, client: Host, vip: str = VIP) -> AsyncIterator["Browsing"]:
        made = cls(client, vip)
        tasks = [asyncio.create_task(made._often()), asyncio.create_task(made._on_one_connection())]
        try:
            await made.enough()
            yield made
            await made.enough()
        finally:
            made._over.set()
            await asyncio.gather(*tasks)


@pytest.fixture
async def site() -> AsyncIterator[WiredSite]:
    async with wired("bigip-1") as made:
        yield made


async def tunnelled(site: WiredSite, kind: NetworkType, name: str = "") -> tuple[Host, tuple[MemberHost, ...]]:
    """A client and members, each in the tunnels' network on a host of its own, and where they are. ``name``: begins
    what members say, before the last part of their addresses.
    """
    names = (CLIENT, *MEMBERS)
    known = tuple(host(name, number, f"192.0.2.{10 + number}") for number, name in enumerate(names, 1))
    machines = []
    for each in known:
        called = f"{name}-{each.address.rpartition('.')[2]}" if name else each.address
        machine = site.host(called, f"{each.vtep}/24", vlan=UNDERLAY)
        attach = machine.vxlan if kind is NetworkType.VXLAN else machine.gre
        attach(5001, each.vtep, [VTEP], f"{each.address}/24", each.mac_address)
        machines.append(machine)
    client, *servers = machines
    for server in servers:
        await server.serve()
    return client, known


async def adopt_under_traffic(rig: BigIpRig, client: Host, wanted: ServiceDefinition, generation: Generation) -> None:
    """Make it, take it over with its clients, and delete it."""
    wanted = with_uuids(in_turn(wanted))
    scene = Scene(rig, Replay(tenant_of(generation), DEVICE, [wanted]))
    await scene.build()
    (network,) = wanted.networks
    for each in (known for one in network.subnets for known in one.hosts):
        await replay(rig.emulator, links.host(scene.replayed.tenant, DEVICE, network, each))
    owner = rig.owner(**ADJACENT)
    async with Browsing.of(client) as browsing:
        services, _ = await take_over(owner, [wanted])
    assert not browsing.failures
    await owner.apply(batch(*services, complete=True))  # SNAT addresses are removed only now
    assert set(browsing.answers) == set(MEMBERS)
    # what requests may have been on their way with is removed only now
    await owner.apply(batch(*services, complete=True))
    (then,) = await owner.plan(batch(*services, complete=True))
    assert not then.operations and not then.left
    await delete_everything(owner, services)
    assert await client.finds_nobody(VIP)
    assert await scene.rest() == {}


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("kind", [NetworkType.VLAN, NetworkType.FLAT])
async def test_adoption_on_a_switch_ends_no_connection(
    site: WiredSite, kind: NetworkType, generation: Generation
) -> None:
    vlan = 0 if kind is NetworkType.FLAT else 101
    client = site.host("client", f"{CLIENT}/24", vlan=vlan)
    for address in MEMBERS:
        await site.server(address, f"{address}/24", vlan=vlan)
    async with device(site) as rig:
        wanted = balancer(1, KINDS[kind](1, subnet(1, hosts_of(rig))), members=MEMBERS)
        await adopt_under_traffic(rig, client, wanted, generation)


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("kind", [NetworkType.VXLAN, NetworkType.GRE])
async def test_adoption_in_tunnels_ends_no_connection(
    site: WiredSite, kind: NetworkType, generation: Generation
) -> None:
    client, known = await tunnelled(site, kind)
    async with device(site) as rig:
        wanted = balancer(1, KINDS[kind](1, subnet(1, hosts_of(rig), hosts=known)), members=MEMBERS)
        await adopt_under_traffic(rig, client, wanted, generation)


# -- several route domains


async def adopt_both_under_traffic(
    rig: BigIpRig, clients: list[Host], tenant: Tenant, balancers: list[ServiceDefinition]
) -> None:
    """Make load balancers in a route domain each, take them over with their clients, and delete them."""
    wanted = [with_uuids(in_turn(one)) for one in balancers]
    scene = Scene(rig, Replay(tenant, DEVICE, wanted))
    await scene.build()
    for each in (net for one in wanted for net in one.networks):
        for known in (known for one in each.subnets for known in one.hosts):
            await replay(rig.emulator, links.host(tenant, DEVICE, each, known))
    owner = rig.owner(**ADJACENT, max_namespaces_per_tenant="2")
    vips = [one.vip.address for one in wanted if one.vip is not None]
    async with Browsing.of(clients[0], vips[0]) as first, Browsing.of(clients[1], vips[1]) as second:
        services, _ = await take_over(owner, wanted)
        await first.enough()
        await second.enough()
    assert not first.failures and not second.failures
    assert set(first.answers) == {"first-200", "first-201"} and set(second.answers) == {"second-200", "second-201"}
    assert len({net.route_domain for one in services for net in one.networks}) == 2
    for _ in range(2):  # what requests may have been on their way with is removed only now
        await owner.apply(batch(*services, complete=True))
    (then,) = await owner.plan(batch(*services, complete=True))
    assert not then.operations and not then.left
    await delete_everything(owner, services)
    assert [await client.finds_nobody(vip) for client, vip in zip(clients, vips, strict=True)] == [True, True]
    assert await scene.rest() == {}


async def in_vlan(site: WiredSite, name: str, number: int, base: str) -> Host:
    """The client of the network with this number; its members say the name."""
    for last in (200, 201):
        await site.server(f"{name}-{last}", f"{base}.{last}/24", vlan=100 + number)
    return site.host(f"{name}-client", f"{base}.50/24", vlan=100 + number)


@pytest.mark.parametrize("generation", Generation)
async def test_adoption_of_two_route_domains_with_the_same_addresses_ends_no_connection(
    site: WiredSite, generation: Generation
) -> None:
    """Until 9.6 the second is ``<partition>_aux_102``."""
    clients = [await in_vlan(site, name, number, "10.1.0") for number, name in enumerate(("first", "second"), 1)]
    async with device(site) as rig:
        balancers = [
            balancer(
                number, KINDS[NetworkType.VLAN](number, subnet(number, hosts_of(rig), base="10.1.0")), members=MEMBERS
            )
            for number in (1, 2)
        ]
        await adopt_both_under_traffic(rig, clients, replace(tenant_of(generation), first_domain=101), balancers)


async def test_adoption_of_route_domains_of_a_tunnel_and_a_vlan_ends_no_connection(site: WiredSite) -> None:
    client, known = await tunnelled(site, NetworkType.VXLAN, "first")
    clients = [client, await in_vlan(site, "second", 2, "10.2.0")]
    async with device(site) as rig:
        tunnels = KINDS[NetworkType.VXLAN](1, subnet(1, hosts_of(rig), hosts=known))
        vlan = KINDS[NetworkType.VLAN](2, subnet(2, hosts_of(rig)))
        balancers = [
            balancer(1, tunnels, members=MEMBERS),
            balancer(2, vlan, members=("10.2.0.200", "10.2.0.201")),
        ]
        await adopt_both_under_traffic(rig, clients, tenant_of(Generation.NETWORK), balancers)
