"""Silence is said once, circuit breakers open and close, and what an operator asked for is ticked off."""

from evenkeel.store.records import schema
from tests.store.ownership_world import TTL_SECONDS, World, alive, assign_one, server_world_fixture, world_fixture

__all__ = ["server_world_fixture", "world_fixture"]

WINDOW = 300.0


async def is_news(world: World, *, homes: bool = False) -> bool:
    due_work = await world.store.scheduling.read_due_work(
        settle_seconds=0.0, breaker_window_seconds=WINDOW, homes=homes
    )
    return due_work.silence


async def note(world: World) -> None:
    await world.store.scheduling.record_silence(breaker_window_seconds=WINDOW)


async def halted(world: World) -> str:
    (environment,) = [each for each in await world.operator.environments() if each.name == "east"]
    return environment.halted_reason


async def test_stock_tells_the_databases_time(world: World) -> None:
    due_work = await world.store.scheduling.read_due_work(settle_seconds=0.0, breaker_window_seconds=WINDOW, homes=True)
    assert abs(due_work.now_seconds - await world.now()) < 60.0


async def test_silence_and_return_are_said_once(world: World) -> None:
    await world.agent("a1")
    assert not await is_news(world)
    await world.expire("a1")
    assert await is_news(world)
    await note(world)
    await note(world)
    assert not await is_news(world)
    assert len(await world.events("agent_silent")) == 1
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)
    assert await is_news(world)
    await note(world)
    assert not await is_news(world)
    assert len(await world.events("agent_back")) == 1


async def test_event_of_silence_names_whether_the_session_expired_or_was_ended(world: World) -> None:
    for agent in ("a1", "a2"):
        await world.agent(agent)
    await world.expire("a1")
    ended = [each for each in await world.store.scheduling.read_live_sessions() if each.agent_id == "a2"]
    assert await world.store.scheduling.end_sessions(ended) == 1
    await note(world)
    expired, vanished = sorted(await world.events("agent_silent"), key=lambda event: event.agent_id)
    assert "its session expired" in expired.text
    assert vanished.text.endswith("is silent: its session was ended")


async def test_an_agent_that_stopped_is_not_silent(world: World) -> None:
    await world.agent("a1")
    await world.store.ownership.end_session("a1", "session-of-a1")
    assert not await is_news(world)


async def silence_three_of_four(world: World) -> None:
    for number in range(1, 5):
        await world.agent(f"a{number}")
    for number in range(1, 4):
        await world.expire(f"a{number}")
    await note(world)


async def test_breaker_opens_when_most_fall_silent_at_once_and_closes_when_enough_are_back(world: World) -> None:
    await silence_three_of_four(world)
    assert await halted(world) == "3 of 4 agents fell silent at once"
    assert not await is_news(world)
    snapshot = await world.store.scheduling.group_snapshot("east", 1, settle_seconds=0.0)
    assert snapshot.halted
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=TTL_SECONDS)
    await note(world)
    assert await halted(world) == ""
    kinds = [event.kind for event in await world.events("environment_halted", "environment_resumed")]
    assert kinds == ["environment_halted", "environment_resumed"]


async def test_agents_that_missed_keepalives_count_once_one_is_silent(world: World) -> None:
    for number in range(1, 5):
        await world.agent(f"a{number}")
    for number in range(1, 4):
        await world.change(schema.agent, f"a{number}", session_expires_at=(await world.now()) + 200.0)
        await world.change(schema.agent, f"a{number}", session_ttl_seconds=5_000.0)
    assert not await is_news(world)
    await world.expire("a1")
    await note(world)
    assert await halted(world) == "3 of 4 agents fell silent at once"


async def test_an_operators_decision_stands(world: World) -> None:
    await silence_three_of_four(world)
    await world.operator.resume_environment("east")
    assert await halted(world) == ""
    await note(world)
    assert await halted(world) == ""


async def test_failback_request_ends_when_the_shards_are_home(world: World) -> None:
    await world.agent("a2")
    await world.agent("a1")
    owner = await world.tenant()
    await world.change(schema.shard, owner.shard_id, home_agent_id="a1")
    await world.change(schema.agent, "a1", failback_asked=True)
    assert await is_news(world, homes=True) == ((await world.shard(owner.shard_id)).acting_agent_id == "a1")
    await world.expire("a2")
    await assign_one(world.store, owner.shard_id, 1, "a1")
    assert await is_news(world, homes=True)
    await note(world)
    assert not (await world.operator.agent("a1")).failback_asked
