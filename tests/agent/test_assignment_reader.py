"""Which assignments an agent requests, when, and what it does with the answers."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from evenkeel.agent.assignment_reader import AssignmentReader, AssignmentRequests
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.core.protocol import messages as m
from tests.agent.fakes import SETTINGS
from tests.waiting import eventually

HOURS = replace(SETTINGS, sync_spacing_seconds=3600.0, report_interval_seconds=3600.0)
"""Settings of an agent that makes one round and no other within a test."""


class Controllers:
    """Answer requests for assignments from a table that the test writes; ``knows_names`` is False of version 0.1."""

    def __init__(self) -> None:
        self.calls: list[m.GetAssignments] = []
        self.epochs = {"a": 1}
        self.revision = 1
        self.history = "h1"
        self.knows_names = True
        self.held: asyncio.Event | None = None
        """Answers wait for it."""

    async def assignments(self, call: m.GetAssignments) -> m.Assignments:
        self.calls.append(call)
        if self.held is not None:
            await self.held.wait()
        names = call.shard_ids if call.shard_ids and self.knows_names else tuple(self.epochs)
        shards = tuple(
            m.Assignment(shard_id=name, project_id=f"p-{name}", epoch=self.epochs[name])  # type: ignore[arg-type]
            for name in sorted(names)
            if name in self.epochs
        )
        return m.Assignments(revision=self.revision, shards=shards, history=self.history)

    def named(self) -> list[tuple[str, ...]]:
        """The shards of each request that named some."""
        return [call.shard_ids for call in self.calls if call.shard_ids]


class Ownership:
    """Remembers the epochs of the shards to serve."""

    def __init__(self) -> None:
        self.revision = -1
        self.served: dict[str, int] = {}

    def apply_assignments(self, page: m.Assignments) -> None:
        self.served |= {shard.shard_id: shard.epoch for shard in page.shards}

    def begin_round(self) -> None:
        """Nothing begins by hints here."""

    def end_unassigned(self, assigned: Any) -> None:
        self.revision = max(self.revision, assigned.revision)
        self.served = {id_: epoch for id_, epoch in self.served.items() if id_ in assigned.epochs}


class Session:
    id = "session"


class Bench:
    """A reader that has made its first round."""

    def __init__(self) -> None:
        self.controllers = Controllers()
        self.ownership = Ownership()
        self.requests = AssignmentRequests()
        self.history = DatabaseHistory(SystemClock())
        self.completed = 0

    def complete(self) -> None:
        self.completed += 1


@asynccontextmanager
async def reading() -> AsyncIterator[Bench]:
    bench = Bench()
    reader = AssignmentReader(
        Session(),  # type: ignore[arg-type]
        bench.ownership,  # type: ignore[arg-type]
        bench.requests,
        controllers=bench.controllers,  # type: ignore[arg-type]
        database_history=bench.history,
        clock=SystemClock(),
        settings=HOURS,
        rng=random.Random(1),
        follow_history=lambda: None,
        is_stopping=lambda: False,
        on_complete=bench.complete,
    )
    tasks = [asyncio.create_task(each) for each in (reader.read_all_when_requested(), reader.read_named_when_hinted())]
    try:
        bench.requests.request_all()
        await eventually(lambda: bench.ownership.revision == 1)
        yield bench
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_named_shard_is_read_alone_within_the_minimum_interval_of_rounds() -> None:
    async with reading() as bench:
        bench.controllers.epochs["b"] = 1
        bench.requests.request_shard("b")  # type: ignore[arg-type]
        await eventually(lambda: bench.ownership.served == {"a": 1, "b": 1})
        # settled: a request comes before its answer, and the answer decides the rest
        assert bench.controllers.named() == [("b",)] and not bench.requests.all.is_set()
        # settled: a request comes before its answer, and the answer decides the rest
        assert bench.completed == 1


async def test_shards_named_during_a_request_are_read_together_by_the_next() -> None:
    async with reading() as bench:
        bench.controllers.epochs |= {"b": 1, "c": 1, "d": 1}
        bench.controllers.held = asyncio.Event()
        bench.requests.request_shard("b")  # type: ignore[arg-type]
        await eventually(lambda: bench.controllers.named() == [("b",)])
        bench.requests.request_shard("d")  # type: ignore[arg-type]
        bench.requests.request_shard("c")  # type: ignore[arg-type]
        bench.controllers.held.set()
        await eventually(lambda: len(bench.ownership.served) == 4)
        # settled: a request comes before its answer, and the answer decides the rest
        assert bench.controllers.named() == [("b",), ("c", "d")]


async def test_a_named_shard_that_is_not_in_the_answer_leads_to_a_round() -> None:
    async with reading() as bench:
        bench.requests.request_shard("lost")  # type: ignore[arg-type]
        await eventually(bench.requests.all.is_set)
        # settled: a request comes before its answer, and the answer decides the rest
        assert bench.ownership.served == {"a": 1}


async def test_a_controller_that_ignores_names_answers_with_all_shards() -> None:
    async with reading() as bench:
        bench.controllers.knows_names = False
        bench.controllers.epochs["b"] = 7
        bench.requests.request_shard("b")  # type: ignore[arg-type]
        await eventually(lambda: bench.ownership.served == {"a": 1, "b": 7})
        # settled: a request comes before its answer, and the answer decides the rest
        assert not bench.requests.all.is_set()


async def test_an_answer_of_a_database_that_went_back_is_not_applied_and_leads_to_a_round() -> None:
    async with reading() as bench:
        bench.controllers.epochs["b"] = 1
        bench.controllers.revision = 0
        bench.requests.request_shard("b")  # type: ignore[arg-type]
        await eventually(bench.requests.all.is_set)
        # settled: a request comes before its answer, and the answer decides the rest
        assert bench.ownership.served == {"a": 1}


async def test_nothing_is_read_alone_before_the_first_round_or_while_lost_shards_must_be_named() -> None:
    async with reading() as bench:
        bench.ownership.revision = -1
        bench.requests.request_shard("b")  # type: ignore[arg-type]
        await eventually(bench.requests.all.is_set)
        # settled: a request comes before its answer, and the answer decides the rest
        assert not bench.controllers.named()


async def test_more_named_shards_than_a_request_takes_lead_to_a_round() -> None:
    requests = AssignmentRequests()
    for number in range(m.NAMED_ASSIGNMENTS_MAX):
        requests.request_shard(f"shard-{number:03}")  # type: ignore[arg-type]
    assert requests.named.is_set() and not requests.all.is_set()
    requests.request_shard("one more")  # type: ignore[arg-type]
    assert requests.all.is_set() and requests.take_named() == ()
