"""Quick suspicion: an agent whose process visibly left the bus need not be waited for.

The session's time-to-live decides in the end; this only ends it early for a process that was seen on the bus and is
gone, in two looks in a row. A suspicion may be wrong (a lost connection): then the next keepalive revives the
session, and what was taken from it meanwhile is protected by the guard on its device.
"""

import asyncio
from collections.abc import Callable

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control import SessionRef
from evenkeel.core.messages import presence_name
from evenkeel.core.ports import Bus, OwnershipStore

log = structlog.get_logger(__name__)

PROBES_PER_SECOND = 200.0
"""However many agents there are: with more of them each is looked at less often."""
PROBES_AT_ONCE = 16


class Suspicion:
    """Looks whether the agents' processes are there."""

    def __init__(
        self,
        store: OwnershipStore,
        bus: Bus,
        settings: ControllerSettings,
        on_vanished: Callable[[], None],
    ) -> None:
        self._store = store
        self._bus = bus
        self._settings = settings
        self._on_vanished = on_vanished
        self._sessions: tuple[SessionRef, ...] = ()
        self._gone: set[str] = set()

    def interval_seconds(self) -> float:
        """Until the next look."""
        return max(self._settings.suspicion_interval_seconds, len(self._sessions) / PROBES_PER_SECOND)

    async def look(self) -> None:
        """Probe every session's presence once; end those gone for the second time."""
        self._sessions = await self._store.sessions()
        gone = await self._probe()
        vanished = [session for session in gone if session.session_id in self._gone]
        self._gone = {session.session_id for session in gone}
        if vanished and await self._store.suspect(vanished):
            log.warning("agents vanished from the bus", agents=[session.agent_id for session in vanished])
            self._on_vanished()

    async def _probe(self) -> list[SessionRef]:
        turns = asyncio.Semaphore(PROBES_AT_ONCE)

        async def is_gone(session: SessionRef) -> bool:
            async with turns:
                return await self._bus.present(presence_name(session.session_id)) is False

        answers = await asyncio.gather(*(is_gone(session) for session in self._sessions))
        return [session for session, gone in zip(self._sessions, answers, strict=True) if gone]
