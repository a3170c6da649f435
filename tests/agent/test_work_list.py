"""The state of one shard's work: whatever happens in whatever order, no change is forgotten."""

import random
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.agent.retries import Retries
from evenkeel.agent.work_list import COMPLETE, TakenWork, WorkList
from evenkeel.core.devices.service import ServiceDefinition, removal_definition
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import Vip
from evenkeel.core.status.outcomes import Applied

A, B, C = (LoadBalancerId(name) for name in "abc")
RESYNC_SECONDS = 1000.0


def work_list(*work: LoadBalancerId, batch_max: int = 10) -> WorkList:
    backoff = Backoff(initial_seconds=1.0, max_seconds=8.0, jitter=(1.0, 1.0))
    return WorkList(
        work,
        0.0,
        retries=Retries(backoff, random.Random(1)),
        resync_interval=lambda: RESYNC_SECONDS,
        batch_max=batch_max,
    )


def after_the_first_pass(*work: LoadBalancerId, batch_max: int = 10) -> WorkList:
    made = work_list(batch_max=batch_max)
    made.take()
    made.hint_received(work, 0.0)
    return made


def definition(load_balancer_id: LoadBalancerId, revision: int = 1) -> ServiceDefinition:
    return ServiceDefinition(
        load_balancer_id=load_balancer_id,
        project_id=ProjectId("p"),
        revision=revision,
        change_id=f"c{revision}",
        vip=Vip(address="192.0.2.1", subnet_id="s", network_id="n", port_id="p"),
    )


def applied(load_balancer_id: LoadBalancerId, revision: int = 1, error: str = "") -> Applied:
    return Applied(load_balancer_id=load_balancer_id, revision=revision, change_id=f"c{revision}", error=error)


def make_complete_pass(work: WorkList) -> None:
    work.resync_requested()
    work.take()


def test_first_pass_of_a_worker_is_complete() -> None:
    assert work_list(A).take() == TakenWork(complete=True)


def test_pass_takes_a_sorted_batch_and_leaves_the_rest_queued() -> None:
    work = after_the_first_pass(C, A, B, batch_max=2)
    assert work.take() == TakenWork(load_balancer_ids=(A, B))
    assert work.has_work
    assert work.take() == TakenWork(load_balancer_ids=(C,))
    assert not work.has_work


def test_definition_is_applied_until_anything_casts_doubt_on_it() -> None:
    doubts: list[Callable[[WorkList], None]] = [
        lambda work: work.devices_differ((A,), 1.0, complete=False),
        lambda work: work.rendering_changed((A,), 1.0),
        lambda work: work.record_not_applied([definition(A)]),
        lambda work: work.forget_applied_definitions(),
        lambda work: work.pass_failed(TakenWork(load_balancer_ids=(B,)), 1.0),
        lambda work: work.record_outcome(applied(A, error="refused"), 1.0),
        make_complete_pass,
    ]
    for cast_doubt in doubts:
        work = after_the_first_pass(A)
        work.take()
        work.record_outcome(applied(A), 0.0)
        assert work.is_applied(definition(A)) and not work.is_applied(definition(A, revision=2))
        cast_doubt(work)
        assert not work.is_applied(definition(A))


def test_write_of_a_pass_does_not_end_a_doubt_that_arose_during_it() -> None:
    work = after_the_first_pass(A)
    work.take()
    work.devices_differ((A,), 1.0, complete=False)
    work.record_outcome(applied(A), 1.0)
    assert not work.is_applied(definition(A))
    work.take()
    work.record_outcome(applied(A), 2.0)
    assert work.is_applied(definition(A))


def test_found_work_waits_for_the_retry_of_a_failure_and_a_hint_does_not() -> None:
    work = after_the_first_pass(A)
    work.pass_failed(work.take(), 0.0)
    work.found_work((A,), 0.5)
    assert not work.has_work and work.next_due == 1.0
    work.hint_received((A,), 0.5)
    assert work.take() == TakenWork(load_balancer_ids=(A,))


def test_driver_forgets_its_state_once_after_an_invalidation() -> None:
    work = after_the_first_pass()
    work.devices_differ((), 0.0, complete=False)
    assert [work.take_cache_drop_request(), work.take_cache_drop_request()] == [True, False]


def test_complete_pass_comes_periodically_and_sooner_if_asked() -> None:
    work = after_the_first_pass()
    assert work.next_due == RESYNC_SECONDS
    work.schedule_resync_by(5.0)
    work.collect_due(4.9)
    assert not work.has_work
    work.collect_due(5.0)
    assert work.take() == TakenWork(complete=True)
    assert work.next_due == 5.0 + RESYNC_SECONDS


def test_load_balancer_without_a_definition_is_confirmed_and_never_retried() -> None:
    work = after_the_first_pass(A, B)
    taken = work.take()
    assert work.definitions_found(taken, {B}) == {A}
    assert work.unconfirmed == {B}

    work.resync_requested()
    taken = work.take()
    work.hint_received((C,), 0.0)
    assert work.definitions_found(taken, set()) == {B}
    assert work.unconfirmed == {C}, "the change of C came after the pass had read the definitions"


