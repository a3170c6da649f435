"""What must not come of outages, hopeless shards, flapping and clocks that were set: the scheduler on a real store."""

import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from evenkeel.controller.database_clock import DatabaseClockMonitor
from evenkeel.controller.scheduler import Scheduler
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.protocol.messages import ReportState
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.resources.statuses import RescheduleMode
from evenkeel.core.status.device_state import DeviceState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.scheduling.snapshots import MAX_SHARDS_PER_SNAPSHOT
from tests.clock import HandClock
from tests.store.ownership_world import TTL_SECONDS, World, alive, applied, started, statements

TTL = 5.0


class NoHints:
    """Says nothing."""

    def notify_assignments(self, owner: Any) -> None:
        """As of hints."""

    def notify_work(self, owner: Any, load_balancer_id: str) -> None:
        """As of hints."""


@pytest.fixture(name="world")
async def sqlite_world(sqlite_template: str, tmp_path: Path) -> AsyncIterator[World]:
    shutil.copy(sqlite_template, tmp_path / "store.db")
    async with started(f"sqlite:///{tmp_path / 'store.db'}") as world:
        yield world


def scheduler(world: World) -> Scheduler:
    # a machine may stand still between two ticks: that makes no jump of the database's clock, and settles nobody
    settings = ControllerSettings(
        homes_interval_seconds=0.0, session_ttl_seconds=TTL_SECONDS, settle_seconds=TTL_SECONDS
    )
    hints: Any = NoHints()
    return Scheduler(world.store.scheduling, world.store.operators, hints, settings, random.Random(1), HandClock())


async def silent(world: World, agent_id: str, seconds: float) -> None:
    """Its session has expired so long ago."""
    await world.change(schema.agent, agent_id, session_expires_at=db_now() - seconds, session_ttl_seconds=TTL)


async def back(world: World, agent_id: str) -> None:
    await world.store.ownership.renew_session(alive(agent_id), ttl_seconds=TTL)


async def agents(world: World, count: int) -> None:
    for number in range(1, count + 1):
        await world.agent(f"a{number}")
        await world.settle(f"a{number}")


async def acting(world: World, shard_id: str) -> str | None:
    owner: str | None = (await world.shard(shard_id)).acting_agent_id
    return owner


async def halted(world: World) -> str:
    return (await world.operator.environments())[0].halted_reason


def state(agent_id: str, sees: int, **more: Any) -> ReportState:
    devices = tuple(DeviceState(name=f"d{number}", reachable=number < sees) for number in range(2))
    return ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}", devices=devices, **more)


# -- outages of what all agents share


@pytest.mark.parametrize("count", [2, 4])
async def test_after_a_minute_without_database_or_controllers_the_first_agent_back_takes_nothing(
    world: World, count: int
) -> None:
    await agents(world, count)
    owner = await world.tenant("p2", home="a2")
    for number in range(1, count + 1):
        await silent(world, f"a{number}", 55.0)
    await back(world, "a1")
    await scheduler(world).tick()
    await back(world, "a2")
    assert await acting(world, owner.shard_id) == "a2"


async def test_after_an_outage_the_later_half_of_the_agents_keeps_its_shards(world: World) -> None:
    await agents(world, 6)
    owner = await world.tenant("p6", home="a6")
    for number in range(1, 7):
        await silent(world, f"a{number}", 2.0)
    controller = scheduler(world)
    await controller.tick()
    for number in (1, 2, 3):
        await back(world, f"a{number}")
    await controller.tick()
    for number in (4, 5, 6):
        await back(world, f"a{number}")
    assert await acting(world, owner.shard_id) == "a6"


async def test_an_agent_with_other_devices_cannot_slip_in_while_its_group_is_silent(world: World) -> None:
    await world.agent("a1")
    await silent(world, "a1", 1.0)
    try:
        await world.agent("a2", endpoints=("10.9.9.9",))
    except CallRefused:
        return
    try:
        await back(world, "a1")
    except Exception:
        return
    assert not (await world.live("a1") and await world.live("a2"))


async def test_a_hiccup_opens_no_breaker_because_one_agent_died_weeks_ago(world: World) -> None:
    await agents(world, 5)
    await silent(world, "a1", 30 * 86_400.0)
    controller = scheduler(world)
    await controller.tick()
    for number in range(2, 6):
        await world.change(schema.agent, f"a{number}", session_expires_at=db_now() + TTL_SECONDS / 3)
    await controller.tick()
    assert not await halted(world)


# -- shards that stay unserved


