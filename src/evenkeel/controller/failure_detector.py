"""Detects agents whose process has disappeared from the message bus, before their session expires.

The session's TTL remains authoritative; the detector only ends it early, for a process that was present on
the bus and is absent in two consecutive probes. It may be wrong (a lost connection): then the next keepalive
revives the session, and guards on the devices protect shards that were taken from it meanwhile. After ending
a session, the detector does not end it again until its process was present: else every probe would end a live
session whose process cannot be seen.

If the bus delivers wills, only sessions with a reason are probed: the bus reported the end of their
connection, they have missed keepalives, or they were not present yet over this process's connection. Every
session is probed periodically, too, because the number of stored sightings is limited. Without any reason the
sessions are read only every :data:`READ_SECONDS`: in between the scheduler's change indicator suffices. On
other buses all sessions are probed each time.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.agents import SessionRef
from evenkeel.core.control.scheduling import ChangeIndicator
from evenkeel.core.kit.ids import SessionId
from evenkeel.core.ports import Bus, Clock, SchedulingStore
from evenkeel.core.protocol.messages import Departure, presence_name

log = structlog.get_logger(__name__)

PROBES_PER_SECOND = 200.0
"""Limit of probes per second in total: with more agents each is probed less often."""
PROBES_AT_ONCE = 16
ALL_SECONDS = 60.0
"""Interval at which every session is probed, in total not more than ``PROBES_PER_SECOND``."""
READ_SECONDS = 5.0
"""Maximum interval between reads of the sessions, whatever the change indicator shows."""
CONFIRM_SECONDS = 0.15
"""Delay before the second probe of a session whose connection ended: a process that only lost its connection has a new
one by then.
"""
DEPARTED_SECONDS = 1.0
"""Time after a notice for which the session is probed at each poll. The broker sends a will before it deletes what the
process declared, and a busy broker may answer probes for some time.
"""
MAX_SUSPECTED = 10_000
"""Limit of suspected sessions; above it all are forgotten, so that each may be suspected once more."""


class SchedulerPort(Protocol):
    """Methods of the scheduler that the failure detector uses."""

    def wake(self) -> None:
        """Start a tick of the scheduler at once, because sessions were ended."""
        ...

    async def recent_change_indicator(self, *, max_age_seconds: float) -> ChangeIndicator:
        """Return the newest change indicator, read again if its read began more than ``max_age_seconds`` ago.
        Raises :class:`StoreUnavailable`.
        """
        ...


class FailureDetector:
    """Probes on the bus whether the agents' processes are present, and ends the sessions of agents that are
    absent in two probes in a row.
    """

    def __init__(
        self,
        scheduling: SchedulingStore,
        bus: Bus,
        settings: ControllerSettings,
        scheduler: SchedulerPort,
        clock: Clock,
    ) -> None:
        self._scheduling = scheduling
        self._bus = bus
        self._settings = settings
        self._scheduler = scheduler
        self._clock = clock
        self._sessions: tuple[SessionRef, ...] = ()
        self._seen: set[SessionId] = set()
        """Sessions that were present at their last probe over the current connection."""
        self._connection_number = bus.connection_number
        self._departed: dict[SessionId, float] = {}
        """Sessions whose connections ended, and the monotonic time until which they are probed."""
        self._gone: set[SessionId] = set()
        """Sessions that were absent at their last probe."""
        self._suspected: set[SessionId] = set()
        self._all_due_at = 0.0
        self._read_at = 0.0
        """Monotonic time until which the change indicator may replace a read of the sessions."""
        self._quiet_marks: tuple[float, ...] | None = None
        """Marks of the change indicator before the last poll, if that found no session to probe; None: the
        next poll reads the sessions."""
        self._woken = asyncio.Event()

    def note_departure(self, notice: Departure) -> None:
        """Record the bus's message that the connection of a session has ended, and make the next probes due
        at once.
        """
        # A flood of notices must not use up memory; sessions left out are found by missed keepalives.
        if len(self._departed) < MAX_SUSPECTED:
            self._departed[notice.session_id] = self._clock.monotonic() + DEPARTED_SECONDS
        self._woken.set()

    async def pause(self, jittered: Callable[[float], float]) -> None:
        """Return when the next probes are due: after the interval, changed by ``jittered``. On a bus that
        delivers wills, a session in doubt, or a will, ends the pause earlier.
        """
        if not self._bus.delivers_wills:
            await self._clock.sleep(jittered(self.interval_seconds()))
            return
        soon = min(CONFIRM_SECONDS, self._settings.suspicion_interval_seconds)
        # A session that was absent once is probed again soon: the second probe decides.
        if self._gone - self._suspected:
            await self._clock.sleep(soon)
            return
        seconds = soon if self._departed else jittered(self.interval_seconds())
        sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait({sleeping, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleeping, woken):
                task.cancel()
            self._woken.clear()

    def interval_seconds(self) -> float:
        """Return the interval, in seconds, between probes without a reason; it grows with the sessions if the
        bus delivers no wills.
        """
        shortest = self._settings.suspicion_interval_seconds
        return shortest if self._bus.delivers_wills else max(shortest, len(self._sessions) / PROBES_PER_SECOND)

    async def probe_due(self) -> None:
        """Probe the sessions that are due, and end sessions that are absent for the second time in a row.
        Raises :class:`StoreUnavailable`.
        """
        indicator = await self._change_indicator()
        if indicator is not None and not indicator.late and indicator.marks == self._quiet_marks:
            return
        self._sessions = await self._scheduling.read_live_sessions()
        self._read_at = self._clock.monotonic() + READ_SECONDS
        due = self._due_sessions()
        # The marks of before the poll: a change during it makes the next poll read again.
        self._quiet_marks = None if indicator is None or due else indicator.marks
        answers = await self._probe_sessions(due)
        gone = {session_id for session_id, is_present in answers.items() if is_present is False}
        present = {session_id for session_id, is_present in answers.items() if is_present}
        # Absent twice in a row, and not ended before: else every probe would end a session that its agent revived.
        self._suspected -= present
        doubtful = gone & self._gone - self._suspected
        live = {session.session_id for session in self._sessions}
        self._gone = gone
        # Ended sessions are dropped, so that the set does not grow with every restart of an agent.
        self._seen = (self._seen - answers.keys() | present) & live
        vanished = [session for session in due if session.session_id in doubtful]
        if not vanished:
            return
        ended = await self._scheduling.end_sessions(vanished)
        if len(self._suspected) > MAX_SUSPECTED:
            self._suspected.clear()
        # Even if another controller ended them first: one end for each absence, whoever did it.
        self._suspected |= doubtful
        if ended:
            log.warning("agents disappeared from the message bus", agents=[session.agent_id for session in vanished])
            self._scheduler.wake()

    async def _change_indicator(self) -> ChangeIndicator | None:
        """Return a recent change indicator; None if the sessions must be read in any case. Raises
        :class:`StoreUnavailable`.
        """
        now, bus = self._clock.monotonic(), self._bus
        doubtful = self._departed or self._gone or self._connection_number != bus.connection_number
        if not bus.delivers_wills or doubtful or now >= min(self._read_at, self._all_due_at):
            return None
        return await self._scheduler.recent_change_indicator(max_age_seconds=self._settings.suspicion_interval_seconds)

    def _due_sessions(self) -> Sequence[SessionRef]:
        now = self._clock.monotonic()
        if not self._bus.delivers_wills:
            return self._sessions
        live = {session.session_id for session in self._sessions}
        self._departed = {one: until for one, until in self._departed.items() if until > now and one in live}
        # Before the check of the connection: the complete round covers it, and the number is compared again next time.
        if now >= self._all_due_at:
            self._all_due_at = now + max(ALL_SECONDS, len(self._sessions) / PROBES_PER_SECOND)
            return self._sessions
        if self._connection_number != self._bus.connection_number:
            self._connection_number = self._bus.connection_number
            self._seen.clear()  # over a new connection no process was seen present yet
        doubtful = self._departed.keys() | self._gone
        return [
            session
            for session in self._sessions
            if session.late or session.session_id in doubtful or session.session_id not in self._seen
        ]

    async def _probe_sessions(self, sessions: Sequence[SessionRef]) -> dict[SessionId, bool | None]:
        """Return {session id: whether its process is present on the bus; None: unknown}."""
        slots = asyncio.Semaphore(PROBES_AT_ONCE)

        async def is_present(session: SessionRef) -> bool | None:
            async with slots:
                return await self._bus.present(presence_name(session.session_id))

        answers = await asyncio.gather(*(is_present(session) for session in sessions))
        return {session.session_id: answer for session, answer in zip(sessions, answers, strict=True)}
