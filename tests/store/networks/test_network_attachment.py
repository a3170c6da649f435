"""Definitions carry networks, with route domains and addresses that are unique, dense and released."""

import asyncio

import pytest
from msgspec.structs import replace
from sqlalchemy import delete, func, select, update

from evenkeel.core.kit.errors import CallRefused, Conflict
from evenkeel.core.networking.networks import AddressUse, NetworkLayout, NetworkType
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.store.records import schema
from evenkeel.store.reports.applied import record_applied
from tests.store.networks.scenes import LAYOUT, declare, definitions, load_balancer, network, subnet
from tests.store.ownership_world import World, applied, statements, world_fixture

__all__ = ["world_fixture"]

ROWS = (schema.attached_network, schema.route_domain, schema.device_address)


async def gone(world: World, load_balancer_id: str, project_id: str = "p1") -> None:
    """The tenant deleted it, and the devices have confirmed."""
    await world.tenant_changes(load_balancer_id, deleted=True)
    await world.report(applied(load_balancer_id, revision=2), project_id=project_id)


async def counts(world: World) -> list[int]:
    return [len(await world.rows(table)) for table in ROWS]


async def test_a_definition_has_what_devices_need_of_its_networks(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2)
    id_ = await load_balancer(world, 1, members=(1, 2))
    first, second = (await definitions(world))[id_].networks
    assert (first.id, first.network_type, first.segmentation_id, first.physical_network) == (
        "net-1",
        "vlan",
        101,
        "phys",
    )
    assert first.route_domain == second.route_domain == 1 and not first.common
    (one,) = first.subnets
    assert (one.id, one.cidr, one.gateway_ip) == ("sub-1", "10.1.0.0/24", "10.1.0.1")
    assert [(each.use, each.owner, each.address) for each in one.addresses] == [
        (AddressUse.SELF, "10.0.0.1:443", "10.1.0.2"),
        (AddressUse.SELF, "10.0.0.2:443", "10.1.0.3"),
        (AddressUse.SNAT, "traffic-group-1", "10.1.0.4"),
    ]
    assert await definitions(world) == await definitions(world)


async def test_without_the_layout_nothing_is_read_or_allocated(world: World) -> None:
    await world.agent("a1")
    await declare(world, 1)
    id_ = await load_balancer(world, 1)
    assert not (await definitions(world))[id_].networks and await counts(world) == [0, 0, 0]


async def test_the_number_of_statements_does_not_depend_on_the_number_of_load_balancers(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, *range(1, 6))
    sizes = []
    for number in range(1, 6):
        await load_balancer(world, number)
        await definitions(world)
        with statements() as seen:
            assert len(await definitions(world)) == number
        sizes.append(len(seen.sent))
    assert len(set(sizes[1:])) == 1  # a single one is on one page, however large


async def test_each_project_has_a_route_domain_and_overlapping_subnets_do_not_meet(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2, base="10.0.0")
    first, second = await load_balancer(world, 1), await load_balancer(world, 2, "p2")
    one = (await definitions(world))[first].networks[0]
    other = (await definitions(world, "p2"))[second].networks[0]
    assert (one.route_domain, other.route_domain) == (1, 2)
    assert one.subnets[0].addresses == other.subnets[0].addresses


async def test_overlapping_subnets_of_one_project_need_another_route_domain(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2, base="10.0.0")
    await declare(world, 3)
    first, second, third = [await load_balancer(world, number) for number in (1, 2, 3)]
    found = await definitions(world)
    assert found[first].networks and found[third].networks and not found[second].networks
    assert "10.0.0.0/24 overlaps" in found[second].problem and "max_namespaces_per_tenant" in found[second].problem


