"""The common shard's worker: observes all devices of the group and reports changes of statuses and configurations.

Where projects share networks, a :class:`~evenkeel.agent.shard.ShardWorker` beside it applies these networks to the
devices. While a device is unreachable, the other devices serve the group's load balancers: these are DEGRADED, with the
device in the reason, until it is back.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

import structlog

from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.agent.inventory import Findings, Inventory
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard import ShardWorker
from evenkeel.core.devices.device import DeviceState, Observation
from evenkeel.core.kit.errors import BusUnavailable, DeviceUnavailable, EvenKeelError, SessionLost
from evenkeel.core.kit.ids import SessionId
from evenkeel.core.kit.message_chunks import MESSAGE_OVERHEAD_BYTES, split_by_size
from evenkeel.core.ports import Clock, Device
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatistics, ObservedStatus
from evenkeel.metrics.agent import DRIFT_FOUND

log = structlog.get_logger(__name__)

STATUSES_PER_REPORT = 1000
NOTIFICATION_SPACING_SECONDS = 0.1
IDS_LOGGED = 5
CONFIRM_SECONDS = 1.0
"""Delay before the next observation when something seems to be missing."""
EXPECTED_PAGES_MAX = 1000
ALL = "*"
"""Name that stands for all devices of the group."""
ANSWER_SECONDS = 60.0
"""Time without an answer to a report after which an observation without changes is reported, too, because the answer
may contain changes.
"""
FULL_REPORT_SECONDS = 300.0
"""Interval of complete reports, which correct statuses that a controller overwrote meanwhile."""
TENANTS_SECONDS = 600.0
"""Interval of reports of the partitions that devices hold; controllers only look for orphans in them."""
LATE_SECONDS = 30.0
"""Time for which a controller that was suspended may still process a report without an answer; afterwards the report's
objects are reported once more.
"""

_SERVED_STATUSES = (OperatingStatus.ONLINE, OperatingStatus.DEGRADED)


def degrade_while_unreachable(
    statuses: Iterable[ObservedStatus], devices: Iterable[DeviceState]
) -> tuple[ObservedStatus, ...]:
    """Return the statuses unchanged; while a device of the group is unreachable, ONLINE load balancers become
    DEGRADED, with the unreachable devices as the reason of all DEGRADED ones.
    """
    away = sorted(device.name for device in devices if not device.reachable)
    if not away:
        return tuple(statuses)
    reason = f"device {away[0]} is out of reach" if len(away) == 1 else f"devices {', '.join(away)} are out of reach"
    return tuple(
        ObservedStatus(kind=one.kind, id=one.id, status=OperatingStatus.DEGRADED, reason=reason)
        if one.kind == "loadbalancer" and one.status in _SERVED_STATUSES
        else one
        for one in statuses
    )


class CommonShardWorker:
    """Observes the devices while its agent owns the group's common shard. Observing writes nothing to
    devices, so it needs no guard; ``writer``, if there is one, applies shared networks and has its own
    guard.
    """

    def __init__(
        self,
        assignment: m.Assignment,
        *,
        writer: ShardWorker | None = None,
        session_id: SessionId,
        controllers: ControllerClient,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        on_device_trouble: Callable[[], None],
        on_device_back: Callable[[], None] = lambda: None,
        incarnations: DeviceIncarnations | None = None,
    ) -> None:
        self.shard_id = assignment.shard_id
        self.project_id = assignment.project_id
        self.epoch = assignment.epoch
        self.writer = writer
        """Serves networks that projects share; None: the devices are attached to none."""
        self._session_id = session_id
        self._controllers = controllers
        self._device = device
        self._clock = clock
        self._settings = settings
        self._max_bytes = settings.max_message_bytes - MESSAGE_OVERHEAD_BYTES
        self._on_device_trouble = on_device_trouble
        self._on_device_back = on_device_back
        self._away: frozenset[str] = frozenset()
        self._inventory = Inventory(incarnations)
        self._statuses: dict[tuple[str, str], ObservedStatus] = {}
        self._statistics: dict[str, ObservedStatistics] = {}
        self._doubtful: dict[tuple[str, str], float] = {}
        """Monotonic time at which objects of a report without an answer are reported again."""
        self._all_again_at = 0.0
        self._tenants_at = 0.0
        self._reached_count: int | None = None
        self._answered_at = float("-inf")
        self._stopping = asyncio.Event()
        self._asked = asyncio.Event()
        self.lost = False
        self.devices: tuple[DeviceState, ...] = ()

    def finish(self) -> None:
        """Make :meth:`run` end after the current observation and the writes that are under way."""
        if self.writer is not None:
            self.writer.finish()
        self._stopping.set()

    def report_all_again(self) -> None:
        """Make the next observation due now, and make it report all statuses, because earlier reports may
        have been overwritten.
        """
        self._all_again_at = 0.0
        self._asked.set()

    @property
    def is_writing(self) -> bool:
        """Whether this worker's ``writer`` is writing to devices now (or taking over), or reporting the
        results; False without a writer.
        """
        return self.writer is not None and self.writer.is_writing

    @property
    def unexpected_load_balancers(self) -> dict[str, float]:
        """Load balancers that the devices hold and controllers did not expect, each with the seconds since
        this was first found.
        """
        return self._inventory.unexpected_load_balancers(self._clock.monotonic())

    async def run(self) -> None:
        """Observe every ``status_interval_seconds``, and when a device notifies of a change, until finished
        or lost. Errors of devices and controllers are logged, and the observation is repeated.

        Observing and writing end together: each may find that the shard is lost.
        """
        if self.writer is None:
            await self._observe_repeatedly()
            return
        writing = asyncio.create_task(self.writer.run(), name=f"networks of shard {self.shard_id}")
        writing.add_done_callback(lambda _: self._stopping.set())
        try:
            await self._observe_repeatedly()
            self.writer.finish()
            await writing
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def _observe_repeatedly(self) -> None:
        while not self._stopping.is_set() and not self.lost:
            try:
                await self._observe_and_report()
            except SessionLost:
                self.lost = True
            except DeviceUnavailable as error:
                log.warning("devices not observed", error=str(error))
                # Without an observation this agent has no states to report as the observer; its own check provides
                # them.
                self.devices = ()
                self._inventory.observe_unreachable()
                self._all_again_at = 0.0  # controllers mark the whole group as unreachable
                self._record_unreachable(frozenset({ALL}))
            except EvenKeelError as error:
                log.warning("devices not observed", error=str(error))
            except Exception:  # one unexpected answer of a device must not end the group's observation
                log.exception("devices not observed because of an unexpected error")
            await self._wait_for_next_observation()

    async def _wait_for_next_observation(self) -> None:
        reasons = {
            asyncio.create_task(each)
            for each in (self._stopping.wait(), self._asked.wait(), self._wait_for_notification())
        }
        try:
            seconds = self._settings.status_interval_seconds
            if self._inventory.must_recheck_missing_load_balancers_soon:
                seconds = min(seconds, CONFIRM_SECONDS)
            await asyncio.wait(reasons, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for reason in reasons:
                reason.cancel()
        # Cleared after the wait and before the observation, so that a request that arrives during it leads to another
        # one.
        self._asked.clear()

    async def _wait_for_notification(self) -> None:
        """Wait until a device notifies of a change, and :data:`NOTIFICATION_SPACING_SECONDS` longer, so that
        one observation covers several changes. After an error it waits until cancelled: the devices are
        polled then.
        """
        try:
            await self._device.wait_for_change()
        except Exception:  # then they are polled, as devices without notifications
            log.exception("changes on devices not awaited because of an unexpected error")
            # Waits until it is cancelled: returning would make the caller observe again at once, in a loop.
            await asyncio.Event().wait()
        # After the notification, so that further changes of the same batch fall into one observation.
        await self._clock.sleep(NOTIFICATION_SPACING_SECONDS)

    async def _observe_and_report(self) -> None:
        seen = await self._device.observe()
        self.devices = seen.devices
        # Before anything is reported: a failing report must not delay the news of a lost device.
        self._record_unreachable(frozenset(device.name for device in seen.devices if not device.reachable))
        # Differences come before statuses, because a status of a load balancer that is absent would be misleading.
        await self._report_differences(seen)
        found = degrade_while_unreachable(seen.statuses, seen.devices)
        now = self._clock.monotonic()
        if now >= self._all_again_at:
            self._statuses.clear()
            self._all_again_at = now + FULL_REPORT_SECONDS
        for key in [key for key, again_at in self._doubtful.items() if now >= again_at]:
            del self._doubtful[key]
            self._statuses.pop(key, None)
        statuses = [s for s in found if self._statuses.get((s.kind, s.id)) != s]
        statistics = [s for s in seen.statistics if self._statistics.get(s.listener_id) != s]
        # half of a message for each part
        max_bytes = self._max_bytes // 2
        for portion in zip_longest(
            split_by_size(statuses, max_bytes=max_bytes, max_values=STATUSES_PER_REPORT),
            split_by_size(statistics, max_bytes=max_bytes, max_values=STATUSES_PER_REPORT),
            fillvalue=(),
        ):
            await self._report_observed(*portion)
        # Only after all reports were answered; an error above leaves the reported entries removed, so they are sent
        # again.
        self._statuses = {(s.kind, s.id): s for s in found}
        self._statistics = {s.listener_id: s for s in seen.statistics}
        # An empty report: its receipt shows whether the shard is still owned, and whether statuses were overwritten.
        if self._clock.monotonic() >= self._answered_at + ANSWER_SECONDS:
            await self._send_report()
        # Last, because it reads every device and only serves the search for orphans.
        if now >= self._tenants_at:
            await self._report_tenants()
            self._tenants_at = now + TENANTS_SECONDS

    async def _report_tenants(self) -> None:
        """Report the projects that have partitions on the devices. Raises :class:`DeviceUnavailable`,
        :class:`SessionLost`, :class:`CallRefused` and :class:`BusUnavailable`.
        """
        tenants = sorted(await self._device.tenants())
        for part in split_by_size(tenants, max_bytes=self._max_bytes, max_values=STATUSES_PER_REPORT):
            await self._send_report(tenants=part)

    async def _report_differences(self, seen: Observation) -> None:
        """Report load balancers that vanished, changed, came back or are incomplete on the devices, and
        devices that may have lost their state. Raises :class:`SessionLost`, :class:`CallRefused` and
        :class:`BusUnavailable` if a report fails: the next observation repeats the findings.
        """
        inventory = self._inventory
        inventory.observe(seen, self._clock.monotonic())
        try:
            # Requested after the observation, never before: a load balancer created in between is expected but not yet
            # missing twice.
            if inventory.is_expected_list_due(self._clock.monotonic()):
                expected, absent = await self._request_expected()
                inventory.compare_with_expected(expected, absent, self._clock.monotonic())
            for part in _split_findings_by_size(inventory.findings(), max_bytes=self._max_bytes):
                if part.absent or part.lacking or part.renewed:
                    if self.writer is not None:  # what load balancers need goes with them
                        self.writer.invalidate((), complete=True)
                    log.warning(
                        "configuration on devices differs from what was applied",
                        absent=part.absent[:IDS_LOGGED],
                        lacking=list(part.lacking)[:IDS_LOGGED],
                        renewed=part.renewed,
                    )
                await self._send_report(
                    absent=part.absent,
                    present=part.present,
                    changed=part.changed,
                    lacking=part.lacking,
                    renewed=part.renewed,
                    renewed_before=part.renewed_before,
                )
                for kind, found in (("absent", part.absent), ("lacking", part.lacking), ("changed", part.changed)):
                    DRIFT_FOUND.labels(kind).inc(len(found))
                if part.present:  # controllers showed them and their children as ERROR meanwhile
                    self._all_again_at = 0.0
        except BaseException:
            if inventory.findings().absent:  # the report may have been taken: then controllers show them as ERROR
                self._all_again_at = 0.0
            # A report that failed may have been taken or not: the findings are repeated, which controllers tolerate.
            inventory.mark_unreported()
            raise

    async def _request_expected(self) -> tuple[frozenset[str] | None, frozenset[str]]:
        """Request, page by page, the load balancers that controllers expect on the devices, and which of them
        the database shows as absent.

        Returns (expected ids, absent ids); None and an empty set if an answer has no list. Raises
        :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        expected: set[str] = set()
        absent: set[str] = set()
        after = ""
        for _ in range(EXPECTED_PAGES_MAX):
            receipt = await self._send_report(expected_after=after)
            if receipt.expected is None:
                return None, frozenset()
            # The list may change between pages; what is missing must be so in two observations, so a race reports
            # nothing.
            expected.update(receipt.expected)
            absent.update(receipt.absent)
            if not receipt.more or not receipt.expected:
                break
            after = receipt.expected[-1]
        return frozenset(expected), frozenset(absent)

    def _record_unreachable(self, away: frozenset[str]) -> None:
        """Record the names of the unreachable devices, and notify the agent if they have changed, and if a
        device is back.
        """
        before, self._away = self._away, away
        if away != before:
            self._on_device_trouble()
        if before - away:
            self._on_device_back()

    async def _report_observed(
        self, statuses: tuple[ObservedStatus, ...], statistics: tuple[ObservedStatistics, ...]
    ) -> None:
        # without an answer it is unknown whether these were stored: then the next observation's are reported in any
        # case
        for status in statuses:
            self._statuses.pop((status.kind, status.id), None)
        for figures in statistics:
            self._statistics.pop(figures.listener_id, None)
        try:
            await self._send_report(statuses=statuses, statistics=statistics)
        except BusUnavailable:
            again_at = self._clock.monotonic() + LATE_SECONDS
            self._doubtful.update(((status.kind, status.id), again_at) for status in statuses)
            raise

    async def _send_report(self, **what: Any) -> m.ReportReceipt:
        receipt = await self._controllers.report_status(
            m.ReportStatus(
                agent_id=self._settings.agent_id,
                session_id=self._session_id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                **what,
            )
        )
        if receipt.stale:
            raise SessionLost("the report's epoch is old")
        self._handle_receipt(receipt)
        return receipt

    def _handle_receipt(self, receipt: m.ReportReceipt) -> None:
        """Record the receipt of a report. If controllers set statuses while no agent reached the group, all
        statuses are reported again.
        """
        self._answered_at = self._clock.monotonic()
        before, now = self._reached_count, receipt.reached_count
        if now is not None:
            self._reached_count = now
        # The count grows when devices become reachable again; controllers overwrote their statuses while they were not.
        if before is not None and now is not None and now != before:
            self.report_all_again()


def _split_findings_by_size(findings: Findings, *, max_bytes: int) -> Iterator[Findings]:
    """Split findings so that each part fits into one message of ``max_bytes`` bytes; yields nothing for empty
    findings.
    """
    fields: tuple[Iterable[Any], ...] = (
        findings.absent,
        findings.present,
        findings.changed,
        sorted(findings.lacking.items()),
        findings.renewed,
        findings.renewed_before,
    )
    # Each field gets an equal share, so that a part fits into one message whatever the lists hold.
    share = max_bytes // len(fields)
    chunks = (split_by_size(values, max_bytes=share, max_values=STATUSES_PER_REPORT) for values in fields)
    for absent, present, changed, lacking, renewed, renewed_before in zip_longest(*chunks, fillvalue=()):
        yield Findings(
            absent=absent,
            present=present,
            changed=changed,
            lacking=dict(lacking),
            renewed=renewed,
            renewed_before=renewed_before,
        )
