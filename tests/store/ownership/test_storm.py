"""Everything at once: agents live, die and return, controllers schedule, reports and changes come in any order.

Whatever the interleaving, an epoch of a shard belongs to one session for ever, epochs and applied revisions only
grow, and in the end every shard is served.
"""

import asyncio
import random
from collections import defaultdict
from typing import Any

import pytest
from sqlalchemy import and_, select

from evenkeel.core.kit.errors import CallRefused, SessionLost
from evenkeel.core.placement import plan_assignments, plan_return_home
from evenkeel.core.protocol.messages import ReportApplied, ReportStatus
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatus
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.conftest import WITH_GALERA, databases
from tests.store.ownership_world import TTL_SECONDS, World, alive, applied, assign_one, registration, world_fixture

__all__ = ["world_fixture"]

AGENTS = ("a1", "a2", "a3")
CONTROLLERS = 3
STEPS_PER_CONTROLLER = 60


backend = databases(*WITH_GALERA)


class Storm:
    """One run of random operations, and the books that are kept of it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.rng = random.Random(seed)
        self.sessions = {agent_id: f"{agent_id}-0" for agent_id in AGENTS}
        self.balancers: list[str] = []
        self.owners: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.numbers: dict[tuple[str, str], int] = {}

    async def run(self) -> None:
        controllers = [self.world.another_controller() for _ in range(CONTROLLERS)]
        await asyncio.gather(*(self.controller(store) for store in controllers))

    async def controller(self, store: SqlStore) -> None:
        steps = [self.schedule, self.report, self.observe, self.live_on, self.change, self.release, self.die, self.stop]
        for _ in range(STEPS_PER_CONTROLLER):
            step = self.rng.choices(steps, [6, 6, 2, 6, 4, 3, 1, 1])[0]
            try:
                await step(store)
            except (SessionLost, CallRefused):
                continue  # lost a race, as agents do
            await self.check()

    # -- what happens

    async def schedule(self, store: SqlStore) -> None:
        due_work = await store.scheduling.read_due_work(settle_seconds=0.0, breaker_window_seconds=0.0, homes=True)
        for environment, number in due_work.groups:
            group = await store.scheduling.group_snapshot(environment, number, settle_seconds=0.0)
            for step in plan_assignments(group, self.rng.choice):
                await assign_one(store, step.shard_id, step.seen_epoch, step.agent_id)
            for move in plan_return_home(group, at_once=2):
                await store.scheduling.start_handover(move.shard_id, move.seen_epoch, move.agent_id)
        await store.scheduling.mark_overdue_load_balancers(limit=10)

    async def release(self, store: SqlStore) -> None:
        agent_id = self.rng.choice(AGENTS)
        for each in (await store.ownership.assignments(agent_id, self.sessions[agent_id], work_limit=5)).shards:
            if each.handover or self.rng.random() < 0.2:
                await store.ownership.release_shard(agent_id, self.sessions[agent_id], each.shard_id, each.epoch)

    async def report(self, store: SqlStore) -> None:
        agent_id = self.rng.choice(AGENTS)
        for each in (await store.ownership.assignments(agent_id, self.sessions[agent_id], work_limit=5)).shards:
            answer = (
                await store.ownership.services(
                    agent_id,
                    self.sessions[agent_id],
                    each.shard_id,
                    each.epoch,
                    load_balancer_ids=None,
                    after_id="",
                    limit=9,
                )
            ).page
            outcomes = tuple(
                applied(one.load_balancer_id, one.revision, self.rng.choice(["", "", "refused"]))
                for one in answer.services
            )
            report = ReportApplied(
                agent_id=agent_id,
                session_id=self.sessions[agent_id],
                shard_id=each.shard_id,
                epoch=each.epoch,
                outcomes=outcomes,
            )
            await store.reports.record_applied(report)

    async def observe(self, store: SqlStore) -> None:
        common = await self.world.shard_of("")
        statuses = tuple(
            ObservedStatus(kind="loadbalancer", id=id_, status=self.rng.choice(list(OperatingStatus)))
            for id_ in self.balancers
        )
        if common.acting_agent_id:
            await store.reports.record_observed(
                ReportStatus(
                    agent_id=common.acting_agent_id,
                    session_id=self.sessions[common.acting_agent_id],
                    shard_id=common.id,
                    epoch=common.epoch,
                    statuses=statuses,
                )
            )

    async def live_on(self, store: SqlStore) -> None:
        await self.keep(store, self.rng.choice(AGENTS))

    async def keep(self, store: SqlStore, agent_id: str) -> None:
        """The agent keeps its session alive, or opens a new one."""
        try:
            await store.ownership.renew_session(alive(agent_id, self.sessions[agent_id]), ttl_seconds=TTL_SECONDS)
        except SessionLost:
            session = f"{agent_id}-{self.rng.random()}"
            await store.ownership.register(registration(agent_id, session_id=session), ttl_seconds=TTL_SECONDS)
            self.sessions[agent_id] = session

    async def change(self, store: SqlStore) -> None:
        await self.world.tenant_changes(self.rng.choice(self.balancers))

    async def die(self, store: SqlStore) -> None:
        """One of them, while the others have been there for long: who has just come back must not take from it."""
        await self.lose(store, self.rng.choice(AGENTS))

    async def lose(self, store: SqlStore, victim: str) -> None:
        await self.world.expire(victim)
        for agent_id in AGENTS:
            if agent_id != victim:
                await self.world.settle(agent_id)
        await self.schedule(store)

    async def stop(self, store: SqlStore) -> None:
        agent_id = self.rng.choice(AGENTS)
        await store.ownership.end_session(agent_id, self.sessions[agent_id])

    async def calm(self) -> None:
        """One last loss that nobody disturbs; then all agents are back, and their devices take everything."""
        store = self.world.store
        # of two registrations of one agent, the answer to the former may have come last
        sessions = {row.id: row.session_id for row in await self.world.rows(schema.agent)}
        self.sessions |= {agent_id: session for agent_id, session in sessions.items() if session is not None}
        for agent_id in AGENTS:
            await self.keep(store, agent_id)
            await self.world.settle(agent_id)
        await self.schedule(store)
        serving = [row.acting_agent_id for row in await self.world.rows(schema.shard)]
        await self.lose(store, serving[0])
        for agent_id in AGENTS:
            await self.keep(store, agent_id)
        await self.schedule(store)
        for agent_id in AGENTS:
            for each in (await store.ownership.assignments(agent_id, self.sessions[agent_id], work_limit=99)).shards:
                revisions = {id_: (await self.world.load_balancer_row(id_)).revision for id_ in each.work}
                outcomes = tuple(applied(id_, revision) for id_, revision in revisions.items())
                await store.reports.record_applied(
                    ReportApplied(
                        agent_id=agent_id,
                        session_id=self.sessions[agent_id],
                        shard_id=each.shard_id,
                        epoch=each.epoch,
                        outcomes=outcomes,
                    )
                )

    # -- what must be so

    async def check(self) -> None:
        shard, agent, root = schema.shard, schema.agent, schema.load_balancer
        # outer joins in one statement, so that a shard is seen with its owner of the same moment
        owners = select(shard.c.id, shard.c.epoch, agent.c.session_id).outerjoin(
            agent, and_(agent.c.id == shard.c.acting_agent_id, is_live())
        )
        revisions = select(root.c.id, root.c.revision, root.c.applied_revision)

        def look(connection: Any) -> tuple[list[Any], list[Any]]:
            return list(connection.execute(owners)), list(connection.execute(revisions))

        before = dict(self.numbers)
        shards, balancers = await self.world.db.read(look)
        for row in shards:
            if row.session_id is not None:
                self.owners[row.id, row.epoch].add(row.session_id)
                assert len(self.owners[row.id, row.epoch]) == 1, "an epoch had two owners"
        for row in balancers:
            assert row.applied_revision <= row.revision
        self.grow(before, {("epoch", row.id): row.epoch for row in shards})
        self.grow(before, {("applied", row.id): row.applied_revision for row in balancers})

    def grow(self, before: dict[tuple[str, str], int], now: dict[tuple[str, str], int]) -> None:
        """Compared with what was known when the look began: looks of other controllers may end earlier."""
        for key, number in now.items():
            assert number >= before.get(key, 0), f"{key} went back"
            self.numbers[key] = max(number, self.numbers.get(key, 0))


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_epoch_ever_has_two_owners_and_everything_is_served_in_the_end(world: World, seed: int) -> None:
    storm = Storm(world, seed)
    for agent_id in AGENTS:
        await world.agent(agent_id, session_id=storm.sessions[agent_id])
    for number in range(8):
        storm.balancers.append((await world.placed(project_id=f"p{number % 4}")).id)
    await storm.run()
    await storm.calm()
    assert await world.events("shard_taken_over", "shard_handed_over"), "nothing happened"
    assert all(row.acting_agent_id is not None for row in await world.rows(schema.shard))
    assert {row.provisioning_status for row in await world.rows(schema.load_balancer)} == {"ACTIVE"}
