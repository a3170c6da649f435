"""The change indicator differs whenever something may have to be decided."""

from collections.abc import Awaitable, Callable

import pytest

from evenkeel.core.control.scheduling import ChangeIndicator
from evenkeel.core.protocol.messages import ReportState
from evenkeel.core.status.device_state import DeviceState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.scheduling.change_indicator import SETTLED_SECONDS
from tests.store.ownership_world import World, alive, applied, statements, world_fixture

__all__ = ["world_fixture"]


async def calm(world: World) -> ChangeIndicator:
    """An agent that has long been up, with a load balancer."""
    await world.agent("a1")
    report = ReportState(agent_id="a1", session_id="session-of-a1", devices=(DeviceState(name="d", reachable=True),))
    await world.store.ownership.record_state(report)
    await world.report(applied((await world.placed()).id))
    long_ago = db_now() - 2 * SETTLED_SECONDS
    await world.change(schema.agent, "a1", session_started_at=long_ago, sight_since=long_ago)
    indicator = await world.store.scheduling.change_indicator()
    assert indicator.calm
    return indicator


async def test_while_nothing_happens_it_stays_the_same_and_takes_one_statement(world: World) -> None:
    before = await calm(world)
    await world.store.ownership.renew_session(alive("a1"), ttl_seconds=30.0)
    with statements() as seen:
        after = await world.store.scheduling.change_indicator()
    assert len(seen.sent) == 1
    assert (after.calm, after.marks) == (True, before.marks)


async def test_indicator_counts_agents_with_missed_keepalives(world: World) -> None:
    before = await calm(world)
    await world.change(schema.agent, "a1", session_expires_at=db_now() + 200.0, session_ttl_seconds=5_000.0)
    after = await world.store.scheduling.change_indicator()
    assert (before.late, after.late) == (0, 1)
    assert (after.calm, after.marks) == (True, before.marks)


async def _away(world: World) -> None:
    report = ReportState(agent_id="a1", session_id="session-of-a1", devices=(DeviceState(name="d", reachable=False),))
    await world.store.ownership.record_state(report)


async def _unserved(world: World) -> None:
    (shard, *_) = await world.rows(schema.shard)
    await world.change(schema.shard, shard.id, acting_agent_id=None)


async def _unplaced(world: World) -> None:
    await world.load_balancer()


async def _agent(world: World) -> None:
    await world.agent("a2")


RESTLESS: dict[str, Callable[[World], Awaitable[object]]] = {
    "expired": lambda world: world.expire("a1"),
    "another agent": _agent,
    "devices out of reach": _away,
    "unserved": _unserved,
    "unplaced": _unplaced,
}


@pytest.mark.parametrize("what", RESTLESS)
async def test_indicator_is_not_calm_while_time_or_a_waiting_object_leads_to_a_decision(
    world: World, what: str
) -> None:
    await calm(world)
    await RESTLESS[what](world)
    assert not (await world.store.scheduling.change_indicator()).calm


@pytest.mark.parametrize("column", ["forced_down", "failback_asked", "admin_state_up"])
async def test_operators_settings_of_an_agent_change_the_marks(world: World, column: str) -> None:
    before = await calm(world)
    await world.change(schema.agent, "a1", **{column: column != "admin_state_up"})
    assert (await world.store.scheduling.change_indicator()).marks != before.marks


async def test_without_agents_there_is_nothing_to_decide(world: World) -> None:
    assert (await world.store.scheduling.change_indicator()).calm
