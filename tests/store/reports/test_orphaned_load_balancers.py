"""Load balancers on devices that the database does not know: deleted ones go at once, others after the grace time."""

from typing import Any

import pytest
from sqlalchemy import insert, update

from evenkeel.core.kit.errors import NotFound, SessionLost
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.protocol.messages import JudgeOrphans, OrphanVerdict
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import UNKNOWN_HISTORY
from evenkeel.store.reports.orphaned_load_balancers import REMOVAL_PAUSE_SECONDS
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

DAY = 86_400.0
_orphan = schema.orphaned_load_balancer


async def asked(world: World, *ids: str, grace: float = DAY, limit: int = 10, epoch: int = 0) -> OrphanVerdict:
    shard = await world.shard_of("p1")
    call = JudgeOrphans(
        agent_id="a1",
        session_id="session-of-a1",
        shard_id=shard.id,
        epoch=epoch or shard.epoch,
        load_balancer_ids=tuple(map(LoadBalancerId, ids)),
    )
    return await world.store.reports.decide_orphans(call, grace_seconds=grace, limit=limit)


async def aged(world: World, history: float = 3 * DAY, **values: Any) -> None:
    """The orphans were found two days ago, and the database's history began before."""
    found = update(_orphan).values(**{"found_at": db_now() - 2 * DAY, **values})
    begun = update(schema.history).values(begun_at=db_now() - history)
    await world.store.database.write(lambda connection: connection.execute(found))
    await world.store.database.write(lambda connection: connection.execute(begun))


async def test_unknown_ones_wait_for_the_grace_time_and_go_some_at_a_time(world: World) -> None:
    await world.agent("a1")
    known = (await world.placed()).id
    first = await asked(world, "x1", "x2", "x3", known)
    assert first.remove == () and first.kept.keys() == {"x1", "x2", "x3"}
    assert first.again_seconds is not None and first.again_seconds <= 1800
    await aged(world)
    second = await asked(world, "x1", "x2", "x3", limit=2)
    assert second.remove == ("x1", "x2") and second.kept.keys() == {"x3"}
    assert second.again_seconds == REMOVAL_PAUSE_SECONDS


async def test_a_young_history_and_a_grace_time_of_0_keep_all(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    await asked(world, "x1")
    await aged(world, history=0.5 * DAY)
    assert (await asked(world, "x1")).remove == ()
    await aged(world)
    never = await asked(world, "x1", grace=0.0)
    assert never.remove == () and never.kept == {"x1": None}


async def test_after_the_clock_was_set_back_the_grace_time_begins_again_and_not_when_the_clock_has_caught_up(
    world: World,
) -> None:
    await world.agent("a1")
    await world.placed()
    await asked(world, "x1")
    await aged(world, history=-5 * DAY, found_at=db_now() + 5 * DAY)
    waits = (await asked(world, "x1")).kept["x1"]
    assert waits is not None and DAY - 3600 < waits <= DAY
    passed = update(schema.history).values(begun_at=schema.history.c.begun_at - DAY / 2)
    await world.store.database.write(lambda connection: connection.execute(passed))
    found = update(_orphan).values(found_at=_orphan.c.found_at - DAY / 2)
    await world.store.database.write(lambda connection: connection.execute(found))
    waits = (await asked(world, "x1")).kept["x1"]
    assert waits is not None and DAY / 2 - 3600 < waits <= DAY / 2
    await aged(world)
    assert (await asked(world, "x1")).remove == ("x1",)


async def test_only_the_owner_is_answered(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    with pytest.raises(SessionLost):
        await asked(world, "x1", epoch=7)


async def test_an_operator_has_one_removed_at_once(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    with pytest.raises(NotFound):
        await world.store.operators.remove_orphan(LoadBalancerId("x1"))
    await asked(world, "x1", "x2")
    (owner,) = await world.store.operators.remove_orphan(LoadBalancerId("x1"))
    assert owner.shard_id == (await world.shard_of("p1")).id
    assert (await asked(world, "x1", "x2")).remove == ("x1",)


async def test_deleted_one_stays_while_a_history_is_unknown_and_is_queried_again(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    removed = insert(schema.removed_load_balancer).values(id="gone", removed_at=db_now())
    unknown = insert(schema.other_history).values(id="another's", kind=UNKNOWN_HISTORY, noted_at=1.0, agent_id="a1")
    for statement in (removed, unknown):
        await world.store.database.write(lambda connection, statement=statement: connection.execute(statement))  # type: ignore[misc]
    halted = await asked(world, "gone")
    assert (halted.remove, halted.kept, halted.again_seconds) == ((), {"gone": None}, REMOVAL_PAUSE_SECONDS)
    await world.store.operators.accept_history("another's")
    assert (await asked(world, "gone")).remove == ("gone",)
