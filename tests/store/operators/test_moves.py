"""Flags, rebind and delete: what they change, that a repeat changes nothing, and that handovers stay consistent."""

import asyncio
from typing import Any

import pytest

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import AGENT, SHARD, add_agent, add_shard, bare, create, placed
from tests.store.conftest import ON_ALL
from tests.store.operators.test_environments import halt, kinds

OTHER = "agent-2"


async def shard_of(store: SqlStore, shard_id: str = SHARD) -> Any:
    statement = schema.shard.select().where(schema.shard.c.id == shard_id)
    return await store.database.read(lambda connection: connection.execute(statement).one())


# -- what is seen


async def test_an_agent_tells_where_its_shards_are(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, OTHER)
    await add_shard(store, "leaving", project_id="p2", handover_to=OTHER, handover_at=db_now())
    await add_shard(store, "away", project_id="p3", acting_agent_id=OTHER)
    await add_shard(store, "unserved", project_id="p4", acting_agent_id=None)

    one, other = await store.operators.agent(AGENT), await store.operators.agent(OTHER)

    assert (one.acting_shards, one.handing_over, one.home_shards) == (2, 1, 4)
    assert (one.away_shards, one.unserved_shards, one.fit, one.successors) == (1, 1, True, 1)
    assert (other.acting_shards, other.home_shards, other.handing_over) == (1, 0, 0)
    assert (await store.operators.agents()) == (one, other)


async def test_an_agent_tells_who_could_take_over_and_by_which_rules(store: SqlStore) -> None:
    await add_agent(store, reachable_devices=2, sight_since=1.0, reported_at=30.0)
    await add_agent(store, OTHER, reachable_devices=1, sight_since=2.0, reported_at=30.0)
    await add_agent(store, "drained", admin_state_up=False)
    await add_agent(store, "elsewhere", group=2)
    await store.operators.update_environment("prod", {"failback": FailbackMode.NEVER})
    await halt(store)

    seen = {agent.id: agent for agent in await store.operators.agents()}

    assert {id_: (agent.fit, agent.successors) for id_, agent in seen.items()} == {
        AGENT: (True, 0),
        OTHER: (False, 1),
        "drained": (False, 1),
        "elsewhere": (True, 0),
    }
    assert seen[AGENT].halted_reason == "3 of 4 are silent"
    assert (seen[AGENT].failback, seen[AGENT].reschedule) == (FailbackMode.NEVER, RescheduleMode.CONTROL)


async def test_after_the_databases_clock_was_set_back_an_agent_that_sees_less_is_still_unfit(store: SqlStore) -> None:
    await add_agent(store, reachable_devices=2, sight_since=db_now() + 86_400.0, reported_at=30.0)
    await add_agent(store, OTHER, reachable_devices=1, sight_since=2.0, reported_at=30.0)

    assert {agent.id: agent.fit for agent in await store.operators.agents()} == {AGENT: True, OTHER: False}


# -- flags


async def test_a_host_is_declared_dead_and_not_dead_once(store: SqlStore) -> None:
    await add_agent(store)

    for down in (True, True, False, False):
        assert (await store.operators.force_agent_down(AGENT, down)).forced_down is down

    assert await kinds(store) == ["agent_forced_down", "agent_allowed_up"]


async def test_failback_is_requested_once_and_only_if_something_is_away(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, OTHER)

    assert not (await store.operators.request_failback(AGENT)).failback_asked
    await add_shard(store, "away", project_id="p3", acting_agent_id=OTHER)
    for _ in range(2):
        assert (await store.operators.request_failback(AGENT)).failback_asked

    assert await kinds(store) == ["agent_failback"]


async def test_failback_that_is_never_is_refused(store: SqlStore) -> None:
    await placed(store)
    await store.operators.update_environment("prod", {"failback": FailbackMode.NEVER})

    with pytest.raises(Conflict, match="failback of environment prod is never"):
        await store.operators.request_failback(AGENT)


async def test_unknown_agents_are_not_found(store: SqlStore) -> None:
    for ask in (
        store.operators.force_agent_down("nope", True),
        store.operators.request_failback("nope"),
        store.operators.rebind_agent("nope", AGENT),
    ):
        with pytest.raises(NotFound, match="Agent nope not found"):
            await ask


# -- rebind


async def test_rebinding_moves_home_and_nothing_else(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, OTHER)
    await add_shard(store, "leaving", project_id="p2", handover_to=OTHER, handover_at=db_now(), epoch=7)
    assert await store.operators.rebind_agent(AGENT, OTHER) == 2
    assert await store.operators.rebind_agent(AGENT, OTHER) == 0

    assert {shard.home_agent_id for shard in await store.operators.shards()} == {OTHER}
    after = await shard_of(store, "leaving")
    assert (after.acting_agent_id, after.handover_to, after.epoch) == (AGENT, OTHER, 7)
    assert await kinds(store) == ["agent_rebound"]


