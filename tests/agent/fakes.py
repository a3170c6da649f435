"""Neighbours of a shard worker that can be told to misbehave."""

import asyncio
import random
from collections.abc import Callable, Iterable

from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.pass_limit import PassLimit
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard import ShardWorker
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.core.devices.device import (
    DeviceFacts,
    EnhancedServices,
    PartitionBatch,
    PartitionOutcome,
    PartitionRetirement,
    Repair,
    service_outcome,
)
from evenkeel.core.devices.service import ServiceCertificate, ServiceDefinition
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import CallRefused, CallTimeout
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import Vip
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.core.status.outcomes import Applied, ObservedStatistics, ObservedStatus
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.sealing import BoxContext, BoxKeyPair, seal_certificate_content
from tests.clock import HandClock

VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")

SETTINGS = AgentSettings(
    agent_id="agent",
    environment="demo",
    group_number=1,
    host="host-1",
    retry=Backoff(initial_seconds=0.01, max_seconds=0.05, jitter=(0.75, 1.25)),
    resync_interval_seconds=3600.0,
    retire_seconds=0.3,
)


class FakeSession:
    """A session whose lease the test holds."""

    id = "session"

    def __init__(self) -> None:
        self.lease_stands = True
        self.key_pair = BoxKeyPair()
        self.database_history = DatabaseHistory(HandClock())
        self.database_history.record_history(self.history, asked_at=0.0)

    history = "h1"

    def may_write(self) -> bool:
        return self.lease_stands


class FakeControllers:
    """The database's side: revisions per load balancer, and the reports that came in."""

    def __init__(self, revisions: dict[str, int]) -> None:
        self.revisions = revisions
        self.history = "history"
        """Part of the identity of every change."""
        self.reports: list[Applied] = []
        self.requested: list[tuple[str, ...] | None] = []
        """Load balancers whose definitions were requested; None: of all."""
        self.traffic: set[bool] = set()
        self.repaired: list[m.Repaired] = []
        self.statuses: list[tuple[ObservedStatus, ...]] = []
        self.statistics: list[ObservedStatistics] = []
        self.answers_reports = True
        """Else what was seen on the devices is taken, and nobody is told."""
        self.expected: tuple[str, ...] | None = None
        """Load balancers that are to be on the devices."""
        self.absent: set[str] = set()
        """Shown as such."""
        self.overtaken = False
        """A newer report than any that comes was taken."""
        self.raised: list[m.RaiseEpoch] = []
        self.raise_failure: Exception | None = None
        self.report_failures: list[Exception] = []
        self.failures: list[Exception] = []
        self.stale = False
        self.deleted: set[str] = set()
        self.forgets_removed = False
        """Load balancers whose removal was reported are gone, as in a database."""
        self.reached_count: int | None = None
        self.page = 100
        self.references: dict[str, tuple[ServiceCertificate, ...]] = {}
        """By load balancer."""
        self.contents: dict[str, CertificateContent] = {}
        """By sha256: what may be had."""
        self.sealing_key = b""
        self.certificate_calls: list[m.GetCertificates] = []
        self.certificate_failures: list[Exception] = []
        self.orphan_failures: list[Exception] = []

    async def certificates(self, call: m.GetCertificates) -> m.Certificates:
        self.certificate_calls.append(call)
        if self.certificate_failures:
            raise self.certificate_failures.pop()
        sealed, problems = {}, {}
        for one in call.wanted:
            content = self.contents.get(one.sha256)
            if content is None:
                problems[one.sha256] = f"{one.reference}: gone"
            else:
                purpose = BoxContext(
                    agent_id=call.agent_id,
                    session_id=call.session_id,
                    shard_id=call.shard_id,
                    epoch=call.epoch,
                    sha256=one.sha256,
                )
                sealed[one.sha256] = seal_certificate_content(content, self.sealing_key, purpose)
        return m.Certificates(sealed=sealed, problems=problems)

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        if self.failures:
            raise self.failures.pop()
        self.requested.append(call.load_balancer_ids)
        ids: Iterable[str] = sorted(self.revisions)
        if call.load_balancer_ids is not None:
            ids = [lb for lb in call.load_balancer_ids if lb in self.revisions]
        found = [lb for lb in ids if lb > call.after_id or call.load_balancer_ids is not None]
        page = found[: self.page]
        return m.ServiceDefinitions(services=tuple(self._service(lb) for lb in page), more=len(found) > len(page))

    def carried(self, *ids: str) -> m.InlinedDefinitions:
        """A hint's, of the worker's session and epoch."""
        return m.InlinedDefinitions(
            session_id="session", epoch=3, history="h1", services=tuple(map(self._service, ids))
        )

    def _service(self, load_balancer_id: str) -> ServiceDefinition:
        revision = self.revisions[load_balancer_id]
        change = f"{self.history}-{revision}"
        return ServiceDefinition(
            load_balancer_id=load_balancer_id,
            project_id="t",
            revision=revision,
            change_id=change,
            vip=VIP,
            deleted=load_balancer_id in self.deleted,
            certificates=self.references.get(load_balancer_id, ()),
        )

    async def report_applied(self, call: m.ReportApplied) -> m.ReportReceipt:
        if self.report_failures:
            raise self.report_failures.pop()
        if not self.stale:
            self.reports.extend(call.outcomes)
            self.repaired.extend(call.repaired)
            self.traffic.add(call.carries_traffic)
        unknown = sorted({each.load_balancer_id for each in call.outcomes} - self.revisions.keys())
        if self.forgets_removed and not self.stale:
            for outcome in call.outcomes:
                if outcome.load_balancer_id in self.deleted and not outcome.error:
                    self.revisions.pop(outcome.load_balancer_id, None)
        return m.ReportReceipt(stale=self.stale, unknown=tuple(unknown))

    async def report_status(self, call: m.ReportStatus) -> m.ReportReceipt:
        if call.expected_after is not None:
            return m.ReportReceipt(expected=self.expected, absent=tuple(self.absent))
        self.absent = (self.absent | set(call.absent)) - set(call.present)
        self.statuses.append(call.statuses)
        self.statistics += call.statistics
        if not self.answers_reports:
            raise CallTimeout("no answer within 2 s")
        if self.overtaken:
            raise CallRefused("overtaken", "a newer report was taken")
        return m.ReportReceipt(stale=self.stale, reached_count=self.reached_count)

    async def judge_orphans(self, call: m.JudgeOrphans) -> m.OrphanVerdict:
        if self.orphan_failures:
            raise self.orphan_failures.pop()
        return m.OrphanVerdict(remove=call.load_balancer_ids)

    async def raise_epoch(self, call: m.RaiseEpoch) -> None:
        self.raised.append(call)
        if self.raise_failure is not None:
            raise self.raise_failure

    def applied(self, load_balancer_id: str) -> int:
        """The newest confirmed revision."""
        assert not any(r.waiting and not r.error for r in self.reports)
        good = [r.revision for r in self.reports if r.load_balancer_id == load_balancer_id and not r.error]
        return max(good, default=0)


