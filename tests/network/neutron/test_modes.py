"""Each way in which F5's agent attaches a pair of BIG-IPs to networks, from our API to traffic and back to nothing.

With a real Neutron: devices have what F5 documents, each address is a port that is bound and up, and all of it goes.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evenkeel.controller import port_releases
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.network.neutron import driver
from evenkeel.network.neutron.client import NeutronClient, NeutronPort
from tests.devices.bigip.rig import Hands
from tests.network.conftest import NEEDS_NEUTRON, session_to
from tests.network.neutron.cloud_world import TIMEOUT_SECONDS, CloudWorld, cloud_world
from tests.network.neutron.conftest import Cloud
from tests.network.neutron.f5_layout import Objects, default_route
from tests.network.neutron.patience import PATIENCE_SECONDS, eventually
from tests.network.neutron.tenants import CLIENT, EXTERNAL, Network, Tenant, active, seen
from tests.network.neutron_server.sharing import NeutronPlace
from tests.system.test_removed_partitions import DEVICES, acts_elsewhere
from tests.waiting import becomes_empty

pytestmark = NEEDS_NEUTRON
DEAD_SECONDS = 10.0
"""After that a claim of a killed controller counts as one that nobody will use."""
LATE_SECONDS = 45.0
"""After that a port for a claim that was given up is not made any more."""


class Mode(NamedTuple):
    """How devices are attached, and which networks tenants have: of the VIP, and of members where they are others."""

    options: Mapping[str, str]
    tenants: tuple[tuple[str, ...], ...]
    external_gateway: bool = False


ATTACHED = {"f5_global_routed_mode": "False", "advertised_tunnel_types": "vxlan,gre", "f5_vtep_selfip_name": "vtep"}
COMMON = {**ATTACHED, "f5_common_networks": "True"}
MODES = {
    "adjacent": Mode(ATTACHED, (("vlan",), ("flat",), ("vxlan",), ("gre",), (EXTERNAL, "vlan"))),
    "common networks": Mode(COMMON, (("vlan",),)),
    "external gateway": Mode({**COMMON, "external_gateway_mode": "True"}, ((EXTERNAL, "vlan"),), external_gateway=True),
    "without SNAT": Mode({**ATTACHED, "f5_snat_mode": "False"}, ((EXTERNAL, "vlan"),)),
}


@pytest.fixture
def tenants() -> Iterator[list[Tenant]]:
    """Closed at the end."""
    made: list[Tenant] = []
    yield made
    for tenant in made:
        tenant.close()


@pytest.mark.parametrize("name", MODES)
async def test_a_mode(
    name: str, tmp_path: Path, neutron_place: NeutronPlace, neutron_bus: str, cloud: Cloud, tenants: list[Tenant]
) -> None:
    mode = MODES[name]
    async with cloud_world(tmp_path, neutron_place, mode.options) as world:
        for hands in world.hands().values():  # operators have to, where VIPs and members are in different route domains
            await hands.call("PATCH", "net/route-domain/~Common~0", {"strict": "disabled"})
        before = {device: await seen(hands) for device, hands in world.hands().items()}
        for kinds in mode.tenants:
            tenants.append(Tenant(world, cloud, *kinds))
            await tenants[-1].start()
        await world.start(agents=2)
        await asyncio.gather(*(tenant.create() for tenant in tenants))
        for tenant in tenants:
            await active(world, tenant)
        for device in DEVICES:
            await has_what_f5_documents(world, mode, tenants, device, before[device])
        await are_up(tenants)
        for tenant in tenants:
            await carries_traffic(world, tenant)
        await asyncio.gather(*(tenant.delete() for tenant in tenants))
        await leaves_nothing(world, tenants, before)


async def test_global_routed_mode(
    tmp_path: Path, neutron_place: NeutronPlace, neutron_bus: str, cloud: Cloud, tenants: list[Tenant]
) -> None:
    """Devices have nothing but the load balancer, and use what operators made."""
    async with cloud_world(tmp_path, neutron_place, {}) as world:
        tenant = Tenant(world, cloud, "vlan", "vlan")
        tenants.append(tenant)
        await tenant.start()
        for last, hands in enumerate(world.hands().values(), 2):
            for network in tenant.networks:
                await made_by_operators(tenant, network, hands, last)
        before = {device: await seen(hands) for device, hands in world.hands().items()}
        await world.start(agents=2)
        await tenant.create()
        await active(world, tenant)
        wanted = tenant.servers_of(tenant.vip_address, {"type": "automap"})
        for device, hands in world.hands().items():
            found = {key: item for key, item in (await seen(hands)).items() if key not in before[device]}
            assert found.keys() == wanted.keys()
            assert all(found[key][name] == value for key, item in wanted.items() for name, value in item.items())
        (port,) = tenant.our_ports()
        assert port.id == (await world.root(tenant.load_balancer_id)).vip.port_id  # type: ignore[union-attr]
        await are_up(tenants)
        if tenant.client is not None:
            answers = await tenant.client.ask(tenant.vip_address, 4)
            assert sorted(answers) == sorted([tenant.named(one.address) for one in tenant.members] * 2)
            assert {peer for server in tenant.servers for peer in server.peers} == {tenant.inner.address(2)}
        await tenant.delete()
        await leaves_nothing(world, tenants, before)


async def made_by_operators(tenant: Tenant, network: Network, hands: Hands, last: int) -> None:
    """A VLAN and a self IP."""
    name, address = f"hand-made-{network.vlan}", network.address(last)
    tenant.reserve(network, address)
    ports = [{"name": "1.1", "tagged": True}]
    await hands.call("POST", "net/vlan", {"name": name, "tag": network.vlan, "interfaces": ports})
    await hands.call("POST", "net/self", {"name": name, "vlan": name, "address": f"{address}/24"})


class Dying(NeutronClient):
    """Its controller is killed when Neutron has made the ports for devices, and before that learns of it."""

    def __init__(self, url: str) -> None:
        super().__init__(session_to(url))
        self.made: list[NeutronPort] = []
        self.dead = threading.Event()

    def create_device_port(self, *arguments: Any) -> NeutronPort:
        self.made.append(super().create_device_port(*arguments))
        self.dead.wait()
        raise NetworkUnavailable("its controller is dead")


async def test_ports_of_killed_controllers_and_agents_are_used_or_go(
    tmp_path: Path,
    neutron_place: NeutronPlace,
    neutron_bus: str,
    cloud: Cloud,
    tenants: list[Tenant],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with cloud_world(tmp_path, neutron_place, ATTACHED) as world, AsyncExitStack() as stack:
        before = {device: await seen(hands) for device, hands in world.hands().items()}
        tenants.append(tenant := Tenant(world, cloud, "vlan"))
        living = world.network
        client = Dying(neutron_place.url)
        stack.callback(client.dead.set)
        monkeypatch.setattr(port_releases, "LATE_SECONDS", LATE_SECONDS)
        with monkeypatch.context() as patch:  # so that its claims are due after some seconds
            patch.setattr(driver, "CLAIM_GRACE_SECONDS", DEAD_SECONDS - 2 * TIMEOUT_SECONDS)
            world.network = world.new_network(client)
        stack.callback(world.network.close)
        await world.start(controllers=1, agents=2)
        await tenant.create()
        await eventually(lambda: len(client.made) >= 3)
        await world.kill_controller("c0")
        world.network = living
        await world.start_controller("c1")
        await active(world, tenant)
        await eventually(lambda: not lost(tenant, client), every_seconds=0.5)
        # of the VIP, two devices, and SNAT; those of an attempt whose answer came too late go by themselves
        await eventually(lambda: len(tenant.our_ports()) == 4, every_seconds=0.5)
        await are_up(tenants)

        # another agent goes on with what is there
        ports = {port.id for port in tenant.our_ports()}
        await world.kill(owner := await world.acting(tenant.load_balancer_id))
        await eventually(lambda: acts_elsewhere(world, tenant.load_balancer_id, owner))
        await world.start_agent(owner)
        await eventually(lambda: world.active(tenant.load_balancer_id))
        await eventually(lambda: {port.id for port in tenant.our_ports()} == ports, every_seconds=0.5)

        # nobody who has heard of the delete lives
        await tenant.delete()
        await world.kill_controller("c1")
        await world.kill(*world.agents)
        await world.start_controller("c2")
        await world.start_agent("h0")
        await leaves_nothing(world, tenants, before)


def lost(tenant: Tenant, client: Dying) -> set[str]:
    """Ports of the dead controller that are there."""
    return {port.id for port in client.made} & {port.id for port in tenant.our_ports()}


async def has_what_f5_documents(
    world: CloudWorld, mode: Mode, tenants: Sequence[Tenant], device: str, before: Objects
) -> None:
    found: dict[str, Mapping[str, Any]] = {}
    wanted: dict[str, Mapping[str, Any]] = {}

    async def is_so() -> bool:
        """Where members' ports are may be known a little later."""
        found.clear()
        wanted.clear()
        there = await seen(world.hands()[device])
        found.update({key: item for key, item in there.items() if key not in before})
        wanted.update(expected(mode, tenants, device, found))
        for key in found.keys() & wanted.keys():
            found[key] = {name: found[key].get(name) for name in wanted[key]}
        return found == wanted

    try:
        await eventually(is_so, every_seconds=0.5)
    except AssertionError:
        assert found == wanted
        raise


