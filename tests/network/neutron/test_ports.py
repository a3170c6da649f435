"""VIP ports in a real Neutron: how they are marked, whose they are, and that none is left behind."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from openstack.connection import Connection

from evenkeel.core.devices.adoption import FoundAddress
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.attachment import DeviceAddressPort, DevicePort
from evenkeel.core.networking.network import (
    MissingVipPort,
    PortMark,
    PortOptions,
    lbaas_v1_port_mark,
    lbaas_v2_port_mark,
    octavia_port_mark,
    port_mark_by_owner,
)
from evenkeel.core.networking.networks import AddressUse, MemberHost
from evenkeel.core.networking.vip_plans import VipPlan
from tests.network.conftest import NEEDS_NEUTRON
from tests.network.worlds import World, neutron_world

pytestmark = NEEDS_NEUTRON


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with neutron_world(request) as found:
        yield found


def ports_of(neutron: Connection, world: World) -> list[Any]:
    return list(neutron.network.ports(network_id=world.network_id))


async def test_the_port_is_marked_as_octavia_marks_it_and_is_the_projects(neutron: Connection, world: World) -> None:
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="lb-7", address="10.77.0.9")

    port = neutron.network.get_port(plan.port_id)
    assert (port.name, port.device_owner, port.device_id) == ("octavia-lb-lb-7", "Octavia", "lb-lb-7")
    assert (port.project_id, port.is_admin_state_up) == (world.project_id, False)
    assert [fixed["ip_address"] for fixed in port.fixed_ips] == ["10.77.0.9"]
    assert plan.claim == world.claims.standing["lb-7"]


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        (lbaas_v2_port_mark("x-1"), ("loadbalancer-x-1", "neutron:LOADBALANCERV2", "x-1")),
        (lbaas_v1_port_mark("x-2"), ("vip-x-2", "neutron:LOADBALANCER", "x-2")),
    ],
)
async def test_the_older_apis_have_their_own_marks(
    neutron: Connection, world: World, marked: Any, shown: tuple[str, str, str]
) -> None:
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="any", marked=marked)

    port = neutron.network.get_port(plan.port_id)
    assert (port.name, port.device_owner, port.device_id) == shown
    assert await world.driver.release_vip(world.claims.standing["any"])
    assert not ports_of(neutron, world)


async def test_an_address_in_use_is_a_conflict_that_names_it_and_leaves_nothing(
    neutron: Connection, world: World
) -> None:
    first = await world.plan(subnet_id=world.subnet_id, load_balancer_id="first")

    with pytest.raises(Conflict, match=f"VIP address {first.address} is in use"):
        await world.plan(subnet_id=world.subnet_id, load_balancer_id="second", address=first.address)
    assert list(world.claims.standing) == ["first"]
    assert len(ports_of(neutron, world)) == 1


async def test_a_subnet_without_free_addresses_is_a_conflict(neutron: Connection, world: World) -> None:
    tiny = neutron.network.create_subnet(
        network_id=world.network_id,
        ip_version=4,
        cidr="10.79.0.0/30",
        gateway_ip="10.79.0.1",
        project_id=world.project_id,
    )
    await world.plan(subnet_id=tiny.id)

    with pytest.raises(Conflict, match=f"Subnet {tiny.id} has no free VIP address"):
        await world.plan(subnet_id=tiny.id)


async def test_releasing_removes_the_port_once_whether_its_id_is_known_or_not(
    neutron: Connection, world: World
) -> None:
    await world.plan(subnet_id=world.subnet_id, load_balancer_id="unknown")
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="known")
    claims = [world.claims.standing["unknown"], world.claims.standing["known"]]
    claims[1] = type(claims[1])(claim_id="known", device_owner="Octavia", device_id="lb-known", port_id=plan.port_id)

    assert [await world.driver.release_vip(claim) for claim in claims] == [True, True]
    assert not ports_of(neutron, world)
    assert [await world.driver.release_vip(claim) for claim in claims] == [False, False]


async def test_a_network_with_both_families_gives_ipv4(neutron: Connection, world: World) -> None:
    six = neutron.network.create_subnet(
        network_id=world.network_id, ip_version=6, cidr="2001:db8:7::/64", project_id=world.project_id
    )

    assert (await world.plan(network_id=world.network_id)).subnet_id == world.subnet_id
    plan = await world.plan(network_id=world.network_id, address="2001:DB8:7::9")
    assert (plan.subnet_id, plan.address) == (six.id, "2001:db8:7::9")


async def test_a_network_without_a_fitting_subnet_is_refused_in_octavias_words(
    neutron: Connection, world: World
) -> None:
    with pytest.raises(Invalid, match="does not contain a subnet for VIP address specified"):
        await world.plan(network_id=world.network_id, address="10.99.0.1")
    bare = neutron.network.create_network(name="bare", project_id=world.project_id)
    with pytest.raises(Invalid, match=r"does not contain a subnet\. \(vip_network_id "):
        await world.plan(network_id=bare.id)
    neutron.network.delete_network(bare)


async def test_a_network_shared_with_the_project_alone_can_be_used_by_it_alone(
    neutron: Connection, world: World
) -> None:
    friend, stranger = uuid4().hex, uuid4().hex
    neutron.network.create_rbac_policy(
        object_type="network", object_id=world.network_id, action="access_as_shared", target_project_id=friend
    )

    assert (await world.plan(subnet_id=world.subnet_id, project_id=friend)).subnet_id == world.subnet_id
    for kind, id_ in (("subnets", world.subnet_id), ("networks", world.network_id)):
        for project, visible in ((friend, [id_]), (stranger, [])):
            rows = await world.driver.look_up(kind, {}, project_id=project)  # also what other tests share with all
            assert [row["id"] for row in rows if row["project_id"] == world.project_id] == visible
    with pytest.raises(NotFound):
        await world.plan(subnet_id=world.subnet_id, project_id=stranger)
    assert await world.driver.look_up("subnets", {"id": [world.subnet_id]}, project_id=stranger) == ()


async def test_nothing_of_the_providers_is_looked_up(world: World) -> None:
    plan = await world.plan(subnet_id=world.subnet_id)

    (network,) = await world.driver.look_up("networks", {"id": [world.network_id]}, project_id=world.project_id)
    (port,) = await world.driver.look_up("ports", {"id": [plan.port_id]}, project_id=world.project_id)
    assert not [name for row in (network, port) for name in row if name.startswith(("provider:", "binding:"))]


async def test_the_port_of_a_vip_and_its_floating_ip_are_looked_up(neutron: Connection, world: World) -> None:
    plan = await world.plan(subnet_id=world.subnet_id)
    look_up, own = world.driver.look_up, world.project_id
    (port,) = await look_up("ports", {"id": [plan.port_id]}, project_id=own)
    assert await look_up("ports", {"device_id": [port["device_id"]]}, project_id=own) == (port,)
    assert port["fixed_ips"] == [{"subnet_id": world.subnet_id, "ip_address": plan.address}] and port["device_owner"]

    outside = neutron.network.create_network(name="outside", is_router_external=True)
    neutron.network.create_subnet(network_id=outside.id, ip_version=4, cidr="10.90.0.0/24")
    router = neutron.network.create_router(
        name="r", project_id=own, external_gateway_info={"network_id": outside.id, "enable_snat": False}
    )
    neutron.network.add_interface_to_router(router, subnet_id=world.subnet_id)
    made = neutron.network.create_ip(floating_network_id=outside.id, port_id=plan.port_id, project_id=own)
    try:
        (found,) = await look_up("floatingips", {"port_id": [plan.port_id]}, project_id=own)
        assert (found["id"], found["fixed_ip_address"]) == (made.id, plan.address)
        assert await look_up("floatingips", {"floating_ip_address": ["192.0.2.1"]}, project_id=own) == ()
        assert await look_up("floatingips", {"port_id": [plan.port_id]}, project_id=uuid4().hex) == ()
    finally:
        neutron.network.delete_ip(made)
        neutron.network.remove_interface_from_router(router, subnet_id=world.subnet_id)
        neutron.network.delete_router(router)
        neutron.network.delete_network(outside)


async def test_facts_tell_how_networks_are_made(neutron: Connection, world: World) -> None:
    vlan = neutron.network.create_network(
        name="vlan",
        project_id=world.project_id,
        provider_network_type="vlan",
        provider_physical_network="physnet1",
    )
    subnet = neutron.network.create_subnet(network_id=vlan.id, ip_version=4, cidr="10.80.0.0/24")

    local = neutron.network.create_network(name="local", project_id=world.project_id, provider_network_type="local")
    apart = neutron.network.create_subnet(network_id=local.id, ip_version=4, cidr="10.81.0.0/24")

    facts = await world.driver.read_facts([subnet.id, world.subnet_id, apart.id, str(uuid4())])
    found = {each.subnet.id: each for each in facts.subnets}
    assert found.keys() == {subnet.id, world.subnet_id}
    network = found[subnet.id].network
    assert network is not None and found[subnet.id].from_service
    assert (network.network_type, network.physical_network, network.mtu) == ("vlan", "physnet1", 1500)
    assert network.segmentation_id in range(100, 200) and network.project_id == world.project_id
    assert (found[subnet.id].subnet.cidr, found[subnet.id].subnet.gateway_ip) == ("10.80.0.0/24", "10.80.0.1")
    overlay = found[world.subnet_id].network
    assert overlay is not None
    assert (overlay.network_type, overlay.physical_network, overlay.mtu) == ("vxlan", None, 1450)
    assert list(facts.refused) == [apart.id] and "of type local" in facts.refused[apart.id]
    neutron.network.delete_network(vlan)
    neutron.network.delete_network(local)


def wanted(world: World, **changes: Any) -> DevicePort:
    values: dict[str, Any] = {
        "subnet_id": world.subnet_id,
        "network_id": world.network_id,
        "use": AddressUse.SELF,
        "owner": "10.0.0.1:443",
        "index": 0,
        "binding_host": "agents",
    }
    return DevicePort(**values | changes)


async def test_an_address_of_devices_is_a_port_that_tenants_do_not_own(neutron: Connection, world: World) -> None:
    taken = await world.driver.take_address(wanted(world))
    port = neutron.network.get_port(taken.port_id)
    assert (port.device_owner, port.device_id) == ("network:evenkeel", taken.claim.claim_id)
    assert (port.name, port.binding_host_id) == (f"self-10.0.0.1:443-{world.subnet_id}", "agents")
    assert port.project_id != world.project_id
    assert [fixed["ip_address"] for fixed in port.fixed_ips] == [taken.address]
    assert world.device_ports.standing == {taken.claim.claim_id: taken.claim} and not world.claims.standing
    await world.driver.abandon_address(taken)
    assert world.device_ports.abandoned == [taken.claim.claim_id]
    assert await world.driver.release_vip(taken.claim) and not await world.driver.release_vip(taken.claim)
    assert not ports_of(neutron, world)


async def test_a_subnet_without_free_addresses_has_none_for_devices(neutron: Connection, world: World) -> None:
    small = neutron.network.create_subnet(network_id=world.network_id, ip_version=4, cidr="10.82.0.0/30")
    first = await world.driver.take_address(wanted(world, subnet_id=small.id))
    with pytest.raises(Conflict, match="no free address for devices"):
        await world.driver.take_address(wanted(world, subnet_id=small.id))
    with pytest.raises(Conflict, match="refuses a port for devices"):
        await world.driver.take_address(wanted(world, subnet_id=str(uuid4())))
    assert list(world.device_ports.standing) == [first.claim.claim_id]


async def test_members_are_found_at_the_tunnel_end_points_of_their_hosts(neutron: Connection, world: World) -> None:
    fixed = [{"subnet_id": world.subnet_id, "ip_address": "10.77.0.90"}]
    port = neutron.network.create_port(network_id=world.network_id, fixed_ips=fixed, binding_host_id="compute-1")
    hosts = await world.driver.find_hosts(world.network_id, ["10.77.0.90", "10.77.0.91"])
    assert hosts["10.77.0.90"] == MemberHost(address="10.77.0.90", mac_address=port.mac_address)
    assert hosts["10.77.0.91"] == MemberHost(address="10.77.0.91", mac_address="")


# -- ports of F5's agent


async def test_ports_that_f5s_agent_made_for_its_addresses_become_ours(neutron: Connection, world: World) -> None:
    def made(last: int, **changes: Any) -> Any:
        fixed = [{"subnet_id": world.subnet_id, "ip_address": f"10.77.0.{last}"}]
        values = {"name": f"local-unit-{world.subnet_id}", "device_owner": "network:f5lbaasv2", "device_id": "lb-of-f5"}
        return neutron.network.create_port(network_id=world.network_id, fixed_ips=fixed, **(values | changes))

    def found(last: int) -> FoundAddress:
        return FoundAddress(
            subnet_id=world.subnet_id,
            use=AddressUse.SELF,
            owner="device",
            address=f"10.77.0.{last}",
            name=f"local-unit-{world.subnet_id}",
        )

    theirs = made(101)
    made(102, device_owner="compute:nova")
    made(103, name="loadbalancer-x")
    two = neutron.network.create_port(
        network_id=world.network_id,
        name=f"local-unit-{world.subnet_id}",
        device_owner="network:f5lbaasv2",
        fixed_ips=[{"subnet_id": world.subnet_id, "ip_address": f"10.77.0.{last}"} for last in (104, 105)],
    )
    wanted = [found(last) for last in range(101, 107)]
    claims = await world.driver.find_adoptable(world.network_id, wanted)
    assert list(claims) == [found(101)] and two.id
    claim = claims[found(101)]
    assert claim.port_id == theirs.id

    place = DevicePort(
        subnet_id=world.subnet_id,
        network_id=world.network_id,
        use=AddressUse.SELF,
        owner="device",
        index=0,
        binding_host="agent-1",
    )
    taken = DeviceAddressPort(port=place, address="10.77.0.101", port_id=theirs.id, claim=claim)
    for _ in range(2):
        await world.driver.adopt_port(taken)
        port = neutron.network.get_port(theirs.id)
        assert (port.name, port.device_owner, port.device_id) == (place.name, "network:evenkeel", claim.claim_id)
        assert [fixed["ip_address"] for fixed in port.fixed_ips] == ["10.77.0.101"]
        assert port.binding_host_id == "agent-1"
    assert await world.driver.find_adoptable(world.network_id, wanted) == {}
    assert await world.driver.release_vip(claim)
    await world.driver.adopt_port(taken)  # it is gone: nothing to mark
    assert neutron.network.find_port(theirs.id) is None


# -- a port of the tenant's own


@pytest.fixture
def own_port(neutron: Connection, world: World) -> Any:
    fixed = [{"subnet_id": world.subnet_id, "ip_address": "10.77.0.60"}]
    return neutron.network.create_port(network_id=world.network_id, project_id=world.project_id, fixed_ips=fixed)


async def test_a_port_of_the_tenants_is_taken_as_it_is(neutron: Connection, world: World, own_port: Any) -> None:
    plan = await world.plan(port_id=own_port.id)

    assert (plan.port_id, plan.address, plan.subnet_id) == (own_port.id, "10.77.0.60", world.subnet_id)
    assert plan.claim is not None and plan.claim.borrowed
    assert not world.claims.standing
    assert neutron.network.get_port(own_port.id).device_id == ""


async def test_a_port_that_does_not_fit_is_refused(neutron: Connection, world: World, own_port: Any) -> None:
    with pytest.raises(NotFound, match=f"Port {own_port.id}"):
        await world.plan(port_id=own_port.id, project_id=uuid4().hex)
    with pytest.raises(NotFound, match="Port"):
        await world.plan(port_id=str(uuid4()))
    with pytest.raises(Invalid, match="address not found on the specified VIP port"):
        await world.plan(port_id=own_port.id, address="10.77.0.61")
    with pytest.raises(Invalid, match="vip_subnet_id"):
        await world.plan(port_id=own_port.id, subnet_id=str(uuid4()))
    neutron.network.update_port(own_port.id, device_id="vm-1")
    with pytest.raises(Invalid, match="already used by device vm-1"):
        await world.plan(port_id=own_port.id)


async def test_a_port_with_two_addresses_needs_to_be_told_which(neutron: Connection, world: World) -> None:
    fixed = [{"subnet_id": world.subnet_id, "ip_address": f"10.77.0.{last}"} for last in (70, 71)]
    port = neutron.network.create_port(network_id=world.network_id, project_id=world.project_id, fixed_ips=fixed)

    with pytest.raises(Invalid, match="subnet could not be determined"):
        await world.plan(port_id=port.id)
    assert (await world.plan(port_id=port.id, address="10.77.0.71")).address == "10.77.0.71"


# -- binding, and ports that are lost


def options_of(host: str) -> Callable[[], Awaitable[PortOptions | None]]:
    async def read() -> PortOptions | None:
        return PortOptions(security_group_ids=None, binding_host=host)

    return read


async def test_a_port_is_off_until_it_is_bound(neutron: Connection, world: World) -> None:
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="lb-8")
    port = neutron.network.get_port(plan.port_id)
    assert not port.is_admin_state_up and not port.binding_host_id

    await world.driver.set_options(plan.port_id, options_of("agent-1"))

    port = neutron.network.get_port(plan.port_id)
    assert port.is_admin_state_up and port.binding_host_id == "agent-1"


async def test_a_tenants_own_port_is_bound_while_it_is_used_and_stays(neutron: Connection, world: World) -> None:
    own = neutron.network.create_port(network_id=world.network_id, project_id=world.project_id)
    plan = await world.plan(port_id=own.id, load_balancer_id="lb-9")
    assert plan.claim is not None and plan.claim.borrowed
    await world.driver.set_options(own.id, options_of("agent-1"))
    assert neutron.network.get_port(own.id).binding_host_id == "agent-1"
    await world.driver.abandon_vip(plan)
    assert not world.claims.abandoned, "nothing was made that would have to be deleted"

    assert await world.driver.release_vip(plan.claim)
    port = neutron.network.get_port(own.id)
    assert not port.binding_host_id
    # what the tenant has attached to it meanwhile is left alone
    neutron.network.update_port(own.id, device_id="server", binding_host_id="compute-1")
    assert await world.driver.release_vip(plan.claim)
    assert neutron.network.get_port(own.id).binding_host_id == "compute-1"
    neutron.network.delete_port(own.id)
    assert not await world.driver.release_vip(plan.claim)


def lost(world: World, plan: VipPlan, mark: PortMark) -> MissingVipPort:
    assert plan.address is not None
    return MissingVipPort(
        project_id=ProjectId(world.project_id),
        network_id=plan.network_id,
        addresses=((plan.subnet_id, plan.address),),
        mark=mark,
    )


async def test_port_of_another_request_is_found_by_its_marks_for_its_project_only(
    neutron: Connection, world: World
) -> None:
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="lb-8")
    assert plan.claim is not None
    search: dict[str, Any] = {"claim": plan.claim, "project_id": world.project_id}
    assert await world.driver.find_vip(**search, subnet_id=world.subnet_id) == plan
    assert await world.driver.find_vip(**search, subnet_id=None) == plan
    assert await world.driver.find_vip(**search, subnet_id=world.subnet_id, additional=["another"]) is None
    assert await world.driver.find_vip(**{**search, "project_id": "p2"}, subnet_id=world.subnet_id) is None
    neutron.network.delete_port(plan.port_id)
    assert await world.driver.find_vip(**search, subnet_id=world.subnet_id) is None


@pytest.mark.parametrize("mark", [octavia_port_mark, lbaas_v2_port_mark, lbaas_v1_port_mark])
async def test_a_lost_port_is_made_again_with_its_address(
    neutron: Connection, world: World, mark: Callable[[LoadBalancerId], PortMark]
) -> None:
    marked = mark(LoadBalancerId("lb-1"))
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="lb-1", marked=marked)
    others = [(await world.plan(subnet_id=world.subnet_id, load_balancer_id=f"lb-{n}")).port_id for n in (2, 3)]
    neutron.network.delete_port(plan.port_id)
    assert await world.driver.find_existing_ports([plan.port_id, *others]) == frozenset(others)
    assert port_mark_by_owner(marked.device_owner, marked.device_id) == marked

    again = await world.driver.recreate_vip_port(lost(world, plan, marked), PortOptions(binding_host="agent-1"))

    port = neutron.network.get_port(again)
    assert (port.name, port.device_owner, port.device_id) == (marked.name, marked.device_owner, marked.device_id)
    assert [fixed["ip_address"] for fixed in port.fixed_ips] == [plan.address] and port.project_id == world.project_id
    # an attempt whose answer was lost is not made twice
    assert await world.driver.recreate_vip_port(lost(world, plan, marked), PortOptions()) == again


async def test_a_lost_port_whose_address_is_taken_is_a_conflict_that_names_it(
    neutron: Connection, world: World
) -> None:
    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="lb-1")
    neutron.network.delete_port(plan.port_id)
    thief = neutron.network.create_port(network_id=world.network_id, fixed_ips=[{"ip_address": plan.address}])
    mark = octavia_port_mark(LoadBalancerId("lb-1"))
    with pytest.raises(Conflict, match=f"another port has its address now: {plan.address}"):
        await world.driver.recreate_vip_port(lost(world, plan, mark), PortOptions())
    neutron.network.delete_port(thief)
    assert await world.driver.recreate_vip_port(lost(world, plan, mark), PortOptions())
