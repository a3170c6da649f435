"""Totals of many load balancers at once."""

from typing import Any

from sqlalchemy import insert, update

from evenkeel.core.protocol.messages import ReportStatus
from evenkeel.core.resources.model import Listener, ListenerStatistics, LoadBalancer
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatistics, ObservedStatus
from evenkeel.core.status.traffic import TrafficReading
from evenkeel.store.records import schema
from tests.store.ownership_world import World, statements, world_fixture

__all__ = ["world_fixture"]

ALL = 1000


async def observed(world: World, *balancers: LoadBalancer, total: int = 7) -> None:
    """The devices are observed: each of the load balancers has one listener, and one member that is ONLINE."""
    common = await world.shard_of("")
    below = [await world.tree(each) for each in balancers]
    figures = ListenerStatistics(total_connections=total, bytes_in=2**40)
    await world.store.reports.record_observed(
        ReportStatus(
            agent_id="a1",
            session_id="session-a1",
            shard_id=common.id,
            epoch=1,
            number=total,
            statistics=tuple(ObservedStatistics(listener_id=ids["listener"], statistics=figures) for ids in below),
            statuses=tuple(
                ObservedStatus(kind="member", id=ids["member"], status=OperatingStatus.ONLINE) for ids in below
            ),
        )
    )


async def read(world: World, limit: int = ALL) -> TrafficReading:
    return await world.store.reports.read_traffic(limit=limit)


async def session_of(world: World) -> Any:
    return (await world.row(schema.agent, "a1")).session_id


async def test_totals_and_members_of_those_that_were_observed(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    seen, _ = await world.placed(), await world.placed()
    await observed(world, seen)
    reading = await read(world)
    (totals,) = reading.load_balancers
    assert (totals.load_balancer_id, totals.group, reading.counted) == (seen.id, ("east", 1), 1)
    assert totals.statistics == ListenerStatistics(total_connections=7, bytes_in=2**40)
    assert (totals.members_online, totals.members) == (1, 1)
    (group,) = reading.groups
    assert (group.group, group.report, group.watched) == (("east", 1), ("session-a1", 7), True)


async def test_several_listeners_have_totals_of_their_own(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    balancer = await world.placed()
    await observed(world, balancer)
    (first,) = (await read(world)).load_balancers
    assert first.listeners == ()
    project = {"load_balancer_id": balancer.id, "project_id": balancer.project_id}
    await world.add(Listener(id="listener-2", protocol="HTTP", protocol_port=8080, **project))
    totals = {"listener_id": "listener-2", "load_balancer_id": balancer.id}
    totals |= {"total_connections": 9, "bytes_in": 2**40, "bytes_out": 0, "active_connections": 0, "request_errors": 0}
    await world.store.database.write(lambda c: c.execute(insert(schema.listener_statistics).values(**totals)))
    (both,) = (await read(world)).load_balancers
    assert sorted(each.statistics.total_connections for each in both.listeners) == [7, 9]
    assert both.statistics == ListenerStatistics(total_connections=16, bytes_in=2**41)


async def test_deleted_members_do_not_count_and_others_are_not_online(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    balancer = await world.placed()
    await observed(world, balancer)
    for changes, expected in (
        ({"operating_status": "ERROR"}, (0, 1)),
        ({"operating_status": "NO_MONITOR"}, (1, 1)),
        ({"deleted": True, "live_key": "gone"}, (0, 0)),
    ):
        await world.store.database.write(lambda c, changes=changes: c.execute(update(schema.member).values(**changes)))
        (totals,) = (await read(world)).load_balancers
        assert (totals.members_online, totals.members) == expected


async def test_the_oldest_are_chosen_and_the_others_counted(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    balancers = [await world.placed(created_at=float(at)) for at in (30, 10, 20)]
    await observed(world, *balancers)
    reading = await read(world, limit=2)
    chosen = {totals.load_balancer_id for totals in reading.load_balancers}
    assert (chosen, reading.counted) == ({balancers[1].id, balancers[2].id}, 3)
    assert all(totals.members == 1 for totals in reading.load_balancers)


async def test_a_group_without_a_live_observer_or_device_is_not_watched(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    await world.placed()
    assert [group.watched for group in (await read(world)).groups] == [True]
    await world.store.database.write(lambda c: c.execute(update(schema.device_group).values(reach="none")))
    assert [group.watched for group in (await read(world)).groups] == [False]
    await world.store.database.write(lambda c: c.execute(update(schema.device_group).values(reach="reached")))
    await world.expire("a1")
    assert [group.watched for group in (await read(world)).groups] == [False]


async def test_members_whose_devices_nobody_sees_do_not_count_as_online(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    await observed(world, await world.placed())
    monitored = update(schema.member).values(operating_status="NO_MONITOR")  # kept when devices are cut off
    await world.store.database.write(lambda c: c.execute(monitored))
    await world.store.database.write(lambda c: c.execute(update(schema.device_group).values(reach="none")))
    (totals,) = (await read(world)).load_balancers
    assert (totals.members_online, totals.members) == (None, 1)
    await world.store.database.write(lambda c: c.execute(update(schema.device_group).values(reach="reached")))
    (totals,) = (await read(world)).load_balancers
    assert (totals.members_online, totals.members) == (1, 1)
    await world.expire("a1")
    (totals,) = (await read(world)).load_balancers
    assert (totals.members_online, totals.members) == (None, 1)


async def test_number_of_statements_does_not_depend_on_size(world: World) -> None:
    await world.agent("a1", session_id="session-a1")
    counts = []
    for count in (1, 60):
        await observed(world, *[await world.placed() for _ in range(count)], total=count)
        with statements() as sent:
            await read(world)
        counts.append(len([each for each in sent if each.startswith("SELECT")]))
    assert counts == [3, 3]