def expected(mode: Mode, tenants: Sequence[Tenant], device: str, found: Objects) -> Objects:
    objects: dict[str, Mapping[str, Any]] = {}
    numbers = route_domains(found)
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1)), "the lowest numbers, each once"
    for tenant in tenants:
        objects |= tenant.expected(device, numbers.get(tenant.partition, 0))
        if mode.external_gateway:
            objects["net/route /Common/default-0"] = default_route(0, tenant.vip.address(1))
    return objects


def route_domains(found: Objects) -> dict[str, int]:
    """Their numbers, by partition."""
    paths = [key.partition("/net/route-domain")[0].rpartition("/")[2] for key in found if key.startswith("net/route-d")]
    return {path.rpartition("_")[0]: int(path.rpartition("_")[2]) for path in paths}


async def are_up(tenants: Sequence[Tenant]) -> None:
    """Ports of VIPs and of devices' addresses are bound to the agents' host, and serve."""

    async def others() -> dict[str, tuple[str, str]]:
        ports = [(port, tenant.world.host) for tenant in tenants for port in tenant.our_ports()]
        return {
            port.name: (port.status, port.binding_vif_type)
            for port, host in ports
            if (port.status, port.binding_host_id, port.binding_vif_type) != ("ACTIVE", host, "ovs")
        }

    await becomes_empty(others, within_seconds=PATIENCE_SECONDS)


