"""The controller's running parts: consumers of the callback queues, the scheduler's tick, the sweeper, hints.

Each loop survives failures of other services: it logs, waits and continues.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

import structlog

from evenkeel.controller.acme import AcmeDependencies, AcmeIssuing, AwaitedCertificates
from evenkeel.controller.acme.waits import LOOK_SECONDS
from evenkeel.controller.activity import ActivityRecorder
from evenkeel.controller.adoptions import Adoptions
from evenkeel.controller.callbacks import Callbacks
from evenkeel.controller.certificates import CertificateCallback
from evenkeel.controller.definitions import DefinitionReader
from evenkeel.controller.device_bindings import DeviceBindings
from evenkeel.controller.driver import Driver
from evenkeel.controller.failure_detector import FailureDetector
from evenkeel.controller.hints import Hints
from evenkeel.controller.network_facts import NetworkFactsUpdates
from evenkeel.controller.notifications import SEND_SECONDS, Notifications
from evenkeel.controller.own_certificates import OwnCertificates, ReadCertificates
from evenkeel.controller.placements import Placements
from evenkeel.controller.port_releases import PortReleases
from evenkeel.controller.presence import Presence
from evenkeel.controller.renewals import Renewals
from evenkeel.controller.scheduler import Scheduler
from evenkeel.controller.settings import ControllerSettings
from evenkeel.controller.sweeper import Sweeper
from evenkeel.controller.traffic import TrafficRecorder
from evenkeel.controller.vip_port_search import VipPortSearch
from evenkeel.controller.vip_port_updates import VipPortUpdates
from evenkeel.core.control.overview import CONTROLLER_SEEN_SECONDS
from evenkeel.core.kit.backoff import with_jitter
from evenkeel.core.kit.errors import EvenKeelError, Unavailable
from evenkeel.core.ports import Bus, Clock, KeyManager, Network, Store, Subscription
from evenkeel.core.protocol.messages import callback_queue, keepalive_queue, transient_keepalive_queue
from evenkeel.metrics.controller import LOOP_FAILURES, LOOP_SUCCESS

log = structlog.get_logger(__name__)

MOVES_SECONDS = 1.0
MOVES_PER_LOOK = 500
WAITING_PER_LOOK = 500
"""Number of load balancers, longest waiting first, whose owners get another hint at each poll."""
LEFTOVERS_SECONDS = 60.0
LEFTOVERS_PER_LOOK = 50
UNANSWERED_SECONDS = 5.0
"""Delay before the network service is queried again after it did not answer."""
NETWORK_FACTS_POLLS_PER_INTERVAL = 10
"""Number of polls within the interval at which facts of networks are read again."""
PORT_SEARCH_POLLS_PER_INTERVAL = 10
"""Number of polls within the interval at which ports are searched for."""


class Controller:
    """All work of a controller besides serving HTTP.

    ``network``: a network service with ports for VIPs; ``key_manager``: source of certificates; ``presence``: heartbeat
    for operators; ``certificates``: reads the end dates of the certificates of this process and its peers;
    ``notifications``: sends events of load balancers to a message broker; ``acme``: requests certificates from an
    authority. Each is None if there is none.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        clock: Clock,
        settings: ControllerSettings,
        network: Network | None = None,
        key_manager: KeyManager | None = None,
        presence: Presence | None = None,
        certificates: ReadCertificates | None = None,
        notifications: Notifications | None = None,
        acme: AcmeDependencies | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._operators = store.operators
        self._scheduling = store.scheduling
        self._attachments = store.attachments
        self._bus = bus
        self._clock = clock
        self._settings = settings
        self._rng = rng or random.Random()  # noqa: S311  # spreads load in time, no secret
        self._hints = Hints(bus)
        self._scheduler = Scheduler(store.scheduling, store.operators, self._hints, settings, self._rng, clock)
        self._sweeper = Sweeper(store.scheduling, settings)
        self._failure_detector = FailureDetector(store.scheduling, bus, settings, self._scheduler, clock)
        self._definitions = DefinitionReader(
            store.ownership,
            store.attachments,
            network,
            settings,
            self._hints.notify_change,
            on_unanswered=self._schedule_network_facts_read,
        )
        self._callbacks = Callbacks(
            store.ownership,
            store.reports,
            self._hints,
            settings,
            certificates=CertificateCallback(store.ownership, store.renewals, key_manager, settings),
            definitions=self._definitions,
            adoptions=Adoptions(store.ownership, store.tenants, network),
            on_unserved=self._scheduler.wake,
            on_moved=self._read_network_facts,
            on_departure=self._failure_detector.note_departure,
        )
        self._releases: list[PortReleases] = []
        if network is not None:
            self._releases = [PortReleases(each, network) for each in (store.claims, store.device_ports)]
        self._bindings = None if network is None else DeviceBindings(store.attachments, network)
        self._subscriptions: dict[str, Subscription] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ports = None if network is None else VipPortUpdates(store.ports, store.lost_ports, network)
        self._placements = Placements(store.scheduling, self._scheduler, self._hints)
        self.driver = Driver(self._placements, self._scheduler, self._hints, self._ports)
        self._facts = (
            None if network is None else NetworkFactsUpdates(store.attachments, network, self.driver, settings)
        )
        self._search = (
            None
            if network is None or self._ports is None
            else VipPortSearch(store.lost_ports, network, self._ports, settings)
        )
        self.activity = ActivityRecorder(settings.traffic)
        self.traffic = TrafficRecorder(store.reports, clock, settings.traffic, on_poll=self.activity.record_poll)
        self._presence = presence
        self._notifications = notifications
        self._own_certificates = (
            None if certificates is None else OwnCertificates(store.operators, store.scheduling, certificates, clock)
        )
        self._renewals = None if key_manager is None else Renewals(store.renewals, key_manager, self.driver)
        self._waits = AwaitedCertificates(store.acme)
        self._acme = (
            None
            if acme is None
            else AcmeIssuing(
                store.acme, store.operators, store.renewals, self.driver, acme, self._rng.uniform, network=network
            )
        )

    async def start(self) -> None:
        """Start all loops and consumers in the background. The store and the bus must have been started."""
        settings = self._settings
        loops = [
            self._hints.run(),
            self._repeat_work(self._wait_for_tick, self._scheduler.tick, "scheduler"),
            self._repeat_work(
                self._make_pause(lambda: settings.sweep_interval_seconds), self._sweep_if_clock_trusted, "sweeper"
            ),
            self._repeat_work(self._make_pause(lambda: 2.0), self._consume_environments, "callback queues"),
        ]
        if settings.suspicion_interval_seconds > 0:
            detector = self._failure_detector
            loops.append(
                self._repeat_work(lambda: detector.pause(self._add_jitter), detector.probe_due, "failure detector")
            )
        loops.append(
            self._repeat_work(
                self._make_pause(lambda: LEFTOVERS_SECONDS), self._release_leftovers, "leftovers in networks"
            )
        )
        loops.append(
            self._repeat_work(
                self._make_pause(lambda: settings.hint_repeat_seconds), self._repeat_hints, "hints sent again"
            )
        )
        loops.append(
            self._repeat_work(self._make_pause(lambda: MOVES_SECONDS), self._advance_moves, "moves of load balancers")
        )
        for releases in self._releases:
            pause = self._make_pause(lambda: settings.release_interval_seconds)
            loops.append(self._repeat_work(pause, releases.process_due, "ports to be given back"))
        if self._bindings is not None:
            pause = self._make_pause(lambda: settings.release_interval_seconds)
            loops.append(self._repeat_work(pause, self._bindings.bind_due, "ports of devices' addresses"))
        if self._facts is not None:
            loops.append(
                self._repeat_work(self._wait_until_network_facts_are_due, self._facts.read_due, "facts of networks")
            )
        if self._search is not None:
            pause = self._make_pause(lambda: settings.port_search_seconds / PORT_SEARCH_POLLS_PER_INTERVAL)
            loops.append(self._repeat_work(pause, self._search.query_due, "lost ports of VIPs"))
        if self._renewals is not None:
            pause = self._make_pause(lambda: settings.renewal_interval_seconds)
            loops.append(self._repeat_work(pause, self._renewals.process_due, "certificates read again"))
            # Without a key manager no listener can have a certificate, nor wait for one.
            pause = self._make_pause(lambda: LOOK_SECONDS)
            loops.append(self._repeat_work(pause, self._waits.end_overdue, "listeners that wait for certificates"))
        if self._acme is not None:
            acme_settings = self._acme.settings
            pause = self._make_pause(lambda: acme_settings.look_seconds)
            loops.append(self._repeat_work(pause, self._acme.process_due, "certificates by ACME"))
        if self._own_certificates is not None:
            pause = self._make_pause(lambda: settings.own_certificates_seconds)
            loops.append(self._repeat_work(pause, self._own_certificates.read_end_dates, "own certificates"))
        if self._presence is not None:
            pause = self._make_pause(lambda: CONTROLLER_SEEN_SECONDS)
            loops.append(self._repeat_work(pause, self._presence.store_heartbeat, "presence"))
        if self._notifications is not None:
            pause = self._make_pause(lambda: SEND_SECONDS)
            loops.append(self._repeat_work(pause, self._notifications.send_pending, "notifications"))
        if self._ports is not None:
            loops.append(self._repeat_work(self._wait_until_ports_are_due, self._ports.update_due, "VIPs' ports"))
        if settings.traffic.points:
            loops.append(self._repeat_work(self._wait_for_next_activity_point, self.traffic.record_traffic, "traffic"))
        self._tasks = [asyncio.create_task(loop) for loop in loops]

    async def _consume_environments(self) -> None:
        for environment in await self._operators.environments():
            # the keepalive queues first: agents use them as soon as they are announced
            for queue in (transient_keepalive_queue, keepalive_queue):
                await self._consume_queue(queue(environment.name), self._settings.keepalive_concurrency)
            await self._consume_queue(callback_queue(environment.name), self._settings.callback_concurrency)

    async def _consume_queue(self, queue: str, concurrency: int) -> None:
        # Environments can be created at any time, so this runs again and again.
        if queue not in self._subscriptions:
            handle = self._callbacks.handle
            self._subscriptions[queue] = await self._bus.consume(queue, handle, concurrency=concurrency)
            log.info("consuming", queue=queue)

    def _add_jitter(self, seconds: float) -> float:
        return with_jitter(seconds, self._rng.uniform)

    async def _wait_for_tick(self) -> None:
        await self._scheduler.pause(self._add_jitter(self._settings.schedule_interval_seconds))

    async def _wait_for_next_activity_point(self) -> None:
        await self._clock.sleep(self.traffic.interval_seconds)

    async def _wait_until_ports_are_due(self) -> None:
        if self._ports is not None:
            await self._ports.pause(self._add_jitter(self._settings.release_interval_seconds))

    async def _wait_until_network_facts_are_due(self) -> None:
        if self._facts is not None:
            await self._facts.pause(
                self._add_jitter(self._settings.network_facts_seconds / NETWORK_FACTS_POLLS_PER_INTERVAL)
            )

    def _read_network_facts(self) -> None:
        if self._facts is not None:
            self._facts.wake()

    def _schedule_network_facts_read(self) -> None:
        """Schedule another read of facts of networks in :data:`UNANSWERED_SECONDS`, because the network service
        has just not answered.
        """
        asyncio.get_running_loop().call_later(UNANSWERED_SECONDS, self._read_network_facts)

    def _make_pause(self, seconds: Callable[[], float]) -> Callable[[], Awaitable[None]]:
        return lambda: self._clock.sleep(self._add_jitter(seconds()))

    async def _release_leftovers(self) -> None:
        await self._attachments.release_unused_networks(limit=LEFTOVERS_PER_LOOK)

    async def _repeat_hints(self) -> None:
        """Send a hint to the owners of shards with work that has waited for ``hint_repeat_seconds``, because
        a hint may have been lost and agents poll only rarely. Raises :class:`StoreUnavailable`.
        """
        waited_seconds = self._settings.hint_repeat_seconds
        for owner in await self._scheduling.read_owners_with_waiting_work(
            waited_seconds=waited_seconds, limit=WAITING_PER_LOOK
        ):
            self._hints.notify_assignments(owner)

    async def _advance_moves(self) -> None:
        """Take due steps of load balancers' moves to other device groups, and send hints about them; does
        nothing while the database's clock is not trusted. Raises :class:`StoreUnavailable`.
        """
        if self._scheduler.trusts_clock:
            for change in await self._scheduling.advance_moves(limit=MOVES_PER_LOOK):
                self._hints.notify_change(change)

    async def _sweep_if_clock_trusted(self) -> None:
        await self._scheduler.check_clock()
        if self._scheduler.trusts_clock:
            await self._sweeper.sweep()

    async def _repeat_work(
        self, pause: Callable[[], Awaitable[None]], work: Callable[[], Awaitable[None]], name: str
    ) -> None:
        """Run ``work`` and pause, repeatedly until cancelled; errors of ``work`` are logged and counted."""
        down = False
        failures = {kind: LOOP_FAILURES.labels(name, kind) for kind in ("unavailable", "error")}
        while True:
            try:
                await work()
                LOOP_SUCCESS.labels(name).set_to_current_time()
                if down:
                    log.info("recovered", part=name)
                down = False
            except Unavailable as error:
                failures["unavailable"].inc()
                # An outage of a dependency is logged once, not at every interval.
                if not down:
                    log.warning("dependency unavailable; trying again", part=name, error=str(error))
                down = True
            except EvenKeelError:
                failures["error"].inc()
                log.exception("unexpected refusal", part=name)
            except Exception:  # a loop that ended silently would leave this controller half working
                failures["error"].inc()
                log.exception("unexpected error", part=name)
            await pause()

    async def stop(self) -> None:
        """Stop all loops, remove this controller from the list of controllers and give back its turn to send
        notifications, stop consuming, and wait for messages being handled, at most
        ``stop_timeout_seconds``.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._presence is not None:
            with contextlib.suppress(Unavailable):
                # After the loops, the heartbeat among them, which would store the row again.
                await self._presence.end()
        if self._notifications is not None:
            await self._notifications.stop()
        # Before the subscriptions are closed, because their handlers may wait for these tasks.
        await self._definitions.close()
        await self._placements.close()
        closing = [asyncio.create_task(subscription.close()) for subscription in self._subscriptions.values()]
        if closing:
            _, late = await asyncio.wait(closing, timeout=self._settings.stop_timeout_seconds)
            for task in late:  # the message is redelivered
                task.cancel()
            await asyncio.gather(*closing, return_exceptions=True)