async def test_shards_that_cannot_move_do_not_hide_others(world: World) -> None:
    for agent_id in ("a1", "a2"):
        await world.agent(agent_id, reschedule=RescheduleMode.NEVER)

    def shard(id_: str, home: str) -> dict[str, Any]:
        names = {"id": id_, "project_id": id_, "home_agent_id": home, "acting_agent_id": home}
        return {"environment": "east", "group_number": 1, "epoch": 1, "created_at": 0.0, **names}

    rows = [shard(f"0-{number}", "a1") for number in range(MAX_SHARDS_PER_SNAPSHOT)] + [shard("last", "a2")]
    await world.db.write(lambda c: c.execute(insert(schema.shard), rows))
    await silent(world, "a1", 100.0)
    await world.store.ownership.end_session("a2", "session-of-a2")
    await world.agent("a2", session_id="second", reschedule=RescheduleMode.NEVER)
    await scheduler(world).tick()
    assert await acting(world, "last") == "a2"


async def test_shard_bound_to_a_deleted_agent_gets_another_home(world: World) -> None:
    await world.agent("a1", reschedule=RescheduleMode.NEVER)
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.operator.delete_agent("a1")
    await world.agent("a2", reschedule=RescheduleMode.NEVER)
    await scheduler(world).tick()
    assert (await world.shard_of("")).acting_agent_id == "a2"


async def test_a_drained_agent_that_nobody_can_replace_serves_on_after_a_restart(world: World) -> None:
    await world.agent("a1")
    owner = await world.tenant()
    await world.operator.set_agent_admin_state("a1", False)
    controller = scheduler(world)
    await controller.tick()
    before = await acting(world, owner.shard_id)
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.agent("a1", session_id="second")
    await controller.tick()
    assert (before, await acting(world, owner.shard_id)) == ("a1", "a1")


# -- flapping


async def test_a_home_that_has_just_seen_its_devices_again_has_to_settle(world: World) -> None:
    await agents(world, 2)
    owner = await world.tenant()
    await world.store.ownership.record_state(state("a1", 1))
    await world.store.ownership.record_state(state("a2", 2))
    controller = scheduler(world)
    await controller.tick()
    shard = await world.shard(owner.shard_id)
    await world.store.ownership.release_shard("a1", "session-of-a1", shard.id, shard.epoch)
    await world.store.ownership.record_state(state("a1", 2))
    await controller.tick()
    assert (await world.shard(owner.shard_id)).handover_to is None


# -- clocks


async def test_database_nodes_whose_clocks_differ_do_not_stop_the_judging_for_ever() -> None:
    clock = HandClock()
    watch = DatabaseClockMonitor(clock, hold_seconds=TTL)
    trusted = 0
    for look in range(200):
        clock.now += 0.5
        watch.record_reading(1000.0 + clock.now + 1.5 * (look % 2), asked_at_seconds=clock.now)
        trusted += watch.is_trusted
    assert trusted > 100


async def test_a_reservation_ends_though_the_clock_was_set_back(world: World) -> None:
    limited = {"tenant_count": CapacityFigure(value=0.0, limit=2.0)}
    await world.agent("a1", capacity=limited)
    load_balancer = await world.placed()
    await world.report(applied(load_balancer.id))
    table = schema.capacity_reservation
    await world.db.write(lambda c: c.execute(update(table).values(confirmed_at=db_now() + 86_400.0)))
    await world.store.ownership.record_state(
        state("a1", 2, capacity={"tenant_count": CapacityFigure(value=1.0, limit=2.0)})
    )
    assert not await world.rows(table)


async def test_pending_ends_though_the_clock_was_set_back(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    await world.change(schema.load_balancer, load_balancer.id, pending_deadline=db_now() + 365 * 86_400.0)
    assert await world.store.scheduling.mark_overdue_load_balancers(limit=10) == 1


# -- cost


async def test_a_tick_of_a_halted_environment_does_not_look_at_every_group(world: World) -> None:
    def groups(connection: Any) -> None:
        for number in range(1, 21):
            connection.execute(
                insert(schema.device_group).values(
                    environment="east",
                    number=number,
                    device_driver="bigip",
                    ha_type="pair",
                    reschedule="control",
                    endpoints="[]",
                    created_at=0.0,
                )
            )
            connection.execute(
                insert(schema.agent).values(
                    id=f"a{number}",
                    environment="east",
                    group_number=number,
                    host=f"h{number}",
                    device_driver="bigip",
                    ha_type="pair",
                    session_id="s",
                    session_started_at=0.0,
                    silent_since=db_now() - 1.0,
                    session_expires_at=db_now() - 1.0,
                    created_at=0.0,
                )
            )
            connection.execute(
                insert(schema.shard).values(
                    id=f"s{number}",
                    environment="east",
                    group_number=number,
                    project_id="p",
                    home_agent_id=f"a{number}",
                    acting_agent_id=f"a{number}",
                    epoch=1,
                    created_at=0.0,
                )
            )
        connection.execute(update(schema.environment).values(halted_at=db_now() - 1.0, halted_reason="all silent"))

    await world.db.write(groups)
    with statements() as seen:
        await scheduler(world).tick()
    assert len(seen.sent) < 20
