"""The daemon as a whole: partitions (one tenant's load balancers with a HAProxy of their own), API, observation and
maintenance.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from typing import IO

import structlog

from evenkeel import __version__
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.credentials import AgentCredentials
from evenkeel.haproxyd.api.handlers import Handlers
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.journal import WriteJournal
from evenkeel.haproxyd.api.refusals import DaemonRefused
from evenkeel.haproxyd.api.server import HttpsServer, create_app
from evenkeel.haproxyd.api.tls import authority_key_advice, server_context
from evenkeel.haproxyd.disk import run_dir
from evenkeel.haproxyd.haproxy.runtime.counters import PartitionCounters
from evenkeel.haproxyd.health.events import EventRing
from evenkeel.haproxyd.health.health_log import HealthLogListener
from evenkeel.haproxyd.health.metrics_server import MetricsServer
from evenkeel.haproxyd.health.observation import PartitionObserver
from evenkeel.haproxyd.health.ping import PingChecks
from evenkeel.haproxyd.health.udp_probe import UdpProbe
from evenkeel.haproxyd.partition.manager import PartitionManager
from evenkeel.haproxyd.ports import PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings
from evenkeel.metrics.haproxyd import PARTITION_PROBLEMS, PARTITIONS, USABLE

log = structlog.get_logger(__name__)

RESTORE_EVERY_SECONDS = 3.0
RESTORE_SHARE_MAX = 0.05
"""Maximum share of time spent on looking for removed files: with thousands of partitions the interval between looks
grows.
"""


class HaproxyDaemon:
    """Starts and stops the daemon's parts; HAProxys keep running when it stops. The constructor raises
    :class:`ValueError` for settings that cannot be used, such as an unreadable certificate or password
    file.
    """

    def __init__(self, settings: DaemonSettings, http: HttpSettings) -> None:
        self._settings = settings
        self._http = http
        self._credentials = AgentCredentials(http.credentials_file)
        context = server_context(http.certificate, http.key)
        self._counters: dict[str, PartitionCounters] = {}
        self._events = EventRing()
        self.partitions = PartitionManager(settings, on_event=self._on_event, make_counters=self._make_counters)
        self._pings = PingChecks(self.partitions, probe=UdpProbe(refuses=self.partitions.datagrams.server_refuses))
        self._observer = PartitionObserver(
            self.partitions,
            self._counters,
            newest_event=lambda: self._events.newest,
            newest_event_of=lambda partition: self._events.newest_event_number_of_partition(partition),
            state_id=lambda: self.partitions.identity.state_id,
            is_pinged=self._pings.is_pinged,
            datagrams=self.partitions.datagrams,
        )
        self._health_log = HealthLogListener(
            settings.health_log_socket,
            self._on_event,
            on_loss=self._events.record_lost_events,
            is_worker=self.partitions.is_worker,
            others_write=self.partitions.separate_worker_users,
        )
        self._metrics = MetricsServer(
            settings.metrics_socket, self.partitions, others_connect=self.partitions.separate_worker_users
        )
        handlers = Handlers(
            self.partitions,
            about=self.about,
            observe=self._observe,
            events=self._events,
            journal=WriteJournal(),
            settings=http,
        )
        self._server = HttpsServer(
            create_app(handlers, self._credentials, http, is_ready=self.partitions.loaded.is_set), context, http
        )
        self._started = False
        self._lock: IO[str] | None = None
        self._watches: list[asyncio.Task[None]] = []
        self._endpoint_file: Path | None = None

    async def start(self) -> str:
        """Adopt running HAProxys or start missing ones, and return the API's URL after one attempt for each
        partition.

        The API serves before that, so that one tenant's slow HAProxy does not delay the others. Raises
        :class:`ValueError` if another daemon holds the state directory, the API's address cannot be bound or
        the host's addresses cannot be read; :class:`OSError` if directories or sockets cannot be created.
        """
        # before anything listens: without this host's own addresses no load balancer can be validated
        self.partitions.forbidden_addresses.check_host_addresses()
        # before the first write: another daemon may use the directory
        self._lock = lock_state_dir(self._settings.state_dir)
        if advice := authority_key_advice(self._http.certificate):
            log.warning("the certificate authority's private key is readable here", advice=advice)
        await asyncio.to_thread(run_dir.create_run_dirs, self._settings)
        # before the HAProxys, which log to this socket from their start
        await self._health_log.start()
        await self._metrics.start()
        url = await self._server.start()
        self.partitions.forbidden_addresses.forbid_api_address(*self._server.address)
        await self.partitions.start()
        self._started = True
        self._pings.start()
        self._watches = [
            asyncio.create_task(self._observe_regularly(), name="observe"),
            asyncio.create_task(self._restore_regularly(), name="restore missing files"),
        ]
        # only now: a client that waits for the file gets complete observations
        if self._http.endpoint_file:
            self._http.endpoint_file.write_text(f"{url}\n")
            self._endpoint_file = self._http.endpoint_file
        log.info("daemon listening", url=url, haproxy=self.partitions.haproxy_version or self.partitions.problem)
        return url

    def use_certificate(self, certificate: Path, key: Path) -> None:
        """Use this certificate and key (PEM files) for new connections of agents. Raises :class:`ValueError`
        if they cannot be used; nothing changes then.
        """
        self._server.use_tls_context(server_context(certificate, key))

    async def stop(self) -> None:
        """Stop the API, the checks and the management of partitions, and release the state directory; every
        HAProxy keeps running.
        """
        if self._endpoint_file:
            self._endpoint_file.unlink(missing_ok=True)
        # first, so that no change arrives while the partitions end
        await self._server.stop()
        for watch in self._watches:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
        await self._pings.close()
        await self.partitions.close()
        # after the partitions: a pass that is finishing may still record counters
        await asyncio.gather(*(counters.close() for counters in self._counters.values()))
        self._health_log.close()
        self._metrics.close()
        if self._lock is not None:
            self._lock.close()

    def about(self) -> wire.About:
        """Return name, versions, ids, owners and problems of this daemon, as ``GET /v1`` sends them."""
        return wire.About(
            name=self._settings.name,
            daemon_version=__version__,
            haproxy_version=self.partitions.haproxy_version,
            problem=self.partitions.problem,
            installation_id=self.partitions.identity.installation_id,
            state_id=self.partitions.identity.state_id,
            owners=dict(self.partitions.owners),
            note=self.partitions.note,
            datagrams=self.partitions.datagrams.host_problem,
            sctp=self.partitions.datagrams.sctp_problem,
        )

    async def set_gauges(self) -> None:
        """Set the gauges that ``/metrics`` exports: number of partitions, of partitions with a problem, and
        whether HAProxy is usable.
        """
        PARTITIONS.set(len(self.partitions.names()))
        PARTITION_PROBLEMS.set(self.partitions.problem_count)
        USABLE.set(not self.partitions.problem)

    def _on_event(self, event: PartitionEvent) -> None:
        # first: datagrams leave a server that is down before its event is answered
        self.partitions.datagrams.record_event_health(event)
        self._events.add(event)

    def _make_counters(self, name: str, directory: Path) -> PartitionCounters:
        self._counters[name] = PartitionCounters(name, directory)
        return self._counters[name]

    async def _observe(self, within_seconds: float) -> wire.DaemonObservation:
        """Return an observation of all partitions, in which an unchanged status is at most ``within_seconds``
        old.

        Raises :class:`DaemonRefused` (``busy``) until running HAProxys were adopted, because they would
        appear to be down.
        """
        if not self._started:
            raise DaemonRefused("busy", "the daemon is looking for its HAProxys; try again later")
        return await self._observer.observe(within_seconds)

    async def _observe_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._http.observe_every_seconds)
            try:
                await self._observer.observe_unless_recent(self._http.observe_every_seconds)
                await self.partitions.maintain()
            except Exception:  # an error in one observation must not end the loop
                log.exception("observation failed; retrying")

    async def _restore_regularly(self) -> None:
        """Restore, every few seconds until cancelled, files and sockets that were removed, and end old
        workers above the memory limit. Errors are logged.
        """
        took_seconds = 0.0
        while True:
            await asyncio.sleep(max(RESTORE_EVERY_SECONDS, took_seconds / RESTORE_SHARE_MAX))
            began_at_seconds = time.monotonic()
            try:
                self._restore_lock()
                await self.partitions.restore_missing_files()
                await self.partitions.limit_old_workers()
                await self._health_log.restore()
                await self._metrics.restore()
            except (OSError, ValueError) as error:
                log.error("restoring missing files failed; retrying", reason=str(error))
            except Exception:
                log.exception("restoring missing files failed; retrying")
            took_seconds = time.monotonic() - began_at_seconds

    def _restore_lock(self) -> None:
        """Lock the state directory again if its lock file was removed.

        Raises :class:`ValueError` if another daemon has started with the same state directory,
        :class:`OSError` if the directory cannot be created or the lock file not opened.
        """
        # A lock file without a link was removed: another daemon could create and lock a new one.
        if self._lock is not None and not os.fstat(self._lock.fileno()).st_nlink:
            # the new lock first, so that the directory is never unlocked
            held, self._lock = self._lock, lock_state_dir(self._settings.state_dir)
            held.close()


def lock_state_dir(state_dir: Path) -> IO[str]:
    """Create the state directory if it is missing, lock it, and return the file whose closing releases the
    lock. Two daemons on one state would manage the same HAProxys.

    Raises :class:`ValueError` if another daemon holds the lock, :class:`OSError` if the directory cannot be
    created or the lock file not opened.
    """
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = _open_lock(state_dir / "lock")
    try:
        # The kernel releases the lock when the daemon ends, in whichever way.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise ValueError(f"state_dir: {state_dir}: another daemon uses it") from error
    return file


def _open_lock(path: Path) -> IO[str]:
    """Open the lock file for writing, creating it; on a read-only disk open it for reading. Raises
    :class:`OSError`.
    """
    try:
        return path.open("w")
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return path.open()  # HAProxys can be started from what is on a read-only disk
