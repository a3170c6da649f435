"""What an owner is told of its shards, giving back, and lifting the epoch."""

import pytest

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.errors import SessionLost
from evenkeel.core.protocol.messages import Assignment
from evenkeel.store.records import schema
from tests.store.ownership_world import World, applied, assign_one, statements, world_fixture

__all__ = ["world_fixture"]


async def assignment(world: World, shard_id: str, agent_id: str = "a1", work_limit: int = 100) -> Assignment:
    answer = await world.store.ownership.assignments(agent_id, f"session-of-{agent_id}", work_limit=work_limit)
    (found,) = [each for each in answer.shards if each.shard_id == shard_id]
    return found


# -- assignments


async def test_assignments_name_shards_and_unconfirmed_load_balancers(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    answer = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)
    assert answer.revision == await world.assignments_revision("a1")
    by_project = {each.project_id: each for each in answer.shards}
    assert set(by_project) == {"", "p1"}
    assert by_project["p1"].work == (load_balancer.id,) and by_project["p1"].epoch == 1
    assert by_project[""].work == ()


async def test_confirmed_load_balancers_are_no_work_and_failed_ones_are(world: World) -> None:
    await world.agent("a1")
    good, bad = await world.placed(), await world.placed()
    await world.report(applied(good.id), applied(bad.id, error="no"))
    shard = await world.shard_of("p1")
    assert (await assignment(world, shard.id)).work == (bad.id,)


async def test_work_is_limited_over_all_shards_oldest_first(world: World) -> None:
    await world.agent("a1")
    ids = [(await world.placed(project_id=f"p{number % 2}", created_at=float(number))).id for number in range(6)]
    answer = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=3)
    assert {id_ for each in answer.shards for id_ in each.work} == set(ids[:3])


async def test_failed_load_balancers_do_not_hide_pending_ones(world: World) -> None:
    await world.agent("a1")
    failed = [await world.placed(created_at=1.0) for _ in range(3)]
    pending = await world.placed(created_at=2.0)
    await world.report(*(applied(each.id, error="no") for each in failed))
    shard = await world.shard_of("p1")
    assert (await assignment(world, shard.id, work_limit=1)).work == (pending.id,)
    seen: set[str] = set()
    for _ in range(200):  # each failed one has its turn
        seen.update((await assignment(world, shard.id, work_limit=2)).work)
    assert seen == {pending.id, *(each.id for each in failed)}


async def test_assignments_of_an_ended_session_are_refused(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    with pytest.raises(SessionLost):
        await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)
    with pytest.raises(SessionLost):
        await world.store.ownership.assignments("nobody", "session", work_limit=10)


async def test_named_assignments_are_those_of_the_agent_among_the_named_shards(world: World) -> None:
    await world.agent("a1")
    mine = [(await world.placed(project_id=f"p{number}")).id for number in range(3)]
    shards = [await world.shard_of(f"p{number}") for number in range(3)]
    await world.agent("a2")
    named = [shards[0].id, shards[2].id, "nobody's"]
    answer = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=100, limit=1000, shard_ids=named)
    assert {each.shard_id: each.work for each in answer.shards} == {shards[0].id: (mine[0],), shards[2].id: (mine[2],)}
    others = await world.store.ownership.assignments("a2", "session-of-a2", work_limit=100, shard_ids=named)
    assert others.shards == ()


async def test_pages_of_assignments_are_those_of_the_whole_with_the_work_of_their_own_shards(world: World) -> None:
    await world.agent("a1")
    for number in range(5):
        await world.placed(project_id=f"p{number}")
    whole = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=100)
    assert (whole.after_id, whole.more, len(whole.shards)) == ("", False, 6)
    pages = [await world.store.ownership.assignments("a1", "session-of-a1", work_limit=100, limit=2)]
    while pages[-1].more:
        after = pages[-1].shards[-1].shard_id
        page = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=100, limit=2, after_id=after)
        assert page.after_id == after
        pages.append(page)
    assert [len(page.shards) for page in pages] == [2, 2, 2]
    assert tuple(shard for page in pages for shard in page.shards) == whole.shards
    assert {page.revision for page in pages} == {whole.revision}
    assert sum(len(shard.work) for shard in whole.shards) == 5


async def test_a_page_after_the_last_shard_is_empty(world: World) -> None:
    await world.agent("a1")
    await world.placed()
    (_, last) = (await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)).shards
    page = await world.store.ownership.assignments(
        "a1", "session-of-a1", work_limit=10, limit=1, after_id=last.shard_id
    )
    assert (page.shards, page.more) == ((), False)


async def test_work_of_a_page_is_limited_by_itself(world: World) -> None:
    await world.agent("a1")
    for number in range(4):
        await world.placed(project_id=f"p{number}")
    seen: set[str] = set()
    after, more = "", True
    while more:
        page = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=1, limit=2, after_id=after)
        seen |= {id_ for shard in page.shards for id_ in shard.work}
        after, more = page.shards[-1].shard_id, page.more
    assert len(seen) in (2, 3)  # the common shard is in one of the pages