async def test_with_several_route_domains_they_are_apart_and_the_rest_is_in_the_first(world: World) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, route_domains_max=2))
    await declare(world, 1, 2, base="10.0.0")
    await declare(world, 3)
    ids = [await load_balancer(world, number) for number in (1, 2, 3)]
    found = await definitions(world)
    assert [found[id_].networks[0].route_domain for id_ in ids] == [1, 2, 1]
    apart = await load_balancer(world, 2, members=(3,))
    found = await definitions(world)
    assert [found[id_].networks[0].route_domain for id_ in ids] == [1, 2, 1]
    assert "different route domains" in found[apart].problem


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"network_type": NetworkType.GRE, "physical_network": None},
            "of type gre; the devices are attached to vlan, vxlan",
        ),
        ({"project_id": "p2"}, "belongs to another project"),
        (None, "is not declared"),
    ],
)
async def test_network_that_devices_cannot_join_is_a_problem_of_its_load_balancer_only(
    world: World, changes: dict[str, object] | None, reason: str
) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 2)
    await world.operator.add_subnet(subnet(1))
    if changes is not None:
        await world.operator.add_network(network(1, **changes))
    bad, good = await load_balancer(world, 1), await load_balancer(world, 2)
    found = await definitions(world)
    assert reason in found[bad].problem and "net-1" in found[bad].problem
    assert found[good].networks and not found[good].problem


async def test_a_network_of_two_projects_has_to_be_shared(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1)
    first, second = await load_balancer(world, 1), await load_balancer(world, 1, "p2")
    assert (await definitions(world))[first].networks
    assert "used by project p1 too" in (await definitions(world, "p2"))[second].problem
    await gone(world, first)
    assert (await definitions(world, "p2"))[second].networks


async def test_networks_that_operators_attached_need_nothing(world: World) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, common_network_ids=("net-1",)))
    await declare(world, 1, 2)
    plain, through = await load_balancer(world, 1), await load_balancer(world, 1, members=(2,))
    mixed, inverse = await load_balancer(world, 1, members=(1, 2)), await load_balancer(world, 2, members=(1,))
    found = await definitions(world)
    assert not found[plain].networks and not found[plain].problem
    assert [each.id for each in found[through].networks] == ["net-2"]
    for id_ in (mixed, inverse):
        assert "members in networks of common_network_ids" in found[id_].problem


async def test_strict_route_domains_are_not_crossed(world: World) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, common_network_ids=("net-1",), strict=True))
    await declare(world, 1, 2)
    through, apart = await load_balancer(world, 1, members=(2,)), await load_balancer(world, 2, members=(2,))
    found = await definitions(world)
    assert "f5_route_domain_strictness" in found[through].problem
    assert found[apart].networks and not found[apart].problem


