"""Workers match what the controllers last said: each shard at its epoch has one, and nothing else does."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent import ownership as room
from evenkeel.agent.assignment_round import AssignmentRound
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.agent.ownership import Ownership
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.devices.device import DeviceFacts, DeviceState
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.networking.networks import NetworkLayout
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from tests.agent.fakes import SETTINGS
from tests.clock import HandClock
from tests.waiting import eventually

RETRY = Backoff(initial_seconds=10.0, max_seconds=10.0, jitter=(1.0, 1.0))


class Stub:
    """Runs until told to finish, or until the test ends it."""

    def __init__(self, assignment: m.Assignment, **_neighbours: Any) -> None:
        self.shard_id, self.project_id, self.epoch = assignment.shard_id, assignment.project_id, assignment.epoch
        self.work = list(assignment.work)
        self.hinted: list[str] = []
        self.doubts: list[tuple[tuple[str, ...], bool]] = []
        self.said_again = 0
        self.queue_depth = 2
        self.devices: tuple[DeviceState, ...] = ()
        self.is_writing = True
        self.finishes = True
        self.definitions: m.InlinedDefinitions | None = _neighbours.get("definitions")
        self.failure: Exception | None = None
        self.ended = asyncio.Event()
        self.cancelled = False
        MADE.append(self)

    async def run(self) -> None:
        try:
            await self.ended.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.failure is not None:
            raise self.failure

    def finish(self) -> None:
        if self.finishes:
            self.ended.set()

    def add_work(self, work: tuple[str, ...]) -> None:
        self.work += work

    def add_hinted_work(self, ids: tuple[str, ...], definitions: m.InlinedDefinitions | None = None) -> None:
        self.hinted += ids

    def invalidate(self, ids: tuple[str, ...], *, complete: bool) -> None:
        self.doubts.append((ids, complete))

    def report_all_again(self) -> None:
        self.said_again += 1


class Worker(Stub):
    """Of a tenant's shard."""


class CommonWorker(Stub):
    """Of the shard that all tenants share."""

    def __init__(self, assignment: m.Assignment, *, writer: Worker | None = None, **neighbours: Any) -> None:
        super().__init__(assignment, **neighbours)
        self.writer = writer


MADE: list[Stub] = []


class Controllers:
    def __init__(self) -> None:
        self.released: list[m.ReleaseShards] = []
        self.problem: Exception | None = None

    async def release_shards(self, call: m.ReleaseShards) -> None:
        self.released.append(call)
        if self.problem is not None:
            raise self.problem


class Session:
    id = "s1"
    assignments_revision = 4


class Group:
    """Devices, which are attached to networks or not."""

    def __init__(self) -> None:
        self.facts = DeviceFacts(
            driver="stub", ha_type=HaType.STANDALONE, reschedule=RescheduleMode.CONTROL, endpoints=("one",)
        )


