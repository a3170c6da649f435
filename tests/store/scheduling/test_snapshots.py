"""Snapshots, placing, takeover and handover; of two that decide the same, one wins."""

import asyncio
import random

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.control.shards import CreatedShard, OwnershipTerm, Placement, ShardOwner
from evenkeel.core.placement import (
    AgentSnapshot,
    AssignStep,
    GroupSnapshot,
    PlacementGroup,
    plan_assignments,
    plan_balance,
    plan_evacuation,
    plan_return_home,
)
from evenkeel.core.protocol.messages import ReportState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import (
    World,
    applied,
    assign_one,
    open_transaction,
    server_world_fixture,
    world_fixture,
)
from tests.store.ownership_world import statements as watched

__all__ = ["server_world_fixture", "world_fixture"]

SETTLE = 600.0
WINDOW = 300.0


async def due(world: World) -> tuple[tuple[str, int], ...]:
    due_work = await world.store.scheduling.read_due_work(
        settle_seconds=SETTLE, breaker_window_seconds=WINDOW, homes=True
    )
    return due_work.groups


async def snapshot(world: World) -> GroupSnapshot:
    return await world.store.scheduling.group_snapshot("east", 1, settle_seconds=SETTLE)


# -- placing


async def test_unplaced_are_listed_oldest_first(world: World) -> None:
    await world.agent("a1")
    late = await world.load_balancer(created_at=2.0)
    early = await world.load_balancer(created_at=1.0, project_id="p2")
    await world.placed()
    await world.load_balancer(deleted=True)
    assert await world.store.scheduling.read_unplaced_load_balancers(limit=10) == (
        (early.id, "east", "p2"),
        (late.id, "east", "p1"),
    )
    assert await world.store.scheduling.read_unplaced_load_balancers(limit=1) == ((early.id, "east", "p2"),)


async def test_load_balancers_of_a_dead_environment_do_not_hide_others(world: World) -> None:
    await world.environment("west")
    await world.agent("a1")
    await world.load_balancer(provider="west", created_at=1.0)
    can_go = await world.load_balancer(created_at=2.0)
    assert (await world.store.scheduling.read_unplaced_load_balancers(limit=1))[0][0] == can_go.id


async def test_every_waiting_one_gets_its_reason(world: World) -> None:
    first = await world.load_balancer(created_at=1.0)
    second = await world.load_balancer(created_at=2.0)
    await world.store.scheduling.store_unplaced_reason([first.id], "waiting")
    assert (await world.store.scheduling.read_unplaced_load_balancers(limit=1))[0][0] == second.id


async def test_reason_is_written_on_unplaced_ones_only(world: World) -> None:
    await world.agent("a1")
    waiting, placed = await world.load_balancer(), await world.placed()
    with watched() as seen:
        await world.store.scheduling.store_unplaced_reason([waiting.id, placed.id, "gone"], "no agent is up")
    assert len(seen.sent) == 2
    assert (await world.load_balancer_row(waiting.id)).status_reason == "no agent is up"
    assert (await world.load_balancer_row(placed.id)).status_reason == ""


async def test_a_reason_that_all_unplaced_ones_have_is_not_written_again(world: World) -> None:
    waiting = [(await world.load_balancer()).id for _ in range(5)]
    await world.store.scheduling.store_unplaced_reason(waiting, "no agent is up")
    with watched() as seen:
        await world.store.scheduling.store_unplaced_reason(waiting, "no agent is up")
    # one statement however many there are: MariaDB has no statement that updates several rows by a list of parameters
    assert [text.split()[0] for text in seen.sent] == ["SELECT"]
    new = (await world.load_balancer()).id
    await world.store.scheduling.store_unplaced_reason([*waiting, new], "no agent is up")
    assert (await world.load_balancer_row(new)).status_reason == "no agent is up"


