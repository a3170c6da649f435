"""Networks that projects share: served by the common shard at revisions, awaited by load balancers, and given up."""

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import insert

from evenkeel.core.control.writes import Change
from evenkeel.core.devices.device import Applied
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId, LoadBalancerId, SessionId
from evenkeel.core.networking.networks import AddressUse, NetworkType
from evenkeel.core.protocol.messages import JudgeOrphans, OrphanVerdict, ReportApplied
from evenkeel.store.networks.common_services import NETWORK_STAYS_PROBLEM
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import UNKNOWN_HISTORY
from tests.store.networks.scenes import LAYOUT, declare, definitions, load_balancer, network, subnet
from tests.store.ownership_world import World, applied, statements, world_fixture

__all__ = ["world_fixture"]

ROWS = (schema.attached_network, schema.common_network, schema.device_address)


async def shared(world: World, *numbers: int, **changes: Any) -> None:
    """Networks that projects share, with a subnet each."""
    for number in numbers:
        await world.operator.add_network(network(number, **({"shared": True} | changes)))
        await world.operator.add_subnet(subnet(number))


async def networks(world: World) -> dict[str, ServiceDefinition]:
    """What the owner of the common shard gets, by network."""
    return await definitions(world, COMMON_PROJECT)


async def serve(world: World, *, error: str = "") -> list[str]:
    """The common shard's owner has applied everything; returns the load balancers that are told."""
    found = await networks(world)
    return await report(world, *(applied(id_, each.revision, error) for id_, each in found.items()))


async def report(world: World, *outcomes: Applied, project_id: str = COMMON_PROJECT) -> list[str]:
    shard = await world.shard_of(project_id)
    told: list[Change] = []
    sent = ReportApplied(
        agent_id="a1", session_id="session-of-a1", shard_id=shard.id, epoch=shard.epoch, outcomes=outcomes
    )
    assert not (await world.store.reports.record_applied(sent, tell=told.append)).stale
    return sorted(change.load_balancer_id for change in told)


async def gone(world: World, load_balancer_id: str, project_id: str = "p1") -> list[str]:
    """The tenant deleted it, and the devices have confirmed; returns the networks that are due."""
    await world.tenant_changes(load_balancer_id, deleted=True)
    revision = (await world.load_balancer_row(load_balancer_id)).revision
    return await report(world, applied(load_balancer_id, revision), project_id=project_id)


async def counts(world: World) -> list[int]:
    return [len(await world.rows(table)) for table in ROWS]


async def due(world: World) -> tuple[str, ...]:
    """The common shard's work, as its agent gets it."""
    found = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)
    return next(shard.work for shard in found.shards if shard.project_id == COMMON_PROJECT)


