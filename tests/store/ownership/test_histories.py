"""A database that does not know what it confirmed to an agent has lost commits: a new history begins."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.kit.errors import SessionLost
from evenkeel.core.protocol.messages import ConfirmedState, FormerShard, ReportApplied, SessionState
from evenkeel.core.status.outcomes import Applied
from evenkeel.store.engine.clock import db_now
from evenkeel.store.ownership import former_agents, lost_shards
from evenkeel.store.ownership.histories import HISTORY_RENEWED_REASON
from evenkeel.store.records import schema
from tests.store.ownership_world import TTL_SECONDS, World, alive, registration, statements, world_fixture

__all__ = ["world_fixture"]

SESSION = "session-of-a1"
CHANGE, ANOTHER = "00000001-change", "00000002-change"


@pytest.fixture(name="old")
async def old_fixture(world: World) -> AsyncIterator[World]:
    """With agent a1; its history began long ago."""
    await age(world)
    await world.agent("a1")
    yield world


async def age(world: World, seconds: float = 3600.0) -> None:
    statement = update(schema.history).values(begun_at=db_now() - seconds)
    await world.db.write(lambda connection: connection.execute(statement))


async def keep(world: World, seen: ConfirmedState | None = None, agent_id: str = "a1") -> SessionState:
    return await world.store.ownership.renew_session(alive(agent_id, seen=seen), ttl_seconds=TTL_SECONDS)


async def served(world: World) -> tuple[str, str]:
    """A load balancer that is ACTIVE at revision 1, and the id of its shard."""
    lb = await world.placed(change_id=CHANGE)
    shard = await world.shard_of("p1")
    await report(world, shard.id, Applied(load_balancer_id=lb.id, revision=1, change_id=CHANGE))
    return lb.id, shard.id


async def report(world: World, shard_id: str, outcome: Applied, history: str = "") -> None:
    call = ReportApplied(
        agent_id="a1", session_id=SESSION, shard_id=shard_id, epoch=1, outcomes=(outcome,), history=history
    )
    assert not (await world.store.reports.record_applied(call)).stale


async def test_each_keepalive_is_numbered_and_says_the_history_with_one_statement(old: World) -> None:
    first = await keep(old)
    with statements() as sent:
        second = await keep(old, ConfirmedState(history=first.history, keepalives=first.keepalives))
    assert second.keepalives == first.keepalives + 1
    assert first.history == second.history == (await old.operator.history()).id != ""
    assert len(sent.sent) <= 2  # MariaDB has no UPDATE that returns


async def test_a_keepalive_that_the_database_does_not_have_begins_a_new_history(old: World) -> None:
    lb, _ = await served(old)
    before = await keep(old)
    seen = ConfirmedState(history=before.history, keepalives=before.keepalives)
    await old.change(schema.agent, "a1", keepalives=before.keepalives - 1)  # a commit is lost
    after = await keep(old, seen)
    assert after.history not in ("", before.history)
    assert after.keepalives == before.keepalives - 1
    assert (await keep(old, seen)).history == after.history, "it speaks of the history before"
    again = await keep(old, ConfirmedState(history=after.history, keepalives=after.keepalives))
    assert (again.history, again.keepalives) == (after.history, after.keepalives + 1)
    row = await old.load_balancer_row(lb)
    assert (row.provisioning_status, row.status_reason) == ("PENDING_UPDATE", HISTORY_RENEWED_REASON)
    assert row.pending_deadline is not None
    (event,) = await old.events("history_begun")
    assert "agent host-of-a1 (a1): keepalive" in event.text


async def test_confirmation_in_a_new_history_makes_active_without_an_event(old: World) -> None:
    lb, shard_id = await served(old)
    said = len(await old.events("load_balancer_active"))
    history = (await old.operator.renew_history()).id
    await report(old, shard_id, Applied(load_balancer_id=lb, revision=1, change_id=CHANGE), history)
    row = await old.load_balancer_row(lb)
    assert (row.provisioning_status, row.status_reason, row.pending_deadline) == ("ACTIVE", "", None)
    assert len(await old.events("load_balancer_active")) == said


async def test_a_loss_is_known_until_a_new_history_has_begun(old: World) -> None:
    before = await keep(old)
    await old.change(schema.agent, "a1", keepalives=before.keepalives - 1)
    await age(old, 1.0)  # another agent's loss was just dealt with, or somebody lies
    seen = ConfirmedState(history=before.history, keepalives=before.keepalives)
    assert [(await keep(old, seen)).history for _ in range(3)] == [before.history] * 3
    await age(old)
    assert (await keep(old, seen)).history != before.history


@pytest.mark.parametrize(
    ("revision", "change_id", "lost"),
    [(1, CHANGE, False), (2, CHANGE, True), (1, ANOTHER, True), (1, "", False), (0, CHANGE, False)],
)
async def test_a_confirmed_change_that_the_database_does_not_have_proves_it_too(
    old: World, revision: int, change_id: str, lost: bool
) -> None:
    lb, _ = await served(old)
    before = await keep(old)
    confirmed = Applied(load_balancer_id=lb, revision=revision, change_id=change_id)
    after = await keep(old, ConfirmedState(history=before.history, keepalives=before.keepalives, confirmed=confirmed))
    assert (after.history != before.history) is lost
    gone = replace(confirmed, load_balancer_id="removed since")
    assert (await keep(old, ConfirmedState(history=after.history, confirmed=gone))).history == after.history


async def test_a_confirmed_load_balancer_that_does_not_exist_is_looked_for_in_its_shard(old: World) -> None:
    """It was made within the seconds that were lost, or removed a moment ago: that proves nothing."""
    lb, shard_id = await served(old)
    before = await keep(old)
    gone = ConfirmedState(
        history=before.history,
        keepalives=before.keepalives,
        confirmed=Applied(load_balancer_id="made in the lost seconds", revision=1, change_id=CHANGE),
        confirmed_in=ShardEpoch(shard_id=shard_id, epoch=1),
    )
    for shard in (
        None,  # the agent removed it itself
        ShardEpoch(shard_id=shard_id, epoch=2),  # another one may have
        ShardEpoch(shard_id="another", epoch=1),
        ShardEpoch(shard_id=shard_id, epoch=2**70),
    ):
        assert (await keep(old, replace(gone, confirmed_in=shard))).unknown_in is None
    assert (await keep(old, replace(gone, history="another"))).unknown_in is None
    with statements() as plain:
        await keep(old)
    with statements() as sent:
        there = await keep(old, replace(gone, confirmed=replace(gone.confirmed, load_balancer_id=lb)))
    assert there.unknown_in is None and len(sent) == len(plain) + 1
    told = await keep(old, gone)
    assert (told.history, told.unknown_in) == (before.history, gone.confirmed_in)


async def test_a_shard_that_an_agent_was_given_and_that_does_not_exist_proves_it(old: World) -> None:
    """The first load balancer of a tenant was lost before anything of it was confirmed."""
    _, shard_id = await served(old)
    before = await keep(old)
    seen = ConfirmedState(history=before.history, keepalives=before.keepalives, left=shard_id)
    assert (await keep(old, seen)).history == before.history
    assert (await keep(old, replace(seen, left="lost"))).history != before.history


async def test_a_report_of_a_change_that_the_database_does_not_have_proves_it(old: World) -> None:
    lb, shard_id = await served(old)
    history = (await old.operator.history()).id
    lost = Applied(load_balancer_id=lb, revision=2, change_id=ANOTHER)
    await report(old, shard_id, lost, "another history")
    await report(old, shard_id, lost)  # as an agent of the version before
    assert (await old.operator.history()).id == history
    await report(old, shard_id, lost, history)
    assert (await old.operator.history()).id != history
    assert (await old.load_balancer_row(lb)).applied_revision == 1


async def test_a_process_that_opens_a_new_session_tells_what_it_was_told_in_the_one_before(old: World) -> None:
    before = await keep(old)
    seen = ConfirmedState(history=before.history, keepalives=before.keepalives)
    await old.expire("a1")
    opened = await old.agent("a1", session_id="second", seen=seen)
    assert (opened.history, opened.keepalives) == (before.history, before.keepalives)
    await old.expire("a1")
    ahead = replace(seen, keepalives=before.keepalives + 5)  # the session that said so is lost, too
    opened = await old.agent("a1", session_id="third", seen=ahead)
    assert opened.history != before.history


async def test_an_agent_whose_row_is_lost_tells_so(old: World) -> None:
    history = (await old.operator.history()).id
    opened = await old.store.ownership.register(
        registration("a9", seen=ConfirmedState(history=history, keepalives=3)), ttl_seconds=TTL_SECONDS
    )
    assert opened.history != history


async def test_only_the_first_agent_waits_while_a_new_history_begins(
    old: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All agents find out at once, and beginning locks all that was ACTIVE: their keepalives must not expire for it."""
    await old.agent("a2")
    seen = {agent: await keep(old, agent_id=agent) for agent in ("a1", "a2")}
    for agent in seen:
        await old.change(schema.agent, agent, keepalives=0)
    told = {agent: ConfirmedState(history=state.history, keepalives=state.keepalives) for agent, state in seen.items()}
    begun, go_on = asyncio.Event(), asyncio.Event()
    begin = old.store.histories.begin_history

    async def slowly(*args: str) -> str:
        begun.set()
        await go_on.wait()
        return await begin(*args)

    monkeypatch.setattr(old.store.histories, "begin_history", slowly)
    first = asyncio.create_task(keep(old, told["a1"]))
    await begun.wait()
    async with asyncio.timeout(60.0):
        assert (await keep(old, told["a2"], "a2")).history == seen["a2"].history
        assert (await keep(old, told["a1"])).history == seen["a1"].history
    go_on.set()
    after = await first
    assert after.history != seen["a1"].history
    assert (await keep(old, told["a2"], "a2")).history == after.history


