"""Overdue changes, changes that wait, and old events."""

import asyncio

import pytest
from sqlalchemy import Connection, insert, text, update

from evenkeel.core.control.events import Event
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.scheduling import cleanup
from tests.store.ownership_world import World, applied, statements, world_fixture

__all__ = ["world_fixture"]


async def overdue(world: World) -> str:
    load_balancer = await world.placed()
    await world.change(schema.load_balancer, load_balancer.id, pending_deadline=db_now() - 1.0)
    return load_balancer.id


async def test_overdue_one_becomes_error_with_all_below_and_heals(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    below = await world.tree(load_balancer)
    await world.change(schema.load_balancer, load_balancer.id, pending_deadline=db_now() - 1.0)
    assert await world.store.scheduling.mark_overdue_load_balancers(limit=10) == 1
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.provisioning_status, row.pending_deadline) == ("ERROR", None)
    assert row.status_reason == "not confirmed by its device within 100 s; still being retried"
    assert (await world.row(schema.member, below["member"])).provisioning_status == "ERROR"
    (event,) = await world.events("load_balancer_overdue")
    assert (event.load_balancer_id, event.environment, event.shard_id) == (load_balancer.id, "east", row.shard_id)
    await world.report(applied(load_balancer.id))
    assert (await world.load_balancer_row(load_balancer.id)).provisioning_status == "ACTIVE"
    assert (await world.row(schema.member, below["member"])).provisioning_status == "ACTIVE"


async def test_overdue_one_keeps_the_reason_why_it_waited(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    why = {"status_reason": "device b: no connection", "pending_deadline": db_now() - 1.0}
    await world.change(schema.load_balancer, load_balancer.id, **why)
    await world.store.scheduling.mark_overdue_load_balancers(limit=10)
    row = await world.load_balancer_row(load_balancer.id)
    assert row.status_reason == "not confirmed by its device within 100 s; still being retried: device b: no connection"


async def test_sweeper_leaves_objects_in_time_active_or_unplaced(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    confirmed = await world.placed()
    await world.report(applied(confirmed.id))
    waiting = await world.load_balancer()
    await world.change(schema.load_balancer, waiting.id, pending_deadline=db_now() - 1.0)
    with statements() as seen:
        assert await world.store.scheduling.mark_overdue_load_balancers(limit=10) == 0
    assert len(seen.sent) == 1


async def test_sweeper_reads_pending_objects_only(world: World) -> None:
    if world.db.sync_engines()[0].dialect.name != "postgresql":
        pytest.skip("its plans name conditions of indexes")

    def plan(connection: Connection) -> str:
        for way in ("seqscan", "sort"):  # those of a small table
            connection.execute(text(f"SET LOCAL enable_{way} = off"))
        sought = cleanup.overdue_load_balancer_ids_query(100.0, 10).compile(
            dialect=connection.dialect, compile_kwargs={"literal_binds": True}
        )
        return "\n".join(connection.execute(text(f"EXPLAIN {sought}".replace(":", "\\:"))).scalars())

    assert "Index Cond: (pending_deadline IS NOT NULL)" in await world.db.write(plan)


async def test_no_more_than_the_limit_at_a_time(world: World) -> None:
    await world.agent("a1")
    for _ in range(3):
        await overdue(world)
    assert await world.store.scheduling.mark_overdue_load_balancers(limit=2) == 2
    assert await world.store.scheduling.mark_overdue_load_balancers(limit=2) == 1


async def test_sweepers_at_once_mark_each_once(world: World) -> None:
    await world.agent("a1")
    for _ in range(6):
        await overdue(world)
    other = world.another_controller()
    marked = await asyncio.gather(
        *(store.scheduling.mark_overdue_load_balancers(limit=10) for store in (world.store, other) * 3)
    )
    assert sum(marked) == 6
    assert len(await world.events("load_balancer_overdue")) == 6


async def test_event_is_stored_at_the_databases_time(world: World) -> None:
    await world.store.scheduling.add_event(Event(kind="k", text="t" * 5_000, agent_id="a1", at=1.0))
    (event,) = await world.events()
    assert (event.kind, event.agent_id) == ("k", "a1")
    assert event.at > 1_000_000.0 and len(event.text) == 2_000


async def test_oldest_events_are_trimmed(world: World) -> None:
    for number in range(5):
        await world.store.scheduling.add_event(Event(kind="k", text=str(number)))
    assert await world.store.scheduling.trim_events(keep=2, limit=2) == 2
    assert [event.text for event in await world.events()] == ["2", "3", "4"]
    assert await world.store.scheduling.trim_events(keep=2, limit=2) == 1
    assert [event.text for event in await world.events()] == ["3", "4"]
    assert await world.store.scheduling.trim_events(keep=2, limit=2) == 0


async def hosts_of_waiting(world: World, waited_seconds: float = 10.0, limit: int = 10) -> list[str]:
    return sorted(
        owner.host
        for owner in await world.store.scheduling.read_owners_with_waiting_work(
            waited_seconds=waited_seconds, limit=limit
        )
    )


async def test_owners_of_what_waits_for_long_are_found_with_their_observer(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    await world.agent("b1", group_number=2)
    first = await world.placed()
    await world.placed()
    assert await hosts_of_waiting(world) == []
    await world.change(schema.load_balancer, first.id, pending_deadline=db_now() + 80.0)  # of 100 s
    shard = (await world.load_balancer_row(first.id)).shard_id
    hosts = {row.id: row.host for row in await world.rows(schema.agent)}
    owners = {row.acting_agent_id for row in await world.rows(schema.shard) if row.id == shard}
    observers = {
        row.acting_agent_id for row in await world.rows(schema.shard) if not row.project_id and row.group_number == 1
    }
    assert await hosts_of_waiting(world) == sorted(hosts[id_] for id_ in owners | observers)


async def test_confirmed_or_unplaced_load_balancer_waits_for_no_agent(world: World) -> None:
    await world.agent("a1")
    confirmed = await world.placed()
    await world.report(applied(confirmed.id))
    unplaced = await world.load_balancer()
    await world.change(schema.load_balancer, unplaced.id, pending_deadline=db_now() - 1.0)
    with statements() as seen:
        assert await hosts_of_waiting(world) == []
    assert len(seen.sent) == 2


async def test_networks_that_are_not_as_wanted_wait_for_the_owner_of_the_common_shard(world: World) -> None:
    await world.agent("a1")
    (common,) = [row for row in await world.rows(schema.shard) if not row.project_id]
    network = {"shard_id": common.id, "network_id": "n", "revision": 2, "applied_revision": 1, "reason": ""}
    await world.db.write(lambda c: c.execute(insert(schema.common_network).values(**network)))
    assert await hosts_of_waiting(world) == ["host-of-a1"]
    await world.db.write(lambda c: c.execute(update(schema.common_network).values(applied_revision=2)))
    assert await hosts_of_waiting(world) == []
