"""The parent process of several workers.

The first worker starts alone: its refusal of the configuration is reported once, and ends the parent. The others follow
as soon as it serves. A worker that ends later, or cannot be started, is started again after a back-off; one that hangs
is killed. The parent itself connects neither to the database nor to the message bus.
"""

import asyncio
import random
import signal
import time
from collections.abc import Mapping, Sequence
from socket import socket
from typing import NamedTuple

import structlog
from oslo_config import cfg
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

from evenkeel.cmd.configuration.refusal import EXIT_CODE_REFUSED
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers.workers.exposition import merge_expositions, metrics_exposition
from evenkeel.cmd.controllers.workers.worker import WorkerProcess
from evenkeel.cmd.options.logging_options import LOG_OPTIONS
from evenkeel.cmd.options.server_tls import API_CERTIFICATE_OPTIONS, api_tls_context
from evenkeel.cmd.process.endpoint import api_socket, api_url, write_endpoint_file
from evenkeel.cmd.process.logs import set_log_level
from evenkeel.cmd.process.metrics_endpoint import METRICS_CERTIFICATE_OPTIONS, MetricsEndpoint
from evenkeel.cmd.process.reloading import OptionReloader
from evenkeel.cmd.process.runtime import handle_stop_signals
from evenkeel.cmd.process.service_manager import ServiceManager
from evenkeel.core.kit.backoff import Backoff
from evenkeel.metrics.workers import WORKER_ENDS, WORKER_UP

log = structlog.get_logger(__name__)

HANGING_SECONDS = 30.0
"""Time without a beat after which a worker's event loops count as hanging; systemd's watchdog time-out replaces it."""
POLL_SECONDS = 1.0
RESTART_BACKOFF = Backoff(initial_seconds=0.5, max_seconds=30.0, jitter=(0.8, 1.2))
STEADY_SECONDS = 60.0
"""Time of service after which a worker's earlier failures do not count any more."""
STOP_SECONDS = 60.0
"""Time after which workers that do not end are killed; their own time-outs are shorter."""
SCRAPE_SECONDS = 5.0
"""Time-out of the workers' metrics; Prometheus waits 10 s for the parent's."""
PARENT_LABEL = "parent"


