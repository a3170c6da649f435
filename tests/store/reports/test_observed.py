"""Observed statuses and statistics."""

from typing import Any

from evenkeel.core.messages import ObservedStatistics, ObservedStatus, ReportReceipt, ReportStatus
from evenkeel.core.model import ListenerStatistics
from evenkeel.core.statuses import OperatingStatus
from evenkeel.store.records import schema
from tests.store.ownership_world import World, statements, world_fixture

__all__ = ["world_fixture"]

ONLINE, DEGRADED, ERROR = OperatingStatus.ONLINE, OperatingStatus.DEGRADED, OperatingStatus.ERROR


def seen(kind: str, id_: str, status: OperatingStatus) -> ObservedStatus:
    return ObservedStatus(kind=kind, id=id_, status=status)


async def report(world: World, *, agent_id: str = "a1", epoch: int = 1, number: int = 1, **parts: Any) -> ReportReceipt:
    common = await world.shard_of("", number)
    return await world.store.record_observed(ReportStatus(agent_id=agent_id, shard_id=common.id, epoch=epoch, **parts))


async def test_statuses_of_all_kinds_are_stored(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    below = await world.tree(load_balancer)
    await report(
        world,
        statuses=(
            seen("loadbalancer", load_balancer.id, ONLINE),
            seen("listener", below["listener"], DEGRADED),
            seen("pool", below["pool"], ERROR),
            seen("member", below["member"], ONLINE),
            seen("something newer", "x", ONLINE),
        ),
    )
    assert (await world.load_balancer_row(load_balancer.id)).operating_status == "ONLINE"
    assert (await world.row(schema.listener, below["listener"])).operating_status == "DEGRADED"
    assert (await world.row(schema.pool, below["pool"])).operating_status == "ERROR"
    assert (await world.row(schema.member, below["member"])).operating_status == "ONLINE"


async def test_the_reason_of_a_load_balancer_is_stored_and_goes_with_it(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    for status, reason in ((DEGRADED, "device b is out of reach"), (DEGRADED, "devices b, c " * 40), (ONLINE, "")):
        one = ObservedStatus(kind="loadbalancer", id=load_balancer.id, status=status, reason=reason)
        await report(world, statuses=(one,))
        row = await world.load_balancer_row(load_balancer.id)
        assert (row.operating_status, row.operating_reason) == (status.value, reason[:255])


async def test_objects_of_other_groups_are_left_alone(world: World) -> None:
    await world.agent("a1")
    await world.agent("a3", group_number=2)
    foreign = await world.load_balancer(project_id="p2")
    await world.store.place(foreign.id, "east", "p2", 2, "a3")
    below = await world.tree(foreign)
    unplaced = await world.load_balancer()
    totals = ListenerStatistics(bytes_in=1)
    receipt = await report(
        world,
        statuses=(
            seen("loadbalancer", foreign.id, ERROR),
            seen("loadbalancer", unplaced.id, ERROR),
            seen("listener", below["listener"], ERROR),
            seen("loadbalancer", "gone", ERROR),
        ),
        statistics=(ObservedStatistics(listener_id=below["listener"], statistics=totals),),
    )
    assert not receipt.stale
    for id_ in (foreign.id, unplaced.id):
        assert (await world.load_balancer_row(id_)).operating_status == "OFFLINE"
    assert (await world.row(schema.listener, below["listener"])).operating_status == "OFFLINE"
    assert await world.rows(schema.listener_statistics) == []


async def test_reports_of_others_than_the_common_shards_owner_are_stale(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    load_balancer = await world.placed()
    statuses = (seen("loadbalancer", load_balancer.id, ERROR),)
    assert (await report(world, agent_id="a2", statuses=statuses)).stale
    assert (await report(world, epoch=2, statuses=statuses)).stale
    tenant_shard = await world.shard_of("p1")
    of_tenant = ReportStatus(agent_id="a1", shard_id=tenant_shard.id, epoch=1, statuses=statuses)
    assert (await world.store.record_observed(of_tenant)).stale
    assert (await world.load_balancer_row(load_balancer.id)).operating_status == "OFFLINE"


async def test_newer_totals_replace_older_ones(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    listener_id = (await world.tree(load_balancer))["listener"]
    for total in (5, 2**40):
        totals = ListenerStatistics(bytes_in=total, total_connections=7)
        await report(
            world,
            statistics=(
                ObservedStatistics(listener_id=listener_id, statistics=totals),
                ObservedStatistics(listener_id="gone", statistics=totals),
            ),
        )
    (row,) = await world.rows(schema.listener_statistics)
    assert (row.load_balancer_id, row.bytes_in, row.total_connections) == (load_balancer.id, 2**40, 7)


async def test_number_of_statements_does_not_depend_on_size(world: World) -> None:
    await world.agent("a1")
    counts = []
    for count in (1, 60):
        balancers = [await world.placed() for _ in range(count)]
        listeners = [(await world.tree(each))["listener"] for each in balancers]
        with statements() as sent:
            await report(
                world,
                statuses=(
                    *(seen("loadbalancer", each.id, ONLINE) for each in balancers),
                    *(seen("listener", each, ONLINE) for each in listeners),
                ),
                statistics=tuple(
                    ObservedStatistics(listener_id=each, statistics=ListenerStatistics()) for each in listeners
                ),
            )
        counts.append(len(sent.sent))
    assert counts == [6, 6]  # one of them is the test's own look for the common shard