@pytest.mark.parametrize("by", ["operator", "successor"])
async def test_an_agent_that_was_deleted_and_comes_back_proves_nothing(old: World, by: str) -> None:
    for _ in range(3):
        before = await keep(old)
    seen = ConfirmedState(history=before.history, keepalives=before.keepalives)
    common = await old.shard_of("")
    await old.agent("a2")
    await old.expire("a1")
    if by == "operator":
        await old.operator.delete_agent("a1", rebind_to="a2")
    else:
        await old.change(schema.shard, common.id, home_agent_id="a2", acting_agent_id="a2")
        await old.agent("a3", host="host-of-a1")
    back = registration("a1", host="elsewhere", session_id="second", seen=seen)
    opened = await old.store.ownership.register(back, ttl_seconds=TTL_SECONDS)
    again = await old.store.ownership.register(back, ttl_seconds=TTL_SECONDS)  # the answer was lost
    assert opened.history == again.history == before.history
    assert before.keepalives == opened.keepalives < again.keepalives
    assert await old.rows(schema.former_agent) == []

    await old.change(schema.agent, "a1", keepalives=0)  # a commit is lost
    told = ConfirmedState(history=again.history, keepalives=again.keepalives)
    assert (
        await old.store.ownership.renew_session(alive("a1", "second", seen=told), ttl_seconds=TTL_SECONDS)
    ).history != before.history