async def test_placing_makes_the_tenants_shard(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.load_balancer(status_reason="waiting")
    before = await world.assignments_revision("a1")
    placement = await world.store.scheduling.place_load_balancer(load_balancer.id, "east", "p1", 1, "a1")
    shard = await world.shard_of("p1")
    assert placement is not None
    assert placement.owner == ShardOwner(shard_id=shard.id, environment="east", group_number=1, host="host-of-a1")
    history = (await world.rows(schema.history))[0].id
    assert placement.created == CreatedShard(
        project_id="p1",
        term=OwnershipTerm(session_id="session-of-a1", epoch=1, history=history),
        assignments_revision=before + 1,
        load_balancer_revision=load_balancer.revision,
        attached=False,
    )
    assert (shard.home_agent_id, shard.acting_agent_id, shard.epoch) == ("a1", "a1", 1)
    assert await world.assignments_revision("a1") == before + 1
    row = await world.load_balancer_row(load_balancer.id)
    assert (row.shard_id, row.status_reason) == (shard.id, "") and row.pending_deadline is not None


async def test_placing_a_new_tenant_takes_few_statements(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.load_balancer()
    with watched() as seen:
        assert await world.store.scheduling.place_load_balancer(load_balancer.id, "east", "p1", 1, "a1")
    assert len(seen.sent) <= 6


async def test_a_new_shard_of_an_agent_without_a_session_does_not_travel(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    load_balancer = await world.load_balancer()
    placement = await world.store.scheduling.place_load_balancer(load_balancer.id, "east", "p1", 1, "a1")
    assert placement is not None and placement.created is None


async def test_next_one_of_the_tenant_joins_its_shard_and_owner(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    first = await world.tenant()
    before = await world.assignments_revision("a2")
    load_balancer = await world.load_balancer()
    assert await world.store.scheduling.place_load_balancer(load_balancer.id, "east", "p1", 1, "a2") == Placement(
        owner=first
    )
    assert (await world.shard_of("p1")).home_agent_id == "a1"
    assert await world.assignments_revision("a2") == before


async def test_placed_removed_or_foreign_ones_are_not_placed(world: World) -> None:
    await world.agent("a1")
    placed, deleted = await world.placed(), await world.load_balancer(deleted=True, project_id="p2")
    for id_, project_id in ((placed.id, "p1"), (deleted.id, "p2"), ("gone", "p3"), (placed.id, "p4")):
        assert await world.store.scheduling.place_load_balancer(id_, "east", project_id, 1, "a1") is None
    assert {row.project_id for row in await world.rows(schema.shard)} == {"", "p1"}


async def test_nothing_is_placed_on_an_agent_that_is_not_of_the_group(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.load_balancer()
    assert await world.store.scheduling.place_load_balancer(load_balancer.id, "east", "p1", 2, "a1") is None
    assert (await world.load_balancer_row(load_balancer.id)).shard_id is None


async def test_controllers_that_place_at_once_make_one_shard_and_bind_once(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    other = world.another_controller()
    balancers = [await world.load_balancer() for _ in range(5)]
    owners = await asyncio.gather(
        *(
            store.scheduling.place_load_balancer(each.id, "east", "p1", 1, home)
            for each in balancers
            for store, home in ((world.store, "a1"), (other, "a2"))
        )
    )
    assert len([owner for owner in owners if owner]) == 5
    assert len([owner for owner in owners if owner and owner.created]) == 1
    (shard,) = [row for row in await world.rows(schema.shard) if row.project_id == "p1"]
    assert shard.epoch == 1 and shard.home_agent_id == shard.acting_agent_id


# -- snapshots


def timeless(agent: AgentSnapshot) -> AgentSnapshot:
    return replace(agent, live_since=0.0, live_until=0.0, reported_at=0.0)


async def groups_for(world: World, project_id: str) -> tuple[PlacementGroup, ...]:
    return await world.store.scheduling.read_placement_groups("east", project_id, settle_seconds=SETTLE)


async def test_groups_show_load_score_and_where_the_tenant_is(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    await world.agent("a3", group_number=2)
    await world.settle("a1")
    await world.tenant()
    await world.store.ownership.record_state(ReportState(agent_id="a3", session_id="session-of-a3", capacity_score=0.5))
    await world.change(schema.agent, "a2", admin_state_up=False)
    loads = {agent.id: (agent.shards, agent.homed) for group in await groups_for(world, "p2") for agent in group.agents}
    assert loads == {"a1": (2, 2), "a2": (0, 0), "a3": (1, 1)}
    first, second = await groups_for(world, "p1")  # which stays where it is: loads decide nothing and are not counted
    assert (first.number, first.holds_tenant, first.capacity_score) == (1, True, 0.0)
    assert tuple(timeless(agent) for agent in first.agents) == (
        AgentSnapshot(id="a1", live=True, settled=True, shards=0, homed=0),
        AgentSnapshot(id="a2", live=True, admin_state_up=False, fresh=True, settled=False),
    )
    assert (second.number, second.holds_tenant, second.capacity_score) == (2, False, 0.5)
    (third,) = second.agents
    assert timeless(third) == AgentSnapshot(id="a3", live=True, fresh=True, settled=False)
    assert third.reported_at > 0.0


async def test_groups_cost_two_statements(world: World) -> None:
    for number in range(6):
        await world.agent(f"a{number}", group_number=number)
    with watched() as seen:
        await world.store.scheduling.read_placement_groups("east", "p1", settle_seconds=SETTLE)
    assert len(seen.sent) == 2


async def test_nothing_is_due_while_all_are_at_home(world: World) -> None:
    await world.agent("a1")
    await world.tenant()
    with watched() as seen:
        assert await due(world) == ()
    assert len(seen.sent) == 3 and not any("load_balancer" in statement for statement in seen.sent)


@pytest.mark.parametrize("fault", ["dead", "drained", "free"])
async def test_unserved_shard_is_due(world: World, fault: str) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    if fault == "dead":
        await world.expire("a1")
    elif fault == "drained":
        await world.change(schema.agent, "a1", admin_state_up=False)
    else:
        await world.store.ownership.release_shard("a1", "session-of-a1", owner.shard_id, 1)
    assert await due(world) == (("east", 1),)
    group = await snapshot(world)
    assert owner.shard_id in {each.id for each in group.shards}


async def test_shard_of_an_agent_that_was_removed_is_due(world: World) -> None:
    await world.agent("a1")
    await world.tenant()
    await world.db.write(lambda c: c.execute(schema.agent.delete()))
    await world.agent("a2")
    assert await due(world) == (("east", 1),)


async def away_from_home(world: World) -> str:
    """The shard of p1, home a1, served by a2; a1 is back but not settled. The common shard stays with a2 too."""
    await world.agent("a2")
    await world.agent("a1")
    owner = await world.tenant()
    await world.expire("a1")
    await assign_one(world.store, owner.shard_id, 1, "a2")
    await world.agent("a1", session_id="second")
    return owner.shard_id


async def test_shard_away_from_home_is_due_once_its_home_has_settled(world: World) -> None:
    shard_id = await away_from_home(world)
    assert await due(world) == ()
    await world.settle("a1")
    assert await due(world) == (("east", 1),)
    group = await snapshot(world)
    assert [each.id for each in group.shards] == [shard_id]
    assert [(each.id, each.live, each.settled) for each in group.agents] == [("a1", True, True), ("a2", True, False)]


async def test_handover_under_way_is_not_due_but_shown(world: World) -> None:
    shard_id = await away_from_home(world)
    await world.settle("a1")
    await world.store.scheduling.start_handover(shard_id, 2, "a1")
    assert await due(world) == ()
    group = await snapshot(world)
    assert [(each.id, each.handover_to) for each in group.shards] == [(shard_id, "a1")]
    assert plan_return_home(group, at_once=5) == []


async def test_handover_to_an_agent_that_died_is_ended(world: World) -> None:
    shard_id = await away_from_home(world)
    await world.store.scheduling.start_handover(shard_id, 2, "a1")
    await world.expire("a1")
    assert await due(world) == (("east", 1),)
    before = await world.assignments_revision("a2")
    assert (await snapshot(world)).shards == ()
    row = await world.shard(shard_id)
    assert (row.acting_agent_id, row.epoch, row.handover_to) == ("a2", 2, None)
    assert await world.assignments_revision("a2") == before + 1
    assert await due(world) == ()


async def test_other_groups_shards_are_not_shown(world: World) -> None:
    await world.agent("a1")
    await world.agent("a3", group_number=2)
    await world.agent("a2")
    await world.expire("a1")
    await world.expire("a3")
    group = await snapshot(world)
    assert len(group.shards) == 1 and [each.id for each in group.agents] == ["a1", "a2"]


# -- takeover


async def test_takeover_from_a_dead_agent(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.expire("a1")
    before = {agent_id: await world.assignments_revision(agent_id) for agent_id in ("a1", "a2")}
    taken = await assign_one(world.store, owner.shard_id, 1, "a2")
    assert taken == ShardOwner(shard_id=owner.shard_id, environment="east", group_number=1, host="host-of-a2")
    row = await world.shard(owner.shard_id)
    assert (row.home_agent_id, row.acting_agent_id, row.epoch) == ("a1", "a2", 2)
    for agent_id, revision in before.items():
        assert await world.assignments_revision(agent_id) == revision + 1
    (event,) = await world.events("shard_taken_over")
    assert all(text in event.text for text in ("project p1", "host-of-a1", "host-of-a2", "epoch 2"))


async def test_shard_that_returns_is_assigned_not_taken_over(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    await world.store.ownership.release_shard("a1", "session-of-a1", owner.shard_id, 1)
    assert await assign_one(world.store, owner.shard_id, 1, "a1") is not None
    assert len(await world.events("shard_assigned")) == 1
    assert await world.events("shard_taken_over") == []


@pytest.mark.parametrize(
    "obstacle",
    [
        "old epoch",
        "acting agent is live",
        "receiver is dead",
        "receiver is down",
        "receiver is elsewhere",
        "environment is halted",
    ],
)
async def test_takeover_fails_when_what_it_saw_is_not_so(world: World, obstacle: str) -> None:
    await world.agent("a1")
    await world.agent("a2", **({"group_number": 2} if obstacle == "receiver is elsewhere" else {}))
    owner = await world.tenant()
    if obstacle != "acting agent is live":
        await world.expire("a1")
    if obstacle == "receiver is dead":
        await world.expire("a2")
    if obstacle == "receiver is down":
        await world.change(schema.agent, "a2", admin_state_up=False)
    if obstacle == "environment is halted":
        await halt(world)
    seen_epoch = 7 if obstacle == "old epoch" else 1
    assert await assign_one(world.store, owner.shard_id, seen_epoch, "a2") is None
    row = await world.shard(owner.shard_id)
    assert (row.acting_agent_id, row.epoch) == ("a1", 1)
    assert await world.events("shard_taken_over", "shard_assigned") == []


async def halt(world: World) -> None:
    """The circuit breaker opens."""
    await world.db.write(lambda connection: connection.execute(update(schema.environment).values(halted_at=db_now())))


async def test_home_takes_its_shards_back_while_the_environment_is_halted(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.store.ownership.release_shard("a1", "session-of-a1", owner.shard_id, 1)
    await halt(world)
    assert await assign_one(world.store, owner.shard_id, 1, "a2") is None
    assert await assign_one(world.store, owner.shard_id, 1, "a1") is not None


async def test_a_drained_agents_shards_are_handed_over_and_not_taken(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.change(schema.agent, "a1", admin_state_up=False)
    assert await assign_one(world.store, owner.shard_id, 1, "a2") is None
    moves = plan_evacuation(await snapshot(world), random.Random(1).choice, at_once=5)
    assert {move.agent_id for move in moves} == {"a2"} and owner.shard_id in {move.shard_id for move in moves}


async def test_a_host_declared_dead_loses_its_shards_at_once(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.change(schema.agent, "a1", forced_down=True)
    assert await due(world) == (("east", 1),)
    assert await assign_one(world.store, owner.shard_id, 1, "a2") is not None


async def test_shard_that_is_rebuilt_elsewhere_has_its_home_there(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.change(schema.agent, "a1", forced_down=True)
    step = AssignStep(shard_id=owner.shard_id, seen_epoch=1, agent_id="a2", rebind=True)
    assert len(await world.store.scheduling.assign_shards([step])) == 1
    row = await world.shard(owner.shard_id)
    assert (row.home_agent_id, row.acting_agent_id) == ("a2", "a2")


async def test_a_shard_that_is_not_released_is_taken_in_the_end(world: World) -> None:
    shard_id = await away_from_home(world)
    await world.settle("a1")
    await world.store.scheduling.start_handover(shard_id, 2, "a1")
    assert await assign_one(world.store, shard_id, 2, "a1") is None
    long_ago = schema.shard.update().where(schema.shard.c.id == shard_id).values(handover_at=1.0)
    await world.db.write(lambda connection: connection.execute(long_ago))
    (view,) = (await snapshot(world)).shards
    assert view.overdue
    assert await assign_one(world.store, shard_id, 2, "a1") is not None


async def test_a_mass_takeover_costs_as_many_statements_as_a_single_one(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owners = [await world.tenant(f"p{number}") for number in range(30)]
    await world.expire("a1")
    steps = [AssignStep(shard_id=owner.shard_id, seen_epoch=1, agent_id="a2") for owner in owners]
    counts = []
    for some in (steps[:1], steps[1:]):
        with watched() as seen:
            assert len(await world.store.scheduling.assign_shards(some)) == len(some)
        counts.append(len(seen.sent))
    assert counts[0] == counts[1]


async def test_of_controllers_that_take_over_at_once_one_wins(world: World) -> None:
    for agent_id in ("a1", "a2", "a3"):
        await world.agent(agent_id)
    owner = await world.tenant()
    await world.expire("a1")
    other = world.another_controller()
    results = await asyncio.gather(
        *(assign_one(store, owner.shard_id, 1, agent) for store, agent in [(world.store, "a2"), (other, "a3")] * 5)
    )
    (winner,) = [each for each in results if each]
    row = await world.shard(owner.shard_id)
    assert row.epoch == 2 and f"host-of-{row.acting_agent_id}" == winner.host
    assert len(await world.events("shard_taken_over")) == 1


@pytest.mark.services
async def test_takeover_under_way_makes_the_next_one_lose(server_world: World) -> None:
    world = server_world
    for agent_id in ("a1", "a2", "a3"):
        await world.agent(agent_id)
    owner = await world.tenant()
    await world.expire("a1")
    table = schema.shard
    async with open_transaction(world) as run:
        first = table.update().where(table.c.id == owner.shard_id).values(acting_agent_id="a3", epoch=2)
        await run(lambda connection: connection.execute(first))
        second = asyncio.create_task(assign_one(world.store, owner.shard_id, 1, "a2"))
        await world.until_a_lock_is_waited_for()
    assert await second is None
    assert (await world.shard(owner.shard_id)).acting_agent_id == "a3"


async def test_dead_agents_shards_spread_and_come_home(world: World) -> None:
    """The whole way round, with the pure rules in between."""
    for agent_id in ("a1", "a2", "a3"):
        await world.agent(agent_id)
    for number in range(6):
        await world.tenant(f"p{number}")
    await world.settle("a2")
    await world.settle("a3")
    await world.expire("a1")
    tie = random.Random(1).choice
    for step in plan_assignments(await snapshot(world), tie):
        assert await assign_one(world.store, step.shard_id, step.seen_epoch, step.agent_id)
    acting = [row.acting_agent_id for row in await world.rows(schema.shard)]
    assert {agent_id: acting.count(agent_id) for agent_id in ("a1", "a2", "a3")} == {"a1": 0, "a2": 4, "a3": 3} or {
        agent_id: acting.count(agent_id) for agent_id in ("a1", "a2", "a3")
    } == {"a1": 0, "a2": 3, "a3": 4}
    await world.agent("a1", session_id="second")
    await world.settle("a1")
    for _ in range(10):
        if not await due(world):
            break
        for move in plan_return_home(await snapshot(world), at_once=2):
            assert await world.store.scheduling.start_handover(move.shard_id, move.seen_epoch, move.agent_id)
            row = await world.shard(move.shard_id)
            session = (await world.row(schema.agent, row.acting_agent_id)).session_id
            assert await world.store.ownership.release_shard(row.acting_agent_id, session, row.id, row.epoch)
    assert {row.acting_agent_id for row in await world.rows(schema.shard)} == {"a1"}
    assert {row.epoch for row in await world.rows(schema.shard)} == {3}


# -- handover


async def test_handover_is_requested_of_the_acting_agent_once(world: World) -> None:
    shard_id = await away_from_home(world)
    before = await world.assignments_revision("a2")
    asked = await world.store.scheduling.start_handover(shard_id, 2, "a1")
    assert asked == ShardOwner(shard_id=shard_id, environment="east", group_number=1, host="host-of-a2")
    assert await world.assignments_revision("a2") == before + 1
    assert await world.store.scheduling.start_handover(shard_id, 2, "a1") is None
    assert len(await world.events("handover_started")) == 1


@pytest.mark.parametrize("obstacle", ["old epoch", "receiver is dead", "receiver has it"])
async def test_handover_is_not_requested_in_vain(world: World, obstacle: str) -> None:
    shard_id = await away_from_home(world)
    if obstacle == "receiver is dead":
        await world.expire("a1")
    receiver = "a2" if obstacle == "receiver has it" else "a1"
    assert await world.store.scheduling.start_handover(shard_id, 1 if obstacle == "old epoch" else 2, receiver) is None
    assert (await world.shard(shard_id)).handover_to is None


async def test_takeover_ends_a_handover(world: World) -> None:
    shard_id = await away_from_home(world)
    await world.store.scheduling.start_handover(shard_id, 2, "a1")
    await world.expire("a2")
    assert await assign_one(world.store, shard_id, 2, "a1") is not None
    row = await world.shard(shard_id)
    assert (row.acting_agent_id, row.epoch, row.handover_to) == ("a1", 3, None)


async def test_reports_of_a_former_owner_are_stale(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    load_balancer = await world.placed()
    shard = await world.shard_of("p1")
    await world.expire("a1")
    await assign_one(world.store, shard.id, 1, "a2")
    receipt = await world.report(applied(load_balancer.id), agent_id="a1")
    assert receipt.stale
    assert (await world.load_balancer_row(load_balancer.id)).applied_revision == 0


# -- uneven homes


async def skewed(world: World) -> tuple[GroupSnapshot, ...]:
    return await world.store.scheduling.skewed_groups(settle_seconds=SETTLE)


async def test_groups_with_uneven_homes(world: World) -> None:
    """Each with one shard that may move, and with one in handover."""
    for agent_id in ("a1", "a2"):
        await world.agent(agent_id)
    for number in range(3):  # and the common shard is there, which stays
        await world.tenant(f"p{number}", home="a1")
    assert await skewed(world) == ()  # they came a moment ago
    for agent_id in ("a1", "a2"):
        await world.settle(agent_id)
    (group,) = await skewed(world)
    (shard,) = group.shards
    assert (shard.home, shard.acting, shard.handover_to) == ("a1", "a1", None)
    assert (await world.shard(shard.id)).project_id
    (move,) = plan_balance(group)

    assert await world.store.scheduling.start_handover(move.shard_id, move.seen_epoch, "a2", rebind=True)
    (group,) = await skewed(world) or (GroupSnapshot(),)
    assert plan_balance(group) == []
    await assign_one(world.store, move.shard_id, 1, "a2")
    assert await skewed(world) == ()


async def test_uneven_homes_are_found_with_few_statements(world: World) -> None:
    for agent_id in ("a1", "a2", "a3"):
        await world.agent(agent_id)
        await world.settle(agent_id)
    for number in range(9):
        await world.tenant(f"p{number}", home="a1")
    with watched() as seen:
        (_,) = await skewed(world)
    assert len(seen) <= 5
