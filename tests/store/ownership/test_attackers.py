"""What somebody with access to the bus gets who has no session that holds what the call is about: nothing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.control.epochs import EPOCH_JUMP_MAX, EPOCH_MAX
from evenkeel.core.kit.errors import CallRefused, SessionLost
from evenkeel.core.placement import AssignStep
from evenkeel.core.protocol.messages import ReportApplied, ReportStatus
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatus
from evenkeel.store.records import schema
from evenkeel.store.scheduling import shard_placement
from tests.store.ownership_world import World, applied, world_fixture

__all__ = ["world_fixture"]

MINE = "session-of-a1"
OTHERS = "session-of-a2"


@pytest.fixture(name="scene")
async def scene_fixture(world: World) -> AsyncIterator[tuple[World, Any, str]]:
    """Agents a1, which owns the shard of p1 and the common one, and a2. And its balancer."""
    await world.agent("a1")
    await world.agent("a2")
    lb = await world.placed()
    yield world, await world.shard_of("p1"), lb.id


NOT_MINE = [
    pytest.param("a1", "nonsense", id="nonsense"),
    pytest.param("a1", "", id="none"),
    pytest.param("a1", OTHERS, id="another agent's"),
    pytest.param("a2", OTHERS, id="an agent that does not own it"),
    pytest.param("a2", MINE, id="the right one of the wrong agent"),
    pytest.param("nobody", MINE, id="of nobody"),
]


@pytest.mark.parametrize(("agent_id", "session_id"), NOT_MINE)
async def test_without_the_owners_session_nothing_is_read_said_or_moved(
    scene: tuple[World, Any, str], agent_id: str, session_id: str
) -> None:
    world, shard, lb = scene
    store, before = world.store, await world.shard(shard.id)
    with pytest.raises(SessionLost):
        await store.ownership.services(agent_id, session_id, shard.id, 1, load_balancer_ids=None, after_id="", limit=9)
    assert not await store.ownership.raise_epoch(agent_id, session_id, shard.id, 1, 9)
    if (agent_id, session_id) == ("a2", OTHERS):
        assert await store.ownership.release_shard(agent_id, session_id, shard.id, 1) is None
    else:
        with pytest.raises(SessionLost):
            await store.ownership.release_shard(agent_id, session_id, shard.id, 1)
    report = ReportApplied(
        agent_id=agent_id, session_id=session_id, shard_id=shard.id, epoch=1, outcomes=(applied(lb),)
    )
    assert (await store.reports.record_applied(report)).stale
    assert (await store.reports.record_observed(await status(world, lb, agent_id, session_id))).stale
    row = await world.load_balancer_row(lb)
    assert (row.applied_revision, row.operating_status) == (0, "OFFLINE")
    assert await world.shard(shard.id) == before


async def status(world: World, lb: str, agent_id: str, session_id: str) -> ReportStatus:
    common = await world.shard_of("")
    seen = ObservedStatus(kind="loadbalancer", id=lb, status=OperatingStatus.ONLINE)
    return ReportStatus(
        agent_id=agent_id, session_id=session_id, shard_id=common.id, epoch=common.epoch, statuses=(seen,)
    )


async def test_an_ended_session_states_nothing_more(scene: tuple[World, Any, str]) -> None:
    world, shard, lb = scene
    await world.change(schema.agent, "a1", session_id=None)  # and the shard still names the agent
    report = ReportApplied(agent_id="a1", session_id=MINE, shard_id=shard.id, epoch=1, outcomes=(applied(lb),))
    assert (await world.store.reports.record_applied(report)).stale
    assert (await world.store.reports.record_observed(await status(world, lb, "a1", MINE))).stale
    with pytest.raises(SessionLost):
        await world.store.ownership.services("a1", MINE, shard.id, 1, load_balancer_ids=None, after_id="", limit=9)


async def test_a_session_that_expired_and_was_not_replaced_still_speaks_for_what_it_serves(
    scene: tuple[World, Any, str],
) -> None:
    world, shard, lb = scene
    await world.expire("a1")
    report = ReportApplied(agent_id="a1", session_id=MINE, shard_id=shard.id, epoch=1, outcomes=(applied(lb),))
    assert not (await world.store.reports.record_applied(report)).stale
    assert not (await world.store.reports.record_observed(await status(world, lb, "a1", MINE))).stale
    row = await world.load_balancer_row(lb)
    assert (row.applied_revision, row.operating_status) == (1, "ONLINE")


async def test_an_owner_speaks_only_for_load_balancers_of_its_shard_and_statuses_of_its_group(
    scene: tuple[World, Any, str],
) -> None:
    world, shard, _ = scene
    await world.agent("b1", group_number=2)
    other_tenants = await world.placed(project_id="p2")
    other_groups = await world.load_balancer(project_id="p3")
    await world.store.scheduling.place_load_balancer(other_groups.id, "east", "p3", 2, "b1")
    outcomes = (applied(other_tenants.id), applied(other_groups.id))
    await world.store.reports.record_applied(
        ReportApplied(agent_id="a1", session_id=MINE, shard_id=shard.id, epoch=1, outcomes=outcomes)
    )
    await world.store.reports.record_observed(await status(world, other_groups.id, "a1", MINE))
    assert (await world.load_balancer_row(other_tenants.id)).applied_revision == 0
    row = await world.load_balancer_row(other_groups.id)
    assert (row.applied_revision, row.operating_status) == (0, "OFFLINE")


# -- epochs


async def test_an_epoch_is_lifted_by_one_jump_at_a_time(scene: tuple[World, Any, str]) -> None:
    world, shard, _ = scene
    guard, epoch = 2 * EPOCH_JUMP_MAX + 5, 1
    for expected in (EPOCH_JUMP_MAX + 1, 2 * EPOCH_JUMP_MAX + 1, guard + 1):
        assert await world.store.ownership.raise_epoch("a1", MINE, shard.id, epoch, guard)
        epoch = (await world.shard(shard.id)).epoch
        assert epoch == expected


async def test_two_owners_of_one_epoch_are_distinguished_by_a_higher_one(scene: tuple[World, Any, str]) -> None:
    """The device holds our epoch for another session: whom the database calls the owner gets the next."""
    world, shard, _ = scene
    assert await world.store.ownership.raise_epoch("a1", MINE, shard.id, 1, 1)
    row = await world.shard(shard.id)
    assert (row.acting_agent_id, row.epoch) == ("a1", 2)


async def test_at_the_end_of_the_epochs_one_shard_stands_still_and_the_others_move(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    for project in ("p1", "p2", "p3"):
        await world.tenant(project)
    stuck = await world.shard_of("p2")
    await world.change(schema.shard, stuck.id, epoch=EPOCH_MAX)
    with pytest.raises(CallRefused) as refused:
        await world.store.ownership.raise_epoch("a1", MINE, stuck.id, EPOCH_MAX, EPOCH_MAX)
    assert refused.value.code == "epochs_used_up"
    await world.change(schema.shard, stuck.id, handover_to="a2", handover_at=1.0)
    assert await world.store.ownership.release_shard("a1", MINE, stuck.id, EPOCH_MAX) is None
    await world.expire("a1")
    shards = [row for row in await world.rows(schema.shard) if row.project_id]
    steps = [AssignStep(shard_id=row.id, seen_epoch=row.epoch, agent_id="a2") for row in shards]
    for _ in range(2):
        await world.store.scheduling.assign_shards(steps)
    acting = {row.project_id: (row.acting_agent_id, row.epoch) for row in await world.rows(schema.shard)}
    assert (acting["p1"], acting["p3"]) == (("a2", 2), ("a2", 2))
    assert acting["p2"] == (None, EPOCH_MAX)
    (said,) = await world.events("epochs_used_up")
    assert said.shard_id == stuck.id and "p2" in said.text


async def test_a_row_that_cannot_be_written_does_not_keep_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.agent("a1")
    await world.agent("a2")
    for project in ("p1", "p2", "p3", "p4"):
        await world.tenant(project)
    bad = await world.shard_of("p3")
    shards = [row for row in await world.rows(schema.shard) if row.project_id]
    await world.expire("a1")

    real = shard_placement._takeover_values

    def taking(step: AssignStep, shard: Any) -> dict[str, Any]:
        return real(step, shard) | ({"b_home": None} if shard.id == bad.id else {})

    monkeypatch.setattr(shard_placement, "_takeover_values", taking)
    taken = await world.store.scheduling.assign_shards(
        [AssignStep(shard_id=row.id, seen_epoch=1, agent_id="a2") for row in shards]
    )
    assert len(taken) == 3
    acting = {row.project_id: row.acting_agent_id for row in await world.rows(schema.shard) if row.project_id}
    assert acting == {"p1": "a2", "p2": "a2", "p3": "a1", "p4": "a2"}
