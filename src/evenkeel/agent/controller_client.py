"""The agent's calls to the controllers, typed. Refusals become exceptions here."""

from itertools import count
from typing import TypeVar

import structlog
from msgspec.structs import replace

from evenkeel.core import messages as m
from evenkeel.core.errors import BusUnavailable, CallRefused, CallTimeout, SessionLost
from evenkeel.core.ports import Bus

LONGEST_SECONDS = 60.0
"""That an answer with service definitions is waited for."""
LANE_REST_KEEPALIVES = 120
"""So many go by the shared queue after the one for keepalives gave no answer."""

log = structlog.get_logger(__name__)

R = TypeVar("R", bound=m.Reply)


class KeepaliveLane:
    """The queue for keepalives alone: used when controllers say that they consume it, and not for a while after it
    gave no answer (the controllers of an older version may be back, or this agent may not send to it)."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self._keepalives_left = -1
        """How many go by the shared queue before it is tried again; negative: nobody has said that it is consumed."""

    @property
    def is_open(self) -> bool:
        """Is the next keepalive to be sent there?"""
        return self._keepalives_left == 0

    def told(self, state: m.SessionState) -> m.SessionState:
        """An answer came by the shared queue; it is returned."""
        if not state.takes_keepalives:
            self._keepalives_left = -1
        elif self._keepalives_left:
            self._keepalives_left = max(0, self._keepalives_left - 1)
        return state

    def close(self) -> None:
        """It gave no answer."""
        self._keepalives_left = LANE_REST_KEEPALIVES


class ControllerClient:
    """All controllers of an environment, behind their shared queue.

    Every method raises :class:`SessionLost`, :class:`CallRefused` or :class:`BusUnavailable`.
    """

    def __init__(self, bus: Bus, environment: str, *, timeout_seconds: float) -> None:
        self._bus = bus
        self._queue = m.callback_queue(environment)
        self._keepalives = KeepaliveLane(m.keepalive_queue(environment))
        self._status_reports = count(1)
        """Numbers of reports, over all sessions of the process."""
        self._timeout = self._services_timeout = timeout_seconds

    async def _ask(
        self, call: m.Call, expected: type[R], timeout_seconds: float | None = None, *, queue: str = ""
    ) -> R:
        reply = await self._bus.call(queue or self._queue, call, timeout_seconds=timeout_seconds or self._timeout)
        if isinstance(reply, expected):
            return reply
        if isinstance(reply, m.Refused):
            if reply.code == m.SESSION_LOST:
                raise SessionLost(reply.reason)
            raise CallRefused(reply.code, reply.reason, retry_after_seconds=reply.retry_after_seconds)
        raise CallRefused("unexpected", f"answer of type {type(reply).__name__}")

    async def register(self, call: m.Register) -> m.SessionState:
        """Open a session."""
        return self._keepalives.told(await self._ask(call, m.SessionState))

    async def keepalive(self, call: m.Keepalive, *, timeout_seconds: float) -> m.SessionState:
        """Renew the session. Where the queue for keepalives alone gives no answer, the shared one is asked too."""
        lane = self._keepalives
        if lane.is_open:
            try:
                return await self._ask(call, m.SessionState, timeout_seconds / 2, queue=lane.queue)
            except BusUnavailable as error:
                log.warning("no answer to a keepalive in its own queue; using the shared one", error=str(error))
                lane.close()
        return lane.told(await self._ask(call, m.SessionState, timeout_seconds))

    async def report_state(self, call: m.ReportState) -> None:
        """Send the full state."""
        await self._ask(call, m.Done)

    async def assignments(self, call: m.GetAssignments) -> m.Assignments:
        """What this session owns."""
        return await self._ask(call, m.Assignments)

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        """One answer's worth of service definitions. A very large one may take longer than others to be read and sent:
        each time-out doubles the next one's time, each answer halves it again."""
        try:
            found = await self._ask(call, m.ServiceDefinitions, self._services_timeout)
        except CallTimeout:
            self._services_timeout = min(2 * self._services_timeout, max(LONGEST_SECONDS, self._timeout))
            raise
        self._services_timeout = max(self._services_timeout / 2, self._timeout)
        return found

    async def report_applied(self, call: m.ReportApplied) -> m.ReportReceipt:
        """Outcomes of a pass."""
        return await self._ask(call, m.ReportReceipt)

    async def report_status(self, call: m.ReportStatus) -> m.ReportReceipt:
        """What was seen on the devices. It is refused if one that was made later was taken before."""
        return await self._ask(replace(call, number=next(self._status_reports)), m.ReportReceipt)

    async def release(self, call: m.ReleaseShards) -> None:
        """Give shards back."""
        await self._ask(call, m.Done)

    async def raise_epoch(self, call: m.RaiseEpoch) -> None:
        """Ask for an epoch above what the device holds."""
        await self._ask(call, m.Done)

    async def end_session(self, call: m.EndSession) -> None:
        """Say good-bye."""
        await self._ask(call, m.Done)
