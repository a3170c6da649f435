"""A pair of BIG-IPs attached to networks of a real Neutron: addresses are its ports, facts follow, and all ends."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.ports import Device
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Member, Pool, Vip
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.network.neutron.client import NeutronClient
from evenkeel.network.neutron.driver import NeutronNetwork
from icontrol_emulator import Emulator
from tests.devices.bigip.network_world import make_vtep
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.network.conftest import NEEDS_NEUTRON, session_to
from tests.network.neutron.conftest import Cloud
from tests.network.neutron.patience import PATIENCE_SECONDS, eventually
from tests.system.test_removed_partitions import DEVICES, PairWorld, acts_elsewhere, delete, gone
from tests.system.world import ENVIRONMENT
from tests.waiting import becomes_empty

pytestmark = NEEDS_NEUTRON


class Away(NeutronClient):
    """Neutron's API, which may be away."""

    away = False

    @property
    def _network_proxy(self) -> Any:
        if self.away:
            raise NetworkUnavailable("Neutron is away")
        return super()._network_proxy


class NeutronWorld(PairWorld):
    """Projects have networks in Neutron."""

    client: Away
    binding_host = ""

    def _device_of(self, host: str) -> Device:
        return self.rig.agent(
            environment=ENVIRONMENT,
            f5_global_routed_mode="False",
            f5_external_physical_mappings="physnet1:1.1:True",
            advertised_tunnel_types="vxlan",
            f5_vtep_selfip_name="vtep",
            full_read_interval="0",
            port_binding_host=self.binding_host,
        )

    async def create_in(self, project_id: str, subnet_id: str, *members: tuple[str, str]) -> str:
        """A load balancer with a VIP in the subnet, and members: (address, subnet id)."""
        id_, plan = await self.plan_in(project_id, subnet_id)
        await self.create_as_planned(project_id, id_, plan, *members)
        return id_

    async def plan_in(self, project_id: str, subnet_id: str) -> tuple[str, VipPlan]:
        """The id of a load balancer to be, whose VIP has its port."""
        assert self.network is not None
        id_ = str(uuid.uuid4())
        nothing = dict.fromkeys(("network_id", "port_id", "address"))
        plan = await self.network.plan_vip(project_id=project_id, load_balancer_id=id_, subnet_id=subnet_id, **nothing)
        return id_, plan

    async def create_as_planned(self, project_id: str, id_: str, plan: VipPlan, *members: tuple[str, str]) -> None:
        """Stored, and accepted: Neutron need not be there."""
        assert plan.address is not None
        vip = Vip(address=plan.address, subnet_id=plan.subnet_id, network_id=plan.network_id, port_id=plan.port_id)
        common = {"project_id": project_id, "load_balancer_id": id_}
        pool = Pool(id=str(uuid.uuid4()), protocol="HTTP", lb_algorithm="ROUND_ROBIN", **common)
        tree = LoadBalancerTree(
            load_balancer=LoadBalancer(id=id_, project_id=project_id, vip=vip, provider=ENVIRONMENT),
            pools=(pool,),
            members=tuple(
                Member(id=str(uuid.uuid4()), pool_id=pool.id, address=each, subnet_id=where, protocol_port=80, **common)
                for each, where in members
            ),
        )
        change = await self.store.tenants.create_load_balancer(tree, plan, [])
        await self.controllers["c0"].driver.change_accepted(change)

    def shown(self, type_: str, tenant: str, device: str = DEVICES[0]) -> dict[str, dict[str, Any]]:
        """Attributes of the tenant's objects on a device, by name."""
        found = self.emulator.devices[device].engine.store.top(type_, f"{ENVIRONMENT}_{tenant}")
        return {each.key.path.rpartition("/")[2]: dict(each.props) for each in found}


@pytest.fixture
async def world(tmp_path: Path, neutron_url: str, cloud: Cloud) -> AsyncIterator[NeutronWorld]:
    """It ends before its networks are deleted: agents would make ports in them meanwhile."""
    async with Emulator(devices=list(DEVICES), ha="pair", users={"admin": "admin"}, data_plane=False) as emulator:
        made = NeutronWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        made.retire_seconds = 0.1
        made.controller_settings = replace(
            made.controller_settings, network_facts_seconds=1.0, release_interval_seconds=0.1, port_search_seconds=1.0
        )
        for number, device in enumerate(DEVICES, 1):
            await make_vtep(Hands(emulator, device), f"192.0.2.{number}")
        made.client = Away(session_to(neutron_url))
        claims, device_ports = made.store.claims, made.store.device_ports
        made.network = NeutronNetwork(made.client, claims, device_ports, timeout_seconds=60.0)
        yield made
        await made.close()
        made.network.close()
        await made.rig.close()


