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
"""Longest time-out of a call for service definitions, unless the configured time-out is longer."""
ADOPTION_SECONDS = 50.0
"""Additional time-out for an adoption, whose ports are searched and marked at the network service."""
SHARED_QUEUE_KEEPALIVES = (4, 120)
"""Number of keepalives sent by the shared queue after the keepalive queue gave no answer: after the first failure, and
the largest; each failure in a row doubles it. When a broker is back, keepalives arrive before controllers consume the
keepalive queue again.
"""

log = structlog.get_logger(__name__)

R = TypeVar("R", bound=m.Reply)


class KeepaliveQueueSelector:
    """Selects the queue for the agent's keepalives: normally a transient queue for keepalives only.

    For a number of keepalives after one got no answer, the shared callback queue is used, because this agent
    may have no permission to send to the keepalive queue.
    """

    def __init__(self, environment: str) -> None:
        self._own = m.transient_keepalive_queue(environment)
        self._keepalives_left = 0
        """Number of keepalives to send by the shared queue before the own queue is tried again."""
        self._rest = SHARED_QUEUE_KEEPALIVES[0]

    @property
    def queue(self) -> str | None:
        """Queue of the next keepalive; None: the shared callback queue."""
        return None if self._keepalives_left else self._own

    def record_answer(self) -> None:
        """Record that a keepalive was answered, through either queue, which brings the next attempt with the
        keepalive queue closer.
        """
        self._keepalives_left = max(0, self._keepalives_left - 1)

    def record_working_queue(self) -> None:
        """Record that a keepalive was answered through the keepalive queue: after the queue's next failure
        the shared queue is used for the smallest number of keepalives again.
        """
        self._rest = SHARED_QUEUE_KEEPALIVES[0]

    def pause_own_queue(self) -> None:
        """Use the shared queue for the next keepalives, because the keepalive queue gave no answer; each
        further pause is twice as long.
        """
        if self._keepalives_left:  # one of several keepalives that were under way
            return
        self._keepalives_left = self._rest
        self._rest = min(2 * self._rest, SHARED_QUEUE_KEEPALIVES[1])


class ControllerClient:
    """Calls to the controllers of an environment, through their shared queue; any controller may answer.
    Every method raises :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable` (a time-out,
    too), and :class:`MessageTooLarge` for a call above the bus's size limit.
    """

    def __init__(self, bus: Bus, environment: str, *, timeout_seconds: float) -> None:
        self._bus = bus
        self._queue = m.callback_queue(environment)
        self._keepalives = KeepaliveQueueSelector(environment)
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
        """Open a session. Raises :class:`CallRefused` if controllers refuse the agent,
        :class:`BusUnavailable` if none answers.
        """
        return self._record_answer(await self._call_controllers(call, m.SessionState))

    async def keepalive(self, call: m.Keepalive, *, timeout_seconds: float) -> m.SessionState:
        """Renew the session; returns its state. If the keepalive queue gives no answer within half of
        ``timeout_seconds``, the shared queue is tried for ``timeout_seconds``, and used for the following
        keepalives; a keepalive that could not be sent is sent once more. Raises :class:`SessionLost`,
        :class:`CallRefused`, :class:`BusUnavailable`.
        """
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
        """Send a complete report of the agent's state. Raises :class:`SessionLost`, :class:`CallRefused`,
        :class:`BusUnavailable`.
        """
        await self._call_controllers(call, m.Done)

    async def assignments(self, call: m.GetAssignments) -> m.Assignments:
        """Request a page of the shards that the call's session owns. Raises :class:`SessionLost`,
        :class:`CallRefused`, :class:`BusUnavailable`.
        """
        return await self._call_controllers(call, m.Assignments)

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        """Request a page of service definitions. Raises :class:`SessionLost`, :class:`CallRefused`,
        :class:`BusUnavailable`.

        A very large page may take long to read and send: each time-out doubles the time limit of the next
        call, up to :data:`LONGEST_SECONDS`, and each answer halves it again.
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
        """Request sealed contents of certificates; the time-out includes the controllers' wait for the key
        manager. Raises :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        return await self._call_controllers(call, m.Certificates, self._timeout + m.CERTIFICATES_SECONDS_MAX)

    async def judge_orphans(self, call: m.JudgeOrphans) -> m.OrphanVerdict:
        """Request the controllers' decision on load balancers on devices without a definition. Raises
        :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.
        """
        return await self._call_controllers(call, m.OrphanVerdict)

    async def adopt_networks(self, call: m.AdoptNetworks) -> m.NetworksAdopted:
        """Request that controllers reserve, or only list, the networks that another program set up on the
        devices. Raises :class:`SessionLost`, :class:`CallRefused`, :class:`BusUnavailable`.

        Waits longer than other calls, because controllers query the network service.
        """
        return await self._call_controllers(call, m.NetworksAdopted, self._timeout + ADOPTION_SECONDS)

    async def keep_irules(self, call: m.KeepIrules) -> None:
        """Request that controllers store operators' iRules with their listeners. Raises :class:`SessionLost`,
        :class:`CallRefused`, :class:`BusUnavailable`.
        """
        await self._call_controllers(call, m.Done)

    async def report_applied(self, call: m.ReportApplied) -> m.ReportReceipt:
        """Report the outcomes of a pass; returns the controllers' receipt. Raises :class:`SessionLost`,
        :class:`CallRefused`, :class:`BusUnavailable`.
        """
        return await self._call_controllers(call, m.ReportReceipt)

    async def report_status(self, call: m.ReportStatus) -> m.ReportReceipt:
        """Report an observation of the devices, with a number by which controllers refuse it if a later one
        was processed before; returns their receipt. Raises :class:`SessionLost`, :class:`CallRefused`,
        :class:`BusUnavailable`.
        """
        return await self._call_controllers(replace(call, number=next(self._status_reports)), m.ReportReceipt)

    async def report_plan(self, call: m.ReportPlan) -> None:
        """Send the answer to an operator's inquiry. Raises :class:`SessionLost`, :class:`CallRefused`,
        :class:`BusUnavailable`.
        """
        await self._call_controllers(call, m.Done)

    async def release_shards(self, call: m.ReleaseShards) -> None:
        await self._call_controllers(call, m.Done)

    async def raise_epoch(self, call: m.RaiseEpoch) -> None:
        """Request a new epoch of the shard above that of a device's guard. Raises :class:`SessionLost`,
        :class:`CallRefused`, :class:`BusUnavailable`.
        """
        await self._call_controllers(call, m.Done)

    async def end_session(self, call: m.EndSession) -> None:
        await self._call_controllers(call, m.Done)