async def test_deleted_agents_are_kept_in_mind_up_to_a_bound(old: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_agents, "FORMER_AGENTS_MAX", 2)
    for number in range(4):
        await old.agent(f"b{number}")
        await old.store.ownership.end_session(f"b{number}", f"session-of-b{number}")
        await old.operator.delete_agent(f"b{number}")
        if number == 2:
            assert {row.id for row in await old.rows(schema.former_agent)} == {"b1", "b2"}
    assert {row.id for row in await old.rows(schema.former_agent)} == {"b2", "b3"}


async def test_of_two_who_find_it_out_one_begins_the_new_history(old: World) -> None:
    await old.agent("a2")
    before = await keep(old)
    seen = ConfirmedState(history=before.history, keepalives=50)
    histories = {(await keep(old, seen)).history, (await keep(old, seen, "a2")).history}
    assert len(histories) == 1 and len(await old.events("history_begun")) == 1


async def test_an_operator_begins_one_at_any_time(old: World) -> None:
    first = await old.operator.renew_history()
    second = await old.operator.renew_history()
    assert first.id != second.id and second.begun_at >= first.begun_at > 0
    assert await old.operator.history() == second


# -- shards that were lost


async def test_a_shard_that_the_database_lost_is_made_again_for_who_served_it(old: World) -> None:
    await old.operator.renew_history()
    revision = await old.assignments_revision("a1")
    lost = (FormerShard(project_id="p9", epoch=7), FormerShard(project_id="", epoch=1))
    answer = await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
    assert {(each.project_id, each.epoch) for each in answer.shards} == {("", 1), ("p9", 8)}
    assert answer.revision == revision + 1 and answer.history == (await old.operator.history()).id
    again = await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
    assert len(again.shards) == 2 and len(await old.events("shard_restored")) == 1


