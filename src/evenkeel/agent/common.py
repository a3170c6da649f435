"""The common shard's worker: looks at the devices for the whole group and reports what changed.

A device that is out of reach leaves its group's load balancers served by the others, but no longer by all: they are
DEGRADED and name it until it is back.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import zip_longest

import structlog

from evenkeel.agent.controllers import Controllers
from evenkeel.agent.settings import AgentSettings
from evenkeel.core import messages as m
from evenkeel.core.device import DeviceState
from evenkeel.core.errors import DeviceUnavailable, EvenKeelError, SessionLost
from evenkeel.core.portions import MESSAGE_OVERHEAD_BYTES, portions
from evenkeel.core.ports import Clock, Device
from evenkeel.core.statuses import OperatingStatus

log = structlog.get_logger(__name__)

STATUSES_PER_REPORT = 1000
TOLD_SPACING_SECONDS = 0.1
ALL = "*"
"""Stands for every device of the group."""
SAY_ALL_AGAIN_SECONDS = 300.0
"""Now and then everything is reported again: a status that a controller overwrote meanwhile is put right."""

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


class CommonWorker:
    """Observes while its agent owns the group's common shard. It writes nothing to devices, so it needs no guard."""

    def __init__(
        self,
        assignment: m.Assignment,
        *,
        session_id: str,
        controllers: Controllers,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        on_device_trouble: Callable[[], None],
        on_device_back: Callable[[], None] = lambda: None,
    ) -> None:
        self.shard_id = assignment.shard_id
        self.epoch = assignment.epoch
        self._session_id = session_id
        self._controllers = controllers
        self._device = device
        self._clock = clock
        self._settings = settings
        self._on_device_trouble = on_device_trouble
        self._on_device_back = on_device_back
        self._away: frozenset[str] = frozenset()
        self._statuses: dict[tuple[str, str], m.ObservedStatus] = {}
        self._statistics: dict[str, m.ObservedStatistics] = {}
        self._all_again_at = 0.0
        self._stopping = asyncio.Event()
        self._asked = asyncio.Event()
        self.lost = False
        self.devices: tuple[DeviceState, ...] = ()

    def finish(self) -> None:
        """End after the look that is under way."""
        self._stopping.set()

    def say_all_again(self) -> None:
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
                self._all_again_at = 0.0  # controllers say of all of the group that it is out of reach
                self._note_away(frozenset({ALL}))
            except EvenKeelError as error:
                log.warning("devices not observed", error=str(error))
            except Exception:  # the group's statuses must not end with one strange answer of a device
                log.exception("devices not observed because of a bug")
            await self._wait()

    async def _wait(self) -> None:
        reasons = {asyncio.create_task(each) for each in (self._stopping.wait(), self._asked.wait(), self._told())}
        try:
            await asyncio.wait(
                reasons, timeout=self._settings.status_interval_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for reason in reasons:
                reason.cancel()
        self._asked.clear()

    async def _told(self) -> None:
        """A device tells of a change; of many at once, one look shows all."""
        try:
            await self._device.changed()
        except Exception:  # then they are looked at now and then, as devices that cannot tell
            log.exception("devices do not tell of changes because of a bug")
            await asyncio.Event().wait()
        await self._clock.sleep(TOLD_SPACING_SECONDS)

    async def _look(self) -> None:
        seen = await self._device.observe()
        self.devices = seen.devices
        self._note_away(frozenset(device.name for device in seen.devices if not device.reachable))
        found = with_devices(seen.statuses, seen.devices)
        now = self._clock.monotonic()
        if now >= self._all_again_at:
            self._statuses.clear()
            self._all_again_at = now + SAY_ALL_AGAIN_SECONDS
        statuses = [s for s in found if self._statuses.get((s.kind, s.id)) != s]
        statistics = [s for s in seen.statistics if self._statistics.get(s.listener_id) != s]
        # half of a message for each
        max_bytes = (self._settings.max_message_bytes - MESSAGE_OVERHEAD_BYTES) // 2
        for portion in zip_longest(
            portions(statuses, max_bytes=max_bytes, max_values=STATUSES_PER_REPORT),
            portions(statistics, max_bytes=max_bytes, max_values=STATUSES_PER_REPORT),
            fillvalue=(),
        ):
            await self._report(*portion)
        self._statuses = {(s.kind, s.id): s for s in found}
        self._statistics = {s.listener_id: s for s in seen.statistics}

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
        receipt = await self._controllers.report_status(
            m.ReportStatus(
                agent_id=self._settings.agent_id,
                session_id=self._session_id,
                shard_id=self.shard_id,
                epoch=self.epoch,
                statuses=statuses,
                statistics=statistics,
            )
        )
        if receipt.stale:
            raise SessionLost("the report's epoch is old")
