"""Implements :class:`evenkeel.core.ports.ReportStore` in SQL."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.tracing import tracer
from evenkeel.core.protocol.messages import (
    ReportApplied,
    ReportReceipt,
)
from evenkeel.core.status.traffic import TrafficReading
from evenkeel.metrics.controller import TIME_TO_ACTIVE
from evenkeel.store.engine.database import Database
from evenkeel.store.engine.operations import read_operation, write_operation
from evenkeel.store.networks.network_attachment import release_unused_networks
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership.histories import Histories
from evenkeel.store.ownership.networks import read_changed_networks
from evenkeel.store.reports import applied, findings, networks, observed, orphaned_load_balancers, orphans, plans
from evenkeel.store.reports.traffic import read_traffic, shared_count_with_totals


class SqlReports:
    """Stores agents' reports in SQL; implements the port ``ReportStore``."""

    def __init__(self, database: Database, histories: Histories, options: StoreOptions) -> None:
        self._db = database
        self._notifies = options.notifications
        self._deadline_seconds = options.pending_deadline_seconds
        self._histories = histories
        self._with_totals = shared_count_with_totals(database)

    async def record_applied(
        self, report: ReportApplied, *, tell: Callable[[Change], None] = lambda change: None
    ) -> ReportReceipt:
        with tracer().deferred_span("record report", attributes={"evenkeel.agent.id": report.agent_id}) as work:
            (recorded,) = await self._record_applied([report])
            work.set_changes(recorded.settled)
        return await self._act_on_report(report, recorded, tell)

    async def record_all_applied(
        self, sent: Sequence[ReportApplied], *, tell: Callable[[Change], None] = lambda change: None
    ) -> list[ReportReceipt]:
        with tracer().deferred_span("record reports", attributes={"evenkeel.reports": len(sent)}) as work:
            recorded = await self._record_applied(sent)
            work.set_changes({change_id: id_ for each in recorded for change_id, id_ in each.settled.items()})
        return [await self._act_on_report(report, each, tell) for report, each in zip(sent, recorded, strict=True)]

    async def _record_applied(self, sent: Sequence[ReportApplied]) -> list[applied.RecordedReport]:
        return await self._db.write(
            lambda connection: applied.record_applied(
                connection, sent, notifies=self._notifies, deadline_seconds=self._deadline_seconds
            )
        )

    async def _act_on_report(
        self, report: ReportApplied, recorded: applied.RecordedReport, tell: Callable[[Change], None]
    ) -> ReportReceipt:
        """Do what follows from a recorded report of outcomes, in further transactions, and return its
        receipt. ``tell`` is called with each change for a hint.
        """
        for seconds in recorded.seconds_to_active:
            TIME_TO_ACTIVE.observe(seconds)
        for change in recorded.hints:
            tell(change)
        # In a transaction of its own: it locks load balancers of all shards, and may take long.
        if recorded.lost:
            await self._histories.begin_history(report.history, report.agent_id, recorded.lost)
        if recorded.leaves_networks:  # not in the same transaction: only a later one is sure to see new load balancers
            await self._db.write(lambda connection: release_unused_networks(connection, report.shard_id))
            for due in await self._db.read(lambda connection: read_changed_networks(connection, report.shard_id)):
                tell(due)
        if not recorded.common:
            return recorded.receipt
        waiting = await self._db.write(lambda connection: networks.record_network_outcomes(connection, report))
        for change in waiting or ():
            tell(change)
        return ReportReceipt(stale=waiting is None)

    record_observed = write_operation(observed.record_observations)

    record_findings = write_operation(findings.record_findings)

    read_expected_load_balancers = read_operation(findings.read_expected_load_balancers)

    record_orphaned_tenants = write_operation(orphans.record_orphaned_tenants)

    decide_orphans = write_operation(orphaned_load_balancers.decide_orphans)

    record_plan = write_operation(plans.record_plan_answer)

    async def read_traffic(self, *, limit: int) -> TrafficReading:
        reading = await self._db.read(lambda connection: read_traffic(connection, limit))
        if reading.counted < limit:
            return reading
        return replace(reading, counted=max(reading.counted, (await self._with_totals.get()).content))
