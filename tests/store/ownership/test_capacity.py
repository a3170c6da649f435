"""Capacity: figures that agents report, reservations, and that no group ever takes more than it may."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.core.placement import choose_group, choose_home
from evenkeel.core.protocol.messages import ReportState
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.resources.model import Member, Pool
from evenkeel.store.engine.statements import json_text
from evenkeel.store.ownership.capacity import REPORT_SLACK_SECONDS, decode_group_capacity
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.ownership_world import World, applied, statements, world_fixture

__all__ = ["world_fixture"]


async def report(world: World, figures: dict[str, tuple[float, float]], *, agent_id: str = "a1", **more: Any) -> None:
    """An agent's state report with (value, limit) by metric."""
    capacity = {name: CapacityFigure(value=value, limit=limit) for name, (value, limit) in figures.items()}
    call = ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}", capacity=capacity, **more)
    await world.store.ownership.record_state(call)


async def score(world: World, number: int = 1) -> float:
    groups = await world.store.scheduling.read_placement_groups("east", "nobody", settle_seconds=0.0)
    return next(group.capacity_score for group in groups if group.number == number)


async def reserved(world: World) -> dict[str, float]:
    return decode_group_capacity((await world.rows(schema.device_group))[0].capacity).reserved


async def place(world: World, project_id: str, *, addresses: int = 0) -> str | None:
    """A new load balancer, if group 1 takes it: its id."""
    root = await world.load_balancer(project_id=project_id)
    below: dict[str, Any] = {"load_balancer_id": root.id, "project_id": project_id}
    if addresses:
        pool_id = root.id[:-1] + "p"
        await world.add(
            Pool(id=pool_id, protocol="HTTP", lb_algorithm="ROUND_ROBIN", **below),
            *(
                Member(
                    id=f"{root.id[:30]}-{number}",
                    pool_id=pool_id,
                    address=f"10.0.0.{number // 2}",
                    protocol_port=number,
                    **below,
                )
                for number in range(2 * addresses)
            ),
        )
    owner = await world.store.scheduling.place_load_balancer(root.id, "east", project_id, 1, "a1")
    return root.id if owner else None


async def test_placement_counts_until_a_later_measurement_includes_it(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (0, 2), "node_count": (10, 100)})
    assert await score(world) == 0.1

    first = await place(world, "p1", addresses=3)
    assert first is not None
    assert await reserved(world) == {"tenant_count": 1.0, "node_count": 3.0}
    assert await score(world) == 0.5

    await report(world, {"tenant_count": (0, 2), "node_count": (10, 100)})
    assert await score(world) == 0.5, "it is not on the device yet"

    await world.report(applied(first))
    [row] = await world.rows(schema.capacity_reservation)
    assert row.confirmed_at is not None
    await report(world, {"tenant_count": (1, 2), "node_count": (13, 100)}, capacity_measured_seconds_ago=60.0)
    assert await score(world) == 1.0, "it was measured before the device had it, for all that is known"

    await confirmed_long_ago(world, first)
    await report(world, {"tenant_count": (1, 2), "node_count": (13, 100)})
    assert await score(world) == 0.5
    assert await world.rows(schema.capacity_reservation) == []


async def confirmed_long_ago(world: World, load_balancer_id: str) -> None:
    """Longer than a report may be under way."""
    table = schema.capacity_reservation

    def change(connection: Any) -> None:
        connection.execute(
            table.update()
            .where(table.c.load_balancer_id == load_balancer_id)
            .values(confirmed_at=table.c.confirmed_at - 2 * REPORT_SLACK_SECONDS)
        )

    await world.db.write(change)


async def clock_jumps(world: World, seconds: float) -> None:
    """The database's clock is set forward: all that was stored is older by it."""
    table, group = schema.capacity_reservation, schema.device_group

    def change(connection: Any) -> None:
        connection.execute(table.update().values(confirmed_at=table.c.confirmed_at - seconds))
        known = decode_group_capacity(connection.scalar(select(group.c.capacity)))
        clocks = {
            name: replace(clock, stored_at_seconds=clock.stored_at_seconds - seconds)
            for name, clock in known.clocks.items()
        }
        connection.execute(group.update().values(capacity=json_text(replace(known, clocks=clocks))))

    await world.db.write(change)


