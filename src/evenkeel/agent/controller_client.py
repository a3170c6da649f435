"""The agent's calls to the controllers, typed. Turns refusals into exceptions."""

from itertools import count
from typing import TypeVar

import structlog
from msgspec.structs import replace

from evenkeel.core.kit.errors import BusUnavailable, CallRefused, CallTimeout, SessionLost
from evenkeel.core.ports import Bus
from evenkeel.core.protocol import messages as m
from evenkeel.metrics.agent import CALL_DURATION

LONGEST_SECONDS = 60.0
"""Limits of the time-out of a call for service definitions."""
ADOPTION_SECONDS = 50.0
"""Additional time-out for an adoption, whose ports are searched and marked at the network service."""
LANE_REST_KEEPALIVES = (4, 120)
"""Number of keepalives sent by the shared queue after the keepalive queue gave no answer: the first time, and the most;
it doubles. When a broker is back, keepalives arrive before controllers consume their queue again."""

log = structlog.get_logger(__name__)

R = TypeVar("R", bound=m.Reply)


class KeepaliveLane:
    """Selects the queue for keepalives: a queue of their own, which stores nothing.

    For a while after a keepalive got no answer it is the shared callback queue, because this agent may have no
    permission to send to the keepalive queue.
    """

    def __init__(self, environment: str) -> None:
        self._own = m.transient_keepalive_queue(environment)
        self._keepalives_left = 0
        """Number of keepalives to send by the shared queue before the own queue is tried again."""
        self._rest = LANE_REST_KEEPALIVES[0]

    @property
    def queue(self) -> str | None:
        """Queue of the next keepalive; None: the shared callback queue."""
        return None if self._keepalives_left else self._own

    def record_answer(self) -> None:
        """Record that a keepalive was answered, by whichever queue."""
        self._keepalives_left = max(0, self._keepalives_left - 1)

    def record_working_queue(self) -> None:
        """Record that the own queue works, which ends the increase of pauses between attempts."""
        self._rest = LANE_REST_KEEPALIVES[0]

    def pause_own_queue(self) -> None:
        """Use the shared queue for a while, because the own queue gave no answer."""
        if self._keepalives_left:  # one of several keepalives that were under way
            return
        self._keepalives_left = self._rest
        self._rest = min(2 * self._rest, LANE_REST_KEEPALIVES[1])