class FakeDevice:
    """Remembers batches; can be held, and told to fail."""

    facts = DeviceFacts(
        driver="fake", ha_type=HaType.STANDALONE, reschedule=RescheduleMode.CONTROL, endpoints=(), carries_traffic=False
    )

    def __init__(self) -> None:
        self.batches: list[PartitionBatch] = []
        self.takeovers: list[int] = []
        self.failures: list[Exception] = []
        self.bad: set[str] = set()
        self.lagging: list[tuple[str, ...]] = []
        self.repaired: list[tuple[Repair, ...]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.busy = asyncio.Event()
        self.forgotten: list[str] = []
        self.enhanced: list[EnhancedServices] = []
        self.held: set[str] = set()
        """Contents of certificates, by sha256."""
        self.orphans: set[str] = set()
        self.retirements: list[int] = []
        self.retirement = PartitionRetirement(left=("device",))
        self.on_take_over: Callable[[], None] = lambda: None

    async def take_over(self, project_id: str, epoch: int, session_id: str) -> None:
        self.takeovers.append(epoch)
        self.on_take_over()

    async def retire(self, project_id: str, epoch: int, session_id: str) -> PartitionRetirement:
        self.retirements.append(epoch)
        return self.retirement

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        self.busy.set()
        await self.open.wait()
        self.busy.clear()
        if self.failures:
            raise self.failures.pop()
        self.batches.append(batch)
        self.held |= batch.certificates.keys()
        self.orphans -= {service.load_balancer_id for service in batch.services if service.deleted}
        return PartitionOutcome(
            outcomes=tuple(service_outcome(service, self._error(service)) for service in batch.services),
            lacking=tuple({sha256 for service in batch.services for sha256 in self._lacking(service)}),
            lagging=self.lagging.pop() if self.lagging else (),
            repaired=self.repaired.pop() if self.repaired else (),
            orphans=tuple(sorted(self.orphans)) if batch.keeps_orphans else (),
        )

    def _error(self, service: ServiceDefinition) -> str:
        if service.load_balancer_id in self.bad:
            return "refused"
        return "; ".join(f"{sha256} is not held" for sha256 in self._lacking(service))

    def _lacking(self, service: ServiceDefinition) -> list[str]:
        return [one.sha256 for one in service.certificates if one.sha256 not in self.held]

    async def enhanced_services(self) -> EnhancedServices | None:
        return self.enhanced.pop(0) if self.enhanced else None

    def forget(self, project_id: str) -> None:
        self.forgotten.append(project_id)


class Bench:
    """A worker between fakes."""

    def __init__(
        self,
        revisions: dict[str, int],
        *,
        work: tuple[str, ...] = (),
        turns: PassLimit | None = None,
        shard_id: str = "shard",
        new: bool = False,
    ) -> None:
        """``new``: the shard was created just now, and the hint had the definitions of ``work``."""
        self.session = FakeSession()
        self.controllers = FakeControllers(revisions)
        self.controllers.sealing_key = self.session.key_pair.public_key
        self.troubles = 0
        self.device = FakeDevice()
        self.worker = ShardWorker(
            m.Assignment(shard_id=shard_id, project_id="t", epoch=3, work=work),
            session=self.session,  # type: ignore[arg-type]
            controllers=self.controllers,  # type: ignore[arg-type]
            device=self.device,  # type: ignore[arg-type]
            clock=SystemClock(),
            settings=SETTINGS,
            rng=random.Random(1),
            pass_limit=turns or PassLimit(1, SystemClock()),
            on_device_trouble=self._note_trouble,
            first=True,
            definitions=self.controllers.carried(*work) if new else None,
        )

    def begin(self) -> None:
        """Let the worker run until :meth:`end`."""
        self._task = asyncio.create_task(self.worker.run())

    async def end(self) -> None:
        """Cancel the worker."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _note_trouble(self) -> None:
        self.troubles += 1
