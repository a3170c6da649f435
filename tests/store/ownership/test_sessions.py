"""Who may be an agent, and when a life of it ends."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.control.agents import SessionRef
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.kit.errors import CallRefused, SessionLost
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import ConfirmedState, Keepalive, ReportState, SessionState
from evenkeel.core.resources.statuses import HaType
from evenkeel.core.status.device_state import DeviceState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import (
    TTL_SECONDS,
    World,
    alive,
    assign_one,
    open_transaction,
    registration,
    server_world_fixture,
    world_fixture,
)

__all__ = ["server_world_fixture", "world_fixture"]


async def refusal(world: World, agent_id: str, **changes: Any) -> CallRefused:
    with pytest.raises(CallRefused) as caught:
        await world.agent(agent_id, **changes)
    return caught.value


# -- registering


async def test_first_agent_of_a_group_gets_a_session_and_the_common_shard(world: World) -> None:
    state = await world.agent("a1")
    history = (await world.operator.history()).id
    assert state == SessionState(ttl_seconds=TTL_SECONDS, assignments_revision=1, history=history)
    common = await world.shard_of("")
    assert (common.home_agent_id, common.acting_agent_id, common.epoch) == ("a1", "a1", 1)
    assert [row.agent_id for row in await world.events("agent_registered")] == ["a1"]


async def test_second_agent_of_a_group_shares_its_common_shard(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    assert len(await world.rows(schema.shard)) == 1
    assert len(await world.rows(schema.device_group)) == 1


async def test_unknown_environment_is_refused(world: World) -> None:
    assert (await refusal(world, "a1", environment="west")).code == "unknown_environment"
    assert await world.rows(schema.agent) == []


async def test_driver_of_another_kind_is_refused(world: World) -> None:
    error = await refusal(world, "a1", device_driver="noop")
    assert error.code == "contradiction"
    assert "device_driver" in str(error) and "'noop'" in str(error) and "'bigip'" in str(error)


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"ha_type": HaType.STANDALONE}, ["ha_type", "standalone", "pair"]),
        ({"endpoints": ("10.0.0.1", "10.0.0.3")}, ["endpoints", "10.0.0.3", "10.0.0.2"]),
    ],
)
async def test_agent_that_sees_another_group_than_a_live_one_is_refused(
    world: World, changes: dict[str, Any], texts: list[str]
) -> None:
    await world.agent("a1")
    error = await refusal(world, "a2", **changes)
    assert error.code == "contradiction"
    assert all(text in str(error) for text in texts)


async def test_order_of_endpoints_does_not_matter(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2", endpoints=("10.0.0.2", "10.0.0.1"))


async def test_group_may_be_redefined_while_no_other_agent_of_it_is_live(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    await world.agent("a2", ha_type=HaType.STANDALONE, endpoints=("10.0.0.7",))
    (group,) = await world.rows(schema.device_group)
    assert (group.ha_type, group.endpoints) == ("standalone", '["10.0.0.7"]')
    assert (await refusal(world, "a1")).code == "contradiction"


async def test_second_session_of_a_live_agent_is_refused_with_the_time_of_a_retry(world: World) -> None:
    await world.agent("a1")
    error = await refusal(world, "a1", session_id="another")
    assert error.code == "duplicate"
    assert error.retry_after_seconds is not None and 0 < error.retry_after_seconds <= TTL_SECONDS
    assert f"{error.retry_after_seconds:.1f} s" in str(error)


async def test_second_agent_id_of_a_live_host_is_refused(world: World) -> None:
    await world.agent("a1")
    assert (await refusal(world, "a2", host="host-of-a1")).code == "duplicate"


async def test_contradiction_is_reported_before_duplicate(world: World) -> None:
    await world.agent("a1")
    assert (await refusal(world, "a1", session_id="another", device_driver="noop")).code == "contradiction"


async def test_same_session_again_is_a_renewal(world: World) -> None:
    first = await world.agent("a1")
    again = await world.agent("a1")
    assert replace(again, keepalives=first.keepalives) == first
    assert len(await world.events("agent_registered")) == 1
    assert (await world.shard_of("")).acting_agent_id == "a1"


async def test_new_life_does_not_own_what_the_former_one_did(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    await world.expire("a1")
    state = await world.agent("a1", session_id="second")
    shards = await world.rows(schema.shard)
    assert {row.acting_agent_id for row in shards} == {None}
    assert (await world.store.ownership.assignments("a1", "second", work_limit=10)).shards == ()
    given = await assign_one(world.store, owner.shard_id, 1, "a1")
    assert given == owner
    assert (await world.shard(owner.shard_id)).epoch == 2
    assert await world.assignments_revision("a1") > state.assignments_revision


async def test_expired_session_that_registers_again_starts_again(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    await world.agent("a1")
    assert (await world.shard_of("")).acting_agent_id is None
    assert len(await world.events("agent_registered")) == 2


async def test_new_agent_id_on_a_host_that_has_shards_is_refused(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    error = await refusal(world, "a9", host="host-of-a1")
    assert error.code == "contradiction"
    assert "a1" in str(error) and "a9" in str(error)


async def test_new_agent_id_on_a_host_without_shards_replaces_the_former(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    await world.expire("a2")
    await world.agent("a9", host="host-of-a2")
    assert {row.id for row in await world.rows(schema.agent)} == {"a1", "a9"}


async def test_agent_may_move_to_another_host(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    await world.agent("a1", host="elsewhere")
    assert (await world.row(schema.agent, "a1")).host == "elsewhere"


async def test_agent_with_shards_may_not_move_to_another_group(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    error = await refusal(world, "a1", group_number=2)
    assert error.code == "contradiction"
    assert "environment_group_number" in str(error)


async def test_of_two_sessions_that_register_at_once_one_is_refused(world: World) -> None:
    other = world.another_controller()
    results = await asyncio.gather(
        *(
            store.ownership.register(registration("a1", session_id=f"s{number}"), ttl_seconds=TTL_SECONDS)
            for number, store in enumerate([world.store, other] * 4)
        ),
        return_exceptions=True,
    )
    assert len([each for each in results if isinstance(each, SessionState)]) == 1
    refused = [each for each in results if isinstance(each, CallRefused)]
    assert len(refused) == 7 and {each.code for each in refused} == {"duplicate"}


async def test_agents_of_a_group_that_register_at_once_make_one_common_shard(world: World) -> None:
    other = world.another_controller()
    await asyncio.gather(
        *(
            store.ownership.register(registration(f"a{number}"), ttl_seconds=TTL_SECONDS)
            for number, store in enumerate([world.store, other] * 4)
        )
    )
    assert len(await world.rows(schema.shard)) == 1
    assert len(await world.rows(schema.agent)) == 8


# -- keeping alive


async def test_keepalive_renews_with_one_statement(world: World) -> None:
    await world.agent("a1")
    before = (await world.row(schema.agent, "a1")).session_expires_at
    state = await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS + 60)
    assert state.assignments_revision == 1
    assert (await world.row(schema.agent, "a1")).session_expires_at >= before + 59


def keepalive(agent_id: str, session_id: str = "", **seen: Any) -> Keepalive:
    found = ConfirmedState(**seen) if seen else None
    return Keepalive(agent_id=agent_id, session_id=session_id or f"session-of-{agent_id}", seen=found)


def arrived(calls: Iterable[Keepalive]) -> list[ArrivedKeepalive]:
    """Just now."""
    return [ArrivedKeepalive(call=call) for call in calls]


@pytest.mark.services
async def test_a_round_of_keepalives_renews_each_session_once(server_world: World) -> None:
    world = server_world
    for agent_id in ("a1", "a2", "a3"):
        await world.agent(agent_id)
    await world.expire("a2")
    history = (await world.operator.history()).id
    calls = [
        keepalive("a1"),
        keepalive("a2"),
        keepalive("a3", "former"),
        keepalive("a1", history=history, keepalives=0),
        keepalive("nobody"),
    ]
    states = await world.store.ownership.renew_sessions(arrived(calls), ttl_seconds=TTL_SECONDS)
    if states == [None] * len(calls):
        pytest.skip("this database renews each session by itself")
    assert [state is not None for state in states] == [True, True, False, True, False]
    assert states[0] == states[3]
    assert states[0] is not None and states[0].keepalives == 1 and states[0].history == history
    assert await world.live("a2")
    assert (await world.row(schema.agent, "a3")).keepalives == 0


async def test_a_keepalive_that_came_before_its_session_was_ended_does_not_revive_it(world: World) -> None:
    """The process had sent it, and then was gone. One that comes later proves that it is there."""
    await world.agent("a1")
    keepalive_ = partial(world.store.ownership.renew_session, ttl_seconds=TTL_SECONDS)
    session = SessionRef(agent_id="a1", session_id="session-of-a1", environment="east")
    assert await world.store.scheduling.end_sessions([session]) == 1
    with pytest.raises(CallRefused, match="ended after this keepalive had come"):
        await keepalive_(alive("a1", waited_seconds=60.0))
    late = [alive(id_, waited_seconds=60.0) for id_ in ("a1", "nobody")]
    assert await world.store.ownership.renew_sessions(late, ttl_seconds=TTL_SECONDS) == [None, None]
    assert not await world.live("a1")
    await keepalive_(alive("a1"))
    assert await world.live("a1")


async def test_a_session_that_was_ended_before_the_clock_was_set_back_is_revived(world: World) -> None:
    await world.agent("a1")
    session = SessionRef(agent_id="a1", session_id="session-of-a1", environment="east")
    assert await world.store.scheduling.end_sessions([session]) == 1
    await world.change(schema.agent, "a1", session_expires_at=db_now() + 3600.0)
    late = alive("a1", waited_seconds=1.0)
    if await world.store.ownership.renew_sessions([late], ttl_seconds=TTL_SECONDS) == [
        None
    ]:  # or rounds are not supported
        await world.store.ownership.renew_session(late, ttl_seconds=TTL_SECONDS)
    assert await world.live("a1")


async def test_one_that_came_before_its_session_expired_revives_it(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    await world.store.ownership.renew_session(alive("a1", waited_seconds=60.0), ttl_seconds=TTL_SECONDS)
    assert await world.live("a1")


@pytest.mark.services
async def test_a_keepalive_that_confirms_the_last_report_makes_it_a_new_one(server_world: World) -> None:
    world = server_world
    keepalives = world.store.ownership.renew_sessions
    for agent_id in ("a1", "a2"):
        await world.agent(agent_id)
        await world.store.ownership.record_state(ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}"))
        await world.change(schema.agent, agent_id, reported_at=db_now() - 100.0)
    before = {row.id: row.reported_at for row in await world.rows(schema.agent)}
    calls = [
        Keepalive(agent_id=agent_id, session_id=f"session-of-{agent_id}", as_reported=agent_id == "a1")
        for agent_id in ("a1", "a2")
    ]
    await keepalives(arrived(calls), ttl_seconds=TTL_SECONDS)
    for call in calls:  # as where rounds are not supported
        await world.store.ownership.renew_session(ArrivedKeepalive(call=call), ttl_seconds=TTL_SECONDS)
    after = {row.id: row.reported_at for row in await world.rows(schema.agent)}
    assert after["a1"] > before["a1"] + 50.0
    assert after["a2"] == before["a2"]


async def test_a_round_does_not_wait_for_a_row_that_another_transaction_holds(server_world: World) -> None:
    world = server_world
    for agent_id in ("a1", "a2", "a3"):
        await world.agent(agent_id)
    table = schema.agent
    held = update(table).where(table.c.id == "a2").values(queue_depth=1)
    calls = [keepalive(agent_id) for agent_id in ("a1", "a2", "a3")]
    async with open_transaction(world) as run:
        await run(lambda connection: connection.execute(held))
        states = await world.store.ownership.renew_sessions(arrived(calls), ttl_seconds=TTL_SECONDS)
        alone = asyncio.create_task(world.store.ownership.renew_session(alive("a2"), ttl_seconds=TTL_SECONDS))
        await world.until_a_lock_is_waited_for()
    assert (await alone).keepalives == 1
    assert states[1] is None
    assert {state is None for state in (states[0], states[2])} in ({False}, {True})


async def test_a_round_finds_the_one_agent_to_whom_lost_commits_were_confirmed(world: World) -> None:
    for agent_id in ("a1", "a2"):
        await world.agent(agent_id)
    history = (await world.operator.history()).id
    old = update(schema.history).values(begun_at=db_now() - 3600.0)
    await world.db.write(lambda connection: connection.execute(old))
    calls = [keepalive("a1", history=history), keepalive("a2", history=history, keepalives=9)]
    states = await world.store.ownership.renew_sessions(arrived(calls), ttl_seconds=TTL_SECONDS)
    if states == [None, None]:
        pytest.skip("this database renews each session by itself")
    begun = (await world.operator.history()).id
    assert begun != history
    assert [state.history for state in states if state is not None] == [begun, begun]
    assert (await world.row(schema.agent, "a2")).keepalives == 0


async def test_expired_session_is_revived_by_a_keepalive_and_has_to_settle_again(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    await world.settle("a1")
    await world.expire("a1")
    assert not await world.live("a1")
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)
    agent = await world.operator.agent("a1")
    assert agent.alive
    assert agent.session_started_at is not None and agent.session_expires_at is not None
    assert agent.session_expires_at - agent.session_started_at == pytest.approx(TTL_SECONDS, abs=1.0)
    assert (await world.shard(owner.shard_id)).acting_agent_id == "a1"


async def test_revived_session_does_not_own_what_was_taken_from_it(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.expire("a1")
    assert await assign_one(world.store, owner.shard_id, 1, "a2") is not None
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)
    found = await world.store.ownership.assignments("a1", "session-of-a1", work_limit=10)
    assert owner.shard_id not in {shard.shard_id for shard in found.shards}


async def test_session_kept_alive_before_the_databases_clock_was_set_back_is_not_live(world: World) -> None:
    await world.agent("a1")
    await world.change(schema.agent, "a1", session_expires_at=(await world.now()) + 3600.0)
    assert not await world.live("a1")
    assert await world.store.scheduling.read_live_sessions() == ()
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)
    assert await world.live("a1")


async def test_suspected_session_ends_now_and_is_revived_if_that_was_wrong(world: World) -> None:
    await world.agent("a1")
    (session,) = await world.store.scheduling.read_live_sessions()
    former = SessionRef(agent_id="a1", session_id="former", environment="east")
    assert await world.store.scheduling.end_sessions([former]) == 0
    assert await world.store.scheduling.end_sessions([session]) == 1
    assert await world.store.scheduling.end_sessions([session]) == 0
    assert not await world.live("a1")
    assert len(await world.events("agent_vanished")) == 1
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)
    assert await world.live("a1")


async def test_replaced_session_cannot_be_kept_alive(world: World) -> None:
    await world.agent("a1")
    await world.expire("a1")
    await world.agent("a1", session_id="second")
    with pytest.raises(SessionLost):
        await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)


@pytest.mark.services
async def test_takeover_waits_for_a_keepalive_under_way_and_then_yields(server_world: World) -> None:
    world = server_world
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    await world.expire("a1")
    async with open_transaction(world) as run:
        # as a keepalive that was judged just before the expiry and has not committed yet
        table = schema.agent
        renewal = update(table).where(table.c.id == "a1").values(session_expires_at=db_now() + TTL_SECONDS)
        await run(lambda connection: connection.execute(renewal))
        takeover = asyncio.create_task(assign_one(world.store, owner.shard_id, 1, "a2"))
        await world.until_a_lock_is_waited_for()
    assert await takeover is None
    assert (await world.shard(owner.shard_id)).acting_agent_id == "a1"


@pytest.mark.services
async def test_keepalive_that_waits_beyond_its_expiry_revives_and_no_takeover_follows(server_world: World) -> None:
    world = server_world
    await world.agent("a1")
    await world.agent("a2")
    owner = await world.tenant()
    async with open_transaction(world) as run:
        table = schema.agent
        expiry = update(table).where(table.c.id == "a1").values(session_expires_at=db_now() - 1.0)
        await run(lambda connection: connection.execute(expiry))
        keepalive = asyncio.create_task(world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS))
        await world.until_a_lock_is_waited_for()
    await keepalive
    assert await assign_one(world.store, owner.shard_id, 1, "a2") is None


# -- reporting


async def test_state_report_is_stored_and_fills_the_group(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.record_state(
        ReportState(
            agent_id="a1",
            session_id="session-of-a1",
            configurations={"interval": "10"},
            devices=(DeviceState(name="10.0.0.1", reachable=True),),
            queue_depth=3,
            capacity_score=0.75,
            serving=(ShardEpoch(shard_id="x", epoch=2),),
        )
    )
    row = await world.row(schema.agent, "a1")
    assert (row.queue_depth, row.capacity_score, row.configurations) == (3, 0.75, '{"interval":"10"}')
    assert row.reported_at is not None and "10.0.0.1" in row.devices and '"x"' in row.serving
    assert (await world.rows(schema.device_group))[0].capacity_score == 0.75


async def test_group_is_as_full_as_its_fullest_live_agent_says(world: World) -> None:
    for agent_id, score in (("a1", 0.75), ("a2", 0.25)):
        await world.agent(agent_id)
        await world.store.ownership.record_state(
            ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}", capacity_score=score)
        )
    assert (await world.rows(schema.device_group))[0].capacity_score == 0.75
    await world.expire("a1")
    await world.store.ownership.record_state(
        ReportState(agent_id="a2", session_id="session-of-a2", capacity_score=0.25)
    )
    assert (await world.rows(schema.device_group))[0].capacity_score == 0.25


async def test_state_report_of_an_ended_session_is_refused(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    with pytest.raises(SessionLost):
        await world.store.ownership.record_state(ReportState(agent_id="a1", session_id="session-of-a1"))


# -- ending


async def test_ended_session_frees_its_shards(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    await world.store.ownership.end_session("a1", "session-of-a1")
    assert (await world.shard(owner.shard_id)).acting_agent_id is None
    assert len(await world.events("agent_stopped")) == 1
    with pytest.raises(SessionLost):
        await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)


async def test_ending_twice_or_a_former_session_is_harmless(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.agent("a1", session_id="second")
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.store.ownership.renew_session(alive("a1", "second"), ttl_seconds=TTL_SECONDS)
    assert len(await world.events("agent_stopped")) == 1


async def test_agent_that_stopped_may_register_at_once(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.agent("a1", session_id="second")