async def test_a_page_of_assignments_costs_no_more_statements(world: World) -> None:
    await world.agent("a1")
    for number in range(20):
        await world.placed(project_id=f"p{number}")
    with statements() as seen:
        await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10, limit=5)
    assert len(seen.sent) in (3, 4)


async def test_assignments_cost_four_statements(world: World) -> None:
    await world.agent("a1")
    for number in range(20):
        await world.placed(project_id=f"p{number}")
    with statements() as seen:
        await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)
    assert len(seen.sent) == 4  # one for the common shard's networks


async def test_work_is_found_by_index(world: World) -> None:
    if world.db.sync_engines()[0].dialect.name != "sqlite":
        pytest.skip("a small table is always scanned on PostgreSQL")
    await world.agent("a1")
    await world.placed()
    with statements() as seen:
        await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)
    plan = await world.db.read(
        lambda c: c.exec_driver_sql(
            "EXPLAIN QUERY PLAN " + seen.sent[2], ("a1", *["x"] * (seen.sent[2].count("?") - 1))
        ).all()
    )
    assert any("ix_load_balancer_shard_work" in row[3] for row in plan), plan


# -- giving back


async def test_released_shard_is_free(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    before = await world.assignments_revision("a1")
    assert await world.store.ownership.release_shard("a1", "session-of-a1", owner.shard_id, 1) is None
    row = await world.shard(owner.shard_id)
    assert (row.acting_agent_id, row.epoch) == (None, 1)
    assert await world.assignments_revision("a1") == before + 1
    assert len(await world.events("shard_released")) == 1


async def test_late_release_changes_nothing(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.expire("a1")
    await assign_one(world.store, owner.shard_id, 1, "a2")
    assert await world.store.ownership.release_shard("a1", "session-of-a1", owner.shard_id, 1) is None
    assert await world.store.ownership.release_shard("a1", "session-of-a1", owner.shard_id, 2) is None
    assert (await world.shard(owner.shard_id)).acting_agent_id == "a2"
    assert await world.events("shard_released") == []


async def handover_to_a1(world: World) -> str:
    """A shard whose home a1 is back, served by a2, which was asked to hand it over."""
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.expire("a1")
    await assign_one(world.store, owner.shard_id, 1, "a2")
    await world.agent("a1", session_id="second")
    asked = await world.store.scheduling.start_handover(owner.shard_id, 2, "a1")
    assert asked is not None and asked.host == "host-of-a2"
    return owner.shard_id


async def test_owner_is_informed_of_the_handover_and_its_release_passes_the_shard_on(world: World) -> None:
    shard_id = await handover_to_a1(world)
    assert (await assignment(world, shard_id, "a2")).handover
    before = {agent_id: await world.assignments_revision(agent_id) for agent_id in ("a1", "a2")}
    given = await world.store.ownership.release_shard("a2", "session-of-a2", shard_id, 2)
    assert given == ShardOwner(shard_id=shard_id, environment="east", group_number=1, host="host-of-a1")
    row = await world.shard(shard_id)
    assert (row.acting_agent_id, row.epoch, row.handover_to) == ("a1", 3, None)
    for agent_id, revision in before.items():
        assert await world.assignments_revision(agent_id) == revision + 1
    (event,) = await world.events("shard_handed_over")
    assert "host-of-a2" in event.text and "host-of-a1" in event.text


@pytest.mark.parametrize("unfit", ["dead", "administratively down"])
async def test_shard_is_free_when_its_receiver_is_not_fit_any_more(world: World, unfit: str) -> None:
    shard_id = await handover_to_a1(world)
    if unfit == "dead":
        await world.expire("a1")
    else:
        await world.change(schema.agent, "a1", admin_state_up=False)
    assert await world.store.ownership.release_shard("a2", "session-of-a2", shard_id, 2) is None
    row = await world.shard(shard_id)
    assert (row.acting_agent_id, row.epoch, row.handover_to) == (None, 2, None)


async def test_repeated_release_after_a_handover_is_harmless(world: World) -> None:
    shard_id = await handover_to_a1(world)
    await world.store.ownership.release_shard("a2", "session-of-a2", shard_id, 2)
    assert await world.store.ownership.release_shard("a2", "session-of-a2", shard_id, 2) is None
    assert (await world.shard(shard_id)).acting_agent_id == "a1"


# -- lifting the epoch


async def test_epoch_is_lifted_above_the_guard(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    assert await world.store.ownership.raise_epoch("a1", "session-of-a1", owner.shard_id, 1, 41)
    row = await world.shard(owner.shard_id)
    assert (row.acting_agent_id, row.epoch) == ("a1", 42)
    assert len(await world.events("epoch_raised")) == 1


async def test_epoch_is_not_lifted_for_one_that_lost_the_shard(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    assert not await world.store.ownership.raise_epoch("a2", "session-of-a2", owner.shard_id, 1, 41)
    assert await world.store.ownership.raise_epoch("a1", "session-of-a1", owner.shard_id, 1, 41)
    assert not await world.store.ownership.raise_epoch("a1", "session-of-a1", owner.shard_id, 1, 41)
    assert (await world.shard(owner.shard_id)).epoch == 42