async def test_a_jump_of_the_databases_clock_makes_no_measurement_newer(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    figures = {"tenant_count": (0.0, 2.0)}
    await report(world, figures, sent_at_seconds=1000.0)
    first = await place(world, "p1")
    assert first is not None
    await report(world, figures, sent_at_seconds=1000.1)
    await world.report(applied(first))
    for seconds in (3600.0, 3600.0):
        await clock_jumps(world, seconds)
        for agent_id in ("a1", "a2"):  # measured before the device had it
            await report(world, figures, agent_id=agent_id, sent_at_seconds=1000.2, capacity_measured_seconds_ago=1.0)
            assert await reserved(world) == {"tenant_count": 1.0}

    await clock_jumps(world, 30.0)  # it goes on
    await report(world, {"tenant_count": (1, 2)}, sent_at_seconds=1030.2)
    assert await reserved(world) == {}


async def test_a_full_group_refuses_and_nothing_is_written(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (9, 10)})
    assert await place(world, "p1") is not None
    shards = len(await world.rows(schema.shard))

    assert await place(world, "p2") is None
    assert await place(world, "p1") is None, "a group at its limit takes no more of anybody"

    assert len(await world.rows(schema.shard)) == shards
    assert [row.shard_id for row in await world.rows(schema.load_balancer)].count(None) == 2
    [group] = await world.store.scheduling.read_placement_groups("east", "p2", settle_seconds=0.0)
    assert (group.eligible, group.at_limit) == (False, ("tenant_count 10 of 10",))


async def test_only_the_first_load_balancer_of_a_tenant_adds_a_tenant(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (0, 3)})
    for project_id in ("p1", "p1", "p1", "p2"):
        assert await place(world, project_id) is not None
    assert await reserved(world) == {"tenant_count": 2.0}


async def test_a_tenant_that_left_and_comes_back_counts_again(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (0, 3)})
    gone = await place(world, "p1")
    assert gone is not None
    await world.change(schema.load_balancer, gone, deleted=True)
    await world.report(applied(gone))
    assert await world.rows(schema.capacity_reservation) == []
    await report(world, {"tenant_count": (0, 3)})
    assert await reserved(world) == {}
    assert await place(world, "p1") is not None
    assert await reserved(world) == {"tenant_count": 1.0}


async def test_load_is_not_reserved(world: World) -> None:
    await world.agent("a1")
    await report(world, {"throughput": (5, 10)})
    for number in range(5):
        assert await place(world, f"p{number}") is not None
    assert await world.rows(schema.capacity_reservation) == []
    await report(world, {"throughput": (10, 10)})
    assert await place(world, "p9") is None


async def test_lower_figures_make_room(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (10, 10)})
    assert await place(world, "p1") is None
    [(waiting, _, _)] = await world.store.scheduling.read_unplaced_load_balancers(limit=10)
    await report(world, {"tenant_count": (9, 10)})
    assert await world.store.scheduling.place_load_balancer(waiting, "east", "p1", 1, "a1") is not None


async def test_load_balancers_with_a_free_group_are_placed_before_those_without(world: World) -> None:
    await world.agent("a1")
    await world.environment("west")
    await world.agent("b1", environment="west", host="elsewhere")
    await report(world, {"tenant_count": (1, 1)})
    await world.load_balancer(project_id="p1")
    later = await world.load_balancer(project_id="p1", provider="west", created_at=2e9)
    assert (await world.store.scheduling.read_unplaced_load_balancers(limit=1))[0][0] == later.id


async def test_a_new_group_is_limited_from_its_first_moment(world: World) -> None:
    figures = {"tenant_count": CapacityFigure(value=10, limit=10)}
    await world.agent("a1", capacity=figures)
    assert await place(world, "p1") is None
    await report(world, {"tenant_count": (9, 10)})
    await world.agent("a2", capacity=figures)
    assert await score(world) == 0.9, "a group that is known is not what a newcomer measured at some time"


async def test_an_agent_that_could_not_measure_leaves_what_is_known(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (7, 10)})
    await report(world, {}, capacity_unknown=True)
    assert await score(world) == 0.7
    assert (await world.row(schema.agent, "a1")).capacity != "{}"


