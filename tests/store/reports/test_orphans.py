"""Partitions of tenants without a shard: recorded, listed, and given a shard if nothing speaks against it."""

from typing import Any

from sqlalchemy import update

from evenkeel.core.protocol.messages import ReportStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

DAY = 86_400.0
_orphan = schema.orphaned_partition


async def told(world: World, *tenants: str) -> None:
    common = await world.shard_of("")
    report = ReportStatus(
        agent_id="a1", session_id="session-of-a1", shard_id=common.id, epoch=common.epoch, tenants=tenants
    )
    await world.store.reports.record_orphaned_tenants(report)


async def listed(world: World) -> list[str]:
    return [one.project_id for one in await world.store.operators.orphaned_partitions("east", 1)]


async def aged(world: World, **values: Any) -> None:
    """The orphans were found, and the database's history begun, two days ago."""
    changed = {"found_at": db_now() - 2 * DAY, **values}
    await world.store.database.write(lambda connection: connection.execute(update(_orphan).values(**changed)))
    await begun(world, 3 * DAY)


async def begun(world: World, seconds_ago: float) -> None:
    statement = update(schema.history).values(begun_at=db_now() - seconds_ago)
    await world.store.database.write(lambda connection: connection.execute(statement))


async def serve(world: World) -> int:
    return await world.store.scheduling.create_shards_for_orphans(grace_seconds=DAY, limit=5)


async def test_tenants_without_a_shard_are_orphans_until_they_have_one_or_are_gone(world: World) -> None:
    await world.agent("a1")
    await world.placed()  # of p1
    await told(world, "p1", "x1", "x2")
    assert await listed(world) == ["x1", "x2"]
    await told(world, "x1", "x2")
    assert await listed(world) == ["x1", "x2"]
    await world.placed(project_id="x2")
    await told(world, "x1", "x2")
    assert await listed(world) == ["x1"]
    await aged(world, seen_at=db_now() - DAY)
    await told(world, "p1")
    assert await listed(world) == []


async def test_an_old_epoch_reports_nothing(world: World) -> None:
    await world.agent("a1")
    common = await world.shard_of("")
    report = ReportStatus(
        agent_id="a1", session_id="session-of-a1", shard_id=common.id, epoch=common.epoch + 1, tenants=("x",)
    )
    await world.store.reports.record_orphaned_tenants(report)
    assert await listed(world) == []


async def test_after_the_grace_time_the_observer_of_the_group_gets_the_shard(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    await told(world, "p1", "x1")
    await begun(world, 3 * DAY)
    assert await serve(world) == 0  # found just now
    await aged(world)
    assert await serve(world) == 1
    shard = await world.shard_of("x1")
    assert (shard.acting_agent_id, shard.epoch) == ("a1", 1)
    assert await listed(world) == [] and await serve(world) == 0
    assert (await world.store.operators.events(limit=100))[-1].kind == "orphan_removed"


async def test_a_database_that_may_be_the_wrong_one_removes_nothing(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    await told(world, "p1", "x1", "x2")
    await aged(world)
    assert await serve(world) == 0  # more orphans than tenants
    await world.placed(project_id="p2")
    await begun(world, DAY / 2)
    assert await serve(world) == 0  # a new history
    await aged(world, seen_at=db_now() - DAY)
    assert await serve(world) == 0  # nobody has seen them lately
    await aged(world, seen_at=db_now())
    assert await serve(world) == 2


async def test_after_the_clock_was_set_back_the_grace_time_begins_again_and_not_when_the_clock_has_caught_up(
    world: World,
) -> None:
    await world.agent("a1")
    await world.placed()
    await told(world, "p1", "x1")
    await aged(world, found_at=db_now() + 5 * DAY, seen_at=db_now() + 5 * DAY)
    await begun(world, -5 * DAY)
    assert await serve(world) == 0
    (orphan,) = await world.store.operators.orphaned_partitions("east", 1)
    assert 0 <= orphan.seconds < DAY
    for column, table in ((_orphan.c.found_at, _orphan), (schema.history.c.begun_at, schema.history)):
        assert await serve(world) == 0
        earlier = update(table).values({column: column - 1.5 * DAY})
        await world.store.database.write(lambda connection, it=earlier: connection.execute(it))  # type: ignore[misc]
    assert await serve(world) == 1