def addresses_of(objects: dict[str, dict[str, Any]]) -> set[str]:
    return {str(each["address"]).partition("%")[0] for each in objects.values()}


async def test_networks_of_neutron_from_the_first_load_balancer_to_the_last(world: NeutronWorld, cloud: Cloud) -> None:
    a, b = uuid.uuid4().hex, uuid.uuid4().hex
    overlay, in_overlay = cloud.network(a, provider_network_type="vxlan")
    vlan, in_vlan = cloud.network(b, provider_network_type="vlan", provider_physical_network="physnet1")
    member = cloud.member(overlay, "10.0.0.200")
    await world.start(agents=2)
    first = await world.create_in(a, in_overlay, ("10.0.0.200", in_overlay))
    second = await world.create_in(b, in_vlan, ("10.0.0.201", in_vlan))
    for load_balancer_id in (first, second):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]

    # what the devices have is Neutron's
    shown = cloud.neutron.get_network(overlay)
    assert list(world.shown("net/tunnels/tunnel", a)) == [f"tunnel-vxlan-{shown.provider_segmentation_id}"]
    segment = cloud.neutron.get_network(vlan).provider_segmentation_id
    assert list(world.shown("net/vlan", b)) == [f"vlan-{segment}"]
    for tenant, network in ((a, overlay), (b, vlan)):

        def are_ports(tenant: str = tenant, network: str = network) -> bool:
            """Those of an attempt whose answer came too late go by themselves."""
            ports = cloud.addresses(network, "network:evenkeel")
            present = [addresses_of(world.shown("net/self", tenant, device)) for device in DEVICES]
            translations = addresses_of(world.shown("ltm/snat-translation", tenant))
            return len(ports) == 3 and {*present[0], *present[1], *translations} >= ports

        await eventually(are_ports, every_seconds=0.5)

    # it follows what changes in Neutron: a network's MTU, the port of a member
    await eventually(lambda: macs(world, a) == [member.mac_address])
    cloud.neutron.update_network(vlan, mtu=1400)
    cloud.neutron.delete_port(member)
    again = cloud.member(overlay, "10.0.0.200")
    await eventually(lambda: [each["mtu"] for each in world.shown("net/vlan", b).values()] == [1400])
    await eventually(lambda: macs(world, a) == [again.mac_address])

    # another agent takes over, and gives back what the last load balancer used
    before = cloud.addresses(overlay, "network:evenkeel")
    owner = await world.acting(first)
    await world.vanish(owner)
    await eventually(lambda: acts_elsewhere(world, first, owner))
    for load_balancer_id in (first, second):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    await eventually(lambda: cloud.addresses(overlay, "network:evenkeel") == before, every_seconds=0.5)
    for load_balancer_id in (first, second):
        await delete(world, load_balancer_id)
        await eventually(lambda lb=load_balancer_id: gone(world, lb))  # type: ignore[misc]
    await eventually(lambda: not cloud.addresses(overlay, "network:evenkeel") | cloud.addresses(overlay, "Octavia"))
    await eventually(lambda: not cloud.addresses(vlan, "network:evenkeel") | cloud.addresses(vlan, "Octavia"))
    types = ("net/vlan", "net/tunnels/tunnel", "net/self", "net/route-domain", "net/arp")
    places = [(type_, tenant, device) for type_ in types for tenant in (a, b) for device in DEVICES]

    async def left() -> dict[tuple[str, str, str], Any]:
        return {place: objects for place in places if (objects := world.shown(*place))}

    await becomes_empty(left)


def macs(world: NeutronWorld, tenant: str) -> list[str]:
    """Of members, as the first device knows them."""
    return [each["macAddress"] for each in world.shown("net/arp", tenant).values()]


