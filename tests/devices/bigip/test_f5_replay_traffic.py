"""Clients of what F5's agent made notice nothing of its adoption, in networks of each type."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from emulator_tests.wired_site import Host, WiredSite, wired
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import NetworkType
from tests.devices.bigip.f5_adoption import DEVICE, KINDS, Scene, delete_everything, take_over, tenant_of
from tests.devices.bigip.f5_agent import links
from tests.devices.bigip.f5_agent.identities import with_uuids
from tests.devices.bigip.f5_agent.requests import replay
from tests.devices.bigip.f5_agent.scenes import Replay
from tests.devices.bigip.f5_agent.tenants import Generation
from tests.devices.bigip.network_world import ADJACENT, VTEP, balancer, host, hosts_of, subnet
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.test_networks_traffic import MEMBERS, UNDERLAY, VIP, device, in_turn
from tests.devices.services import batch
from tests.waiting import eventually

CLIENT = "10.1.0.50"
ANSWER_SECONDS = 10.0
ENOUGH = 4
"""Requests of each client before and after the adoption."""


class Browsing:
    """Requests, each on a connection of its own, and of one connection that lasts as long as it may."""

    def __init__(self, client: Host) -> None:
        self._client = client
        self._over = asyncio.Event()
        self.answers: list[str] = []
        self.lasting = 0
        self.failures: list[str] = []

    async def _often(self) -> None:
        while not self._over.is_set():
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self.answers += await self._client.ask(VIP)
            except (OSError, EOFError, TimeoutError) as error:
                self.failures.append(repr(error))

    async def _on_one_connection(self) -> None:
        reader, writer = await self._client.connect(VIP)
        try:
            while not self._over.is_set():
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                async with asyncio.timeout(ANSWER_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split()[0])
                self.answers.append((await reader.readexactly(length)).decode())
                self.lasting += 1
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
    async def of(cls, client: Host) -> AsyncIterator["Browsing"]:
        made = cls(client)
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
    names = (CLIENT, *MEMBERS)
    known = [host(name, number, f"192.0.2.{10 + number}") for number, name in enumerate(names, 1)]
    machines = []
    for each in known:
        machine = site.host(each.address, f"{each.vtep}/24", vlan=UNDERLAY)
        attach = machine.vxlan if kind is NetworkType.VXLAN else machine.gre
        attach(5001, each.vtep, [VTEP], f"{each.address}/24", each.mac_address)
        machines.append(machine)
    client, *servers = machines
    for server in servers:
        await server.serve()
    async with device(site) as rig:
        wanted = balancer(1, KINDS[kind](1, subnet(1, hosts_of(rig), hosts=tuple(known))), members=MEMBERS)
        await adopt_under_traffic(rig, client, wanted, generation)