class Bench:
    """An ownership between fakes. ``asked``: how often it wanted to know again what is its."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.history = DatabaseHistory(self.clock)
        self.history.record_history("h1", asked_at=self.clock.now)
        self.controllers = Controllers()
        self.asked = 0
        self.group = Group()
        self.ownership = Ownership(
            Session(),  # type: ignore[arg-type]
            controllers=self.controllers,  # type: ignore[arg-type]
            device=self.group,  # type: ignore[arg-type]
            clock=self.clock,
            settings=replace(SETTINGS, retry=RETRY, stop_timeout_seconds=0.05),
            database_history=self.history,
            rng=random.Random(1),
            request_assignments=self._ask,
            on_device_trouble=lambda: None,
            incarnations=DeviceIncarnations(),
        )

    def _ask(self) -> None:
        self.asked += 1

    def apply(self, *shards: m.Assignment, revision: int = 1) -> None:
        """All shards in one page."""
        self.read(m.Assignments(revision=revision, shards=shards))

    def read(self, *pages: m.Assignments) -> None:
        """One round, in so many pages."""
        self.ownership.begin_round()
        self.answer(*pages)

    def answer(self, *pages: m.Assignments) -> None:
        """Of the round under way."""
        assigned = AssignmentRound()
        for page in pages:
            assert assigned.add_page(page)
            self.ownership.apply_assignments(page)
        assert assigned.complete
        self.ownership.end_unassigned(assigned)

    @property
    def serving(self) -> list[tuple[str, int]]:
        return [(one.shard_id, one.epoch) for one in self.ownership.served_shards]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    MADE.clear()
    monkeypatch.setattr(room, "ShardWorker", Worker)
    monkeypatch.setattr(room, "CommonShardWorker", CommonWorker)
    return Bench()


def shard(name: str, epoch: int = 1, **more: Any) -> m.Assignment:
    return m.Assignment(shard_id=name, epoch=epoch, **{"project_id": f"tenant-{name}", **more})  # type: ignore[arg-type]


COMMON = shard("common", project_id=COMMON_PROJECT)


async def settled(condition: Callable[[], object]) -> None:
    await eventually(condition)


async def test_each_shard_gets_a_worker_and_those_with_work_begin_first(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b", work=("lb-1",)), COMMON, revision=4)
    assert bench.serving == [("b", 1), ("a", 1), ("common", 1)]
    assert isinstance(MADE[2], CommonWorker) and bench.ownership.revision == 4
    await bench.ownership.end_workers(graceful=False)


async def test_the_same_said_again_adds_work_and_starts_nothing(bench: Bench) -> None:
    bench.apply(shard("a", work=("lb-1",)), revision=4)
    bench.apply(shard("a", work=("lb-2",)), revision=3)
    (worker,) = MADE
    assert worker.work == ["lb-1", "lb-2"] and bench.ownership.revision == 4
    await bench.ownership.end_workers(graceful=False)


async def test_a_shard_at_another_epoch_is_another_shard(bench: Bench) -> None:
    bench.apply(shard("a", 1))
    await asyncio.sleep(0)
    bench.apply(shard("a", 2))
    await settled(lambda: MADE[0].cancelled and bench.serving == [("a", 2)])
    await bench.ownership.end_workers(graceful=False)


async def test_worker_of_an_unassigned_shard_ends_and_the_shard_is_remembered_as_left(bench: Bench) -> None:
    bench.apply(shard("a", 3), shard("b"))
    await asyncio.sleep(0)
    bench.apply(shard("b"))
    await settled(lambda: MADE[0].cancelled and bench.serving == [("b", 1)])
    bench.clock.now += 1.0
    bench.history.record_history("h2", asked_at=bench.clock.now)
    assert bench.history.lost_shards() == (m.FormerShard(project_id="tenant-a", epoch=3),)
    await bench.ownership.end_workers(graceful=False)


async def test_only_a_complete_round_ends_what_it_does_not_name(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"), shard("c"))
    first = m.Assignments(revision=2, shards=(shard("b"),), more=True)
    bench.ownership.apply_assignments(first)
    assert bench.serving == [("a", 1), ("b", 1), ("c", 1)]
    bench.read(first, m.Assignments(revision=2, shards=(shard("c"), shard("d")), after_id="b"))
    assert bench.serving == [("b", 1), ("c", 1), ("d", 1)]
    await bench.ownership.end_workers(graceful=False)


async def test_page_of_assignments_is_applied_before_the_next_one(bench: Bench) -> None:
    bench.apply(shard("a", 1), shard("b"))
    bench.ownership.apply_assignments(m.Assignments(revision=2, shards=(shard("a", 2), shard("b", handover=True))))
    assert bench.serving == [("b", 1), ("a", 2)]
    await settled(lambda: bench.controllers.released and bench.serving == [("a", 2)])
    await bench.ownership.end_workers(graceful=False)


async def test_the_revision_of_a_round_is_that_of_its_first_page(bench: Bench) -> None:
    bench.read(
        m.Assignments(revision=4, shards=(shard("a"),), more=True),
        m.Assignments(revision=6, shards=(shard("b"),), after_id="a"),
    )
    assert bench.ownership.revision == 4
    await bench.ownership.end_workers(graceful=False)


@pytest.mark.parametrize("failure", [None, RuntimeError("a bug")])
async def test_a_worker_that_ended_by_itself_is_queried_and_rests_before_the_next(
    bench: Bench, failure: Exception | None
) -> None:
    bench.apply(shard("a"))
    MADE[0].failure = failure
    MADE[0].ended.set()
    await settled(lambda: bench.asked)
    bench.apply(shard("a"))
    assert (len(MADE), bench.serving) == (1, [])
    bench.clock.now += RETRY.max_seconds
    bench.apply(shard("a"))
    assert (len(MADE), bench.serving) == (2, [("a", 1)])
    await bench.ownership.end_workers(graceful=False)


async def test_at_a_new_epoch_nothing_rests(bench: Bench) -> None:
    bench.apply(shard("a", 1))
    MADE[0].ended.set()
    await settled(lambda: bench.asked)
    bench.apply(shard("a", 2))
    assert bench.serving == [("a", 2)]
    await bench.ownership.end_workers(graceful=False)


async def test_a_handover_ends_the_worker_and_then_releases_the_shard(bench: Bench) -> None:
    bench.apply(shard("a", 5))
    bench.apply(shard("a", 5, handover=True))
    bench.apply(shard("a", 5, handover=True))
    await settled(lambda: bench.asked)
    (call,) = bench.controllers.released
    assert (call.agent_id, call.session_id) == ("agent", "s1")
    assert call.shards == (ShardEpoch(shard_id="a", epoch=5),)
    assert not MADE[0].cancelled and bench.serving == []


async def test_a_worker_that_does_not_end_in_time_is_dropped_and_the_shard_released(bench: Bench) -> None:
    bench.apply(shard("a"))
    MADE[0].finishes = False
    bench.apply(shard("a", handover=True))
    await settled(lambda: bench.controllers.released)
    await settled(lambda: MADE[0].cancelled)


async def test_a_shard_on_its_way_out_is_not_started_again(bench: Bench) -> None:
    bench.apply(shard("a"))
    MADE[0].finishes = False
    bench.apply(shard("a", handover=True))
    await asyncio.sleep(0)
    bench.apply(shard("a"))  # an answer that was on its way already
    assert len(MADE) == 1
    await settled(lambda: bench.asked)


async def test_a_release_that_was_not_taken_is_queried(bench: Bench) -> None:
    bench.controllers.problem = CallRefused("stale", "not yours")
    bench.apply(shard("a", handover=True))
    await settled(lambda: bench.asked)
    bench.apply(shard("a", handover=True))
    await settled(lambda: len(bench.controllers.released) == 2)
    await bench.ownership.end_workers(graceful=False)


async def test_hints_reach_the_worker_of_their_shard_and_nobody_else(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"), COMMON)
    assert bench.ownership.pass_hint(m.ApplyHint(shard_id="b", load_balancer_ids=("lb-1",)))
    assert bench.ownership.pass_hint(m.RecheckHint(shard_id="b", load_balancer_ids=("lb-1",)))
    assert bench.ownership.pass_hint(m.ResyncHint(shard_id="b"))
    assert bench.ownership.pass_hint(m.ReportAgainHint(shard_id="common"))
    assert not bench.ownership.pass_hint(m.ApplyHint(shard_id="gone", load_balancer_ids=("lb-2",)))
    a, b, common = MADE
    assert (a.hinted, a.doubts) == ([], [])
    assert (b.hinted, b.doubts) == (["lb-1"], [(("lb-1",), False), ((), True)])
    assert common.said_again == 1
    await bench.ownership.end_workers(graceful=False)


async def test_all_shards_of_tenants_look_again_on_request(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"), COMMON)
    bench.ownership.request_full_resync()
    assert [worker.doubts for worker in MADE] == [[((), True)], [((), True)], []]
    await bench.ownership.end_workers(graceful=False)


async def test_in_a_new_history_everything_is_looked_at_and_reported_again(bench: Bench) -> None:
    bench.apply(shard("a"), COMMON, revision=9)
    assert not bench.ownership.follow_history()
    bench.clock.now += 1.0
    bench.history.record_history("h2", asked_at=bench.clock.now)
    assert bench.ownership.follow_history()
    assert not bench.ownership.follow_history()
    a, common = MADE
    assert (a.doubts, common.said_again, bench.ownership.revision) == ([((), True)], 1, -1)
    await bench.ownership.end_workers(graceful=False)


async def test_ownership_shows_queue_depth_and_observed_devices(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"), COMMON)
    assert bench.ownership.queue_depth == 4
    assert bench.ownership.observed_devices is None
    MADE[2].devices = (DeviceState(name="d", reachable=True),)
    assert bench.ownership.observed_devices == MADE[2].devices
    MADE[0].ended.set()
    await settled(lambda: bench.serving == [("b", 1), ("common", 1)])
    await bench.ownership.end_workers(graceful=False)


async def test_a_graceful_end_lets_passes_end_and_drops_those_that_do_not(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"))
    await asyncio.sleep(0)
    MADE[1].finishes = False
    await bench.ownership.end_workers(graceful=True)
    assert [worker.cancelled for worker in MADE] == [False, True]
    assert bench.serving == []


async def test_handover_does_not_wait_for_reads(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"), COMMON)
    await asyncio.sleep(0)
    for worker in MADE:
        worker.is_writing = worker.finishes = False
    MADE[1].is_writing = MADE[1].finishes = True
    bench.apply(shard("b"), shard("a", handover=True), COMMON)
    await settled(lambda: bench.controllers.released)
    assert [worker.cancelled for worker in MADE] == [True, False, False]
    await bench.ownership.end_workers(graceful=True)
    assert [worker.cancelled for worker in MADE] == [True, False, True]


async def test_a_lost_session_ends_everything_at_once(bench: Bench) -> None:
    bench.apply(shard("a"), shard("b"))
    await asyncio.sleep(0)
    await bench.ownership.end_workers(graceful=False)
    assert [worker.cancelled for worker in MADE] == [True, True]
    assert bench.asked == 0


async def test_common_shard_writes_shared_networks_where_devices_are_attached_to_networks(
    bench: Bench,
) -> None:
    bench.group.facts = replace(bench.group.facts, network_layout=NetworkLayout(adjacent=True))
    bench.apply(replace(COMMON, work=("net-1",)))
    (observer,) = (one for one in MADE if isinstance(one, CommonWorker))
    writer = observer.writer
    assert writer is not None and writer.work == ["net-1"]
    bench.apply(replace(COMMON, work=("net-2",)), revision=2)
    assert writer.work == ["net-1", "net-2"]
    assert bench.ownership.pass_hint(m.ApplyHint(shard_id=COMMON.shard_id, load_balancer_ids=("net-3",)))
    assert writer.hinted == ["net-3"] and observer.said_again == 0
    bench.ownership.pass_hint(m.ReportAgainHint(shard_id=COMMON.shard_id))
    assert writer.hinted == ["net-3"] and observer.said_again == 1
    bench.ownership.request_full_resync()
    assert writer.doubts == [((), True)]
    await bench.ownership.end_workers(graceful=False)


# -- shards that come with hints


def hint(name: str = "new", revision: int = 5, **other: Any) -> m.ApplyHint:
    made = m.NewShard(project_id=f"tenant-{name}", session_id="s1", history="h1", revision=revision)
    definitions = m.InlinedDefinitions(session_id="s1", epoch=1, history="h1", services=())
    return m.ApplyHint(
        shard_id=name, load_balancer_ids=("lb-1",), inlined=definitions, new_shard=replace(made, **other)
    )


async def test_a_new_shard_begins_by_the_hint_with_its_definitions(bench: Bench) -> None:
    bench.apply(revision=4)
    said = hint()
    assert bench.ownership.begin_shard(said)
    (worker,) = MADE
    assert (worker.shard_id, worker.project_id, worker.epoch, worker.work) == ("new", "tenant-new", 1, ["lb-1"])
    assert worker.definitions == said.inlined
    assert bench.ownership.revision == 5  # nothing else has changed since the round
    await bench.ownership.end_workers(graceful=False)


@pytest.mark.parametrize(
    "other",
    [{"session_id": "former"}, {"history": "lost"}, {"project_id": COMMON_PROJECT}, {"revision": 4}],
    ids=["another session", "another history", "the common shard", "a round is as new"],
)
async def test_a_hint_that_may_be_old_begins_nothing(bench: Bench, other: dict[str, Any]) -> None:
    bench.apply(revision=4)
    assert not bench.ownership.begin_shard(hint(**other))
    assert MADE == []


async def test_a_hint_begins_nothing_while_later_changes_of_the_assignments_are_known(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.apply(revision=4)
    monkeypatch.setattr(Session, "assignments_revision", 6)
    assert not bench.ownership.begin_shard(hint(revision=5))
    assert bench.ownership.begin_shard(hint(revision=6))
    await bench.ownership.end_workers(graceful=False)


async def test_a_hint_begins_nothing_after_a_read_of_some_shards_that_is_newer(bench: Bench) -> None:
    bench.apply(revision=4)
    bench.ownership.apply_assignments(m.Assignments(revision=6, shards=(shard("other"),)))
    assert not bench.ownership.begin_shard(hint(revision=5))  # the shard may be another agent's by now
    assert bench.ownership.begin_shard(hint(revision=6))
    await bench.ownership.end_workers(graceful=False)


async def test_a_late_hint_does_not_bring_back_a_shard_that_is_released(bench: Bench) -> None:
    bench.apply(revision=4)
    bench.ownership.apply_assignments(m.Assignments(revision=6, shards=(shard("new", handover=True),)))
    assert not bench.ownership.begin_shard(hint("new", revision=5))
    await settled(lambda: bench.controllers.released)
    # settled: the answer decides, before the release and after it
    assert not bench.ownership.begin_shard(hint("new", revision=5)) and MADE == []


async def test_a_hint_begins_nothing_before_the_first_round(bench: Bench) -> None:
    assert not bench.ownership.begin_shard(hint())
    assert MADE == []


async def test_a_repeated_hint_does_not_bring_back_a_shard_that_was_served(bench: Bench) -> None:
    bench.apply(revision=4)
    bench.apply(shard("new"), revision=5)
    bench.apply(revision=6)
    assert not bench.ownership.begin_shard(hint(revision=7))
    assert len(MADE) == 1
    await bench.ownership.end_workers(graceful=False)


async def test_a_hint_begins_nothing_while_lost_shards_have_to_be_named(bench: Bench) -> None:
    bench.apply(shard("a"), revision=4)
    bench.apply(revision=4)
    bench.clock.now += 1.0
    bench.history.record_history("h2", asked_at=bench.clock.now)
    bench.ownership.follow_history()
    bench.apply(revision=4)
    assert bench.history.lost_shards()
    assert not bench.ownership.begin_shard(hint(history="h2"))
    await bench.ownership.end_workers(graceful=False)


async def test_a_round_under_way_does_not_end_the_shard_of_a_later_hint(bench: Bench) -> None:
    bench.apply(revision=4)
    bench.ownership.begin_round()
    assert bench.ownership.begin_shard(hint(revision=5))
    bench.answer(m.Assignments(revision=4, shards=()))
    assert bench.serving == [("new", 1)]
    bench.apply(revision=5)
    assert bench.serving == []


async def test_a_round_that_knows_of_later_changes_ends_the_shard_of_a_hint(bench: Bench) -> None:
    bench.apply(revision=4)
    bench.ownership.begin_round()
    assert bench.ownership.begin_shard(hint(revision=5))
    bench.answer(m.Assignments(revision=6, shards=()))
    assert bench.serving == []


async def test_shard_of_a_hint_that_the_database_has_lost_ends_with_the_next_round(bench: Bench) -> None:
    bench.apply(revision=4)
    assert bench.ownership.begin_shard(hint(revision=5))
    bench.apply(revision=4)
    assert bench.serving == []
    await bench.ownership.end_workers(graceful=False)


async def test_another_history_makes_all_revisions_void(bench: Bench) -> None:
    bench.apply(revision=4)
    assert bench.ownership.begin_shard(hint(revision=5))
    bench.clock.now += 1.0
    bench.history.record_history("h2", asked_at=bench.clock.now)
    assert bench.ownership.follow_history()
    assert bench.ownership.revision == -1
    bench.apply(revision=3)
    assert bench.serving == [] and bench.ownership.revision == 3
    await bench.ownership.end_workers(graceful=False)
