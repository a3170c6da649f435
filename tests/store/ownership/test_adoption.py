"""A shard takes over the route domain and addresses of another program: one transaction, unique in its device group."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from evenkeel.core.devices.adoption import ADDRESSES_MAX, SEVERAL_ROUTE_DOMAINS, AdoptedNetworks, FoundAddress
from evenkeel.core.kit.errors import Conflict, SessionLost
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import AddressUse
from evenkeel.core.protocol.messages import AdoptNetworks
from evenkeel.store.records import schema
from tests.store.networks.scenes import LAYOUT, declare, definitions, load_balancer, network, subnet
from tests.store.ownership_world import World, applied, world_fixture

__all__ = ["world_fixture"]

ROWS = (schema.attached_network, schema.route_domain, schema.device_address, schema.device_port)
FIRST, SECOND = LAYOUT.devices


def self_ip(address: str, owner: str = FIRST, number: int = 1) -> FoundAddress:
    name = f"local-host-sub-{number}"
    return FoundAddress(subnet_id=f"sub-{number}", use=AddressUse.SELF, owner=owner, address=address, name=name)


def snat(address: str, number: int = 1) -> FoundAddress:
    name = f"snat-traffic-group-1sub-{number}_0"
    return FoundAddress(
        subnet_id=f"sub-{number}", use=AddressUse.SNAT, owner="traffic-group-1", address=address, name=name
    )


async def adopt(
    world: World,
    number: int,
    *addresses: FoundAddress,
    project_id: str = "p1",
    apply: bool = True,
    ports: dict[FoundAddress, PortClaim] | None = None,
    session_id: str = "session-of-a1",
    route_domains: dict[str, int] | None = None,
) -> AdoptedNetworks:
    shard = await world.shard_of(project_id)
    call = AdoptNetworks(
        agent_id="a1",
        session_id=session_id,
        shard_id=shard.id,
        epoch=shard.epoch,
        route_domain=number,
        addresses=addresses,
        apply=apply,
        route_domains=route_domains or {},
    )
    return await world.store.ownership.adopt_networks(call, ports or {})


async def rows(world: World) -> list[Any]:
    return [sorted(map(str, await world.rows(table))) for table in ROWS]


async def domains(world: World, *projects: str) -> list[int]:
    found = []
    for project_id in projects:
        (definition,) = (await definitions(world, project_id)).values()
        found.append(definition.networks[0].route_domain)
    return found


async def addresses_of(world: World, project_id: str = "p1") -> dict[tuple[str, str], str]:
    (definition,) = (await definitions(world, project_id)).values()
    (network_,) = definition.networks
    return {(each.use.value, each.owner): each.address for each in network_.subnets[0].addresses}


@pytest.fixture
async def scene(world: World) -> World:
    """Three projects with a network each, which have the route domains 1 to 3."""
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2, 3)
    for number in (1, 2, 3):
        await load_balancer(world, number, f"p{number}")
        await definitions(world, f"p{number}")
    assert await domains(world, "p1", "p2", "p3") == [1, 2, 3]
    return world


async def test_a_free_number_and_addresses_become_the_shards(scene: World) -> None:
    found = self_ip("10.1.0.7"), self_ip("10.1.0.2", SECOND), snat("10.1.0.9")
    before = await rows(scene)
    shown = await adopt(scene, 77, *found, apply=False)
    assert shown == AdoptedNetworks(route_domain=77, addresses=found) and await rows(scene) == before
    assert await adopt(scene, 77, *found) == shown
    assert await domains(scene, "p1", "p2", "p3") == [77, 2, 3]
    assert await addresses_of(scene) == {
        ("self", FIRST): "10.1.0.7",
        ("self", SECOND): "10.1.0.2",
        ("snat", "traffic-group-1"): "10.1.0.9",
    }
    done = await rows(scene)
    assert await adopt(scene, 77, *found) == shown and await rows(scene) == done
    (event, _) = await scene.events("networks_adopted")
    assert "route domain 77 and 3 addresses" in event.text


async def test_the_lowest_free_number_is_never_an_adopted_one(scene: World) -> None:
    await adopt(scene, 4)
    await declare(scene, 4, 5)
    for number in (4, 5):
        await load_balancer(scene, number, f"p{number}")
    assert await domains(scene, "p4", "p5") == [1, 5]


async def test_a_number_that_no_device_has_had_is_exchanged(scene: World) -> None:
    await adopt(scene, 2)
    assert await domains(scene, "p1", "p2", "p3") == [2, 1, 3]
    await adopt(scene, 1, project_id="p2")
    await adopt(scene, 1, project_id="p2")
    assert await domains(scene, "p1", "p2", "p3") == [2, 1, 3]


async def test_a_number_in_service_is_refused_and_nothing_is_changed(scene: World) -> None:
    await scene.report(applied("lb-p2-2-0"), project_id="p2")
    before = await rows(scene)
    with pytest.raises(Conflict, match="route domain 2 of device group east/1 is that of project p2"):
        await adopt(scene, 2, self_ip("10.1.0.7"))
    with pytest.raises(Conflict, match="project p2 are served in route domain 2 already; that of the partition is 9"):
        await adopt(scene, 9, project_id="p2")
    assert await rows(scene) == before
    await adopt(scene, 2, project_id="p2")  # on another device of the group


async def test_of_two_shards_only_one_gets_a_number(scene: World) -> None:
    results = await asyncio.gather(
        *(adopt(scene, 50, project_id=f"p{number}") for number in (1, 2, 3)), return_exceptions=True
    )
    assert not [
        each for each in results if isinstance(each, BaseException)
    ]  # none has been served: the last one has it
    found = await domains(scene, "p1", "p2", "p3")
    assert len(set(found)) == 3 and 50 in found


async def test_release_returns_the_number(scene: World) -> None:
    await adopt(scene, 9, self_ip("10.1.0.7"))
    await scene.tenant_changes("lb-p1-1-0", deleted=True)
    await scene.report(applied("lb-p1-1-0", revision=2))
    taken = {row.number for row in await scene.rows(schema.route_domain)}
    assert taken == {2, 3}
    assert not [row for row in await scene.rows(schema.device_address) if row.subnet_id == "sub-1"]


@pytest.mark.parametrize(
    "found",
    [
        self_ip("10.1.0.77"),  # not one of the subnet's addresses for devices
        self_ip("10.1.0.7", "another device"),
        replace(self_ip("10.1.0.7"), index=1),
        self_ip("10.2.0.7", number=2),  # of another project
        self_ip("10.9.0.7", number=9),  # unknown
    ],
)
async def test_addresses_that_it_does_not_need_or_may_not_have_are_left(scene: World, found: FoundAddress) -> None:
    before = await addresses_of(scene)
    assert not (await adopt(scene, 9, found)).addresses
    assert await addresses_of(scene) == before


async def test_an_address_that_was_allocated_for_something_else_is_allocated_again(scene: World) -> None:
    before = await addresses_of(scene)
    await adopt(scene, 9, snat(before["self", FIRST]))
    found = await addresses_of(scene)
    assert found["snat", "traffic-group-1"] == before["self", FIRST] and len(set(found.values())) == 3


async def test_ports_at_the_network_service_are_held_and_released(scene: World) -> None:
    await scene.db.write(lambda connection: connection.execute(_of_service()))
    found, other = self_ip("10.1.0.200"), snat("10.1.0.201")
    shard = await scene.shard_of("p1")
    call = AdoptNetworks(
        agent_id="a1",
        session_id="session-of-a1",
        shard_id=shard.id,
        epoch=shard.epoch,
        route_domain=9,
        addresses=(found, other),
    )
    assert await scene.store.ownership.ports_to_adopt(call) == (("net-1", found), ("net-1", other))
    claim = PortClaim(claim_id="c1", device_owner="network:evenkeel", device_id="c1", port_id="port-1")
    adopted = await adopt(scene, 9, found, other, ports={found: claim})
    assert adopted.addresses == (found,)
    (one,) = adopted.ports
    assert (one.port_id, one.claim, one.port.name) == ("port-1", claim, f"self-{FIRST}-sub-1")
    assert await scene.store.ownership.ports_to_adopt(call) == (("net-1", other),)
    assert (await adopt(scene, 9, found, other)).ports == adopted.ports
    held = await scene.db.read(lambda connection: connection.execute(select(schema.device_port)).fetchall())
    assert [(row.claim_id, row.held_by, row.port_id) for row in held] == [("c1", "c1", "port-1")]
    await scene.tenant_changes("lb-p1-1-0", deleted=True)
    await scene.report(applied("lb-p1-1-0", revision=2))
    held = await scene.db.read(lambda connection: connection.execute(select(schema.device_port)).fetchall())
    assert [(row.claim_id, row.held_by) for row in held] == [("c1", None)]


def _of_service() -> Any:
    return update(schema.network).where(schema.network.c.id == "net-1").values(from_service=True)


async def test_networks_that_projects_share_are_refused(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await world.operator.add_network(network(1, shared=True))
    await world.operator.add_subnet(subnet(1))
    await load_balancer(world, 1)
    await definitions(world)
    with pytest.raises(Conflict, match=r"on networks that projects share.*: net-1"):
        await adopt(world, 5)


async def test_adoption_of_networks_that_do_not_match_is_refused(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await load_balancer(world, 1)
    with pytest.raises(Conflict, match="no load balancer of project p1 is attached"):
        await adopt(world, 5)
    with pytest.raises(Conflict, match="use_namespaces"):
        await adopt(world, 0)
    with pytest.raises(Conflict, match=f"at most {ADDRESSES_MAX}"):
        await adopt(world, 5, *[self_ip("10.1.0.7")] * (ADDRESSES_MAX + 1))
    with pytest.raises(Conflict, match="0 to 65534 are allowed"):
        await adopt(world, 65535)
    with pytest.raises(SessionLost):
        await adopt(world, 5, session_id="another")


# -- several route domains


async def adopt_several(
    world: World, numbers: dict[str, int], *addresses: FoundAddress, project_id: str = "p1", apply: bool = True
) -> AdoptedNetworks:
    return await adopt(
        world, SEVERAL_ROUTE_DOMAINS, *addresses, project_id=project_id, apply=apply, route_domains=numbers
    )


async def numbers_of(world: World, project_id: str = "p1") -> dict[str, int]:
    found = await definitions(world, project_id)
    return {each.id: each.route_domain for one in found.values() for each in one.networks}


@pytest.fixture
async def several(world: World) -> World:
    """Project p1 with networks 1, 2 and 4 in route domain 1, and p3 in route domain 2; three are allowed."""
    await world.agent("a1", network_layout=replace(LAYOUT, route_domains_max=3))
    await declare(world, 1, 2, 3, 4)
    for number in (1, 2, 4):
        await load_balancer(world, number)
    await definitions(world)
    await load_balancer(world, 3, "p3")
    assert set((await numbers_of(world)).values()) == {1} and await domains(world, "p3") == [2]
    return world


async def test_each_network_gets_the_number_that_it_has_on_the_devices(several: World) -> None:
    found = self_ip("10.1.0.7"), self_ip("10.2.0.7", number=2)
    wanted = {"net-1": 101, "net-2": 102}
    before = await rows(several)
    shown = await adopt_several(several, wanted, *found, apply=False)
    assert shown.route_domains == {**wanted, "net-4": 101} and await rows(several) == before
    assert await adopt_several(several, wanted, *found) == shown
    assert await numbers_of(several) == shown.route_domains
    done = await rows(several)
    assert await adopt_several(several, wanted, *found) == shown and await rows(several) == done
    # after a crash between the devices, of which the first serves already
    await several.report(applied("lb-p1-1-0"), project_id="p1")
    assert await adopt_several(several, wanted, *found) == shown
    (event, _, _) = await several.events("networks_adopted")
    assert "route domain 101, 102 and 2 addresses" in event.text


async def test_networks_in_service_that_were_not_found_keep_their_numbers(several: World) -> None:
    """The first device of a group may be adopted and serve, and a repetition reads the second."""
    await adopt_several(several, {"net-1": 101, "net-2": 102, "net-4": 103})
    await several.report(applied("lb-p1-1-0"), project_id="p1")
    before = await numbers_of(several)
    assert (await adopt_several(several, {"net-1": 101})).route_domains == before
    assert await numbers_of(several) == before


async def test_numbers_that_no_device_has_had_are_exchanged_and_later_networks_get_free_ones(several: World) -> None:
    await adopt_several(several, {"net-1": 2, "net-2": 3, "net-4": 4})
    assert await numbers_of(several) == {"net-1": 2, "net-2": 3, "net-4": 4}
    assert await domains(several, "p3") == [1]
    await adopt_several(several, {"net-3": 1}, project_id="p3")
    assert await domains(several, "p3") == [1]
    await declare(several, 5)
    await load_balancer(several, 5, "p5")
    assert await domains(several, "p5") == [5]


async def test_another_shard_that_had_more_of_the_numbers_than_the_shard_leaves_gets_free_ones(several: World) -> None:
    await declare(several, 5, base="10.3.0")
    await load_balancer(several, 5, "p3")
    assert await numbers_of(several, "p3") == {"net-3": 2, "net-5": 3}
    await adopt_several(several, {"net-1": 2, "net-2": 3, "net-4": 3})
    assert await numbers_of(several) == {"net-1": 2, "net-2": 3, "net-4": 3}
    assert await numbers_of(several, "p3") == {"net-3": 1, "net-5": 4}
    assert {row.number for row in await several.rows(schema.route_domain)} == {1, 2, 3, 4}


async def test_a_number_of_several_that_is_in_service_is_refused_and_nothing_is_changed(several: World) -> None:
    await several.report(applied("lb-p3-3-0"), project_id="p3")
    before = await rows(several)
    with pytest.raises(Conflict, match="route domain 2 of device group east/1 is that of project p3"):
        await adopt_several(several, {"net-1": 101, "net-2": 2})
    await several.report(applied("lb-p1-1-0"), project_id="p1")
    with pytest.raises(Conflict, match="served in route domain 1 already; that of the partition is 101, 102"):
        await adopt_several(several, {"net-1": 101, "net-2": 102})
    assert await rows(several) == before


async def test_a_network_that_overlaps_is_beside_the_adopted_route_domains(several: World) -> None:
    await declare(several, 5, base="10.1.0")
    await several.operator.add_network(network(6))
    await several.operator.add_subnet(subnet(6, base="10.1.0"))
    await adopt_several(several, {"net-1": 101, "net-2": 102, "net-4": 102})
    await load_balancer(several, 5)
    assert (await numbers_of(several))["net-5"] == 102
    await load_balancer(several, 6)
    assert (await numbers_of(several))["net-6"] == 1  # the lowest free one


async def test_members_in_a_new_network_are_in_the_route_domain_of_their_vip(several: World) -> None:
    await declare(several, 5)
    await adopt_several(several, {"net-1": 101, "net-2": 102, "net-4": 102})
    await load_balancer(several, 2, members=(5,))
    assert (await numbers_of(several))["net-5"] == 102


@pytest.mark.parametrize(
    ("number", "numbers", "reason"),
    [
        (SEVERAL_ROUTE_DOMAINS, {"net-1": 0}, "0 of network net-1 is none; 1 to 65534 are allowed"),
        (SEVERAL_ROUTE_DOMAINS, {"net-1": 65535}, "65535 of network net-1 is none"),
        (5, {"net-1": 5}, "with one for all networks, 5, there are no others"),
        (-2, {}, "-2 is none; 0 to 65534 are allowed"),
        (SEVERAL_ROUTE_DOMAINS, {f"net-{each}": 5 for each in range(ADDRESSES_MAX + 1)}, "at most 1000 are allowed"),
    ],
)
async def test_numbers_out_of_range_are_refused_by_name(
    several: World, number: int, numbers: dict[str, int], reason: str
) -> None:
    before = await rows(several)
    with pytest.raises(Conflict, match=reason):
        await adopt(several, number, route_domains=numbers)
    assert await rows(several) == before


async def test_networks_of_other_projects_are_passed_over(several: World) -> None:
    await adopt_several(several, {"net-1": 101, "net-2": 102, "net-3": 103, "net-9": 109})
    assert await numbers_of(several) == {"net-1": 101, "net-2": 102, "net-4": 101}
    assert await domains(several, "p3") == [2]