async def carries_traffic(world: CloudWorld, tenant: Tenant) -> None:
    """From a client by the VIP to both members, with the documented source address."""
    if tenant.client is None:
        return
    place = tenant.place(tenant.inner, DEVICES[0], 0)
    for server in tenant.servers if place.gateway else ():
        server.run(f"route add default via {place.gateway}")
    answers = await tenant.client.ask(tenant.vip_address, 4)
    assert sorted(answers) == sorted([tenant.named(one.address) for one in tenant.members] * 2)
    source = place.snat or tenant.vip.address(CLIENT)
    assert {peer for server in tenant.servers for peer in server.peers} == {source}


async def leaves_nothing(world: CloudWorld, tenants: Sequence[Tenant], before: Mapping[str, Objects]) -> None:
    """On the devices, at Neutron, and in the database."""

    for tenant in tenants:
        await eventually(lambda one=tenant: world.is_gone(one.load_balancer_id), every_seconds=0.1)  # type: ignore[misc]

    async def left() -> Mapping[str, Any]:
        ports = {port.name: port.id for tenant in tenants for port in tenant.our_ports()}
        return {**await world.kept(), **ports}

    await becomes_empty(left, within_seconds=PATIENCE_SECONDS)
    for device, hands in world.hands().items():
        await eventually(lambda one=hands, device=device: is_as(one, before[device]), every_seconds=0.5)  # type: ignore[misc]
    for tenant in tenants:
        assert tenant.client is None or await tenant.client.finds_nobody(tenant.vip_address)


async def is_as(hands: Hands, before: Objects) -> bool:
    return await seen(hands) == before