class WorkerCannotStart(Exception):
    """A worker ended before any worker served. ``code``: its exit code; negative: the signal that killed it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class _WorkerEnd(NamedTuple):
    """End of a worker. ``served_seconds``: time since it reported that it serves; ``log_fields``: fields for the
    log, such as the exit code.
    """

    served_seconds: float
    log_fields: Mapping[str, object]


async def supervise_workers(name: str, arguments: Sequence[str], conf: cfg.ConfigOpts) -> int:
    """Run the workers until stopped; returns the exit code: 0, or that of the first worker if it ends before
    it serves (1 if a signal killed it). Raises :class:`ValueError` for options that cannot be used,
    :class:`OSError` if the first worker cannot be started.
    """
    systemd = ServiceManager(health_file=conf.health_file)
    metrics = MetricsEndpoint(conf)
    try:
        api_tls_context(conf)  # before any worker starts, so that a wrong certificate is reported once
        listening = api_socket(conf)
    except ValueError:
        await metrics.stop()
        raise
    parent = WorkerSupervisor(
        name, arguments, listening, conf.workers, beat_seconds=systemd.watchdog_seconds or HANGING_SECONDS
    )
    stop = asyncio.Event()
    handle_stop_signals(stop.set)
    reloading = _make_reloading(name, arguments, conf, metrics)

    def reload() -> None:
        if reloading.reload():
            parent.forward_reload()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    await metrics.start(expose=parent.exposition)
    systemd.set_status("waiting for the first worker")
    running = asyncio.create_task(parent.run())
    notifying = asyncio.create_task(_notify_serving(parent, systemd, conf, api_url(listening, conf)))
    stopped = asyncio.create_task(stop.wait())
    watching = asyncio.create_task(reloading.watch())
    try:
        await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return 0 if stop.is_set() else _exit_code(running)
    finally:
        systemd.notify_stopping()
        listening.close()
        tasks = (running, notifying, stopped, watching)
        # Before the workers are stopped: the parent's loop would start again those that end.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await parent.stop()
        await metrics.stop()


def _exit_code(running: asyncio.Task[None]) -> int:
    error = running.exception()
    if not isinstance(error, WorkerCannotStart):
        raise error or RuntimeError("the parent's loop has ended")
    if error.code != EXIT_CODE_REFUSED:  # it has reported its refusal itself
        log.error("the first worker ended before it served", code=error.code)
    # A negative code is the number of the signal that killed the worker, which is no exit code.
    return error.code if error.code > 0 else 1


def _make_reloading(
    name: str, arguments: Sequence[str], conf: cfg.ConfigOpts, metrics: MetricsEndpoint
) -> OptionReloader:
    """Create the reloading of the parent's configuration, which runs before a SIGHUP is forwarded to the
    workers. A certificate that the workers could not load is logged.
    """

    def check_certificate(changed: cfg.ConfigOpts) -> None:
        # The parent serves no API: it only checks what the workers are going to load at their SIGHUP.
        if (api_tls_context(changed) is None) != (not conf.api.ssl_cert_file):
            raise ValueError("api.ssl_cert_file: HTTPS is turned on and off by a restart")

    actions = {
        LOG_OPTIONS: set_log_level,
        API_CERTIFICATE_OPTIONS: check_certificate,
        METRICS_CERTIFICATE_OPTIONS: metrics.reload,
    }
    return OptionReloader(name, arguments, CONTROLLER_OPTION_GROUPS, conf, actions)


async def _notify_serving(parent: "WorkerSupervisor", systemd: ServiceManager, conf: cfg.ConfigOpts, url: str) -> None:
    """Write the endpoint file and notify systemd as soon as the API is served, and the watchdog periodically
    while it is.
    """
    await parent.serves.wait()
    # Written before READY=1, so that units that systemd starts after this one find the file.
    write_endpoint_file(conf.api.endpoint_file, url)
    systemd.notify_ready()
    await systemd.watch(hangs=parent.no_worker_serves, problem="no worker serves")


class WorkerSupervisor:
    """Keeps ``count`` worker processes running, which accept connections from one socket. ``beat_seconds``:
    time without a notification after which a worker hangs and is killed.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], listening: socket, count: int, *, beat_seconds: float
    ) -> None:
        self.serves = asyncio.Event()
        """Set as soon as a worker serves."""
        self._name = name
        self._arguments = tuple(arguments)
        self._listening = listening
        self._numbers = range(1, count + 1)
        self._beat_seconds = beat_seconds
        self._workers: dict[int, WorkerProcess] = {}
        self._served_at = time.monotonic()
        self._reloads = 0
        for number in self._numbers:
            # All series exist from the start: rate() does not see the first increase of a counter that begins to
            # exist with it.
            WORKER_UP.labels(str(number)).set(0)
            WORKER_ENDS.labels(str(number))

    async def run(self) -> None:
        """Start the workers and restart them when they end, until cancelled; :meth:`stop` ends them.

        Raises :class:`WorkerCannotStart` if the first worker ends before it serves, and :class:`OSError` if it
        cannot be started.
        """
        loops = (self._keep_worker_running(1), self._keep_other_workers_running(), self._kill_hanging_workers())
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_other_workers_running(self) -> None:
        await self.serves.wait()
        await asyncio.gather(*(self._keep_worker_running(number) for number in self._numbers[1:]))

    async def _keep_worker_running(self, number: int) -> None:
        failures = 0
        while True:
            end = await self._run_worker(number)
            failures = 1 if end.served_seconds >= STEADY_SECONDS else failures + 1
            pause_seconds = RESTART_BACKOFF.delay_seconds(failures, random.uniform)
            log.error(
                "worker ended; it is started again",
                worker=number,
                **end.log_fields,
                served_seconds=round(end.served_seconds, 1),
                after_seconds=round(pause_seconds, 1),
            )
            await asyncio.sleep(pause_seconds)

    async def _run_worker(self, number: int) -> _WorkerEnd:
        """Start the worker and wait for its end. Before any worker has served: raises :class:`WorkerCannotStart` if
        it ends, and :class:`OSError` if it cannot even be started.
        """
        try:
            worker = self._workers[number] = await self._start_worker(number)
        except OSError as error:
            # Later failures (no memory, no descriptors) may pass; before any worker served they are those of the
            # command itself.
            if not self.serves.is_set():
                raise
            WORKER_ENDS.labels(str(number)).inc()
            return _WorkerEnd(0.0, {"error": f"not started: {error}"})
        code = await worker.wait_for_exit()
        del self._workers[number]
        WORKER_UP.labels(str(number)).set(0)
        WORKER_ENDS.labels(str(number)).inc()
        if not self.serves.is_set():
            raise WorkerCannotStart(code)
        return _WorkerEnd(worker.served_seconds(), {"pid": worker.pid, "code": code})

    async def _start_worker(self, number: int) -> WorkerProcess:
        reloads = self._reloads

        def on_serving(worker: WorkerProcess) -> None:
            log.info("worker serves", worker=number, pid=worker.pid)
            WORKER_UP.labels(str(number)).set(1)
            self.serves.set()
            if reloads != self._reloads:  # it may have read the configuration before
                worker.send_signal(signal.SIGHUP)

        words = (self._name, *self._arguments)
        return await WorkerProcess.start(
            number, words, self._listening, beat_seconds=self._beat_seconds, on_serving=on_serving
        )

    async def _kill_hanging_workers(self) -> None:
        looked_at = time.monotonic()
        while True:
            late = time.monotonic() - looked_at > 2 * POLL_SECONDS
            looked_at = time.monotonic()
            for worker in tuple(self._workers.values()):
                if late:
                    worker.reset_silence_timer()  # this process did not run either
                elif worker.is_hanging(self._beat_seconds):
                    log.error("a worker hangs; it is killed", worker=worker.number, pid=worker.pid)
                    worker.send_signal(signal.SIGKILL)
                elif worker.serves:
                    self._served_at = looked_at
            await asyncio.sleep(POLL_SECONDS)

    def no_worker_serves(self, within_seconds: float) -> bool:
        """Whether no worker has served for more than ``within_seconds``."""
        return time.monotonic() - self._served_at > within_seconds

    def forward_reload(self) -> None:
        """Send SIGHUP to the workers that serve; all others get it as soon as they serve."""
        self._reloads += 1
        for worker in self._workers.values():
            if worker.serves:
                worker.send_signal(signal.SIGHUP)

    async def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics of all processes, and their media type, in the format for the Accept header
        ``accept``. Workers that do not answer are left out.
        """
        lines = [worker.connection for _, worker in sorted(self._workers.items()) if worker.serves]
        theirs = await asyncio.gather(
            *(line.request_exposition(accept, within_seconds=SCRAPE_SECONDS) for line in lines)
        )
        mine = metrics_exposition(REGISTRY, PARENT_LABEL, accept)
        return await asyncio.to_thread(merge_expositions, [mine, *theirs]), choose_encoder(accept)[1]

    async def stop(self) -> None:
        """Terminate all workers, and kill those that have not ended after :data:`STOP_SECONDS`. Call it after
        :meth:`run` was cancelled.
        """
        workers = tuple(self._workers.values())
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        ending = [asyncio.create_task(worker.wait_for_exit()) for worker in workers]
        # asyncio.wait() refuses an empty collection.
        if not ending:
            return
        _, late = await asyncio.wait(ending, timeout=STOP_SECONDS)
        if late:
            log.error("workers did not end; they are killed", count=len(late))
            for worker in workers:
                worker.send_signal(signal.SIGKILL)
        await asyncio.gather(*ending)
