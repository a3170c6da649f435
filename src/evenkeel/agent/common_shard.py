"""The common shard's worker: looks at the devices for the whole group and reports what changed.

A device that is out of reach leaves its group's load balancers served by the others, but no longer by all: they are
DEGRADED and name it until it is back.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

import structlog

from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.incarnations import Incarnations
from evenkeel.agent.inventory import Findings, Inventory
from evenkeel.agent.settings import AgentSettings
from evenkeel.core import messages as m
from evenkeel.core.device import DeviceState, Observation
from evenkeel.core.errors import BusUnavailable, DeviceUnavailable, EvenKeelError, SessionLost
from evenkeel.core.ids import SessionId
from evenkeel.core.message_chunks import MESSAGE_OVERHEAD_BYTES, portions
from evenkeel.core.ports import Clock, Device
from evenkeel.core.statuses import OperatingStatus

log = structlog.get_logger(__name__)

STATUSES_PER_REPORT = 1000
TOLD_SPACING_SECONDS = 0.1
IDS_LOGGED = 5
CONFIRM_SECONDS = 1.0
"""How soon it is looked again when something seems to be missing."""
EXPECTED_PAGES_MAX = 1000
ALL = "*"
"""Stands for every device of the group."""
ANSWER_SECONDS = 60.0
"""So often, at least, something is told, whether there is news or not: the answer may have some."""
SAY_ALL_AGAIN_SECONDS = 300.0
"""Now and then everything is reported again: a status that a controller overwrote meanwhile is put right."""
LATE_SECONDS = 30.0
"""A report that got no answer may be taken as late as that, by a controller that was frozen: what it spoke of is
told once more then."""

_SERVED = (OperatingStatus.ONLINE, OperatingStatus.DEGRADED)


def with_devices(statuses: Iterable[m.ObservedStatus], devices: Iterable[DeviceState]) -> tuple[m.ObservedStatus, ...]:
    """The statuses, with served load balancers DEGRADED while a device of the group is out of reach."""
    away = sorted(device.name for device in devices if not device.reachable)
    if not away:
        return tuple(statuses)
    reason = f"device {away[0]} is out of reach" if len(away) == 1 else f"devices {', '.join(away)} are out of reach"
    return tuple(
        m.ObservedStatus(kind=one.kind, id=one.id, status=OperatingStatus.DEGRADED, reason=reason)
        if one.kind == "loadbalancer" and one.status in _SERVED
        else one
        for one in statuses
    )


class CommonShardWorker:
    """Observes while its agent owns the group's common shard. It writes nothing to devices, so it needs no guard."""

    def __init__(
        self,
        assignment: m.Assignment,
        *,
        session_id: SessionId,
        controllers: ControllerClient,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        on_device_trouble: Callable[[], None],
        on_device_back: Callable[[], None] = lambda: None,
        incarnations: Incarnations | None = None,
    ) -> None:
        self.shard_id = assignment.shard_id
        self.project_id = assignment.project_id
        self.epoch = assignment.epoch
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
        self._statuses: dict[tuple[str, str], m.ObservedStatus] = {}
        self._statistics: dict[str, m.ObservedStatistics] = {}
        self._doubtful: dict[tuple[str, str], float] = {}
        """When to tell again what was in a report without an answer."""
        self._all_again_at = 0.0
        self._reached_count: int | None = None
        self._answered_at = float("-inf")
        self._stopping = asyncio.Event()
        self._asked = asyncio.Event()
        self.lost = False
        self.devices: tuple[DeviceState, ...] = ()

    def finish(self) -> None:
        """End after the look that is under way."""
        self._stopping.set()

    def report_all_again(self) -> None:
        """What was reported may have been overwritten: report all of it with the next look, and look now."""
        self._all_again_at = 0.0
        self._asked.set()

    async def run(self) -> None:
        """Look every ``status_interval_seconds``, and when a device tells of a change, until finished or lost."""
        while not self._stopping.is_set() and not self.lost:
            try:
                await self._look()
            except SessionLost:
                self.lost = True
            except DeviceUnavailable as error:
                log.warning("devices not observed", error=str(error))
                self.devices = ()
                self._inventory.saw_nothing()
                self._all_again_at = 0.0  # controllers say of all of the group that it is out of reach
                self._note_away(frozenset({ALL}))
            except EvenKeelError as error:
                log.warning("devices not observed", error=str(error))
            except Exception:  # the group's statuses must not end with one strange answer of a device
                log.exception("devices not observed because of an unexpected error")
            await self._wait()

    async def _wait(self) -> None:
        reasons = {asyncio.create_task(each) for each in (self._stopping.wait(), self._asked.wait(), self._told())}
        try:
            seconds = self._settings.status_interval_seconds
            if self._inventory.asks_soon:
                seconds = min(seconds, CONFIRM_SECONDS)
            await asyncio.wait(reasons, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for reason in reasons:
                reason.cancel()
        self._asked.clear()

    async def _told(self) -> None:
        """A device tells of a change; of many at once, one look shows all."""
        try:
            await self._device.changed()
        except Exception:  # then they are looked at now and then, as devices that cannot tell
            log.exception("changes on devices not awaited because of an unexpected error")
            await asyncio.Event().wait()
        await self._clock.sleep(TOLD_SPACING_SECONDS)

    async def _look(self) -> None:
        seen = await self._device.observe()
        self.devices = seen.devices
        self._note_away(frozenset(device.name for device in seen.devices if not device.reachable))
        await self._compare(seen)
        found = with_devices(seen.statuses, seen.devices)
        now = self._clock.monotonic()
        if now >= self._all_again_at:
            self._statuses.clear()
            self._all_again_at = now + SAY_ALL_AGAIN_SECONDS
        for key in [key for key, again_at in self._doubtful.items() if now >= again_at]:
            del self._doubtful[key]
            self._statuses.pop(key, None)
        statuses = [s for s in found if self._statuses.get((s.kind, s.id)) != s]
        statistics = [s for s in seen.statistics if self._statistics.get(s.listener_id) != s]
        # half of a message for each
        max_bytes = self._max_bytes // 2
        for portion in zip_longest(
            portions(statuses, max_bytes=max_bytes, max_values=STATUSES_PER_REPORT),
            portions(statistics, max_bytes=max_bytes, max_values=STATUSES_PER_REPORT),
            fillvalue=(),
        ):
            await self._report(*portion)
        self._statuses = {(s.kind, s.id): s for s in found}
        self._statistics = {s.listener_id: s for s in seen.statistics}
        if self._clock.monotonic() >= self._answered_at + ANSWER_SECONDS:
            await self._tell()

    async def _compare(self, seen: Observation) -> None:
        """Find what vanished, what is otherwise and what is not there, and tell it before any status."""
        inventory = self._inventory
        inventory.saw(seen, self._clock.monotonic())
        try:
            if inventory.asks(self._clock.monotonic()):
                expected, absent = await self._expected()
                inventory.expects(expected, absent, self._clock.monotonic())
            for part in _parts(inventory.findings(), max_bytes=self._max_bytes):
                if part.absent or part.lacking or part.renewed:
                    log.warning(
                        "devices do not hold what they were left with",
                        absent=part.absent[:IDS_LOGGED],
                        lacking=list(part.lacking)[:IDS_LOGGED],
                        renewed=part.renewed,
                    )
                await self._tell(
                    absent=part.absent,
                    present=part.present,
                    changed=part.changed,
                    lacking=part.lacking,
                    renewed=part.renewed,
                    renewed_before=part.renewed_before,
                )
        except BaseException:
            inventory.not_told()
            raise

    async def _expected(self) -> tuple[frozenset[str] | None, frozenset[str]]:
        """What the controllers expect on the devices, over as many answers as it takes, and what of that they show as
        absent. None: a controller of the version before was asked."""
        expected: set[str] = set()
        absent: set[str] = set()
        after = ""
        for _ in range(EXPECTED_PAGES_MAX):
            receipt = await self._tell(expected_after=after)
            if receipt.expected is None:
                return None, frozenset()
            expected.update(receipt.expected)
            absent.update(receipt.absent)
            if not receipt.more or not receipt.expected:
                break
            after = receipt.expected[-1]
        return frozenset(expected), frozenset(absent)

    def _note_away(self, away: frozenset[str]) -> None:
        """Tell of every change in which devices are out of reach, also of the better."""
        before, self._away = self._away, away
        if away != before:
            self._on_device_trouble()
        if before - away:
            self._on_device_back()

    async def _report(
        self, statuses: tuple[m.ObservedStatus, ...], statistics: tuple[m.ObservedStatistics, ...]
    ) -> None:
        # without an answer nobody knows whether these are shown: then the next look's are told, whatever they are
        for status in statuses:
            self._statuses.pop((status.kind, status.id), None)
        for figures in statistics:
            self._statistics.pop(figures.listener_id, None)
        try:
            await self._tell(statuses=statuses, statistics=statistics)
        except BusUnavailable:
            again_at = self._clock.monotonic() + LATE_SECONDS
            self._doubtful.update(((status.kind, status.id), again_at) for status in statuses)
            raise

    async def _tell(self, **what: Any) -> m.ReportReceipt:
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
        self._heard(receipt)
        return receipt

    def _heard(self, receipt: m.ReportReceipt) -> None:
        """What controllers showed while nobody reached the group may be other than what is seen."""
        self._answered_at = self._clock.monotonic()
        before, now = self._reached_count, receipt.reached_count
        if now is not None:
            self._reached_count = now
        if before is not None and now is not None and now != before:
            self.report_all_again()


def _parts(findings: Findings, *, max_bytes: int) -> Iterator[Findings]:
    """The findings, in as many reports as it takes; none if there are none."""
    fields: tuple[Iterable[Any], ...] = (
        findings.absent,
        findings.present,
        findings.changed,
        sorted(findings.lacking.items()),
        findings.renewed,
        findings.renewed_before,
    )
    share = max_bytes // len(fields)
    chunks = (portions(values, max_bytes=share, max_values=STATUSES_PER_REPORT) for values in fields)
    for absent, present, changed, lacking, renewed, renewed_before in zip_longest(*chunks, fillvalue=()):
        yield Findings(
            absent=absent,
            present=present,
            changed=changed,
            lacking=dict(lacking),
            renewed=renewed,
            renewed_before=renewed_before,
        )
