"""The agent: checks the devices, opens a session, serves its shards, and ends the session.

When its session is lost, the agent stops serving its shards and opens a new session, any number of times.
Besides a stop and unexpected errors, permanent refusals (wrong configuration, a duplicate agent, devices that
do not meet the requirements) end the process.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine, Mapping

import structlog

from evenkeel.agent.assignment_reader import AssignmentReader, AssignmentRequests
from evenkeel.agent.capacity import CapacityGauge
from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.database_history import DatabaseHistory
from evenkeel.agent.device_watch import CertificateEnds, DevicesUnfit, DeviceWatch, device_identities
from evenkeel.agent.enhanced_services import EnhancedServiceWatch
from evenkeel.agent.ownership import Ownership
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings, interval_problem
from evenkeel.agent.state_reports import StateReports
from evenkeel.core.devices.device import DeviceState
from evenkeel.core.kit.errors import BusUnavailable, CallRefused, EvenKeelError, SessionLost
from evenkeel.core.kit.ids import SessionId
from evenkeel.core.ports import Bus, Clock, Device, Subscription, Will
from evenkeel.core.protocol import messages as m
from evenkeel.metrics.agent import (
    DEVICE_REACHABLE,
    KEEPALIVE_AGE,
    KEEPALIVE_FAILURES,
    LEASE_REMAINING,
    MESSAGE_BROKER_UP,
    QUEUE_DEPTH,
    QUEUE_OLDEST,
    SESSIONS,
    SHARDS,
)
from evenkeel.sealing import BoxKeyPair

log = structlog.get_logger(__name__)

HINT_CONCURRENCY = 4


class AgentMisconfigured(EvenKeelError):
    """The agent can never serve with this configuration; the text states the error and what is expected."""


class AgentService:
    """The process of one agent: its session, device checks, assignments and reports, from start to end."""

    def __init__(
        self,
        *,
        bus: Bus,
        device: Device,
        clock: Clock,
        settings: AgentSettings,
        new_id: Callable[[], str],
        rng: random.Random | None = None,
        configurations: dict[str, str] | None = None,
        capacity_policy: Mapping[str, float] | None = None,
        on_ready: Callable[[], None] = lambda: None,
        certificate_ends: CertificateEnds = lambda _endpoints: {},
    ) -> None:
        """``on_ready`` is called once per session, when controllers have sent all shards that the agent owns.

        ``configurations``: texts by name that the state reports show to operators. ``capacity_policy``:
        limits by metric of the devices. ``certificate_ends`` returns the expiry times of the devices'
        certificates.
        """
        self._bus = bus
        self._device = device
        self._clock = clock
        self._settings = settings
        self._new_id = new_id
        self._rng = rng or random.Random()  # noqa: S311  # spreads load in time, no secret
        self._configurations = configurations or {}
        self._on_ready = on_ready
        self._controllers = ControllerClient(bus, settings.environment, timeout_seconds=settings.call_timeout_seconds)
        self._database_history = DatabaseHistory(clock)
        self._key_pair = BoxKeyPair()
        self._stop = asyncio.Event()
        self._assignment_requests = AssignmentRequests()
        self._report_requested = asyncio.Event()
        self._ownership: Ownership | None = None
        self._session: Session | None = None
        self._devices = DeviceWatch(
            device,
            clock,
            settings,
            on_change=self._report_requested.set,
            on_renewed=self._request_full_resync,
            certificate_ends=certificate_ends,
        )
        self._enhanced = EnhancedServiceWatch(device, clock, on_change=self._report_requested.set)
        self._state_reports = StateReports()
        self._moved: dict[str, int] = {}
        """Number of reports in which each network must still be named."""
        self._gauge = CapacityGauge(
            capacity_policy or {}, device, clock, interval_seconds=settings.report_interval_seconds
        )

    def stop(self) -> None:
        """Make :meth:`run` end gracefully: writes that are under way get ``stop_timeout_seconds`` to
        complete, the session ends, and with it the ownership of all shards.
        """
        self._stop.set()

    async def run(self) -> None:
        """Serve until :meth:`stop`, in one session after another. Raises :class:`AgentMisconfigured` if the
        devices, the registration or the intervals do not allow it.
        """
        # Before the session is opened: an agent whose devices do not meet the requirements must not be given shards.
        if not await self._run_unless_stopped(self._check_devices()):
            return
        queue = m.agent_queue(self._settings.environment, self._settings.group_number, self._settings.host)
        subscriptions: list[Subscription] = []
        # between sessions, too, so that the first report of the next session has current states
        watching = asyncio.gather(self._devices.run(self._observed_devices), self._gauge.run())
        try:
            if not await self._run_unless_stopped(self._subscribe_to_hints(queue, subscriptions)):
                return
            while not self._stop.is_set():
                await self._run_session()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            for subscription in subscriptions:
                await subscription.close()

    def _observed_devices(self) -> tuple[DeviceState, ...] | None:
        """Return the device states that this agent last read as the group's observer; None if another agent
        observes.
        """
        return self._ownership.observed_devices if self._ownership is not None else None

    async def _subscribe_to_hints(self, queue: str, subscriptions: list[Subscription]) -> None:
        """Consume the agent's queue of hints, retrying until the bus is reachable; the subscription is
        appended to ``subscriptions``.
        """
        while True:
            try:
                subscriptions.append(await self._bus.consume(queue, self._handle_hint, concurrency=HINT_CONCURRENCY))
                return
            except BusUnavailable as error:
                log.warning("message bus unreachable; trying again", error=str(error))
                await self._clock.sleep(self._settings.retry.initial_seconds)

    async def _run_unless_stopped(self, work: Coroutine[None, None, None]) -> bool:
        """Run ``work``, or cancel it when the agent must stop. Returns whether it ended by itself; raises its
        error.
        """
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                return False
            task.result()
            return True
        finally:
            stopped.cancel()

    async def _check_devices(self) -> None:
        """Wait until the devices meet the requirements, and measure their capacity. Raises
        :class:`AgentMisconfigured` if they do not meet them in time.
        """
        try:
            await self._devices.wait_until_fit()
        except DevicesUnfit as error:
            raise AgentMisconfigured(str(error)) from error
        await self._gauge.measure()  # sent with the registration: the group has its limits from the start

    async def _run_session(self) -> None:
        """Open a session, serve its shards, and end it; returns when the session is lost or the agent stops.
        Raises :class:`AgentMisconfigured`.
        """
        session = Session(
            SessionId(self._new_id()),
            self._controllers,
            self._device.facts,
            self._clock,
            self._settings,
            database_history=self._database_history,
            key_pair=self._key_pair,
            capacity=self._gauge.figures,
            identities=device_identities(self._device.facts.endpoints, self._devices.states),
        )
        try:
            if not await self._run_unless_stopped(session.open()):
                return
        except CallRefused as error:
            raise AgentMisconfigured(f"registration refused ({error.code}): {error}") from error
        # Checked only now, because the TTL is the controllers' option and comes with the session.
        if problem := interval_problem(self._settings, session.ttl_seconds):
            await self._end_session(session)
            raise AgentMisconfigured(problem)
        SESSIONS.inc()
        self._session = session
        log.info("session open", session=session.id, agent=self._settings.agent_id)
        ownership = self._ownership = Ownership(
            session,
            controllers=self._controllers,
            device=self._device,
            clock=self._clock,
            settings=self._settings,
            database_history=self._database_history,
            rng=self._rng,
            request_assignments=self._assignment_requests.request_all,
            on_device_trouble=self._devices.check_now,
            incarnations=self._devices.incarnations,
        )
        self._assignment_requests.request_all()
        assignments = AssignmentReader(
            session,
            ownership,
            self._assignment_requests,
            controllers=self._controllers,
            database_history=self._database_history,
            clock=self._clock,
            settings=self._settings,
            rng=self._rng,
            follow_history=lambda: self._follow_history(ownership),
            is_stopping=self._stop.is_set,
            on_complete=self._on_ready,
        )
        try:
            # One lost session ends all of these tasks at once; the loop in run() then opens another one.
            async with asyncio.TaskGroup() as group:
                group.create_task(self._end_session_on_stop(session, ownership))
                group.create_task(self._announce_presence(session))
                group.create_task(self._send_keepalives(session, ownership, group))
                group.create_task(assignments.read_all_when_requested())
                group.create_task(assignments.read_named_when_hinted())
                group.create_task(self._report_state_repeatedly(session, ownership))
                group.create_task(self._enhanced.run(ownership.force_reapply))
        except* SessionLost as lost:
            log.warning("session lost; opening another", reason=str(lost.exceptions[0]))
        except* _Stopped:
            log.info("session closed")
        finally:
            # Cleared first, so that hints that arrive meanwhile start no work.
            self._ownership = self._session = None
            await ownership.end_workers(graceful=False)

    async def _end_session_on_stop(self, session: Session, ownership: Ownership) -> None:
        await self._stop.wait()
        # Writes end before the session does: after it, controllers give the shards to others at once.
        await ownership.end_workers(graceful=True)
        await self._end_session(session)
        raise _Stopped

    async def _end_session(self, session: Session) -> None:
        try:
            await self._controllers.end_session(m.EndSession(agent_id=self._settings.agent_id, session_id=session.id))
        except (BusUnavailable, CallRefused, SessionLost) as error:
            # Stopping must not depend on controllers; without their answer a takeover waits for the TTL.
            log.warning("session not ended; it will expire", error=str(error))

    async def _announce_presence(self, session: Session) -> None:
        """Announce this process on the bus until cancelled, then withdraw the announcement: controllers
        detect at once when the process vanishes, and need not wait for the session's expiry.
        """
        while True:
            try:
                presence = await self._bus.announce(m.presence_name(session.id), self._last_will(session))
                break
            except BusUnavailable as error:
                log.info("presence not announced yet", reason=str(error))
                await self._clock.sleep(self._settings.retry.initial_seconds)
        try:
            await asyncio.Event().wait()
        finally:
            await presence.close()

    def _last_will(self, session: Session) -> Will:
        """Return the message that the bus sends when the process vanishes; it goes to the keepalive queue,
        where reports do not delay it.
        """
        departure = m.Departure(agent_id=self._settings.agent_id, session_id=session.id)
        return Will(queue=m.keepalive_queue(self._settings.environment), message=departure)

    async def _send_keepalives(self, session: Session, ownership: Ownership, group: asyncio.TaskGroup) -> None:
        """Send a keepalive every interval, without waiting for the answer to the previous one, until
        cancelled.

        A keepalive that a suspended controller received must not cost the session.
        """
        while True:
            await self._clock.sleep(self._settings.keepalive_interval_seconds)
            # In a task of its own, so that a keepalive that waits for its answer does not delay the next one.
            group.create_task(self._renew_session(session, ownership))

    async def _renew_session(self, session: Session, ownership: Ownership) -> None:
        try:
            unknown_in = await session.renew()
        except (BusUnavailable, CallRefused) as error:
            KEEPALIVE_FAILURES.inc()
            log.warning("keepalive failed", error=str(error), may_write=session.may_write())
            return
        # Before the revision is compared below: a new history makes the workers' revision void.
        self._follow_history(ownership)
        if unknown_in is not None:
            ownership.resync_shard(unknown_in)
        if session.assignments_revision > ownership.revision:
            self._assignment_requests.request_all()

    def note_moved_networks(self, network_ids: Collection[str]) -> None:
        """Name these networks, whose ports Neutron moved, in the next two state reports, so that controllers
        read them again. Above ``MOVED_NETWORKS_MAX`` the newest are dropped: controllers also read all
        networks periodically.
        """
        # twice: when the first report comes, a read may have just begun, or the network service be behind its message
        self._moved |= dict.fromkeys(network_ids, 2)
        # A network that is left out here is found by the controllers' periodic read.
        while len(self._moved) > m.MOVED_NETWORKS_MAX:
            self._moved.popitem()  # read with all others, later
        self._report_requested.set()

    async def set_gauges(self) -> None:
        """Set the gauges of ``/metrics`` that are computed when they are read: queue, shards, lease, message
        broker and devices.
        """
        session, ownership = self._session, self._ownership
        QUEUE_DEPTH.set(ownership.queue_depth if ownership else 0)
        QUEUE_OLDEST.set(ownership.queue_oldest_seconds if ownership else 0.0)
        SHARDS.set(len(ownership.served_shards) if ownership else 0)
        LEASE_REMAINING.set(session.writable_seconds if session else -1.0)
        MESSAGE_BROKER_UP.set(not self._bus.problem())
        KEEPALIVE_AGE.set(session.keepalive_age_seconds if session else -1.0)
        for device in self._devices.current_states(self._observed_devices()):
            DEVICE_REACHABLE.labels(device.name).set(device.reachable)

    @property
    def busy(self) -> bool:
        """Whether work waits to be done or retried; False without a session."""
        return self._ownership is not None and self._ownership.busy

    def _request_full_resync(self) -> None:
        if self._ownership is not None:
            self._ownership.request_full_resync()

    def _follow_history(self, ownership: Ownership) -> None:
        if ownership.follow_history():
            self._state_reports.forget()
            self._assignment_requests.request_all()
            self._report_requested.set()

    async def _report_state_repeatedly(self, session: Session, ownership: Ownership) -> None:
        while True:
            report = self._current_report(session, ownership)
            # A keepalive confirms an unchanged report: that is a fraction of the cost for the database.
            if self._state_reports.is_unchanged(report):
                self._state_reports.record_confirmation()
                session.confirm_report()
            else:
                await self._send_report(report)
            # Changes in quick succession, as those of a flapping device, are sent as one report.
            await self._clock.sleep(self._settings.report_spacing_seconds)
            try:
                async with asyncio.timeout(self._settings.report_interval_seconds):
                    await self._report_requested.wait()
            except TimeoutError:
                pass
            self._report_requested.clear()

    def _current_report(self, session: Session, ownership: Ownership) -> m.ReportState:
        """Build the state report from data in memory: it must not wait for a device."""
        capacity = self._gauge.last_measured
        return m.ReportState(
            agent_id=self._settings.agent_id,
            session_id=session.id,
            configurations=self._configurations,
            devices=self._devices.current_states(ownership.observed_devices),
            queue_depth=ownership.queue_depth,
            capacity_score=capacity.score,
            capacity=capacity.figures,
            capacity_measured_seconds_ago=capacity.seconds_ago,
            sent_at_seconds=self._clock.monotonic(),
            capacity_unknown=capacity.unknown,
            serving=ownership.served_shards,
            enhanced_services=self._enhanced.services_to_report(session.id),
            moved_networks=tuple(sorted(self._moved)),
        )

    async def _send_report(self, report: m.ReportState) -> None:
        moved = report.moved_networks
        self._state_reports.forget()  # without an answer it is unknown which one was taken last
        try:
            await self._controllers.report_state(report)
        except (BusUnavailable, CallRefused) as error:
            log.warning("state not reported", error=str(error))
            return
        self._state_reports.record_accepted(report)
        # Only networks of this report count: others may have been added while it was sent.
        self._moved = {id_: times - (id_ in moved) for id_, times in self._moved.items() if times > (id_ in moved)}
        self._enhanced.record_reported(report.session_id, report.enhanced_services)

    async def _handle_hint(self, message: m.AnyMessage) -> None:
        """Handle a hint of a controller, which may be old, duplicated, or for a former session. Ignored while
        no session is open.
        """
        ownership = self._ownership
        # No session is open. The assignments are read when one is, so nothing is lost with the hint.
        if ownership is None:
            return
        if isinstance(message, m.PlanHint | m.AdoptionHint):
            ownership.answer_inquiry(message)
        elif isinstance(message, m.ResyncAllHint):
            ownership.request_full_resync()
        elif not isinstance(message, m.ShardHint):
            self._assignment_requests.request_all()
        # A hint for a shard that is not served here shows that the assignments have changed.
        elif not ownership.pass_hint(message) and not self._begin_shard(ownership, message):
            self._assignment_requests.request_shard(message.shard_id)

    def _begin_shard(self, ownership: Ownership, hint: m.ShardHint) -> bool:
        # No worker may start while the agent is ending the others.
        return isinstance(hint, m.ApplyHint) and not self._stop.is_set() and ownership.begin_shard(hint)


class _Stopped(Exception):
    """Ends the session's task group after a graceful stop."""
