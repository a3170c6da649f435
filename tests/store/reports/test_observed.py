"""Observed statuses and statistics."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import update

from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.protocol.messages import ReportReceipt, ReportStatus
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatistics, ObservedStatus
from evenkeel.store.records import schema
from evenkeel.store.reports import observed
from tests.store.ownership_world import (
    World,
    open_transaction,
    server_world_fixture,
    statements,
    world_fixture,
)

__all__ = ["server_world_fixture", "world_fixture"]

ONLINE, DEGRADED, ERROR = OperatingStatus.ONLINE, OperatingStatus.DEGRADED, OperatingStatus.ERROR


def seen(kind: str, id_: str, status: OperatingStatus) -> ObservedStatus:
    return ObservedStatus(kind=kind, id=id_, status=status)


async def report(world: World, *, agent_id: str = "a1", epoch: int = 1, number: int = 1, **parts: Any) -> ReportReceipt:
    common = await world.shard_of("", number)
    return await world.store.reports.record_observed(
        ReportStatus(agent_id=agent_id, session_id=f"session-of-{agent_id}", shard_id=common.id, epoch=epoch, **parts)
    )


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
    await world.store.scheduling.place_load_balancer(foreign.id, "east", "p2", 2, "a3")
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
    of_tenant = ReportStatus(
        agent_id="a1", session_id="session-of-a1", shard_id=tenant_shard.id, epoch=1, statuses=statuses
    )
    assert (await world.store.reports.record_observed(of_tenant)).stale
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


# -- the order of reports


async def numbered(world: World, number: int, *, session_id: str = "session-of-a1", **parts: Any) -> ReportStatus:
    """The report of that number, of the owner's session."""
    common = await world.shard_of("")
    return ReportStatus(
        agent_id="a1", session_id=session_id, shard_id=common.id, epoch=common.epoch, number=number, **parts
    )


async def status_of(world: World, load_balancer: Any) -> str:
    return str((await world.load_balancer_row(load_balancer.id)).operating_status)


async def test_a_report_that_comes_late_changes_nothing_and_is_not_called_taken(world: World) -> None:
    """Its sender got no answer, and has told all that it said again."""
    await world.agent("a1")
    load_balancer = await world.placed()
    listener_id = (await world.tree(load_balancer))["listener"]
    late, newer = [
        await numbered(
            world,
            number,
            statuses=(seen("loadbalancer", load_balancer.id, status), seen("listener", listener_id, status)),
            statistics=(ObservedStatistics(listener_id=listener_id, statistics=ListenerStatistics(bytes_in=number)),),
        )
        for number, status in ((4, ERROR), (5, ONLINE))
    ]
    for _ in range(2):
        assert not (await world.store.reports.record_observed(newer)).stale
        with pytest.raises(CallRefused) as refused:
            await world.store.reports.record_observed(late)
        assert refused.value.code == "overtaken"
        assert await status_of(world, load_balancer) == "ONLINE"
        assert (await world.row(schema.listener, listener_id)).operating_status == "ONLINE"
        assert [row.bytes_in for row in await world.rows(schema.listener_statistics)] == [5]


async def test_every_message_in_order_counts(world: World) -> None:
    """And the newest may be repeated, though controllers have shown something else meanwhile."""
    await world.agent("a1")
    balancers = [await world.placed() for _ in range(3)]
    for number, each in enumerate(balancers, start=7):
        await world.store.reports.record_observed(
            await numbered(world, number, statuses=(seen("loadbalancer", each.id, ERROR),))
        )
    assert [await status_of(world, each) for each in balancers] == ["ERROR"] * 3
    last = await numbered(world, 9, statuses=(seen("loadbalancer", balancers[2].id, ERROR),))
    await world.change(schema.load_balancer, balancers[2].id, operating_status="OFFLINE")
    await world.store.reports.record_observed(last)
    assert await status_of(world, balancers[2]) == "ERROR"


async def test_numbers_of_reports_count_within_one_session(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()

    async def say(number: int, status: OperatingStatus, session_id: str = "session-of-a1") -> None:
        statuses = (seen("loadbalancer", load_balancer.id, status),)
        assert not (
            await world.store.reports.record_observed(
                await numbered(world, number, session_id=session_id, statuses=statuses)
            )
        ).stale
        assert await status_of(world, load_balancer) == status.value

    await world.agent("b1", group_number=2)
    await world.db.write(
        lambda c: c.execute(update(schema.device_group).values(reached_count=schema.device_group.c.number))
    )
    assert (await world.store.reports.record_observed(await numbered(world, 49))).reached_count == 1
    await say(50, ONLINE)
    await say(0, ERROR)
    await say(0, ONLINE)
    for absurd in (-1, 2**70):
        await say(absurd, DEGRADED)
        await say(50, ONLINE)
    common = await world.shard_of("")
    await world.change(schema.agent, "a1", session_id="second")
    await say(1, ERROR, session_id="second")
    row = await world.shard(common.id)
    assert (row.observed_session_id, row.observed_number) == ("second", 1)


async def test_a_late_report_of_somebody_who_is_no_owner_any_more_is_stale(world: World) -> None:
    await world.agent("a1")
    common = await world.shard_of("")
    late, newer = await numbered(world, 1), await numbered(world, 2)
    assert not (await world.store.reports.record_observed(newer)).stale
    await world.change(schema.shard, common.id, epoch=common.epoch + 1)
    assert (await world.store.reports.record_observed(late)).stale


async def test_findings_of_an_overtaken_report_are_ignored(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    await world.change(schema.load_balancer, load_balancer.id, applied_revision=1)
    late = await numbered(world, 1, absent=(load_balancer.id,))
    await world.store.reports.record_observed(
        await numbered(world, 2, statuses=(seen("loadbalancer", load_balancer.id, ONLINE),))
    )
    with pytest.raises(CallRefused):
        await world.store.reports.record_findings(late)
    assert await status_of(world, load_balancer) == "ONLINE"
    found = await numbered(world, 3, absent=(load_balancer.id,))
    assert await world.store.reports.record_findings(found)
    assert not (await world.store.reports.record_observed(found)).stale
    assert await status_of(world, load_balancer) == "ERROR"


async def test_the_order_of_reports_costs_no_statement(world: World, backend: str) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    counts = []
    for number in (0, 3):
        one = await numbered(world, number, statuses=(seen("loadbalancer", load_balancer.id, ONLINE),))
        with statements() as sent:
            await world.store.reports.record_observed(one)
        counts.append(len(sent.sent))
    more = 1 if backend == "mariadb" else 0  # it has no UPDATE ... RETURNING
    assert counts == [2, 2 + more]


@pytest.mark.services
async def test_of_two_controllers_that_take_reports_at_once_the_newer_report_stays(server_world: World) -> None:
    world = server_world
    await world.agent("a1")
    load_balancer = await world.placed()
    late, newer = [
        await numbered(world, number, statuses=(seen("loadbalancer", load_balancer.id, status),))
        for number, status in ((1, ERROR), (2, ONLINE))
    ]
    async with open_transaction(world) as run:
        await run(lambda connection: observed.record_observations(connection, newer))
        waiting = asyncio.create_task(world.another_controller().reports.record_observed(late))
        await world.until_a_lock_is_waited_for()
    with pytest.raises(CallRefused):
        await waiting
    assert await status_of(world, load_balancer) == "ONLINE"
