"""A shard takes over the route domain and addresses of another program: one transaction, unique in its device group."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from evenkeel.core.devices.adoption import ADDRESSES_MAX, FoundAddress, TakenNetworks
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
) -> TakenNetworks:
    shard = await world.shard_of(project_id)
    call = AdoptNetworks(
        agent_id="a1",
        session_id=session_id,
        shard_id=shard.id,
        epoch=shard.epoch,
        route_domain=number,
        addresses=addresses,
        apply=apply,
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
    assert shown == TakenNetworks(route_domain=77, addresses=found) and await rows(scene) == before
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


async def test_an_address_that_was_allocated_for_something_else_is_allocated_anew(scene: World) -> None:
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