def test_partition_can_be_removed_after_its_last_load_balancer() -> None:
    work = after_the_first_pass()
    assert not work.update_served([definition(A), definition(B)], complete=True)
    assert work.served == {A, B}
    assert not work.update_served([removal_definition(A, ProjectId("p"))], complete=False)
    assert work.update_served([removal_definition(B, ProjectId("p"))], complete=False)
    assert not work.update_served([], complete=True), "an empty partition stays as it is"


IDS = st.sets(st.sampled_from((A, B, C)), max_size=3).map(tuple)
EVENTS = st.one_of(
    st.tuples(st.just("found"), IDS),
    st.tuples(st.just("hinted"), IDS),
    st.tuples(st.just("rendering"), IDS),
    st.tuples(st.just("invalidated"), IDS),
    st.tuples(st.just("resync"), IDS),
    st.tuples(st.just("time"), IDS),
)
ENDS = st.sampled_from(("done", "fetch failed", "write failed", "refused", "report lost", "certificates later"))


class World:
    """The database and the devices of one shard, with the newest revision of each load balancer."""

    def __init__(self) -> None:
        self.now = 0.0
        self.revisions = {A: 1, B: 1, C: 1}
        self.on_devices: dict[LoadBalancerId, int] = {}
        self.work = work_list(A, B, C, batch_max=2)

    def event(self, kind: str, ids: tuple[LoadBalancerId, ...]) -> None:
        if kind in ("found", "hinted"):
            self.revisions.update({one: self.revisions[one] + 1 for one in ids})
        match kind:
            case "found":
                self.work.found_work(ids, self.now)
            case "hinted":
                self.work.hint_received(ids, self.now)
            case "rendering":
                for one in ids:
                    self.on_devices.pop(one, None)
                self.work.rendering_changed(ids, self.now)
            case "invalidated":
                for one in ids:
                    self.on_devices.pop(one, None)
                self.work.devices_differ(ids, self.now, complete=len(ids) == 3)
            case "resync":
                self.work.resync_requested()
            case "time":
                self.now += 3.0
                self.work.collect_due(self.now)

    def make_pass(self, end: str, meanwhile: list[tuple[str, tuple[LoadBalancerId, ...]]]) -> None:
        taken = self.work.take()
        if taken == TakenWork():
            return
        ids = tuple(self.revisions) if taken.complete else taken.load_balancer_ids
        if end == "fetch failed":
            self.work.pass_failed(taken, self.now)
            return
        read = {one: definition(one, self.revisions[one]) for one in ids}
        self.work.definitions_found(taken, set(read))
        to_write = [one for one in read.values() if taken.complete or not self.work.is_applied(one)]
        if end == "write failed":  # after half of it
            for one in to_write[:1]:
                self.on_devices[one.load_balancer_id] = one.revision
            self.work.pass_failed(taken, self.now)
            return
        self.on_devices.update({one.load_balancer_id: one.revision for one in to_write})
        for kind, some in meanwhile:
            self.event(kind, some)
        self.work.update_served(to_write, complete=taken.complete)
        later = to_write[:1] if end == "certificates later" else []
        for one in later:
            self.on_devices.pop(one.load_balancer_id, None)
        self.work.record_not_applied(later)
        self.work.requeue_services(later, self.now)
        for one in to_write[len(later) :]:
            refused = end == "refused" and one is to_write[-1]
            if refused:
                self.on_devices.pop(one.load_balancer_id, None)
            outcome = applied(one.load_balancer_id, one.revision, error="no" if refused else "")
            self.work.record_outcome(outcome, self.now)
        if end == "report lost":
            self.work.pass_failed(taken, self.now)

    @property
    def behind(self) -> set[LoadBalancerId]:
        return {one for one, revision in self.revisions.items() if self.on_devices.get(one) != revision}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.lists(EVENTS, max_size=3), ENDS, st.lists(EVENTS, max_size=2)), max_size=8))
def test_no_order_of_events_and_failures_leaves_a_change_neither_applied_nor_to_be_done(
    history: list[
        tuple[list[tuple[str, tuple[LoadBalancerId, ...]]], str, list[tuple[str, tuple[LoadBalancerId, ...]]]]
    ],
) -> None:
    world = World()
    for before, end, meanwhile in history:
        for kind, ids in before:
            world.event(kind, ids)
        world.make_pass(end, meanwhile)
        retried = {key for key in (*world.revisions, COMPLETE) if world.work.retries.is_waiting(key, world.now)}
        assert all(
            one in world.work.queued or one in retried or COMPLETE in retried or world.work.has_work
            for one in world.behind
        )
        assert not any(world.work.is_applied(definition(one, world.revisions[one])) for one in world.behind)

    for _ in range(20):
        world.event("time", ())
        world.make_pass("done", [])
    assert not world.behind
    assert not world.work.unconfirmed
    assert not world.work.is_busy
