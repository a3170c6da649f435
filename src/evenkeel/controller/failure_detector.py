"""Detects agents whose process has disappeared from the message bus, before their session expires.

The session's TTL remains authoritative; the detector only ends it early, for a process that was present on the bus and
is absent in two consecutive probes. It may be wrong (a lost connection): then the next keepalive revives the session,
and guards on the devices protect shards that were taken from it meanwhile. After ending a session, the detector does
not end it again until its process was present: else every probe would end a live session whose process cannot be seen.
"""

import asyncio
from collections.abc import Callable

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control import SessionRef
from evenkeel.core.messages import presence_name
from evenkeel.core.ports import Bus, SchedulingStore

log = structlog.get_logger(__name__)

PROBES_PER_SECOND = 200.0
"""Probes per second in total: with more agents each is probed less often."""
PROBES_AT_ONCE = 16
MAX_SUSPECTED = 10_000
"""Above this number all are forgotten: each may then be suspected once more."""


class FailureDetector:
    """Probes whether the agents' processes are present."""

    def __init__(
        self,
        scheduling: SchedulingStore,
        bus: Bus,
        settings: ControllerSettings,
        on_vanished: Callable[[], None],
    ) -> None:
        self._scheduling = scheduling
        self._bus = bus
        self._settings = settings
        self._on_vanished = on_vanished
        self._sessions: tuple[SessionRef, ...] = ()
        self._gone: set[str] = set()
        self._suspected: set[str] = set()

    def interval_seconds(self) -> float:
        """Seconds until the next probe."""
        return max(self._settings.suspicion_interval_seconds, len(self._sessions) / PROBES_PER_SECOND)

    async def look(self) -> None:
        """Probe every session's presence once; end sessions absent for the second time."""
        self._sessions = await self._scheduling.sessions()
        answers = await self._probe()
        gone = {session_id for session_id, there in answers.items() if there is False}
        self._suspected -= {session_id for session_id, there in answers.items() if there}
        doubtful = gone & self._gone - self._suspected
        self._gone = gone
        vanished = [session for session in self._sessions if session.session_id in doubtful]
        if not vanished:
            return
        ended = await self._scheduling.end_sessions(vanished)
        if len(self._suspected) > MAX_SUSPECTED:
            self._suspected.clear()
        self._suspected |= doubtful
        if ended:
            log.warning("agents disappeared from the message bus", agents=[session.agent_id for session in vanished])
            self._on_vanished()

    async def _probe(self) -> dict[str, bool | None]:
        """Whether each session's process is present, as :meth:`evenkeel.core.ports.Bus.present` says."""
        slots = asyncio.Semaphore(PROBES_AT_ONCE)

        async def there(session: SessionRef) -> bool | None:
            async with slots:
                return await self._bus.present(presence_name(session.session_id))

        answers = await asyncio.gather(*(there(session) for session in self._sessions))
        return {session.session_id: answer for session, answer in zip(self._sessions, answers, strict=True)}
