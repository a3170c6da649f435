"""The agent's calls to the controllers, typed. Refusals become exceptions here."""

from typing import TypeVar

from evenkeel.core import messages as m
from evenkeel.core.errors import CallRefused, CallTimeout, SessionLost
from evenkeel.core.ports import Bus

LONGEST_SECONDS = 60.0
"""That an answer with service definitions is waited for."""

R = TypeVar("R", bound=m.Reply)


class Controllers:
    """All controllers of an environment, behind their shared queue.

    Every method raises :class:`SessionLost`, :class:`CallRefused` or :class:`BusUnavailable`.
    """

    def __init__(self, bus: Bus, environment: str, *, timeout_seconds: float) -> None:
        self._bus = bus
        self._queue = m.callback_queue(environment)
        self._timeout = self._services_timeout = timeout_seconds

    async def _ask(self, call: m.Call, expected: type[R], timeout_seconds: float | None = None) -> R:
        reply = await self._bus.call(self._queue, call, timeout_seconds=timeout_seconds or self._timeout)
        if isinstance(reply, expected):
            return reply
        if isinstance(reply, m.Refused):
            if reply.code == m.SESSION_LOST:
                raise SessionLost(reply.reason)
            raise CallRefused(reply.code, reply.reason, retry_after_seconds=reply.retry_after_seconds)
        raise CallRefused("unexpected", f"answer of type {type(reply).__name__}")

    async def register(self, call: m.Register) -> m.SessionState:
        """Open a session."""
        return await self._ask(call, m.SessionState)

    async def keepalive(self, call: m.Keepalive, *, timeout_seconds: float) -> m.SessionState:
        """Renew the session."""
        return await self._ask(call, m.SessionState, timeout_seconds)

    async def report_state(self, call: m.ReportState) -> None:
        """Send the full state."""
        await self._ask(call, m.Done)

    async def assignments(self, call: m.GetAssignments) -> m.Assignments:
        """What this session owns."""
        return await self._ask(call, m.Assignments)

    async def services(self, call: m.GetServices) -> m.Services:
        """One answer's worth of service definitions. A very large one may take longer than others to be read and sent:
        each time-out doubles the next one's time, each answer halves it again."""
        try:
            found = await self._ask(call, m.Services, self._services_timeout)
        except CallTimeout:
            self._services_timeout = min(2 * self._services_timeout, max(LONGEST_SECONDS, self._timeout))
            raise
        self._services_timeout = max(self._services_timeout / 2, self._timeout)
        return found

    async def report_applied(self, call: m.ReportApplied) -> m.ReportReceipt:
        """Outcomes of a pass."""
        return await self._ask(call, m.ReportReceipt)

    async def report_status(self, call: m.ReportStatus) -> m.ReportReceipt:
        """What was seen on the devices."""
        return await self._ask(call, m.ReportReceipt)

    async def release(self, call: m.ReleaseShards) -> None:
        """Give shards back."""
        await self._ask(call, m.Done)

    async def raise_epoch(self, call: m.RaiseEpoch) -> None:
        """Ask for an epoch above what the device holds."""
        await self._ask(call, m.Done)

    async def end_session(self, call: m.EndSession) -> None:
        """Say good-bye."""
        await self._ask(call, m.Done)