async def test_an_agent_that_lies_makes_so_many_shards_in_all_with_one_event_for_each_call(
    old: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_shards, "RESTORED_SHARDS_TOTAL_MAX", 6)
    await old.agent("a2")
    await old.tenant("before")
    await old.operator.renew_history()
    for call in range(4):
        lost = tuple(FormerShard(project_id=f"p{call}-{number}", epoch=1) for number in range(4))
        await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
        await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
    made = [row.project_id for row in await old.rows(schema.shard) if row.project_id.startswith("p")]
    assert sorted(made) == ["p0-0", "p0-1", "p0-2", "p0-3", "p1-0", "p1-1"]
    events = await old.events("shard_restored")
    assert len(events) == 2 and "p0-2 and 1 more" in events[0].text
    await old.store.ownership.assignments("a2", "session-of-a2", work_limit=9, served=lost)
    assert await old.shard_of("p3-0") is not None
    await age(old, 1.0)
    await old.operator.renew_history()
    await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=(FormerShard(project_id="q", epoch=1),))
    assert await old.shard_of("q") is not None


async def test_calls_at_the_same_time_make_no_more_shards_than_one(old: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_shards, "RESTORED_SHARDS_TOTAL_MAX", 6)
    await old.operator.renew_history()
    calls = (tuple(FormerShard(project_id=f"p{call}-{number}", epoch=1) for number in range(4)) for call in range(6))
    await asyncio.gather(*(old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost) for lost in calls))
    assert len([row for row in await old.rows(schema.shard) if row.project_id]) <= 6


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
async def test_shards_that_were_not_looked_at_because_the_clock_was_set_are_requested_again(
    old: World, seconds: float
) -> None:
    await old.operator.renew_history()
    await age(old, seconds)
    lost = (FormerShard(project_id="p9", epoch=7),)
    answer = await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
    assert answer.served_ignored and {each.project_id for each in answer.shards} == {""}
    await old.operator.renew_history()
    answer = await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
    assert not answer.served_ignored and {each.project_id for each in answer.shards} == {"", "p9"}
    assert not (await old.store.ownership.assignments("a1", SESSION, work_limit=9)).served_ignored


async def test_a_shard_that_is_known_stays_with_its_owner(old: World) -> None:
    await old.agent("a2")
    owner = await old.tenant("p1", home="a1")
    await old.operator.renew_history()
    await old.store.ownership.assignments(
        "a2", "session-of-a2", work_limit=9, served=(FormerShard(project_id="p1", epoch=9),)
    )
    row = await old.shard(owner.shard_id)
    assert (row.acting_agent_id, row.epoch) == ("a1", 1)


async def test_former_shard_is_restored_only_in_a_new_history_and_for_its_agent(old: World) -> None:
    lost = (FormerShard(project_id="p9", epoch=7),)
    await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=lost)
    await old.operator.renew_history()
    with pytest.raises(SessionLost):
        await old.store.ownership.assignments("a1", "nonsense", work_limit=9, served=lost)
    absurd = (FormerShard(project_id="p9", epoch=2**60), FormerShard(project_id="p8", epoch=-1))
    await old.store.ownership.assignments("a1", SESSION, work_limit=9, served=absurd)
    assert await old.shard_of("p9") is None and await old.shard_of("p8") is None
