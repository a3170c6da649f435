"""Store port for the reports of agents."""

from collections.abc import Callable, Sequence
from typing import Protocol

from evenkeel.core.control.writes import Change, RecheckRequest
from evenkeel.core.protocol.messages import (
    JudgeOrphans,
    OrphanVerdict,
    ReportApplied,
    ReportPlan,
    ReportReceipt,
    ReportStatus,
)
from evenkeel.core.status.traffic import TrafficReading


class ReportStore(Protocol):
    """Store port for reports of agents. A report counts if it comes from the session of the agent that owns
    the shard, at the shard's epoch. Every method may raise :class:`StoreUnavailable`.
    """

    async def record_applied(
        self, report: ReportApplied, *, tell: Callable[[Change], None] = lambda change: None
    ) -> ReportReceipt:
        """Record outcomes. Confirmed revisions become ACTIVE (or PENDING_* if a newer one was accepted since)
        and confirmed deletes remove rows. An error of the newest revision becomes ERROR with the reason;
        if the revision was not attempted (``waiting``), a PENDING load balancer gets the reason only. A
        report of an old epoch, or of a session that is not the agent's, is ignored, and its receipt is
        ``stale``. Events are recorded for changes of status, removals and repairs.

        Outcomes of a common shard concern networks that projects share. ``tell`` is called with each change
        that is due now: such networks after a tenant's shard stopped using them, load balancers that waited
        for one, and load balancers whose move to another device group goes on.
        """
        ...

    async def record_all_applied(
        self, sent: Sequence[ReportApplied], *, tell: Callable[[Change], None] = lambda change: None
    ) -> list[ReportReceipt]:
        """Record the outcomes of reports of different shards, each as :meth:`record_applied` does; return
        their receipts in the order of ``sent``. Those of tenants' shards are recorded in one transaction,
        with as many statements as for one report unless load balancers move or devices were repaired.
        ``tell`` is called with each change that is due now.
        """
        ...

    async def record_observed(self, report: ReportStatus) -> ReportReceipt:
        """Record operating statuses and traffic statistics, in a constant number of statements. Reports of
        old epochs, or of sessions that are not the agent's, are ignored; their receipt is ``stale``.
        Raises :class:`CallRefused` with code ``overtaken`` for a numbered report that arrives after a
        newer one of its session, and then ignores it.
        """
        ...

    async def record_findings(self, report: ReportStatus) -> tuple[RecheckRequest, ...]:
        """Record differences on the devices, and return which agents must read which load balancers again:
        those that are absent, changed or incomplete, or everything on a renewed device.

        The operating status of absent load balancers and of all their children becomes ERROR, except for
        children that are OFFLINE or NO_MONITOR; that of load balancers present again becomes OFFLINE until it
        is observed. An event is recorded for each shard with such changes, and for each renewed device.
        Reports of old epochs are ignored (empty result). Raises :class:`CallRefused` like
        :meth:`record_observed`.
        """
        ...

    async def read_expected_load_balancers(self, report: ReportStatus, *, limit: int) -> ReportReceipt:
        """Return a receipt with at most ``limit`` load balancers after ``expected_after`` that the devices of
        the group must hold, sorted by id: confirmed, not deleted, and with a VIP that is not being
        released.

        The receipt is ``stale``, without load balancers, for a report of an old epoch.
        """
        ...

    async def record_orphaned_tenants(self, report: ReportStatus) -> None:
        """Record which of the tenants with partitions on the devices have no shard on the device group, at
        most 1000, and forget those that have one again or were not reported for an hour. Reports of old
        epochs are ignored. Raises :class:`CallRefused` with code ``overtaken`` for a numbered report that
        arrives after a newer one of its session.
        """
        ...

    async def decide_orphans(self, call: JudgeOrphans, *, grace_seconds: float, limit: int) -> OrphanVerdict:
        """Decide which of the reported load balancers the agent removes from its devices.

        At once: deleted ones, those of another shard, and those whose removal an operator requested. Ones
        that the database does not know: at most ``limit``, when they were first reported more than
        ``grace_seconds`` ago (0: never) and this database was created or restored before that. Unknown
        networks of the common shard: at once. While agents report the history of another database that no
        operator has accepted, only what an operator requested is removed. Raises :class:`SessionLost` unless
        the agent owns the shard.
        """
        ...

    async def record_plan(self, report: ReportPlan) -> None:
        """Store the agent's answer to an operator's inquiry, of limited size; ignored if there is no such
        inquiry about the shard any more.

        Raises :class:`SessionLost` unless the agent owns the shard at that epoch, in that session.
        """
        ...

    async def read_traffic(self, *, limit: int) -> TrafficReading:
        """Return the newest traffic totals of at most ``limit`` load balancers that have any, the oldest load
        balancers; how many have totals; and which device groups are observed now. A constant number of
        statements.
        """
        ...
