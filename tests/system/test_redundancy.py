"""Who serves what when hosts fail, leave, see less than others, or all fall silent at once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.core.control.environments import Environment
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


async def served(world: World) -> tuple[str, str]:
    """A load balancer that is active, and the host that serves it."""
    load_balancer_id = await world.create("a")
    await eventually(lambda: world.active(load_balancer_id))
    return load_balancer_id, await world.acting(load_balancer_id)


async def epoch(world: World, load_balancer_id: str) -> int:
    shard = await world.store.operators.shard_of_load_balancer(load_balancer_id)
    assert shard is not None
    return shard.epoch


async def kinds(world: World) -> list[str]:
    return [event.kind for event in await world.store.operators.events(limit=1000)]


async def elsewhere(world: World, load_balancer_id: str, host: str) -> None:
    async def moved() -> bool:
        return await world.acting(load_balancer_id) not in ("", host)

    await eventually(moved)


async def test_a_killed_process_is_replaced_without_waiting_for_its_session_to_end(world: World) -> None:
    await world.start()
    load_balancer_id, home = await served(world)
    await world.kill(home)
    await elsewhere(world, load_balancer_id, home)
    await world.rename(load_balancer_id, "by another")
    await eventually(lambda: world.active(load_balancer_id))
    assert "agent_vanished" in await kinds(world)  # settled: its end comes before the takeover


async def test_an_outage_of_the_bus_moves_nothing_where_all_agents_come_back(world: World) -> None:
    await world.start(agents=4)
    load_balancer_id, home = await served(world)
    before = await epoch(world, load_balancer_id)
    world.hub.outage = True

    async def halted() -> bool:
        (environment,) = await world.store.operators.environments()
        return bool(environment.halted_reason)

    async def all_silent() -> bool:
        return await halted() and not any([await world.alive(host) for host in world.agents])

    # one whose session outlived the outage would be free to take from those who come back a moment later
    await eventually(all_silent)
    world.hub.outage = False

    async def resumed() -> bool:
        return not await halted() and all([await world.alive(host) for host in world.agents])

    await eventually(resumed)
    await world.rename(load_balancer_id, "after the outage")
    await eventually(lambda: world.active(load_balancer_id))  # settled: nothing may ever move
    assert (await world.acting(load_balancer_id), await epoch(world, load_balancer_id)) == (home, before)
    assert "shard_taken_over" not in await kinds(world)


async def test_no_shard_moves_when_most_agents_fall_silent_until_an_operator_resumes(world: World) -> None:
    await world.start(agents=4)
    load_balancer_id, home = await served(world)
    others = [host for host in world.agents if host != home][:2]
    await world.kill(home, *others)

    async def halted() -> bool:
        (environment,) = await world.store.operators.environments()
        return bool(environment.halted_reason)

    await eventually(halted)
    shard = await world.store.operators.shard_of_load_balancer(load_balancer_id)
    await world.store.operators.resume_environment(ENVIRONMENT)
    await elsewhere(world, load_balancer_id, home)
    # settled: the epoch changes with the owner
    assert shard is not None and await epoch(world, load_balancer_id) == shard.epoch + 1


async def test_an_agent_that_alone_cannot_reach_the_devices_gives_its_shards_up(world: World) -> None:
    await world.start()
    load_balancer_id, home = await served(world)
    world.views[home].cut_off = True
    await world.rename(load_balancer_id, "by one that sees")
    await elsewhere(world, load_balancer_id, home)
    await eventually(lambda: world.active(load_balancer_id))
    assert await world.alive(home)  # settled: it may never end
    world.views[home].cut_off = False

    async def back_home() -> bool:
        return await world.acting(load_balancer_id) == home

    await eventually(back_home)


async def test_no_shard_moves_when_no_agent_reaches_the_devices(world: World) -> None:
    await world.start()
    load_balancer_id, home = await served(world)
    before = await epoch(world, load_balancer_id)
    world.memory.reachable = False
    await world.rename(load_balancer_id, "late")

    async def all_said_so() -> bool:
        return all(agent.reachable_devices == 0 for agent in await world.store.operators.agents())

    await eventually(all_said_so)
    world.memory.reachable = True
    await eventually(lambda: world.active(load_balancer_id))
    # settled: nothing may ever move
    assert (await world.acting(load_balancer_id), await epoch(world, load_balancer_id)) == (home, before)


async def test_changes_wait_for_an_agent_whose_devices_are_bound_to_its_host(world: World) -> None:
    world.reschedule = RescheduleMode.NEVER
    await world.start()
    load_balancer_id, home = await served(world)
    await world.vanish(home)
    revision = await world.rename(load_balancer_id, "when it is back")
    await eventually(lambda: world.silent(home))
    await world.start_agent(home)
    await eventually(lambda: world.active(load_balancer_id))
    assert (await world.root(load_balancer_id)).applied_revision == revision  # settled: nobody else changes it
    assert await world.acting(load_balancer_id) == home  # settled: nobody else may act


async def test_shard_bound_to_a_host_is_rebuilt_elsewhere_once_it_is_declared_dead(world: World) -> None:
    world.reschedule = RescheduleMode.RELOCATE
    await world.start()
    load_balancer_id, home = await served(world)
    await world.vanish(home)

    async def said_silent() -> bool:
        return "agent_silent" in await kinds(world)

    await eventually(said_silent)
    # settled: nobody may act yet
    assert await world.acting(load_balancer_id) == ""
    agent = next(agent for agent in await world.store.operators.agents() if agent.host == home)
    await world.store.operators.force_agent_down(agent.id, True)
    await elsewhere(world, load_balancer_id, home)
    shard = await world.store.operators.shard_of_load_balancer(load_balancer_id)
    assert shard is not None
    assert shard.home_agent_id == shard.acting_agent_id


async def test_shards_come_home_when_an_operator_asks_where_failback_is_manual(world: World) -> None:
    await world.start()
    await world.store.operators.update_environment(ENVIRONMENT, {"failback": FailbackMode.MANUAL})
    load_balancer_id, home = await served(world)
    await world.vanish(home)
    await elsewhere(world, load_balancer_id, home)
    await world.start_agent(home)
    agent = next(agent for agent in await world.store.operators.agents() if agent.host == home)

    async def settled_and_looked_at() -> bool:
        due_work = await world.store.scheduling.read_due_work(
            settle_seconds=0.3, breaker_window_seconds=30.0, homes=True
        )
        found = await world.store.operators.agent(agent.id)
        return not due_work.groups and due_work.now_seconds > (found.session_started_at or 0.0) + 1.0

    await eventually(settled_and_looked_at)
    assert await world.acting(load_balancer_id) != home  # settled: nothing may ever move
    await world.store.operators.request_failback(agent.id)

    async def back_and_ticked_off() -> bool:
        return (
            await world.acting(load_balancer_id) == home
            and not (await world.store.operators.agent(agent.id)).failback_asked
        )

    await eventually(back_and_ticked_off)


async def test_environments_of_one_database_do_not_see_each_other(world: World) -> None:
    await world.start()
    await world.store.operators.add_environment(Environment(name=f"{ENVIRONMENT}_b", device_driver="noop"))
    load_balancer_id, home = await served(world)
    shards = await world.store.operators.shards(environment=f"{ENVIRONMENT}_b")
    assert shards == ()
    assert await world.acting(load_balancer_id) == home
