"""Traffic of tenants in networks of their own, through the active device of a pair, from the API's rows on.

In real time: frames between network namespaces and the emulator's data plane, and the kernel's TCP at both ends.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from emulator_tests.wired_site import Host, WiredSite, wired
from evenkeel.core.networking.networks import NetworkType
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Vip
from icontrol_emulator import Emulator
from tests.devices.bigip.network_world import make_vtep
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.system.test_networks import TENANTS, AttachedWorld
from tests.system.test_removed_partitions import DEVICES, delete, gone
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

pytestmark = pytest.mark.real_time
UNDERLAY = 4000
VIP, CLIENT, MEMBERS = "10.0.0.100", "10.0.0.150", ("10.0.0.200", "10.0.0.201")
"""Of each tenant."""
KINDS = {"a": NetworkType.VLAN, "b": NetworkType.VXLAN}
SEGMENTS = {"a": 101, "b": 5002}
DEVICE_ENDS = ("192.0.2.1", "192.0.2.2")
ENDS = ("192.0.2.11", "192.0.2.12", "192.0.2.13")
"""The tunnel end points of the hosts of the client and the members."""
REQUESTS, MORE_REQUESTS = 2_000, 10_000
CONNECTIONS, AT_ONCE = 50, 5


class WiredWorld(AttachedWorld):
    """A tenant in a VLAN and one in a VXLAN, each with the same subnet, VIP, and members' addresses."""

    site: WiredSite

    agent_options = {"advertised_tunnel_types": "vxlan", "f5_vtep_selfip_name": "vtep"}

    async def make_underlay(self) -> None:
        for name, end in zip(DEVICES, DEVICE_ENDS, strict=True):
            hands = Hands(self.emulator, name)
            await make_vtep(hands, end)
            await hands.call("PATCH", "net/vlan/~Common~underlay", {"interfaces": [{"name": "1.2", "tagged": True}]})

    async def declare(self) -> None:
        for tenant in TENANTS:
            tunnel = KINDS[tenant] is NetworkType.VXLAN
            await self.declare_own(
                tenant,
                network_type=KINDS[tenant],
                physical_network=None if tunnel else "physnet",
                segmentation_id=SEGMENTS[tenant],
                vteps=ENDS if tunnel else (),
            )

    async def hosts(self, tenant: str) -> Host:
        """The tenant's servers, which name themselves; returns its client."""
        made = []
        for number, address in enumerate((CLIENT, *MEMBERS)):
            name = f"{tenant} {address}"
            if KINDS[tenant] is NetworkType.VLAN:
                made.append(self.site.host(name, f"{address}/24", vlan=SEGMENTS[tenant]))
                continue
            host = self.site.host(name, f"{ENDS[number]}/24", vlan=UNDERLAY)
            host.vxlan(SEGMENTS[tenant], ENDS[number], DEVICE_ENDS, f"{address}/24", f"fa:16:3e:00:00:{number:02x}")
            made.append(host)
        client, *servers = made
        for server in servers:
            await server.serve()
        return client

    async def serve(self, tenant: str) -> str:
        """A load balancer with a listener, a pool and its members."""
        own = {"project_id": tenant, "load_balancer_id": str(uuid.uuid4())}
        vip = Vip(address=VIP, subnet_id=f"sub-{tenant}", network_id=f"net-{tenant}", port_id=str(uuid.uuid4()))
        pool = Pool(id=str(uuid.uuid4()), protocol="HTTP", lb_algorithm="ROUND_ROBIN", **own)
        listener = Listener(id=str(uuid.uuid4()), protocol="HTTP", protocol_port=80, default_pool_id=pool.id, **own)
        members = tuple(
            Member(
                id=str(uuid.uuid4()), pool_id=pool.id, address=each, subnet_id=vip.subnet_id, protocol_port=8080, **own
            )
            for each in MEMBERS
        )
        root = LoadBalancer(id=own["load_balancer_id"], project_id=tenant, vip=vip, provider=ENVIRONMENT)
        tree = LoadBalancerTree(load_balancer=root, listeners=(listener,), pools=(pool,), members=members)
        plan = VipPlan(subnet_id=vip.subnet_id, network_id=vip.network_id, port_id=vip.port_id, address=VIP)
        change = await self.store.tenants.create_load_balancer(tree, plan, [])
        await self.controllers["c0"].driver.change_accepted(change)
        return root.id


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[WiredWorld]:
    async with (
        wired(*DEVICES) as site,
        Emulator(devices=list(DEVICES), ha="pair", users={"admin": "admin"}, cables=site.cables) as emulator,
    ):
        made = WiredWorld(tmp_path)
        made.rig, made.emulator, made.site = BigIpRig(emulator, "pair"), emulator, site
        made.retire_seconds = 0.1
        yield made
        await made.close()
        await made.rig.close()


async def answers(clients: dict[str, Host], count: int) -> dict[str, Counter[str]]:
    """Who answers so many requests of all clients, which ask at the same time on some connections each."""
    found: dict[str, Counter[str]] = {tenant: Counter() for tenant in clients}
    each = count // len(clients) // CONNECTIONS

    async def ask(tenant: str, connections: int) -> None:
        for _ in range(connections):
            found[tenant].update(await clients[tenant].ask(VIP, each))

    async with asyncio.TaskGroup() as group:
        for tenant in clients:
            for _ in range(AT_ONCE):
                group.create_task(ask(tenant, CONNECTIONS // AT_ONCE))
    return found


async def test_two_tenants_with_the_same_addresses_are_served_without_crosstalk(world: WiredWorld) -> None:
    await serve_without_crosstalk(world, REQUESTS)


async def test_more_requests_of_two_tenants_with_the_same_addresses_are_served_without_crosstalk(
    world: WiredWorld,
) -> None:
    await serve_without_crosstalk(world, MORE_REQUESTS)


async def serve_without_crosstalk(world: WiredWorld, requests: int) -> None:
    await world.start(agents=2)
    await world.make_underlay()
    await world.declare()
    clients = {tenant: await world.hosts(tenant) for tenant in TENANTS}
    ids = [await world.serve(tenant) for tenant in TENANTS]
    for load_balancer_id in ids:
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    before = await answers(clients, requests // 2)
    await world.emulator.failover(DEVICES[0])
    after = await answers(clients, requests // 2)
    for tenant in TENANTS:
        found = before[tenant] + after[tenant]
        assert found.total() == requests // len(TENANTS)
        assert set(found) == {f"{tenant} {address}" for address in MEMBERS}
        # the only address that SNAT has in the tenant's subnet
        assert len({peer for host in world.site.hosts if host.name[0] == tenant for peer in host.peers}) == 1
    for load_balancer_id in ids:
        await delete(world, load_balancer_id)
    for load_balancer_id in ids:
        await eventually(lambda lb=load_balancer_id: gone(world, lb))  # type: ignore[misc]
    for client in clients.values():
        assert await client.finds_nobody(VIP)
