"""A shard's worker: newest revision once, nothing lost, nothing written without a lease."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from msgspec.structs import replace

from evenkeel.agent.pass_limit import PassLimit
from evenkeel.agent.retries import Retries
from evenkeel.agent.shard import ShardWorker
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.devices.device import PartitionRetirement, Repair
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import (
    BusUnavailable,
    CallRefused,
    CallTimeout,
    DeviceUnavailable,
    OwnershipGuardLost,
    SessionLost,
    StaleOwner,
)
from evenkeel.core.protocol.messages import Repaired, ReportApplied, ReportReceipt
from tests.agent.fakes import Bench
from tests.waiting import eventually


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench({"lb-1": 1, "lb-2": 5})
    made.begin()
    yield made
    made.device.open.set()
    await made.end()
    assert made.device.forgotten == ["t"]


async def all_applied(bench: Bench) -> None:
    await eventually(
        lambda: all(bench.controllers.applied(lb) == rev for lb, rev in bench.controllers.revisions.items())
    )


async def test_the_first_pass_moves_the_guard_and_is_complete(bench: Bench) -> None:
    await all_applied(bench)  # settled: reports come after the writes
    assert bench.device.takeovers == [3]
    assert bench.device.batches[0].complete
    assert bench.device.batches[0].epoch == 3


async def test_reports_state_whether_what_the_device_holds_is_online_for_that(bench: Bench) -> None:
    await all_applied(bench)
    assert bench.controllers.traffic == {False}  # settled: the report says it


async def test_changes_while_the_device_is_busy_become_one_batch_of_the_newest_revision(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.open.clear()
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await bench.device.busy.wait()
    for revision in (3, 4, 5):
        bench.controllers.revisions["lb-1"] = revision
        bench.worker.add_hinted_work(("lb-1",))
    bench.device.open.set()
    await all_applied(bench)
    changes = [batch for batch in bench.device.batches if not batch.complete]
    assert [[s.revision for s in batch.services] for batch in changes] == [[2], [5]]


async def test_a_hint_for_what_is_on_the_device_already_is_reported_and_costs_the_device_nothing(bench: Bench) -> None:
    await all_applied(bench)
    batches, reports = len(bench.device.batches), len(bench.controllers.reports)
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: len(bench.controllers.reports) == reports + 1)
    assert len(bench.device.batches) == batches  # settled: a write would have come before the report


async def test_a_definition_that_comes_with_the_hint_is_applied_without_a_request(bench: Bench) -> None:
    await all_applied(bench)
    bench.controllers.revisions |= {"lb-3": 1, "lb-4": 1}
    bench.worker.add_hinted_work(("lb-3", "lb-4"), bench.controllers.carried("lb-3"))
    await all_applied(bench)
    assert bench.controllers.requested == [None, ("lb-4",)]  # settled: requests come before the reports


@asynccontextmanager
async def new_shard() -> AsyncIterator[Bench]:
    """The worker of a shard that a hint brought, with its load balancer."""
    made = Bench({"lb-1": 1}, work=("lb-1",), new=True)
    yield made
    await made.end()


async def test_the_first_pass_over_a_new_shard_is_complete_and_requests_nothing() -> None:
    async with new_shard() as bench:
        bench.begin()
        await all_applied(bench)
        (batch,) = bench.device.batches
        assert batch.complete and [s.load_balancer_id for s in batch.services] == ["lb-1"]
        assert bench.controllers.requested == []


@pytest.mark.parametrize(
    "happens",
    [
        lambda worker: worker.add_hinted_work(("lb-2",)),
        lambda worker: worker.add_work(("lb-2",)),
        lambda worker: worker.force_reapply(("lb-1",)),
        lambda worker: worker.invalidate((), complete=True),
        lambda worker: worker.request_full_resync(),
    ],
    ids=["hint", "assignment", "rendering", "doubt", "resync"],
)
async def test_whatever_happens_before_the_first_pass_over_a_new_shard_has_all_requested(
    happens: Callable[[ShardWorker], None],
) -> None:
    async with new_shard() as bench:
        bench.controllers.revisions["lb-2"] = 1
        happens(bench.worker)
        bench.begin()
        await all_applied(bench)
        # settled: requests come before the reports
        assert bench.controllers.requested[0] is None


async def test_definition_that_came_with_a_hint_is_requested_once_the_lease_ran_short() -> None:
    async with new_shard() as bench:
        bench.session.lease_stands = False
        bench.begin()
        await asyncio.sleep(0)  # until the pass waits for the lease
        bench.session.lease_stands = True
        await all_applied(bench)
        # settled: requests come before the reports
        assert bench.controllers.requested == [None]


async def test_a_first_pass_over_a_new_shard_that_fails_is_repeated_with_all_requested() -> None:
    async with new_shard() as bench:
        bench.device.failures.append(DeviceUnavailable("one", "away"))
        bench.begin()
        await all_applied(bench)
        # settled: requests come before the reports
        assert bench.controllers.requested == [None]


async def test_load_balancer_lost_before_its_definition_arrived_causes_a_complete_pass(bench: Bench) -> None:
    await all_applied(bench)
    bench.controllers.revisions["lb-3"] = 1
    carried = bench.controllers.carried("lb-3")
    del bench.controllers.revisions["lb-3"]
    complete = sum(batch.complete for batch in bench.device.batches)
    bench.worker.add_hinted_work(("lb-3",), carried)
    await eventually(lambda: sum(batch.complete for batch in bench.device.batches) == complete + 1)
    assert [s.load_balancer_id for s in bench.device.batches[-2].services] == ["lb-3"]
    assert [s.load_balancer_id for s in bench.device.batches[-1].services] == ["lb-1", "lb-2"]
    assert bench.controllers.requested == [None, None]  # settled: requests come before the writes


async def test_a_load_balancer_that_was_removed_is_not_looked_for(bench: Bench) -> None:
    await all_applied(bench)
    bench.controllers.deleted.add("lb-1")
    bench.controllers.revisions["lb-1"] += 1
    report = bench.controllers.report_applied

    async def forget(call: ReportApplied) -> ReportReceipt:  # as after an earlier report whose answer was lost
        bench.controllers.revisions.pop("lb-1", None)
        return await report(call)

    bench.controllers.report_applied = forget  # type: ignore[method-assign]
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: "lb-1" not in bench.controllers.revisions)
    bench.worker.add_hinted_work(("lb-2",))
    reports = len(bench.controllers.reports)
    await eventually(lambda: len(bench.controllers.reports) > reports)
    assert bench.controllers.requested == [None, ("lb-1",), ("lb-2",)]  # settled: requests come before the reports


async def test_a_late_hint_does_not_bring_a_deleted_load_balancer_back(bench: Bench) -> None:
    await all_applied(bench)
    bench.controllers.revisions["lb-3"] = 1
    late = bench.controllers.carried("lb-3")
    bench.controllers.revisions["lb-3"] = 2
    bench.controllers.deleted.add("lb-3")
    bench.worker.add_hinted_work(("lb-3",))
    await all_applied(bench)
    del bench.controllers.revisions["lb-3"]
    bench.worker.add_hinted_work(("lb-3",), late)
    await eventually(lambda: bench.controllers.requested[1:] == [("lb-3",), ("lb-3",)])
    # settled: the deletion was reported; a second write may never come
    assert [s.deleted for batch in bench.device.batches for s in batch.services if s.load_balancer_id == "lb-3"] == [
        True
    ]


async def test_a_definition_that_waits_is_dropped_for_a_change_and_for_a_doubt(bench: Bench) -> None:
    await all_applied(bench)
    bench.session.lease_stands = False
    bench.controllers.revisions |= {"lb-3": 1, "lb-4": 1, "lb-5": 1}
    bench.worker.add_hinted_work(("lb-3", "lb-4", "lb-5"), bench.controllers.carried("lb-3", "lb-4", "lb-5"))
    bench.controllers.revisions |= {"lb-3": 2, "lb-4": 2, "lb-5": 2}
    bench.worker.add_hinted_work(("lb-3",))
    bench.worker.add_work(("lb-4",))
    bench.worker.force_reapply(("lb-5",))
    bench.session.lease_stands = True
    await all_applied(bench)
    assert bench.controllers.requested[1:] == [("lb-3", "lb-4", "lb-5")]  # settled: requests come before the reports


async def test_a_revision_given_again_to_another_change_is_written(bench: Bench) -> None:
    await all_applied(bench)
    batches = len(bench.device.batches)
    bench.controllers.history = "another"  # the database lost commits, and was changed since
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: len(bench.device.batches) == batches + 1)
    assert [s.change_id for s in bench.device.batches[-1].services] == ["another-1"]
    await eventually(lambda: bench.controllers.reports[-1].change_id == "another-1")


async def test_last_confirmed_change_names_its_shard_until_it_is_to_be_removed(bench: Bench) -> None:
    await all_applied(bench)
    seen = bench.session.database_history.state_to_confirm
    told = seen()
    assert told is not None and told.confirmed is not None and told.confirmed.load_balancer_id == "lb-2"
    assert told.confirmed_in == ShardEpoch(shard_id=bench.worker.shard_id, epoch=3)
    reports = len(bench.controllers.reports)
    bench.controllers.deleted.add("lb-2")
    bench.controllers.revisions["lb-2"] = 6
    bench.worker.add_hinted_work(("lb-2",))
    await eventually(lambda: len(bench.controllers.reports) > reports)
    told = seen()
    assert told is not None and told.confirmed_in is None


async def test_a_definition_spread_over_many_answers_is_one_complete_batch() -> None:
    bench = Bench({f"lb-{n}": 1 for n in range(7)})
    bench.controllers.page = 2
    task = asyncio.create_task(bench.worker.run())
    await all_applied(bench)  # settled: reports come after the writes
    assert len(bench.device.batches) == 1
    assert len(bench.device.batches[0].services) == 7
    task.cancel()


async def test_nothing_is_written_without_a_lease_and_all_of_it_after(bench: Bench) -> None:
    await all_applied(bench)
    before = len(bench.device.batches)
    bench.session.lease_stands = False
    bench.controllers.revisions["lb-1"] = 9
    bench.worker.add_hinted_work(("lb-1",))
    for _ in range(20):
        await asyncio.sleep(0.01)
        assert len(bench.device.batches) == before
    bench.session.lease_stands = True
    await all_applied(bench)


async def test_a_refused_load_balancer_is_reported_and_retried_until_it_heals(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.bad = {"lb-1"}
    bench.controllers.revisions.update({"lb-1": 2, "lb-2": 6})
    bench.worker.add_hinted_work(("lb-1", "lb-2"))
    await eventually(lambda: sum(1 for report in bench.controllers.reports if report.error) >= 2)
    assert bench.controllers.applied("lb-2") == 6  # settled: the pass that reported the error has reported this, too
    bench.device.bad = set()
    await all_applied(bench)


@pytest.mark.parametrize("fault", [DeviceUnavailable("bigip-1", "reboot"), BusUnavailable("gone")])
async def test_work_taken_by_a_failed_pass_is_done_later(bench: Bench, fault: Exception) -> None:
    await all_applied(bench)
    if isinstance(fault, DeviceUnavailable):
        bench.device.failures.append(fault)
    else:
        bench.controllers.failures.append(fault)
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await all_applied(bench)


async def test_a_device_that_lags_behind_gets_a_complete_pass_later(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.lagging.append(("bigip-2",))
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: sum(1 for batch in bench.device.batches if batch.complete) == 2)


async def test_a_device_that_stays_away_is_tried_until_it_is_back(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.lagging += [("bigip-2",)] * 4
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: not bench.device.lagging)
    done = sum(1 for batch in bench.device.batches if batch.complete)
    await eventually(lambda: sum(1 for batch in bench.device.batches if batch.complete) > done)


async def test_trouble_with_a_device_is_reported_when_it_begins_and_when_it_ends(bench: Bench) -> None:
    await all_applied(bench)
    assert bench.troubles == 0  # settled: there may be none before the first report
    bench.device.lagging += [("bigip-2",)] * 4
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: bench.troubles == 2)
    assert not bench.device.lagging  # settled: the end of trouble is told after the pass that found no device lagging
    bench.device.failures += [DeviceUnavailable("bigip-1", "reboot")] * 3
    bench.controllers.revisions["lb-1"] = 3
    bench.worker.add_hinted_work(("lb-1",))
    await all_applied(bench)
    assert bench.troubles == 4  # settled: trouble is told before the report


async def test_unavailable_device_is_reported_once_for_each_reason(bench: Bench) -> None:
    await all_applied(bench)
    reasons = ["device bigip-1: reboot"] * 3 + ["device bigip-1: no answer"] * 3
    bench.device.failures += [DeviceUnavailable("bigip-1", reason.split(": ")[1]) for reason in reversed(reasons)]
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await all_applied(bench)
    waiting = [report for report in bench.controllers.reports if report.waiting]
    assert [report.error for report in waiting] == list(dict.fromkeys(reasons))
    assert {(report.load_balancer_id, report.revision) for report in waiting} == {("lb-1", 2)}


@pytest.mark.parametrize("failure", [BusUnavailable("away"), CallRefused("unavailable", "later")])
async def test_a_reason_that_could_not_be_reported_is_reported_by_the_next_try(
    bench: Bench, failure: Exception
) -> None:
    await all_applied(bench)
    bench.device.failures += [DeviceUnavailable("bigip-1", "reboot")] * 2
    bench.controllers.report_failures.append(failure)
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await all_applied(bench)
    # settled: reasons are reported before what was applied later
    assert [report.error for report in bench.controllers.reports if report.waiting] == ["device bigip-1: reboot"]


async def test_a_session_that_is_lost_with_the_report_of_a_reason_ends_the_worker() -> None:
    bench = Bench({"lb-1": 1}, work=("lb-1",))
    bench.device.failures.append(DeviceUnavailable("bigip-1", "reboot"))
    bench.controllers.report_failures.append(SessionLost("expired"))
    await asyncio.wait_for(bench.worker.run(), 30)
    assert bench.worker.lost and not bench.device.batches


async def test_a_first_pass_that_finds_no_device_speaks_of_what_was_requested_only() -> None:
    bench = Bench({"lb-1": 1, "lb-2": 1}, work=("lb-2",))
    bench.device.failures += [DeviceUnavailable("bigip-1", "reboot")] * 2
    task = asyncio.create_task(bench.worker.run())
    await all_applied(bench)
    task.cancel()
    waiting = [report for report in bench.controllers.reports if report.waiting]
    assert [(report.load_balancer_id, report.error) for report in waiting] == [("lb-2", "device bigip-1: reboot")]


async def test_controllers_that_did_not_answer_are_queried_again_about_orphans(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.orphans.add("nobody-knows-it")
    bench.controllers.orphan_failures.append(CallTimeout("no answer within 2 s"))
    bench.worker.request_full_resync()
    await eventually(lambda: not bench.device.orphans)


async def test_a_device_that_came_back_is_looked_at_completely(bench: Bench) -> None:
    await all_applied(bench)
    before = len(bench.device.batches)
    bench.worker.request_full_resync()
    await eventually(lambda: any(batch.complete for batch in bench.device.batches[before:]))


async def test_a_load_balancer_that_is_gone_is_not_requested_again(bench: Bench) -> None:
    """Its delete was confirmed, but the answer to our report was lost."""
    await all_applied(bench)
    bench.controllers.failures.append(BusUnavailable("the answer was lost"))
    bench.worker.add_hinted_work(("lb-1",))
    await eventually(lambda: not bench.controllers.failures)
    del bench.controllers.revisions["lb-1"]
    await eventually(lambda: bench.worker._work.retries.next_due() is None)


@pytest.fixture
def patient(bench: Bench) -> Bench:
    """A bench whose worker does not come back to an empty partition by itself, and whose devices remove such ones."""
    bench.worker._reconciler._settings = replace(bench.worker._reconciler._settings, retire_seconds=3600.0)
    bench.device.retirement = PartitionRetirement()
    bench.controllers.forgets_removed = True
    return bench


def delete(bench: Bench, *names: str) -> None:
    bench.controllers.deleted |= set(names)
    for name in names:
        bench.controllers.revisions[name] += 1
    bench.worker.add_hinted_work(names)


async def test_the_pass_that_removes_the_last_load_balancer_removes_the_partition(patient: Bench) -> None:
    await all_applied(patient)
    delete(patient, "lb-1")
    await eventually(lambda: "lb-1" not in patient.controllers.revisions)
    delete(patient, "lb-2")
    await eventually(lambda: bool(patient.device.retirements))
    # settled: a partition is retired after a comparison that found nothing
    assert patient.device.batches[-1].complete and not patient.device.batches[-1].services
    assert [batch.complete for batch in patient.device.batches] == [True, False, False, True]  # settled: no other pass


async def test_a_partition_for_which_a_load_balancer_came_meanwhile_stays(patient: Bench) -> None:
    await all_applied(patient)
    report = patient.controllers.report_applied

    async def create(call: ReportApplied) -> ReportReceipt:
        patient.controllers.report_applied = report  # type: ignore[method-assign]
        answer = await report(call)
        patient.controllers.revisions["lb-3"] = 1
        return answer

    patient.controllers.report_applied = create  # type: ignore[method-assign]
    delete(patient, "lb-1", "lb-2")
    await eventually(lambda: "lb-3" in patient.controllers.revisions)
    patient.worker.add_hinted_work(("lb-3",))
    await eventually(lambda: patient.controllers.applied("lb-3") == 1)
    assert not patient.device.retirements and patient.device.takeovers == [3]  # settled: they come before that pass


async def test_a_load_balancer_requested_after_the_partition_is_gone_does_not_make_it_again(patient: Bench) -> None:
    await all_applied(patient)
    delete(patient, "lb-1", "lb-2")
    await eventually(lambda: bool(patient.device.retirements))
    requests = len(patient.controllers.requested)
    patient.worker.add_work(("lb-2",))  # as assignments say that were read before its removal was reported
    await eventually(lambda: len(patient.controllers.requested) > requests)
    patient.worker.request_full_resync()
    await eventually(lambda: len(patient.device.retirements) == 2)
    assert patient.device.takeovers == [3]  # settled: the second pass would have come before the third


async def test_the_removal_of_a_partition_is_repeated_if_its_answer_is_lost(patient: Bench) -> None:
    await all_applied(patient)
    retire = patient.device.retire

    async def lose_answer(project_id: str, epoch: int, session_id: str) -> PartitionRetirement:
        patient.device.retire = retire  # type: ignore[method-assign]
        await retire(project_id, epoch, session_id)
        raise DeviceUnavailable("device", "no answer")

    patient.device.retire = lose_answer  # type: ignore[method-assign]
    delete(patient, "lb-1", "lb-2")
    await eventually(lambda: len(patient.device.retirements) == 2)


async def test_the_partition_is_removed_after_the_last_load_balancer_and_made_again_for_the_next(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.retirement = PartitionRetirement()
    bench.controllers.deleted = set(bench.controllers.revisions)
    bench.controllers.revisions.update(dict.fromkeys(bench.controllers.revisions, 9))
    bench.worker.add_hinted_work(tuple(bench.controllers.revisions))
    await eventually(lambda: len(bench.device.batches) == 2)
    assert not bench.device.retirements  # settled: a partition that has something may never be retired
    bench.controllers.revisions.clear()
    await eventually(lambda: bool(bench.device.retirements))
    # settled: a partition is retired after the complete pass that found nothing
    assert bench.device.batches[-1].complete and not bench.device.batches[-1].services
    bench.worker.request_full_resync()  # where nothing is, nothing is made to look at it
    await eventually(lambda: len(bench.device.retirements) == 2)
    assert bench.device.takeovers == [3]  # settled: there may be no other
    bench.controllers.deleted = set()
    bench.controllers.revisions["lb-3"] = 1
    bench.worker.add_hinted_work(("lb-3",))
    await eventually(lambda: bench.controllers.applied("lb-3") == 1)
    assert bench.device.takeovers == [3, 3]  # settled: the guard is moved before the write


async def test_the_partition_is_removed_if_the_answer_to_the_last_report_is_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await all_applied(bench)
    bench.device.retirement = PartitionRetirement()
    take = bench.controllers.report_applied

    async def lose_answer(call: ReportApplied) -> ReportReceipt:
        monkeypatch.undo()
        await take(call)
        bench.controllers.revisions.clear()
        raise BusUnavailable("the answer was lost")

    monkeypatch.setattr(bench.controllers, "report_applied", lose_answer)
    bench.controllers.deleted = set(bench.controllers.revisions)
    bench.controllers.revisions.update(dict.fromkeys(bench.controllers.revisions, 9))
    bench.worker.add_hinted_work(tuple(bench.controllers.revisions))
    await eventually(lambda: bool(bench.device.retirements))


async def test_a_partition_on_a_device_out_of_reach_is_removed_later(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.retirement = PartitionRetirement(lagging=("device",))
    bench.controllers.revisions.clear()
    bench.worker.request_full_resync()
    await eventually(lambda: len(bench.device.retirements) > 2)
    bench.device.retirement = PartitionRetirement()
    await eventually(lambda: bench.worker._work.retries.next_due() is None)
    assert bench.device.takeovers == [3]  # settled: there may be no other


async def test_a_bug_in_a_pass_is_retried_and_ends_nothing(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.failures.append(KeyError("bug"))
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await all_applied(bench)
    assert not bench.worker.lost  # settled: it may never be lost, and the pass with the bug is over


async def test_a_lease_that_ends_while_the_guard_moves_stops_the_write() -> None:
    bench = Bench({"lb-1": 1})
    bench.device.on_take_over = lambda: setattr(bench.session, "lease_stands", False)
    task = asyncio.create_task(bench.worker.run())
    await eventually(lambda: bench.device.takeovers == [3])
    for _ in range(10):
        await asyncio.sleep(0.01)
    assert not bench.device.batches
    bench.session.lease_stands = True
    await all_applied(bench)
    task.cancel()


async def test_a_newer_guard_ends_the_worker_and_requests_a_higher_epoch() -> None:
    bench = Bench({"lb-1": 1})
    bench.device.failures.append(StaleOwner("t", 8))
    await asyncio.wait_for(bench.worker.run(), 30)
    assert bench.worker.lost
    assert [(call.epoch, call.seen_epoch) for call in bench.controllers.raised] == [(3, 8)]


@pytest.mark.parametrize(
    "failure", [BusUnavailable("away"), CallRefused("stale", "not the owner"), SessionLost("over")]
)
async def test_a_newer_guard_ends_the_worker_also_if_no_epoch_is_given(failure: Exception) -> None:
    bench = Bench({"lb-1": 1})
    bench.device.failures.append(StaleOwner("t", 8))
    bench.controllers.raise_failure = failure
    await asyncio.wait_for(bench.worker.run(), 30)
    assert bench.worker.lost and len(bench.controllers.raised) == 1 and not bench.device.batches


@pytest.mark.parametrize("seen_epoch", [None, 2])
async def test_no_epoch_is_requested_against_a_guard_that_is_older_or_unknown(seen_epoch: int | None) -> None:
    bench = Bench({"lb-1": 1})
    bench.device.failures.append(StaleOwner("t", seen_epoch))
    await asyncio.wait_for(bench.worker.run(), 30)
    assert bench.worker.lost and bench.controllers.raised == []


async def test_a_lost_session_or_an_ignored_report_ends_the_worker() -> None:
    for lose in ("session", "report"):
        bench = Bench({"lb-1": 1})
        if lose == "session":
            bench.controllers.failures.append(SessionLost("expired"))
        else:
            bench.controllers.stale = True
        await asyncio.wait_for(bench.worker.run(), 30)
        assert bench.worker.lost


async def test_finish_lets_the_writes_under_way_end() -> None:
    bench = Bench({"lb-1": 1})
    bench.device.open.clear()
    task = asyncio.create_task(bench.worker.run())
    await bench.device.busy.wait()
    assert bench.worker.is_writing
    bench.worker.finish()
    bench.device.open.set()
    await asyncio.wait_for(task, 30)
    assert bench.controllers.applied("lb-1") == 1 and not bench.worker.is_writing


async def test_after_finish_no_write_begins() -> None:
    bench = Bench({"lb-1": 1})
    take_over = bench.device.take_over

    async def late(*owner: str | int) -> None:
        bench.worker.finish()
        await take_over(*owner)  # type: ignore[arg-type]

    bench.device.take_over = late  # type: ignore[assignment]
    await asyncio.wait_for(bench.worker.run(), 30)
    assert not bench.device.batches and not bench.controllers.applied("lb-1")


async def test_invalidated_load_balancer_is_applied_again(bench: Bench) -> None:
    await all_applied(bench)
    bench.worker.invalidate(("lb-1",), complete=False)
    await eventually(lambda: len(bench.device.batches) == 2)
    assert [service.load_balancer_id for service in bench.device.batches[1].services] == ["lb-1"]
    assert not bench.device.batches[1].complete
    bench.worker.invalidate((), complete=True)
    await eventually(lambda: len(bench.device.batches) == 3)
    assert bench.device.batches[2].complete
    assert bench.device.forgotten == ["t", "t"]  # settled: the driver forgets before the write
    bench.device.forgotten.clear()


async def test_forced_load_balancer_is_applied_again_at_once(bench: Bench) -> None:
    """Also after a failure, and without reading the partition again."""
    await all_applied(bench)
    bench.device.bad.add("lb-1")
    # an hour, so that nothing is repeated by itself
    bench.worker._work.retries = Retries(
        Backoff(initial_seconds=3600.0, max_seconds=3600.0, jitter=(0.75, 1.25)), random.Random(1)
    )
    bench.worker.force_reapply(("lb-1",))
    await eventually(lambda: len(bench.device.batches) == 2)
    await eventually(lambda: bench.controllers.reports[-1].error == "refused")
    bench.device.bad.clear()
    bench.worker.force_reapply(("lb-1",))
    # settled: reports come after the writes, and nothing may ever be forgotten
    await eventually(lambda: bench.controllers.reports[-1].error == "")
    assert [service.load_balancer_id for service in bench.device.batches[2].services] == ["lb-1"]
    assert bench.device.forgotten == []


async def test_a_doubt_that_comes_while_the_pass_is_under_way_is_looked_into_by_the_next(bench: Bench) -> None:
    await all_applied(bench)
    bench.device.open.clear()
    bench.controllers.revisions["lb-1"] = 2
    bench.worker.add_hinted_work(("lb-1",))
    await bench.device.busy.wait()
    bench.worker.invalidate(("lb-1",), complete=False)  # after the device was read, before the outcome is known
    bench.device.open.set()
    await eventually(lambda: len(bench.device.batches) == 3)
    assert [service.load_balancer_id for service in bench.device.batches[2].services] == ["lb-1"]
    bench.worker.add_hinted_work(("lb-1",))
    reports = len(bench.controllers.reports)
    await eventually(lambda: len(bench.controllers.reports) > reports)
    # settled: a write would have come before the report
    assert len(bench.device.batches) == 3  # looked into once
    bench.device.forgotten.clear()


async def test_a_guard_lost_is_moved_again_at_once_the_first_time_and_after_growing_pauses_then(bench: Bench) -> None:
    await all_applied(bench)
    now = bench.worker._clock.monotonic()
    bench.device.failures = [OwnershipGuardLost("a", "t", None) for _ in range(3)]
    bench.worker._work.retries = Retries(
        Backoff(initial_seconds=3600.0, max_seconds=3600.0, jitter=(0.75, 1.25)), random.Random(1)
    )
    bench.worker.add_hinted_work(("lb-1", "lb-2"))
    bench.controllers.revisions.update({"lb-1": 2, "lb-2": 6})
    await eventually(lambda: len(bench.device.failures) == 1)
    assert bench.device.takeovers == [3, 3]  # settled: the guard is moved before the write that fails
    await eventually(lambda: bench.worker._work.retries.is_waiting("*", now))
    assert len(bench.device.failures) == 1  # settled: the retry is due in an hour

    bench.worker._work.retries = Retries(
        Backoff(initial_seconds=0.01, max_seconds=0.01, jitter=(0.75, 1.25)), random.Random(1)
    )
    bench.worker.request_full_resync()
    await all_applied(bench)  # settled: reports come after the writes
    assert bench.device.takeovers == [3, 3, 3, 3]
    assert bench.device.batches[-1].complete


async def test_changes_that_wait_because_the_guard_gets_lost_repeatedly_carry_the_reason() -> None:
    bench = Bench({"lb-1": 1})
    bench.device.failures = [OwnershipGuardLost("a", "t", None) for _ in range(3)]
    bench.worker.add_hinted_work(("lb-1",))
    task = asyncio.create_task(bench.worker.run())
    await all_applied(bench)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    told = [one for one in bench.controllers.reports if one.waiting]
    assert [one.error for one in told] == ["device a: partition t holds no guard"], "once, not at every try"
    assert bench.device.takeovers == [3, 3, 3, 3]


async def test_a_doubt_comes_before_the_retry_of_a_complete_pass_and_not_before_that_of_a_load_balancer() -> None:
    bench = Bench({"lb-1": 1})
    task = asyncio.create_task(bench.worker.run())
    await all_applied(bench)
    now = bench.worker._clock.monotonic() + 3600.0
    bench.worker._work.retries.record_failure("*", now)
    bench.worker._work.retries.record_failure("lb-1", now)
    bench.worker.invalidate(("lb-1",), complete=False)
    await eventually(lambda: len(bench.device.forgotten) == 0 and not bench.worker._work.has_work)
    assert len(bench.device.batches) == 1  # settled: the pass takes nothing, and waits nowhere
    bench.worker.invalidate((), complete=True)
    await eventually(lambda: len(bench.device.batches) == 2)
    task.cancel()


async def test_repair_is_reported(bench: Bench) -> None:
    await all_applied(bench)
    repair = Repair(load_balancer_id="lb-1", device="a", found=("member gone; put back",))
    bench.device.repaired.append((repair,))
    bench.worker.invalidate(("lb-1",), complete=False)
    await eventually(lambda: bench.controllers.repaired)
    # settled: a report comes whole
    assert bench.controllers.repaired == [Repaired(load_balancer_id="lb-1", device="a", found=repair.found)]
    bench.device.forgotten.clear()


async def test_a_tenant_whose_passes_hang_does_not_hold_up_another_one() -> None:
    turns = PassLimit(2, SystemClock(), slow_seconds=0.05)
    hanging = [Bench({"lb-1": 1}, turns=turns, shard_id=f"hanging-{number}") for number in range(4)]
    for bench in hanging:
        bench.device.open.clear()
    tasks = [asyncio.create_task(bench.worker.run()) for bench in hanging]
    await eventually(lambda: sum(bench.device.busy.is_set() for bench in hanging) >= 2)
    honest = Bench({"lb-1": 1}, turns=turns, shard_id="honest")
    tasks.append(asyncio.create_task(honest.worker.run()))
    for revision in range(1, 5):
        honest.controllers.revisions["lb-1"] = revision
        honest.worker.add_hinted_work(("lb-1",))
        await all_applied(honest)  # settled: those that hang may never have written
    assert not any(bench.device.batches for bench in hanging)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_after_a_takeover_shards_with_changes_are_applied_first_and_those_that_get_one_next() -> None:
    """Hundreds of shards wait for a pass at once; tenants wait only for those with changes."""
    turns, order = PassLimit(1, SystemClock()), list[str]()
    benches = {
        name: Bench({"lb-1": 1}, turns=turns, shard_id=name, work=("lb-1",) if name == "changed" else ())
        for name in ("running", "unchanged", "hinted", "changed")
    }
    for name, bench in benches.items():
        bench.device.on_take_over = partial(order.append, name)
    benches["running"].device.open.clear()
    tasks = [asyncio.create_task(benches["running"].worker.run())]
    await benches["running"].device.busy.wait()
    tasks += [asyncio.create_task(bench.worker.run()) for name, bench in benches.items() if name != "running"]
    await asyncio.sleep(0)  # all wait now
    benches["hinted"].worker.add_hinted_work(("lb-1",))
    benches["running"].device.open.set()
    await eventually(lambda: len(order) == 4)
    assert order == ["running", "changed", "hinted", "unchanged"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