async def test_while_neutron_is_away_only_new_networks_wait(world: NeutronWorld, cloud: Cloud) -> None:
    a = uuid.uuid4().hex
    _, old = cloud.network(a, provider_network_type="vlan", provider_physical_network="physnet1")
    _, foreign = cloud.network(uuid.uuid4().hex, provider_network_type="vlan", provider_physical_network="physnet1")
    _, new = cloud.network(a, provider_network_type="vxlan")
    cloud.neutron.update_subnet(new, gateway_ip=None)
    await world.start(agents=1)
    served = await world.create_in(a, old)
    await eventually(lambda: world.active(served))
    (waiting, first), (refused, second) = [await world.plan_in(a, old) for _ in range(2)]
    world.client.away = True  # before anybody can have asked for the networks
    await world.create_as_planned(a, waiting, first, ("10.0.0.9", new))
    await world.create_as_planned(a, refused, second, ("10.0.0.9", foreign))

    async def is_in_error(load_balancer_id: str) -> bool:
        return (await world.root(load_balancer_id)).provisioning_status is ProvisioningStatus.ERROR

    for load_balancer_id in (waiting, refused):
        await eventually(lambda lb=load_balancer_id: is_in_error(lb))  # type: ignore[misc]
    changed = await world.store.tenants.update_load_balancer(served, {"name": "again"}, project_id=None)
    await world.controllers["c0"].driver.change_accepted(changed)
    await eventually(lambda: world.active(served))
    world.client.away = False
    assert await is_in_error(refused)


async def test_a_vips_port_is_bound_where_the_devices_are_and_made_again_when_somebody_deletes_it(
    world: NeutronWorld, cloud: Cloud
) -> None:
    a = uuid.uuid4().hex
    network, subnet = cloud.network(a, provider_network_type="vlan", provider_physical_network="physnet1")
    await world.start(agents=2)
    served = await world.create_in(a, subnet)
    await eventually(lambda: world.active(served))
    root = await world.root(served)
    assert root.vip is not None
    shard = await world.store.operators.shard_of_load_balancer(LoadBalancerId(served))
    assert shard is not None
    home = next(each.host for each in await world.store.operators.agents() if each.id == shard.home_agent_id)

    def bound(port_id: str) -> bool:
        port = cloud.neutron.get_port(port_id)
        return bool(port.is_admin_state_up) and port.binding_host_id == home

    await eventually(lambda: bound(root.vip.port_id), every_seconds=0.5)

    def devices_are_bound() -> bool:
        ports = list(cloud.neutron.ports(network_id=network, device_owner="network:evenkeel"))
        return {port.binding_host_id for port in ports} == {home} and len(ports) >= 3

    await eventually(devices_are_bound, every_seconds=0.5)

    # somebody deletes it, and somebody else has the address for a while
    cloud.neutron.delete_port(root.vip.port_id)
    thief = cloud.member(network, root.vip.address)

    async def says(text: str) -> bool:
        return text in (await world.root(served)).status_reason

    await eventually(lambda: says("another port has its address now"))
    cloud.neutron.delete_port(thief)
    await eventually(lambda: no_problem(world, served))
    again = (await world.root(served)).vip
    assert again is not None and again.port_id != root.vip.port_id and again.address == root.vip.address
    await eventually(lambda: bound(again.port_id), every_seconds=0.5)
    # settled: nothing may ever change
    assert (await world.root(served)).revision == root.revision, "nothing has changed for the devices"

    await delete(world, served)
    await eventually(lambda: gone(world, served))
    await eventually(lambda: not list(cloud.neutron.ports(network_id=network)), every_seconds=0.5)


async def test_ports_follow_the_host_to_which_a_device_group_has_them_bound(world: NeutronWorld, cloud: Cloud) -> None:
    a = uuid.uuid4().hex
    network, subnet = cloud.network(a, provider_network_type="vlan", provider_physical_network="physnet1")
    await world.start(agents=2)
    served = await world.create_in(a, subnet)
    await eventually(lambda: world.active(served))

    def hosts() -> dict[str, str]:
        """By port."""
        ports = list(cloud.neutron.ports(network_id=network))
        assert len(ports) >= 4
        return {f"{port.name} {port.id}": port.binding_host_id for port in ports}

    async def elsewhere() -> dict[str, str]:
        return {name: host for name, host in hosts().items() if host != "bigips-1"}

    await eventually(lambda: len(set(hosts().values())) == 1 and "" not in hosts().values(), every_seconds=0.5)
    world.binding_host = "bigips-1"
    restarted = list(world.agents)
    for host in restarted:
        await world.vanish(host)
    for host in restarted:  # while another agent of the group is live, one with another host is refused
        await eventually(lambda host=host: world.silent(host))  # type: ignore[misc]
    for host in restarted:
        await world.start_agent(host)
    await becomes_empty(elsewhere, within_seconds=PATIENCE_SECONDS)
    # settled: nothing may ever change
    assert (await world.root(served)).revision == 1, "nothing has changed for the devices"


async def no_problem(world: NeutronWorld, load_balancer_id: str) -> bool:
    return not await world.store.operators.port_problem(load_balancer_id)