async def test_one_shard_gets_another_home(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, OTHER)
    await add_shard(store, "moving", project_id="p2", epoch=7)
    await add_shard(store, "staying", project_id="p3", epoch=3)
    for _ in range(2):
        moved = await store.operators.rebind_shard(ShardId("moving"), OTHER)
        assert (moved.home_agent_id, moved.acting_agent_id, moved.epoch) == (OTHER, AGENT, 7)
    assert (await shard_of(store, "staying")).home_agent_id == AGENT
    assert await kinds(store) == ["shard_rebound"]
    with pytest.raises(Conflict, match=r"attribute to\. Value: 'nope'\. Value should be an agent of device group"):
        await store.operators.rebind_shard(ShardId("moving"), "nope")
    with pytest.raises(NotFound, match="Shard nope not found"):
        await store.operators.rebind_shard(ShardId("nope"), OTHER)


@pytest.mark.parametrize("target", [AGENT, "elsewhere", "foreign", "nope"])
async def test_only_another_agent_of_the_group_can_be_home(store: SqlStore, target: str) -> None:
    await placed(store)
    await add_agent(store, OTHER)
    await add_agent(store, "elsewhere", group=2)
    await add_agent(store, "foreign", environment="dev")

    with pytest.raises(Conflict, match=rf"attribute to\. Value: '{target}'.*group prod/1: agent-2 \(host-of-agent-2\)"):
        await store.operators.rebind_agent(AGENT, target)

    assert (await shard_of(store)).home_agent_id == AGENT
    assert await kinds(store) == []


# -- delete


async def dead_home(store: SqlStore, shards: int = 5) -> None:
    """AGENT is dead and home to load balancers in so many shards, which it still seems to act for."""
    await add_agent(store, ttl_seconds=-1.0)
    await add_agent(store, OTHER)
    for number in range(shards):
        await add_shard(store, f"s{number}", project_id=f"p{number}", epoch=3)
        await create(store, bare(project_id=f"p{number}"))


async def test_a_dead_home_goes_when_another_agent_becomes_home(store: SqlStore) -> None:
    await dead_home(store)
    await add_shard(store, "coming", project_id="", home_agent_id=OTHER, acting_agent_id=OTHER, handover_to=AGENT)
    told = (await store.operators.agent(OTHER)).assignments_revision

    await store.operators.delete_agent(AGENT, rebind_to=OTHER)

    (left,) = await store.operators.agents()
    assert (left.id, left.home_shards, left.load_balancers, left.unserved_shards) == (OTHER, 6, 5, 5)
    assert left.assignments_revision == told + 1
    common, *moved = await store.operators.shards()
    assert (common.acting_agent_id, common.handover_to) == (OTHER, None)
    assert {(shard.acting_agent_id, shard.handover_to, shard.epoch) for shard in moved} == {(None, None, 3)}
    assert await kinds(store) == ["agent_deleted"]


@pytest.mark.parametrize("target", [AGENT, "elsewhere", "nope"])
async def test_a_bad_heir_leaves_everything_as_it_was(store: SqlStore, target: str) -> None:
    await dead_home(store, 1)
    await add_agent(store, "elsewhere", group=2)

    with pytest.raises(Conflict, match=rf"attribute rebind_to\. Value: '{target}'"):
        await store.operators.delete_agent(AGENT, rebind_to=target)

    shard = await shard_of(store, "s0")
    assert (shard.home_agent_id, shard.acting_agent_id) == (AGENT, AGENT)


async def test_a_live_agent_stays_even_with_an_heir(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, OTHER)

    with pytest.raises(Conflict, match="is alive: stop it first"):
        await store.operators.delete_agent(AGENT, rebind_to=OTHER)

    assert (await shard_of(store)).home_agent_id == AGENT


async def test_a_shard_that_a_dead_agent_was_handing_over_is_free_at_once(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=-1.0)
    await add_agent(store, OTHER)
    await add_shard(store, handover_to=OTHER, handover_at=db_now())

    await store.operators.delete_agent(AGENT)

    shard = await shard_of(store)
    assert (shard.acting_agent_id, shard.handover_to, shard.handover_at) == (None, None, None)
    assert shard.home_agent_id == OTHER


@ON_ALL
async def test_crossed_deletes_leave_no_shard_without_a_home(store: SqlStore, other_store: SqlStore) -> None:
    await dead_home(store)
    await add_agent(store, "agent-3", ttl_seconds=-1.0)

    results = await asyncio.gather(
        store.operators.delete_agent(AGENT, rebind_to="agent-3"),
        other_store.operators.delete_agent("agent-3", rebind_to=AGENT),
        return_exceptions=True,
    )

    assert sum(result is None for result in results) == 1
    homes = {shard.home_agent_id for shard in await store.operators.shards()}
    assert homes <= {agent.id for agent in await store.operators.agents()}
