"""What every network driver does alike: which VIPs can be had, and what is refused with which words."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from evenkeel.core.kit.errors import Invalid, NotFound
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.vip_networks import VipNetworks
from tests.network.conftest import NEEDS_NEUTRON
from tests.network.worlds import WORLDS, World


@pytest.fixture(params=["builtin", pytest.param("neutron", marks=NEEDS_NEUTRON)])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with WORLDS[request.param](request) as found:
        yield found


async def test_a_subnet_gives_a_vip_on_its_network(world: World) -> None:
    plan = await world.plan(subnet_id=world.subnet_id)

    assert (plan.subnet_id, plan.network_id) == (world.subnet_id, world.network_id)
    assert plan.port_id
    assert plan.address or plan.allocation_start


async def test_a_wanted_address_is_the_one_that_is_planned(world: World) -> None:
    assert (await world.plan(subnet_id=world.subnet_id, address="10.77.0.40")).address == "10.77.0.40"
    assert (await world.plan(network_id=world.network_id, address="10.77.0.41")).address == "10.77.0.41"


async def test_a_network_gives_a_vip_of_its_subnet(world: World) -> None:
    assert (await world.plan(network_id=world.network_id)).subnet_id == world.subnet_id


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.78.0.4", r"'10\.78\.0\.4'.* outside .*10\.77\.0\.0/24"),
        ("10.77.0.1", "gateway"),
        ("10.77.0.255", "reserved"),
        ("2001:db8::1", "outside"),
    ],
)
async def test_an_address_that_cannot_be_a_vip_is_refused_with_the_reason(world: World, address: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        await world.plan(subnet_id=world.subnet_id, address=address)
    assert not world.claims.standing


async def test_unknown_subnet_or_network_is_not_found_by_name(world: World) -> None:
    unknown = str(uuid4())
    with pytest.raises(NotFound, match=f"Subnet {unknown} not found"):
        await world.plan(subnet_id=unknown)
    with pytest.raises(NotFound, match=f"Network {unknown} not found"):
        await world.plan(network_id=unknown)


async def test_subnet_of_another_project_is_not_found(world: World) -> None:
    with pytest.raises(NotFound, match="Subnet"):
        await world.plan(subnet_id=world.subnet_id, project_id=uuid4().hex)
    with pytest.raises(NotFound, match="Network"):
        await world.plan(network_id=world.network_id, project_id=uuid4().hex)


async def test_a_subnet_on_another_network_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="vip_network_id"):
        await world.plan(subnet_id=world.subnet_id, network_id=str(uuid4()))


@pytest.mark.parametrize("by", ["subnet_id", "network_id"])
async def test_denied_subnet_is_refused_before_anything_is_allocated(world: World, by: str) -> None:
    named = {by: getattr(world, by)}
    for denied in (world.subnet_id, world.network_id):
        with pytest.raises(Invalid, match=f"vip_{by}. Value: '{named[by]}'.* {denied} is denied"):
            await world.plan(permitted=VipNetworks(denied=(denied,)), **named)
    with pytest.raises(Invalid, match="allowed are networks or subnets other"):
        await world.plan(permitted=VipNetworks(allowed=("other",)), **named)
    assert not world.claims.standing
    assert (await world.plan(permitted=VipNetworks(allowed=(world.subnet_id,)), **named)).subnet_id == world.subnet_id


async def test_nothing_that_tells_where_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="vip_port_id, vip_network_id, vip_subnet_id"):
        await world.plan()


async def test_giving_back_what_was_never_taken_is_harmless(world: World) -> None:
    claim = PortClaim(claim_id="lb", device_owner="Octavia", device_id=f"lb-{uuid4()}")
    assert not await world.driver.release_vip(claim)
    assert not await world.driver.release_vip(claim)


async def test_a_project_finds_its_subnets_and_networks_by_id_and_name(world: World) -> None:
    look_up, own = world.driver.look_up, world.project_id
    (by_id,) = await look_up("subnets", {"id": [world.subnet_id]}, project_id=own)

    assert (by_id["network_id"], by_id["cidr"], by_id["ip_version"]) == (world.network_id, "10.77.0.0/24", 4)
    assert await look_up("subnets", {"name": [by_id["name"]]}, project_id=own) == (by_id,)
    assert await look_up("subnets", {"id": [world.subnet_id]}, project_id=None) == (by_id,)
    (network,) = await look_up("networks", {"id": [world.network_id]}, project_id=own)
    assert network["subnets"] == [world.subnet_id]
    assert await look_up("subnets", {"id": ["no such", world.subnet_id]}, project_id=own) == (by_id,)
    assert await look_up("subnets", {"name": ["no such"]}, project_id=own) == ()


@pytest.mark.parametrize("kind", ["subnets", "networks", "ports", "floatingips"])
async def test_a_project_finds_nothing_of_anothers(world: World, kind: str) -> None:
    await world.plan(subnet_id=world.subnet_id)
    rows = await world.driver.look_up(kind, {}, project_id=uuid4().hex)
    if kind in ("subnets", "networks"):  # external ones, which other tests make in the same Neutron, are everybody's
        rows = tuple(row for row in rows if row["project_id"] == world.project_id)
    assert rows == ()