async def test_load_balancers_of_two_projects_wait_for_the_network_and_share_it(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    first, second = await load_balancer(world, 1), await load_balancer(world, 1, "p2")
    waiting = (await definitions(world))[first]
    assert waiting.waiting and "being attached to network net-1" in waiting.problem
    assert (await definitions(world, "p2"))[second].waiting
    (found,) = (await networks(world)).values()
    (one,) = found.networks
    assert (found.load_balancer_id, one.common, one.route_domain, one.segmentation_id) == ("net-1", True, 0, 101)
    assert [(each.use, each.owner) for each in one.subnets[0].addresses] == [
        (AddressUse.SELF, "10.0.0.1:443"),
        (AddressUse.SELF, "10.0.0.2:443"),
        (AddressUse.SNAT, "traffic-group-1"),
    ]
    assert await due(world) == ("net-1",)
    assert await serve(world) == sorted((first, second))
    assert await due(world) == ()
    (mine,), (theirs,) = [
        (await definitions(world, project))[id_].networks for project, id_ in (("p1", first), ("p2", second))
    ]
    assert mine.common and mine.route_domain == 0 and mine.subnets == theirs.subnets
    assert [each.use for each in mine.subnets[0].addresses] == [AddressUse.SNAT]
    assert await counts(world) == [2, 1, 3]


async def test_shared_network_is_removed_with_its_last_user_and_released_when_devices_confirm(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    first, second = await load_balancer(world, 1), await load_balancer(world, 1, "p2")
    await definitions(world), await definitions(world, "p2")
    await serve(world)
    assert await gone(world, first) == []
    assert not (await networks(world))["net-1"].deleted
    await world.tenant_changes(second, deleted=True)
    await definitions(world, "p2")
    assert not (await networks(world))["net-1"].deleted  # until its devices have confirmed
    assert await report(world, applied(second, 2), project_id="p2") == ["net-1"]
    assert await due(world) == ("net-1",)
    assert (await networks(world))["net-1"].deleted
    with pytest.raises(Conflict, match="in use"):
        await world.operator.delete_network("net-1")
    assert await counts(world) == [0, 1, 3]
    await serve(world)
    assert await counts(world) == [0, 0, 0] and await networks(world) == {}
    await world.operator.delete_network("net-1")


async def test_a_new_user_keeps_what_is_about_to_leave_and_waits_for_it(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    first = await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    addresses = await world.rows(schema.device_address)
    await gone(world, first)
    (removal,) = (await networks(world)).values()
    assert removal.deleted
    second = await load_balancer(world, 1, "p2")
    assert (await definitions(world, "p2"))[second].waiting
    await report(world, applied("net-1", removal.revision))  # the devices had begun already
    assert (await definitions(world, "p2"))[second].waiting
    assert await world.rows(schema.device_address) == addresses
    assert await serve(world) == [second]
    assert (await definitions(world, "p2"))[second].networks


async def test_a_subnet_goes_by_itself(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    await world.operator.add_subnet(subnet(2, net=1))
    stays, goes = await load_balancer(world, 1), await load_balancer(world, 1, members=(2,))
    await definitions(world)
    await serve(world)
    assert [each.id for each in (await networks(world))["net-1"].networks[0].subnets] == ["sub-1", "sub-2"]
    assert await gone(world, goes) == ["net-1"]
    assert [each.id for each in (await networks(world))["net-1"].networks[0].subnets] == ["sub-1"]
    assert not (await definitions(world))[stays].problem
    await serve(world)
    assert await counts(world) == [1, 1, 3]


async def test_changes_for_others_delay_nobody(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    await world.operator.add_subnet(subnet(2, net=1))
    first = await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    later = await load_balancer(world, 1, "p2", members=(2,))
    assert (await definitions(world, "p2"))[later].waiting
    assert not (await definitions(world))[first].problem


async def test_why_devices_refuse_a_network_is_the_reason_of_its_load_balancers(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1, 2)
    bad, good = await load_balancer(world, 1), await load_balancer(world, 2, "p2")
    await definitions(world), await definitions(world, "p2")
    revisions = {id_: each.revision for id_, each in (await networks(world)).items()}
    refused = applied("net-1", revisions["net-1"], "the requested interface was not found")
    assert await report(world, refused, applied("net-2", revisions["net-2"])) == sorted((bad, good))
    found = (await definitions(world))[bad]
    assert "net-1" in found.problem and "interface was not found" in found.problem and not found.waiting
    assert not (await definitions(world, "p2"))[good].problem
    assert await serve(world) == [bad]


async def test_a_changed_network_is_changed_on_devices_before_its_load_balancers(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    id_ = await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    (change,) = await world.operator.update_network(network(1, shared=True, segmentation_id=105))
    assert change.load_balancer_id == id_
    assert (await definitions(world))[id_].waiting
    assert (await networks(world))["net-1"].networks[0].segmentation_id == 105
    assert await serve(world) == [id_]
    assert not (await definitions(world))[id_].problem


async def test_all_networks_are_common_if_the_group_is_configured_so(world: World) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, all_common=True))
    await world.operator.add_network(network(1, project_id="p1"))
    await world.operator.add_network(network(2))
    await world.operator.add_subnet(subnet(1))
    await world.operator.add_subnet(subnet(2, base="10.1.0"))
    mine, overlapping = await load_balancer(world, 1), await load_balancer(world, 2)
    foreign = await load_balancer(world, 1, "p2")
    found = await definitions(world)
    assert found[mine].waiting
    assert "overlaps 10.1.0.0/24, which is in the common route domain" in found[overlapping].problem
    assert "another project" in (await definitions(world, "p2"))[foreign].problem
    assert (await networks(world)).keys() == {"net-1"}


@pytest.mark.parametrize("external_common", [True, False])
async def test_external_networks_are_common_or_one_projects(world: World, external_common: bool) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, external_common=external_common))
    await shared(world, 1, shared=False, external=True)
    first, second = await load_balancer(world, 1), await load_balancer(world, 1, "p2")
    await definitions(world), await definitions(world, "p2")
    if external_common:
        await serve(world)
    found, other = (await definitions(world))[first], (await definitions(world, "p2"))[second]
    assert found.networks[0].common == external_common
    assert bool(other.problem) != external_common


async def test_one_load_balancer_may_be_in_both_kinds(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    await declare(world, 2)
    ids = [await load_balancer(world, 1, members=(1, 2)), await load_balancer(world, 2, members=(1,))]
    await definitions(world)
    await serve(world)
    found = await definitions(world)
    for id_ in ids:
        assert [(each.common, each.route_domain) for each in found[id_].networks] == [(True, 0), (False, 1)]


async def test_but_not_where_its_subnets_overlap_or_route_domains_are_strict(world: World) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, strict=True))
    await shared(world, 1)
    await declare(world, 2)
    await declare(world, 3, base="10.1.0")
    crossing, overlapping = await load_balancer(world, 1, members=(2,)), await load_balancer(world, 3, members=(1,))
    found = await definitions(world)
    assert "f5_route_domain_strictness" in found[crossing].problem
    assert "its subnets overlap: 10.1.0.0/24" in found[overlapping].problem


async def test_members_gateway_needs_one_traffic_group(world: World) -> None:
    await world.agent("a1", network_layout=replace(LAYOUT, floating=True, traffic_groups=("one", "two")))
    await shared(world, 1)
    id_ = await load_balancer(world, 1)
    assert "several traffic groups" in (await definitions(world))[id_].problem


async def test_exhausted_addresses_are_a_problem(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await world.operator.add_network(network(1, shared=True))
    await world.operator.add_subnet(subnet(1, device_addresses=("10.1.0.2-10.1.0.3",)))
    id_ = await load_balancer(world, 1)
    assert "3 more needed, 2 free" in (await definitions(world))[id_].problem
    assert await counts(world) == [0, 0, 0]


async def test_shared_network_without_users_after_a_crash_is_given_up(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    id_ = await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    await world.db.write(lambda c: c.execute(schema.load_balancer.delete().where(schema.load_balancer.c.id == id_)))
    await world.db.write(lambda c: c.execute(schema.attached_network.delete()))
    assert await world.store.attachments.release_unused_networks(limit=10) == 1
    assert await world.store.attachments.release_unused_networks(limit=10) == 0
    assert (await networks(world))["net-1"].deleted
    await serve(world)
    assert await counts(world) == [0, 0, 0]


async def test_shared_network_used_only_by_another_group_is_given_up(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await world.agent("b1", group_number=2, network_layout=LAYOUT)
    await shared(world, 1)
    first = await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    unattached = await load_balancer(world, 1, "p2")
    await gone(world, first)
    assert not (await networks(world))["net-1"].deleted
    await load_balancer(world, 1, "p3", home="b1", group_number=2)
    assert await world.store.attachments.release_unused_networks(limit=10) == 0
    await gone(world, unattached, "p2")  # before its agent asked for its networks
    assert await world.store.attachments.release_unused_networks(limit=10) == 1
    assert await world.store.attachments.release_unused_networks(limit=10) == 0
    assert (await networks(world))["net-1"].deleted
    await serve(world)
    assert await counts(world) == [0, 0, 0]


async def test_statements_do_not_grow_with_networks_or_users(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1, 2, 3, network_type=NetworkType.VLAN)
    sizes = []
    for number in (1, 2, 3):
        await load_balancer(world, number)
        await load_balancer(world, number, members=(number,))
        await definitions(world)
        await serve(world)
        with statements() as seen:
            assert len(await definitions(world)) == 2 * number
            assert len(await networks(world)) == number
        sizes.append(len(seen.sent))
    assert len(set(sizes)) == 1


async def test_a_report_of_a_former_owner_changes_nothing(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    await load_balancer(world, 1)
    await definitions(world)
    shard = await world.shard_of(COMMON_PROJECT)
    old = ReportApplied(
        agent_id="a1",
        session_id="session-of-a1",
        shard_id=shard.id,
        epoch=shard.epoch - 1,
        outcomes=(applied("net-1"),),
    )
    assert (await world.store.reports.record_applied(old)).stale
    assert [row.applied_revision for row in await world.rows(schema.common_network)] == [0]


async def test_network_that_the_database_does_not_have_goes_unless_its_history_is_unknown(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    shard = await world.shard_of(COMMON_PROJECT)
    call = JudgeOrphans(
        agent_id=AgentId("a1"),
        session_id=SessionId("session-of-a1"),
        shard_id=shard.id,
        epoch=shard.epoch,
        load_balancer_ids=(LoadBalancerId("net-1"), LoadBalancerId("net-2")),
    )

    async def verdict() -> OrphanVerdict:
        return await world.store.reports.decide_orphans(call, grace_seconds=1.0, limit=1)

    assert await verdict() == OrphanVerdict(remove=(LoadBalancerId("net-2"),))
    row = {"id": "another's", "kind": UNKNOWN_HISTORY, "noted_at": 1.0, "agent_id": "a1"}
    await world.store.database.write(lambda connection: connection.execute(insert(schema.other_history).values(**row)))
    halted = await verdict()
    assert halted.remove == () and halted.kept == {"net-2": None} and halted.again_seconds
    await world.store.operators.accept_history("another's")
    assert await verdict() == OrphanVerdict(remove=(LoadBalancerId("net-2"),))


async def test_network_without_users_stays_on_devices_while_a_history_is_unknown(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await shared(world, 1)
    lb = await load_balancer(world, 1)
    await definitions(world)
    await serve(world)
    row = {"id": "another's", "kind": UNKNOWN_HISTORY, "noted_at": 1.0, "agent_id": "a1"}
    await world.store.database.write(lambda connection: connection.execute(insert(schema.other_history).values(**row)))
    assert await gone(world, lb) == ["net-1"]
    found = (await networks(world))["net-1"]
    assert not found.deleted and found.problem == NETWORK_STAYS_PROBLEM
    await serve(world, error=found.problem)
    assert (await networks(world))["net-1"].problem == NETWORK_STAYS_PROBLEM

    await world.store.operators.accept_history("another's")
    assert (await networks(world))["net-1"].deleted
    await serve(world)
    assert await networks(world) == {}
