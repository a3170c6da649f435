"""What a report makes of load balancers and everything below them."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.protocol.messages import Repaired, ReportApplied
from evenkeel.core.resources.model import Listener, LoadBalancer, Member, Pool
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.store.records import schema
from tests.store.ownership_world import (
    World,
    applied,
    open_transaction,
    server_world_fixture,
    statements,
    world_fixture,
)

__all__ = ["server_world_fixture", "world_fixture"]

CHILDREN = {
    "listener": schema.listener,
    "pool": schema.pool,
    "member": schema.member,
    "monitor": schema.health_monitor,
}
PENDING_DELETE = ProvisioningStatus.PENDING_DELETE.value


async def with_tree(world: World, **changes: Any) -> tuple[LoadBalancer, dict[str, str]]:
    """A placed load balancer of a1 with one of each kind below it."""
    if not await world.rows(schema.agent):
        await world.agent("a1")
    load_balancer = await world.placed(**changes)
    return load_balancer, await world.tree(load_balancer)


async def statuses(world: World, below: dict[str, str], column: str = "provisioning_status") -> dict[str, Any]:
    """That column of each child; None: it is gone."""
    rows = {kind: await world.row(CHILDREN[kind], id_) for kind, id_ in below.items()}
    return {kind: None if row is None else getattr(row, column) for kind, row in rows.items()}


# -- together


async def test_reports_of_many_shards_take_as_many_statements_as_one(world: World) -> None:
    made = [(await with_tree(world, project_id=f"p{number}"))[0] for number in range(1, 6)]

    async def of(load_balancer: LoadBalancer) -> ReportApplied:
        shard = await world.shard_of(load_balancer.project_id)
        outcomes = (applied(load_balancer.id),)
        return ReportApplied(agent_id="a1", session_id="session-of-a1", shard_id=shard.id, epoch=1, outcomes=outcomes)

    sent = [await of(load_balancer) for load_balancer in made]
    with statements() as alone:
        assert not (await world.store.reports.record_applied(sent[0])).stale
    with statements() as together:
        receipts = await world.store.reports.record_all_applied([replace(sent[1], epoch=2), *sent[2:]])
    assert [each.stale for each in receipts] == [True, False, False, False]
    assert len(together.sent) == len(alone.sent)
    rows = [await world.load_balancer_row(each.id) for each in made]
    assert [row.provisioning_status for row in rows] == ["ACTIVE", "PENDING_CREATE", "ACTIVE", "ACTIVE", "ACTIVE"]


async def test_a_report_cannot_speak_for_another_ones_shard_in_the_same_transaction(world: World) -> None:
    mine, _ = await with_tree(world, project_id="p1")
    other, _ = await with_tree(world, project_id="p2")
    reports = [
        ReportApplied(
            agent_id="a1",
            session_id="session-of-a1",
            shard_id=(await world.shard_of(project_id)).id,
            epoch=1,
            outcomes=(applied(mine.id, error="bad"), applied(other.id, error="bad")) if project_id == "p1" else (),
        )
        for project_id in ("p1", "p2")
    ]
    await world.store.reports.record_all_applied(reports)
    assert (await world.load_balancer_row(mine.id)).provisioning_status == "ERROR"
    assert (await world.load_balancer_row(other.id)).provisioning_status == "PENDING_CREATE"


async def test_a_report_tells_what_the_database_does_not_have(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    receipt = await world.report(applied("lost"), applied(load_balancer.id), applied("gone"))
    assert receipt.unknown == ("gone", "lost")
    assert (await world.report(applied(load_balancer.id))).unknown == ()


# -- success


async def test_confirmed_newest_revision_is_active(world: World) -> None:
    load_balancer, below = await with_tree(world)
    receipt = await world.report(applied(load_balancer.id))
    assert not receipt.stale
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.applied_revision, row.pending_deadline) == ("ACTIVE", 1, None)
    assert set((await statuses(world, below)).values()) == {"ACTIVE"}
    (event,) = await world.events("load_balancer_active")
    assert (event.load_balancer_id, event.agent_id, event.environment) == (load_balancer.id, "a1", "east")


async def test_objects_on_a_device_without_traffic_keep_octavias_no_op_statuses(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.add(
        Pool(id="unwatched", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **_of(load_balancer)),
        Member(id="up", pool_id="unwatched", address="10.0.0.1", protocol_port=1, **_of(load_balancer)),
        Member(
            id="down",
            pool_id="unwatched",
            address="10.0.0.2",
            protocol_port=1,
            admin_state_up=False,
            **_of(load_balancer),
        ),
    )
    shard = await world.shard_of("p1")
    for _ in range(2):
        report = ReportApplied(
            agent_id="a1",
            session_id="session-of-a1",
            shard_id=shard.id,
            epoch=shard.epoch,
            outcomes=(applied(load_balancer.id),),
            carries_traffic=False,
        )
        await world.store.reports.record_applied(report)
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.operating_status) == ("ACTIVE", "OFFLINE")
    found = await statuses(world, below, "operating_status")
    assert (found["listener"], found["pool"], found["monitor"]) == ("OFFLINE", "OFFLINE", "ONLINE")
    for id_, expected in (("up", "NO_MONITOR"), ("down", "NO_MONITOR")):
        assert (await world.row(schema.member, id_)).operating_status == expected


@pytest.mark.parametrize(("carries_traffic", "expected"), [(False, "NO_MONITOR"), (True, "OFFLINE")])
async def test_without_traffic_members_of_a_pool_that_loses_its_monitor_are_not_monitored(
    world: World, carries_traffic: bool, expected: str
) -> None:
    load_balancer, below = await with_tree(world)
    other, of_other = await with_tree(world, project_id="p2")
    for id_ in (below["member"], of_other["member"]):
        await world.change(schema.member, id_, operating_status="OFFLINE", provisioning_status="ACTIVE")
    await world.change(schema.health_monitor, below["monitor"], deleted=True, provisioning_status="PENDING_DELETE")
    for one, project_id in ((load_balancer, "p1"), (other, "p2")):
        shard = await world.shard_of(project_id)
        outcomes = (applied(one.id),)
        report = ReportApplied(
            agent_id="a1",
            session_id="session-of-a1",
            shard_id=shard.id,
            epoch=shard.epoch,
            outcomes=outcomes,
            carries_traffic=carries_traffic,
        )
        await world.store.reports.record_applied(report)
    assert (await statuses(world, below, "operating_status"))["monitor"] is None
    assert (await world.row(schema.member, below["member"])).operating_status == expected
    assert (await world.row(schema.member, of_other["member"])).operating_status == "OFFLINE"


def _of(load_balancer: LoadBalancer) -> dict[str, Any]:
    return {"load_balancer_id": load_balancer.id, "project_id": "p1"}


async def test_first_operating_statuses_follow_the_administrative_state(world: World) -> None:
    load_balancer, below = await with_tree(world)
    down: dict[str, Any] = {"load_balancer_id": load_balancer.id, "project_id": "p1", "admin_state_up": False}
    bare: dict[str, Any] = {"load_balancer_id": load_balancer.id, "project_id": "p1"}
    offline = OperatingStatus.OFFLINE
    await world.add(
        Pool(id="unwatched", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **bare),
        Listener(id="down", protocol="HTTP", protocol_port=81, **down),
        Member(id="up", pool_id="unwatched", address="10.0.0.1", protocol_port=1, operating_status=offline, **bare),
        Member(id="down", pool_id="unwatched", address="10.0.0.2", protocol_port=1, **down),
        Pool(id="down", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **down),
    )
    await world.change(schema.member, below["member"], operating_status="OFFLINE")
    await world.report(applied(load_balancer.id))
    assert (await world.load_balancer_row(load_balancer.id)).operating_status == "ONLINE"
    assert await statuses(world, below, "operating_status") == {
        "listener": "ONLINE",
        "pool": "ONLINE",
        "member": "OFFLINE",  # its monitor will say
        "monitor": "ONLINE",
    }
    for table, id_, expected in (
        (schema.listener, "down", "OFFLINE"),
        (schema.pool, "down", "OFFLINE"),
        (schema.member, "up", "NO_MONITOR"),
        (schema.member, "down", "OFFLINE"),
    ):
        assert (await world.row(table, id_)).operating_status == expected


async def test_observed_status_is_not_replaced_by_an_assumed_one(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.change(schema.pool, below["pool"], operating_status="ERROR")
    await world.change(schema.load_balancer, load_balancer.id, operating_status="DEGRADED")
    await world.report(applied(load_balancer.id))
    await world.change(schema.listener, below["listener"], operating_status="OFFLINE", revision=2)
    await world.change(schema.listener, below["listener"], provisioning_status="PENDING_UPDATE")
    await world.tenant_changes(load_balancer.id)
    await world.report(applied(load_balancer.id, 2))
    assert (await world.load_balancer_row(load_balancer.id)).operating_status == "DEGRADED"
    assert (await statuses(world, below, "operating_status"))["pool"] == "ERROR"
    assert (await world.row(schema.listener, below["listener"])).operating_status == "OFFLINE"


async def test_monitor_follows_its_administrative_state(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.report(applied(load_balancer.id))
    await world.change(
        schema.health_monitor,
        below["monitor"],
        admin_state_up=False,
        revision=2,
        provisioning_status="PENDING_UPDATE",
    )
    await world.tenant_changes(load_balancer.id)
    await world.report(applied(load_balancer.id, 2))
    assert (await world.row(schema.health_monitor, below["monitor"])).operating_status == "OFFLINE"


async def test_confirmed_older_revision_leaves_the_newer_one_pending(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.tenant_changes(load_balancer.id, provisioning_status="PENDING_CREATE")
    await world.change(schema.member, below["member"], revision=2)
    deadline = (await world.load_balancer_row(load_balancer.id)).pending_deadline
    await world.report(applied(load_balancer.id, 1))
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.applied_revision) == ("PENDING_UPDATE", 1)
    assert row.pending_deadline == deadline
    assert await statuses(world, below) == {
        "listener": "ACTIVE",
        "pool": "ACTIVE",
        "member": "PENDING_CREATE",
        "monitor": "ACTIVE",
    }
    assert await world.events("load_balancer_active") == []
    await world.report(applied(load_balancer.id, 2))
    assert (await world.load_balancer_row(load_balancer.id)).provisioning_status == "ACTIVE"
    assert set((await statuses(world, below)).values()) == {"ACTIVE"}


async def test_late_report_of_an_older_revision_changes_nothing(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.tenant_changes(load_balancer.id)
    await world.report(applied(load_balancer.id, 2))
    before = await world.load_balancer_row(load_balancer.id)
    await world.report(applied(load_balancer.id, 1))
    await world.report(applied(load_balancer.id, 1, error="too late"))
    assert await world.load_balancer_row(load_balancer.id) == before


async def test_events_name_load_balancers_and_agents_before_their_ids(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    await world.change(schema.load_balancer, load_balancer.id, name="www")
    await world.report(applied(load_balancer.id))
    (event,) = await world.events("load_balancer_active")
    assert event.text.startswith(f"load balancer www ({load_balancer.id}) is active at revision ")
    (registered,) = await world.events("agent_registered")
    host = (await world.store.operators.agent("a1")).host
    assert registered.text == f"agent {host} (a1) registered in device group east/1"


async def test_repeated_report_records_no_second_event(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    for _ in range(3):
        await world.report(applied(load_balancer.id))
    assert len(await world.events("load_balancer_active")) == 1


async def test_revision_of_another_history_proves_nothing(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.report(applied(load_balancer.id, 9))
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.applied_revision) == ("PENDING_CREATE", 0)


async def test_of_two_outcomes_in_one_report_the_newest_revision_counts(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.tenant_changes(load_balancer.id)
    await world.report(applied(load_balancer.id, 2), applied(load_balancer.id, 1, error="no"))
    assert (await world.load_balancer_row(load_balancer.id)).provisioning_status == "ACTIVE"


# -- errors


async def test_refused_newest_revision_is_error_with_the_reason(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.report(applied(load_balancer.id, 1, error="bad " * 1_000))
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.applied_revision, row.pending_deadline) == ("ERROR", 0, None)
    assert row.status_reason == ("bad " * 1_000)[:1_000]
    assert set((await statuses(world, below)).values()) == {"ERROR"}
    assert len(await world.events("load_balancer_error")) == 1


async def test_second_reason_is_stored_without_a_second_event(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.report(applied(load_balancer.id, 1, error="first"))
    await world.report(applied(load_balancer.id, 1, error="second"))
    assert (await world.load_balancer_row(load_balancer.id)).status_reason == "second"
    assert len(await world.events("load_balancer_error")) == 1


async def test_refused_older_revision_is_ignored(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.tenant_changes(load_balancer.id)
    await world.report(applied(load_balancer.id, 1, error="no"))
    assert (await world.load_balancer_row(load_balancer.id)).provisioning_status == "PENDING_UPDATE"


async def test_children_that_were_confirmed_stay_active_when_a_newer_change_fails(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.report(applied(load_balancer.id))
    await world.tenant_changes(load_balancer.id)
    await world.change(schema.member, below["member"], revision=2, provisioning_status="PENDING_UPDATE")
    await world.report(applied(load_balancer.id, 2, error="no"))
    assert await statuses(world, below) == {
        "listener": "ACTIVE",
        "pool": "ACTIVE",
        "member": "ERROR",
        "monitor": "ACTIVE",
    }


async def test_error_heals_when_the_device_takes_it_after_all(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.report(applied(load_balancer.id, 1, error="no"))
    await world.report(applied(load_balancer.id))
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.status_reason, row.operating_status) == ("ACTIVE", "", "ONLINE")
    assert set((await statuses(world, below)).values()) == {"ACTIVE"}
    assert (await statuses(world, below, "operating_status"))["listener"] == "ONLINE"


# -- deletes


async def delete_child(world: World, load_balancer: LoadBalancer, kind: str, id_: str, revision: int) -> None:
    await world.tenant_changes(load_balancer.id)
    await world.change(
        CHILDREN[kind], id_, deleted=True, live_key=id_, revision=revision, provisioning_status=PENDING_DELETE
    )


async def test_confirmed_delete_removes_the_load_balancer_and_all_below(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await world.tenant_changes(load_balancer.id, deleted=True, provisioning_status=PENDING_DELETE)
    await world.report(applied(load_balancer.id, 1))
    assert (await world.load_balancer_row(load_balancer.id)).provisioning_status == PENDING_DELETE
    await world.report(applied(load_balancer.id, 2))
    assert await world.load_balancer_row(load_balancer.id) is None
    assert set((await statuses(world, below)).values()) == {None}
    assert len(await world.events("load_balancer_deleted")) == 1
    assert not (await world.report(applied(load_balancer.id, 2))).stale
    assert len(await world.events("load_balancer_deleted")) == 1


async def test_refused_delete_is_error_still_deleted_and_heals(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.tenant_changes(load_balancer.id, deleted=True, provisioning_status=PENDING_DELETE)
    await world.report(applied(load_balancer.id, 2, error="in use"))
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.deleted) == ("ERROR", True)
    answer = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=9)
    assert [id_ for each in answer.shards for id_ in each.work] == [load_balancer.id]
    await world.report(applied(load_balancer.id, 2))
    assert await world.load_balancer_row(load_balancer.id) is None


@pytest.mark.parametrize("kind", CHILDREN)
async def test_confirmed_delete_removes_the_child(world: World, kind: str) -> None:
    load_balancer, below = await with_tree(world)
    await world.report(applied(load_balancer.id))
    await delete_child(world, load_balancer, kind, below[kind], revision=2)
    await world.report(applied(load_balancer.id, 2))
    left = await statuses(world, below)
    gone = {"pool", "member", "monitor"} if kind == "pool" else {kind}
    assert left == {each: None if each in gone else "ACTIVE" for each in CHILDREN}
    assert (await world.load_balancer_row(load_balancer.id)).provisioning_status == "ACTIVE"


async def test_child_deleted_after_the_confirmed_revision_stays(world: World) -> None:
    load_balancer, below = await with_tree(world)
    await delete_child(world, load_balancer, "member", below["member"], revision=2)
    await world.report(applied(load_balancer.id, 1))
    assert (await statuses(world, below))["member"] == PENDING_DELETE


# -- whose report counts


@pytest.mark.parametrize(("agent_id", "epoch"), [("a2", 1), ("a1", 2), ("a1", 0)])
async def test_report_of_one_that_does_not_own_the_shard_is_stale(world: World, agent_id: str, epoch: int) -> None:
    load_balancer, _ = await with_tree(world)
    shard = await world.shard_of("p1")
    before = await world.load_balancer_row(load_balancer.id)
    report = ReportApplied(
        agent_id=agent_id,
        session_id=f"session-of-{agent_id}",
        shard_id=shard.id,
        epoch=epoch,
        outcomes=(applied(load_balancer.id),),
    )
    assert (await world.store.reports.record_applied(report)).stale
    assert await world.load_balancer_row(load_balancer.id) == before


async def test_load_balancers_of_other_shards_are_left_alone(world: World) -> None:
    await with_tree(world)
    foreign = await world.placed(project_id="p2")
    assert not (await world.report(applied(foreign.id), project_id="p1")).stale
    assert (await world.load_balancer_row(foreign.id)).provisioning_status == "PENDING_CREATE"


async def test_report_counts_after_the_session_expired_until_somebody_takes_over(world: World) -> None:
    load_balancer, _ = await with_tree(world)
    await world.expire("a1")
    assert not (await world.report(applied(load_balancer.id))).stale


@pytest.mark.services
async def test_change_accepted_while_a_report_is_written_stays_pending(server_world: World) -> None:
    world = server_world
    load_balancer, _ = await with_tree(world)
    table = schema.load_balancer
    async with open_transaction(world) as run:
        change = (
            table.update()
            .where(table.c.id == load_balancer.id)
            .values(revision=2, provisioning_status="PENDING_UPDATE")
        )
        await run(lambda connection: connection.execute(change))
        report = asyncio.create_task(world.report(applied(load_balancer.id, 1)))
        await world.until_a_lock_is_waited_for()
    await report
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.revision, row.applied_revision) == ("PENDING_UPDATE", 2, 1)


@pytest.mark.services
async def test_takeover_while_a_report_waits_makes_it_stale(server_world: World) -> None:
    world = server_world
    load_balancer, _ = await with_tree(world)
    shard = await world.shard_of("p1")
    table = schema.shard
    async with open_transaction(world) as run:
        takeover = table.update().where(table.c.id == shard.id).values(epoch=2, acting_agent_id="a2")
        await run(lambda connection: connection.execute(takeover))
        report = asyncio.create_task(world.report(applied(load_balancer.id, 1)))
        await world.until_a_lock_is_waited_for()
    assert (await report).stale
    assert (await world.load_balancer_row(load_balancer.id)).applied_revision == 0


async def test_controllers_that_record_the_same_outcome_at_once_record_one_event(world: World) -> None:
    balancers = [(await with_tree(world))[0] for _ in range(5)]
    shard = await world.shard_of("p1")
    outcomes = tuple(applied(each.id) for each in balancers)
    report = ReportApplied(agent_id="a1", session_id="session-of-a1", shard_id=shard.id, epoch=1, outcomes=outcomes)
    other = world.another_controller()
    await asyncio.gather(*(store.reports.record_applied(report) for store in (world.store, other) * 3))
    assert len(await world.events("load_balancer_active")) == 5


# -- cost


@pytest.mark.parametrize("error", ["", "no"])
async def test_number_of_statements_does_not_depend_on_size(world: World, backend: str, error: str) -> None:
    await world.agent("a1")
    counts = []
    for count in (1, 200):
        balancers = await world.placed_trees(count)
        shard = await world.shard_of("p1")
        report = ReportApplied(
            agent_id="a1",
            session_id="session-of-a1",
            shard_id=shard.id,
            epoch=1,
            outcomes=tuple(applied(each.id, error=error) for each in balancers),
        )
        with statements() as sent:
            await world.store.reports.record_applied(report)
        counts.append(len(sent.sent))
    few = 6 if error else 5
    assert counts == ([few, few] if backend == "postgresql" else [10, 10])


async def test_repair_is_an_event_of_its_load_balancer(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    shard = await world.shard_of("p1")
    repairs = tuple(
        Repaired(load_balancer_id=id_, device="a", found=("a pool was gone; put back", "more"))
        for id_ in (load_balancer.id, "of somebody else")
    )
    report = ReportApplied(
        agent_id="a1", session_id="session-of-a1", shard_id=shard.id, epoch=shard.epoch, outcomes=(), repaired=repairs
    )
    assert not (await world.store.reports.record_applied(report)).stale
    (event,) = await world.events("device_repaired")
    assert (event.load_balancer_id, event.shard_id) == (load_balancer.id, shard.id)
    assert event.text == f"device a, load balancer {load_balancer.id}: a pool was gone; put back; more"
