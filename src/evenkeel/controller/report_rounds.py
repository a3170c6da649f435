"""Records agents' reports in batches: reports that arrive while others are written become one transaction.

A report does not wait for one that is held up by a lock: after a moment the next transaction begins beside it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import NamedTuple

from evenkeel.controller.answers import deliver_error, deliver_outcome, deliver_result
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Unavailable
from evenkeel.core.ports import ReportStore
from evenkeel.core.protocol.messages import ReportApplied, ReportReceipt

ROUND_MAX = 100
"""Maximum number of reports in one transaction; further ones belong to the next."""
PATIENCE_SECONDS = 0.05
"""Time for which the next reports wait for a transaction in progress."""


class _WaitingReport(NamedTuple):
    report: ReportApplied
    answer: asyncio.Future[ReportReceipt]


class ReportRounds:
    """Records agents' reports of outcomes, those that arrive together in one transaction. ``tell`` is called
    with changes that follow from the outcomes.
    """

    def __init__(self, reports: ReportStore, *, tell: Callable[[Change], None]) -> None:
        self._reports = reports
        self._tell = tell
        self._waiting: list[_WaitingReport] = []
        self._running = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def record(self, report: ReportApplied) -> ReportReceipt:
        """Record the report and return its receipt after the commit. Raises :class:`StoreUnavailable`, and
        any other error of the store that concerns this report.
        """
        waiting = _WaitingReport(report, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if not self._running:
            self._running = True
            self._start_task(self._run_rounds())
        return await waiting.answer

    async def _run_rounds(self) -> None:
        try:
            while self._waiting:
                # Not cancelled by the time-out: the round goes on, and the next one begins beside it.
                await asyncio.wait({self._start_task(self._record_round(self._next_round()))}, timeout=PATIENCE_SECONDS)
        finally:
            self._running = False

    def _next_round(self) -> list[_WaitingReport]:
        """Remove and return the next reports to record together: the first of each shard, in order of
        arrival, at most :data:`ROUND_MAX`.
        """
        taken: dict[str, _WaitingReport] = {}
        left: list[_WaitingReport] = []
        for waiting in self._waiting:
            shard_id = waiting.report.shard_id
            # Two reports of one shard in a transaction would be decided on the same state; the later one waits.
            if shard_id in taken or len(taken) >= ROUND_MAX:
                left.append(waiting)
            else:
                taken[shard_id] = waiting
        self._waiting = left
        return list(taken.values())

    async def _record_round(self, taken: Sequence[_WaitingReport]) -> None:
        if len(taken) == 1:
            await self._record_alone(taken[0])
            return
        try:
            receipts = await self._reports.record_all_applied([each.report for each in taken], tell=self._tell)
        except Unavailable as error:  # each caller raises it
            for each in taken:
                deliver_error(each.answer, error)
        except Exception:  # of one of them: a value that cannot be stored, for example
            for each in taken:
                await self._record_alone(each)
        else:
            for each, receipt in zip(taken, receipts, strict=True):
                deliver_result(each.answer, receipt)

    async def _record_alone(self, waiting: _WaitingReport) -> None:
        await deliver_outcome(waiting.answer, self._reports.record_applied(waiting.report, tell=self._tell))

    def _start_task(self, job: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