async def test_an_agent_without_a_policy_does_not_lift_anothers(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    await report(world, {"tenant_count": (7, 10)})
    await report(world, {}, agent_id="a2")
    assert await score(world) == 0.7


async def test_a_policy_that_was_taken_away_limits_nothing(world: World) -> None:
    await world.agent("a1")
    await report(world, {"tenant_count": (9, 10)})
    assert await place(world, "p1") is not None
    await report(world, {})
    assert await score(world) == 0.0
    assert await world.rows(schema.capacity_reservation) == []
    assert await place(world, "p2") is not None


async def test_a_tenant_stays_until_its_group_is_full_then_goes_where_there_is_most_room(world: World) -> None:
    for number, agent_id in enumerate(("a1", "a2", "a3"), start=1):
        await world.agent(agent_id, group_number=number)
    for agent_id, value in (("a1", 8), ("a2", 6), ("a3", 5)):
        await report(world, {"node_count": (value, 10)}, agent_id=agent_id)

    async def choice(project_id: str) -> int:
        group = choose_group(
            await world.store.scheduling.read_placement_groups("east", project_id, settle_seconds=0.0),
            random.Random(1).choice,
        )
        assert group is not None
        return group.number

    assert await place(world, "p1", addresses=1) is not None
    assert (await choice("p1"), await choice("p2")) == (1, 3)
    assert await place(world, "p1", addresses=1) is not None
    assert await choice("p1") == 3


async def scramble(store: SqlStore, roots: list[tuple[str, str]]) -> int:
    """A controller that places what it is given until no group takes more; how many it placed."""
    rng, taken = random.Random(roots[0][0]), 0
    for load_balancer_id, project_id in roots:
        for _ in range(20):
            groups = await store.scheduling.read_placement_groups("east", project_id, settle_seconds=0.0)
            group = choose_group(groups, rng.choice)
            home = choose_home(group.agents, rng.choice) if group else None
            if group is None or home is None:
                break
            if await store.scheduling.place_load_balancer(load_balancer_id, "east", project_id, group.number, home.id):
                taken += 1
                break
    return taken


@pytest.mark.parametrize("shared", [True, False], ids=["the same ones", "each its own"])
async def test_two_controllers_never_overfill_a_group(world: World, shared: bool) -> None:
    for number in range(1, 9):  # several homes, so that nothing but the group's row is locked by all
        await world.agent(f"a{number}")
    await report(world, {"tenant_count": (0, 10)})
    roots = [((await world.load_balancer(project_id=f"p{number}")).id, f"p{number}") for number in range(50)]
    parts = [roots, roots[::-1]] if shared else [roots[::2], roots[1::2]]

    async def at_once(store: SqlStore, part: list[tuple[str, str]]) -> None:
        await asyncio.gather(*(scramble(store, [root]) for root in part))

    await asyncio.gather(*(at_once(world.another_controller(), part) for part in parts))

    placed = [row for row in await world.rows(schema.load_balancer) if row.shard_id is not None]
    assert len(placed) == 10
    assert await reserved(world) == {"tenant_count": 10.0}
    assert Counter(row.project_id != "" for row in await world.rows(schema.shard)) == {True: 10, False: 1}


async def test_statements_of_placing_and_reporting_do_not_grow_with_addresses(world: World) -> None:
    await world.agent("a1")
    costs = {}
    for name, figures in (("free", {}), ("limited", {"tenant_count": (0.0, 100.0), "node_count": (0.0, 1e6)})):
        await report(world, figures)
        for addresses in (1, 40):
            root = await world.load_balancer(project_id=f"{name}-{addresses}")
            with statements() as placing:
                assert (
                    await world.store.scheduling.place_load_balancer(root.id, "east", root.project_id, 1, "a1")
                    is not None
                )
            with statements() as confirming:
                await world.report(applied(root.id), project_id=root.project_id)
            with statements() as reporting:
                await report(world, figures)
            costs[name, addresses] = (len(placing.sent), len(confirming.sent), len(reporting.sent))
    assert costs["free", 1] == costs["free", 40]
    assert costs["limited", 1] == costs["limited", 40]
    free, limited = costs["free", 1], costs["limited", 1]
    assert free[0] <= 10 and limited[0] - free[0] == 3
    assert limited[1] - free[1] == 1
    assert limited[2] - free[2] == 3  # one that finds reservations writes when it was stored