class ControllerClient:
    """All controllers of an environment, behind their shared queue.

    Every method raises :class:`SessionLost`, :class:`CallRefused` or :class:`BusUnavailable`.
    """

    def __init__(self, bus: Bus, environment: str, *, timeout_seconds: float) -> None:
        self._bus = bus
        self._queue = m.callback_queue(environment)
        self._keepalives = KeepaliveLane(environment)
        self._status_reports = count(1)
        """Numbers of status reports, across all sessions of the process."""
        self._timeout = self._services_timeout = timeout_seconds

    async def _call_controllers(
        self, call: m.Call, expected: type[R], timeout_seconds: float | None = None, *, queue: str = ""
    ) -> R:
        with CALL_DURATION.labels(type(call).__name__).time():
            reply = await self._bus.call(queue or self._queue, call, timeout_seconds=timeout_seconds or self._timeout)
        if isinstance(reply, expected):
            return reply
        if isinstance(reply, m.Refused):
            # A lost session is no refusal of this one call: it ends all that the session serves.
            if reply.code == m.SESSION_LOST:
                raise SessionLost(reply.reason)
            raise CallRefused(reply.code, reply.reason, retry_after_seconds=reply.retry_after_seconds)
        raise CallRefused("unexpected", f"answer of type {type(reply).__name__}")

    async def register(self, call: m.Register) -> m.SessionState:
        """Open a session. Raises :class:`CallRefused`, :class:`BusUnavailable`."""
        return self._record_answer(await self._call_controllers(call, m.SessionState))

    async def keepalive(self, call: m.Keepalive, *, timeout_seconds: float) -> m.SessionState:
        """Renew the session. If the keepalive queue gives no answer, the shared one is tried, too."""
        lane = self._keepalives
        if (queue := lane.queue) is not None:
            try:
                # Half of the time, so that the shared queue can be tried, too, before the session expires.
                state = self._record_answer(
                    await self._call_controllers(call, m.SessionState, timeout_seconds / 2, queue=queue)
                )
                lane.record_working_queue()
                return state
            except CallTimeout as error:
                log.warning("no answer to a keepalive in its own queue; using the shared one", error=str(error))
                lane.pause_own_queue()
            except BusUnavailable:  # not sent: all agents come back at once, and the queue of its own carries that best
                return self._record_answer(
                    await self._call_controllers(call, m.SessionState, timeout_seconds, queue=queue)
                )
        return self._record_answer(await self._call_controllers(call, m.SessionState, timeout_seconds))

    def _record_answer(self, state: m.SessionState) -> m.SessionState:
        self._keepalives.record_answer()
        return state

    async def report_state(self, call: m.ReportState) -> None:
        """Send a complete report of the agent's state."""
        await self._call_controllers(call, m.Done)

    async def assignments(self, call: m.GetAssignments) -> m.Assignments:
        """Request a page of the shards that the call's session owns."""
        return await self._call_controllers(call, m.Assignments)

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        """Request a page of service definitions.

        A very large page may take long to read and send: each time-out doubles the next call's time limit, each answer
        halves it again.
        """
        try:
            found = await self._call_controllers(call, m.ServiceDefinitions, self._services_timeout)
        except CallTimeout:
            # With a fixed time-out, a page that takes longer than it to read would be requested again and again.
            self._services_timeout = min(2 * self._services_timeout, max(LONGEST_SECONDS, self._timeout))
            raise
        self._services_timeout = max(self._services_timeout / 2, self._timeout)
        return found

    async def certificates(self, call: m.GetCertificates) -> m.Certificates:
        """Request sealed contents of certificates. The time-out includes the controllers' wait for the key manager."""
        return await self._call_controllers(call, m.Certificates, self._timeout + m.CERTIFICATES_SECONDS_MAX)

    async def judge_orphans(self, call: m.JudgeOrphans) -> m.OrphanVerdict:
        """Request a decision on load balancers without a definition."""
        return await self._call_controllers(call, m.OrphanVerdict)

    async def adopt_networks(self, call: m.AdoptNetworks) -> m.NetworksAdopted:
        """Ask controllers to reserve, or only to list, the networks that another program set up on the devices.

        Waits longer than other calls, because controllers query the network service. Raises :class:`CallRefused`.
        """
        return await self._call_controllers(call, m.NetworksAdopted, self._timeout + ADOPTION_SECONDS)

    async def keep_irules(self, call: m.KeepIrules) -> None:
        """Request that operators' iRules be stored with their listeners. Raises :class:`CallRefused`."""
        await self._call_controllers(call, m.Done)

    async def report_applied(self, call: m.ReportApplied) -> m.ReportReceipt:
        """Report the outcomes of a pass."""
        return await self._call_controllers(call, m.ReportReceipt)

    async def report_status(self, call: m.ReportStatus) -> m.ReportReceipt:
        """Report an observation of the devices. Controllers refuse it if a later report was processed before."""
        return await self._call_controllers(replace(call, number=next(self._status_reports)), m.ReportReceipt)

    async def report_plan(self, call: m.ReportPlan) -> None:
        """Send the answer to an operator's inquiry."""
        await self._call_controllers(call, m.Done)

    async def release_shards(self, call: m.ReleaseShards) -> None:
        await self._call_controllers(call, m.Done)

    async def raise_epoch(self, call: m.RaiseEpoch) -> None:
        """Request an epoch above that of the device's guard."""
        await self._call_controllers(call, m.Done)

    async def end_session(self, call: m.EndSession) -> None:
        await self._call_controllers(call, m.Done)