async def test_exhausted_addresses_are_a_problem_until_there_are_more(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await world.operator.add_network(network(1))
    small = subnet(1, device_addresses=("10.1.0.2-10.1.0.3",))
    await world.operator.add_subnet(small)
    id_ = await load_balancer(world, 1)
    problem = (await definitions(world))[id_].problem
    assert "3 more needed, 2 free of 10.1.0.2-10.1.0.3" in problem
    assert await counts(world) == [0, 0, 0]
    await world.operator.set_device_addresses(replace(small, device_addresses=("10.1.0.2-10.1.0.4",)))
    assert (await definitions(world))[id_].networks
    with pytest.raises(Conflict, match=r"10\.1\.0\.4 is in use"):
        await world.operator.set_device_addresses(small)


async def test_unused_addresses_are_released_when_devices_have_confirmed(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2)
    first, second = await load_balancer(world, 1), await load_balancer(world, 1, members=(2,))
    await definitions(world)
    assert await counts(world) == [2, 1, 6]
    with pytest.raises(Conflict, match="in use"):
        await world.operator.delete_network("net-2")
    with pytest.raises(Conflict, match="in use"):
        await world.operator.delete_subnet("sub-2")
    await world.tenant_changes(second, deleted=True)
    await definitions(world)
    assert await counts(world) == [2, 1, 6]
    await world.report(applied(second, revision=2))
    assert await counts(world) == [1, 1, 3]
    await gone(world, first)
    assert await counts(world) == [0, 0, 0]
    await world.operator.delete_network("net-2")


async def test_a_changed_network_makes_its_load_balancers_due(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2)
    member, vip, other = (
        await load_balancer(world, 2, members=(1,)),
        await load_balancer(world, 1),
        await load_balancer(world, 2),
    )
    await definitions(world)
    changed = await world.operator.update_network(network(1, mtu=1450))
    assert {change.load_balancer_id for change in changed} == {member, vip}
    found = await definitions(world)
    assert found[vip].revision == 2 and found[vip].networks[0].mtu == 1450 and found[other].revision == 1
    assert not await world.operator.update_network(network(1, mtu=1450))
    (event,) = await world.events("network_changed")
    assert "load balancers that get it: 2" in event.text
    with pytest.raises(Conflict, match="segment 102"):
        await world.operator.update_network(network(1, segmentation_id=102))


async def test_agents_of_one_group_agree_on_its_networks(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    with pytest.raises(CallRefused, match="network_layout"):
        await world.agent("a2", network_layout=NetworkLayout())
    await world.agent("a2", network_layout=LAYOUT)
    await world.expire("a1")
    await world.expire("a2")
    await world.agent("a1", network_layout=NetworkLayout(), session_id="session-2")


async def test_numbers_and_addresses_under_parallel_creates_through_two_controllers(world: World) -> None:
    tenants = 25  # with two load balancers each
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, *range(tenants))
    for number in range(tenants):
        await load_balancer(world, number, f"q{number}")
        await load_balancer(world, number, f"q{number}", members=(number,))
    stores = [world.store, world.another_controller()]
    found = await asyncio.gather(
        *(definitions(world, f"q{number}", stores[number % 2]) for number in range(tenants) for _ in range(2))
    )
    networks = [definition.networks[0] for each in found for definition in each.values()]
    assert {network.route_domain for network in networks} == set(range(1, tenants + 1))
    for each in networks:
        assert [one.address.rpartition(".")[2] for one in each.subnets[0].addresses] == ["2", "3", "4"]
    ids = [(load_balancer_id, f"q{number}") for number in range(tenants) for load_balancer_id in found[2 * number]]
    await asyncio.gather(*(gone(world, *each) for each in ids))
    assert await counts(world) == [0, 0, 0]
    assert await world.db.read(lambda c: c.scalar(select(func.count()).select_from(schema.vip_address))) == 0


async def test_a_network_is_released_with_its_last_member_and_after_a_crash_by_whoever_looks(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1, 2)
    id_ = await load_balancer(world, 1, members=(2,))
    await definitions(world)
    await world.report(applied(id_, revision=1))
    before = await counts(world)
    await world.tenant_changes(id_)
    member = schema.member
    gone_member = update(member).values(deleted=True, revision=2, provisioning_status="PENDING_DELETE")
    await world.store.database.write(lambda connection: connection.execute(gone_member))
    assert await counts(world) == before
    await world.report(applied(id_, revision=2))
    assert [row.network_id for row in await world.rows(schema.attached_network)] == ["net-1"]
    assert await world.store.attachments.release_unused_networks(limit=10) == 0

    await world.tenant_changes(id_, deleted=True)
    root = schema.load_balancer
    await world.store.database.write(lambda connection: connection.execute(delete(root).where(root.c.id == id_)))
    assert await counts(world) != [0, 0, 0]
    assert await world.store.attachments.release_unused_networks(limit=10) == 1
    assert await counts(world) == [0, 0, 0]


async def test_a_report_that_is_delivered_again_releases_what_its_first_delivery_did_not(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await declare(world, 1)
    id_ = await load_balancer(world, 1)
    await definitions(world)
    await world.tenant_changes(id_, deleted=True)
    shard = await world.shard_of("p1")
    sent = ReportApplied(
        agent_id="a1",
        session_id="session-of-a1",
        shard_id=shard.id,
        epoch=shard.epoch,
        outcomes=(applied(id_, revision=2),),
    )
    # committed, and the answer was lost: the networks' release, another transaction, was not begun
    await world.db.write(lambda connection: record_applied(connection, [sent]))
    assert await counts(world) != [0, 0, 0]

    receipt = await world.store.reports.record_applied(sent)

    assert receipt.unknown == (id_,)
    assert await counts(world) == [0, 0, 0]
