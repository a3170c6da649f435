"""Reports that arrive together are one transaction, and none waits for another's lock."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from evenkeel.controller import report_rounds
from evenkeel.controller.report_rounds import ReportRounds
from evenkeel.core.kit.errors import Invalid, StoreUnavailable
from evenkeel.core.protocol.messages import ReportApplied, ReportReceipt
from tests.waiting import eventually


def report(shard_id: str, epoch: int = 1) -> ReportApplied:
    return ReportApplied(agent_id="a", session_id="s", shard_id=shard_id, epoch=epoch, outcomes=())


class Reports:
    """A store whose transactions wait until they may go on."""

    def __init__(self) -> None:
        self.transactions: list[tuple[str, ...]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.problems: dict[str, Exception] = {}

    async def record_applied(self, sent: ReportApplied, *, tell: Any) -> ReportReceipt:
        return (await self.record_all_applied([sent], tell=tell))[0]

    async def record_all_applied(self, sent: Sequence[ReportApplied], *, tell: Any) -> list[ReportReceipt]:
        self.transactions.append(tuple(each.shard_id for each in sent))
        await self.open.wait()
        for each in sent:
            if each.shard_id in self.problems:
                raise self.problems[each.shard_id]
        return [ReportReceipt(stale=each.epoch == 0) for each in sent]


def rounds(reports: Any) -> ReportRounds:
    return ReportRounds(reports, tell=lambda _: None)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_rounds, "PATIENCE_SECONDS", 3600.0)


@pytest.mark.usefixtures("patient")
async def test_reports_during_a_transaction_are_the_next_one() -> None:
    reports = Reports()
    reports.open.clear()
    at = rounds(reports)
    first = asyncio.create_task(at.record(report("x0")))
    await eventually(lambda: reports.transactions == [("x0",)])
    others = [asyncio.create_task(at.record(report(f"x{n}", epoch=n - 1))) for n in (1, 2, 3)]
    again = asyncio.create_task(at.record(report("x2")))
    await asyncio.sleep(0)
    reports.open.set()
    assert [each.stale for each in await asyncio.gather(first, *others, again)] == [False, True, False, False, False]
    assert reports.transactions == [("x0",), ("x1", "x2", "x3"), ("x2",)]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("problem", [Invalid("a NUL"), ZeroDivisionError()], ids=["refused", "unexpected"])
async def test_report_that_cannot_be_recorded_costs_no_other(problem: Exception) -> None:
    reports = Reports()
    reports.problems["x1"] = problem
    at = rounds(reports)
    calls = [at.record(report(f"x{n}")) for n in range(3)]
    first, second, third = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(first, ReportReceipt) and isinstance(third, ReportReceipt)
    assert second is problem


@pytest.mark.usefixtures("patient")
async def test_a_store_out_of_reach_is_every_callers_problem_and_the_next_report_is_recorded() -> None:
    reports = Reports()
    reports.problems["x1"] = StoreUnavailable("away")
    at = rounds(reports)
    found = await asyncio.gather(at.record(report("x0")), at.record(report("x1")), return_exceptions=True)
    assert [type(each) for each in found] == [StoreUnavailable, StoreUnavailable]
    assert not (await at.record(report("x2"))).stale


async def test_a_report_that_is_held_up_by_a_lock_does_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_rounds, "PATIENCE_SECONDS", 0.01)
    reports = Reports()
    reports.open.clear()
    at = rounds(reports)
    held = [asyncio.create_task(at.record(report("x0")))]
    await eventually(lambda: reports.transactions == [("x0",)])
    held.append(asyncio.create_task(at.record(report("x1"))))
    await eventually(lambda: reports.transactions == [("x0",), ("x1",)])
    reports.open.set()
    await asyncio.gather(*held)


@pytest.mark.usefixtures("patient")
async def test_a_round_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_rounds, "ROUND_MAX", 2)
    reports = Reports()
    at = rounds(reports)
    await asyncio.gather(*(at.record(report(f"x{n}")) for n in range(5)))
    assert reports.transactions == [("x0", "x1"), ("x2", "x3"), ("x4",)]
