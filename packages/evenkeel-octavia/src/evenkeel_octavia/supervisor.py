"""Keeps the provider agent running inside octavia-driver-agent, which never restarts a killed child.

driver-agent starts :func:`provider_agent` in a process of its own. That process, the supervisor, does nothing but fork
a worker and fork another one when it dies. The worker watches the supervisor in turn: if that is killed, the worker
takes its place. Both end when driver-agent sets the exit event, or is gone.
"""

import contextlib
import logging
import os
import random
import select
import signal
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any, Protocol

LOG = logging.getLogger(__name__)
CHECK_SECONDS = 0.5
"""Pause between looks at the exit event and at the processes."""
MAX_PAUSE_SECONDS = 10.0
STEADY_SECONDS = 60.0
"""Lifetime after which a worker that ended is replaced without a pause."""
STOP_SECONDS = 30.0
WORKER_PROCESS_TITLE = "octavia-driver-agent - provider_agent -- evenkeel_agent"
"""Title that driver-agent gives the process in which it runs the agent."""


class ExitEvent(Protocol):
    """Event of driver-agent, a ``multiprocessing.Event`` that all forked processes see."""

    def is_set(self) -> bool: ...


class WatchedProcess:
    """A process that is watched through a file descriptor, because process ids are reused."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended yet."""
        return not select.select([self._descriptor], [], [], 0)[0]

    def close(self) -> None:
        os.close(self._descriptor)


class StopSignal:
    """Shows whether driver-agent is ending, or has ended.

    Its event is never waited for, and read rarely: a process that is killed in ``wait()`` makes
    driver-agent's ``set()`` hang for ever (CPython's ``multiprocessing.Condition`` counts it among those to
    wake up), and one that is killed in ``is_set()`` keeps the lock.
    """

    def __init__(self, exit_event: ExitEvent, driver_agent: WatchedProcess) -> None:
        self._exit_event = exit_event
        self._driver_agent = driver_agent
        self._look_at = 0.0
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether all processes of the agent have to end; looked up at most every :data:`CHECK_SECONDS`."""
        if not self._is_over and time.monotonic() >= self._look_at:
            self._is_over = not self._driver_agent.is_alive or self._exit_event.is_set()
            self._look_at = time.monotonic() + CHECK_SECONDS
        return self._is_over

    def wait(self, seconds: float) -> bool:
        """Wait ``seconds``, or until all processes have to end; returns whether they have to."""
        until = time.monotonic() + seconds
        while not self.is_over and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, CHECK_SECONDS))
        return self._is_over


AgentWork = Callable[[Callable[[float], bool]], None]
"""Runs until its argument returns True; the argument waits for the given seconds."""


def provider_agent(exit_event: ExitEvent) -> None:
    """Run the agent until driver-agent ends. Entry point in the group ``octavia.driver_agent.provider_agents``."""
    try:
        driver_agent = WatchedProcess(os.getppid())
    except OSError as error:
        LOG.error("driver-agent has ended: %s", error)
        return
    # each worker has the leases of the one before it, which is dead by then
    holder = new_holder_name()
    supervise_worker(StopSignal(exit_event, driver_agent), lambda wait: _run_configured_agent(wait, holder))


def supervise_worker(stop: StopSignal, work: AgentWork) -> None:
    """Keep one worker process running until ``stop``; a worker that ends is replaced after a pause that
    doubles. Also returns in the worker, which this function forks, when the worker has ended its work.
    """
    pause = 0.0
    while not stop.is_over:
        started = time.monotonic()
        worker = _fork_worker(stop, work)
        _wait_for_worker(worker, stop)
        if stop.is_over:
            return
        pause = 0.0 if time.monotonic() - started > STEADY_SECONDS else min(MAX_PAUSE_SECONDS, pause * 2 or 0.1)
        LOG.error("the provider agent's worker %d has died; another one is started", worker)
        stop.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311


def _fork_worker(stop: StopSignal, work: AgentWork) -> int:
    supervisor_pid = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _run_worker(stop, supervisor_pid, work)
        code = 0
    except BaseException:
        LOG.exception("the provider agent's worker failed")
    finally:
        # never back into driver-agent's code, of which this is a copy
        os._exit(code)


def _run_worker(stop: StopSignal, supervisor_pid: int, work: AgentWork) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _set_process_title(f"{WORKER_PROCESS_TITLE} worker")
    supervisor = WatchedProcess(supervisor_pid)
    work(lambda seconds: stop.wait(seconds) or not supervisor.is_alive)
    if not supervisor.is_alive and not stop.is_over:
        LOG.error("the provider agent's supervisor %d has died; its worker takes its place", supervisor_pid)
        supervisor.close()
        _set_process_title(WORKER_PROCESS_TITLE)
        supervise_worker(stop, work)


def _wait_for_worker(pid: int, stop: StopSignal) -> None:
    """Wait until the worker has ended. After a stop, a worker that does not end in :data:`STOP_SECONDS` is
    killed.
    """
    deadline: float | None = None
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if not stop.wait(CHECK_SECONDS):
            continue
        deadline = deadline or time.monotonic() + STOP_SECONDS
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _set_process_title(title: str) -> None:
    with contextlib.suppress(ImportError):
        import setproctitle

        setproctitle.setproctitle(title)


def new_holder_name() -> str:
    """Return the name with which this agent holds leases: the host's name and a random number."""
    return f"{socket.gethostname()}/{uuid.uuid4().hex[:12]}"


def _run_configured_agent(wait: Callable[[float], bool], holder: str) -> None:
    from oslo_config import cfg

    run_agent(cfg.CONF, wait, holder)


def run_agent(conf: Any, wait: Callable[[float], bool], holder: str) -> None:
    """Run the agent in this process until ``wait(seconds)`` returns True. ``holder``: its name for leases.
    Raises MisconfiguredError for wrong options.
    """
    # Octavia's models take seconds to import; what only checks or supervises does without them
    from evenkeel_octavia import controllers, options
    from evenkeel_octavia.agent import Agent
    from evenkeel_octavia.leases import EnvironmentLeases
    from evenkeel_octavia.mirror import ControllersMirror
    from evenkeel_octavia.reporter import make_reporter
    from evenkeel_octavia.rows import OctaviaRows

    settings = options.parse_agent_settings(conf)
    client = controllers.shared_client(options.parse_endpoint(conf))
    mirror = ControllersMirror(client, seconds=settings.request_seconds)
    # a lease that is answered after it has ended is worth nothing
    leasing = ControllersMirror(client, seconds=settings.lease_seconds * 2 / 3)
    leases = EnvironmentLeases(
        leasing,
        sorted(settings.environments.values()),
        holder=holder,
        seconds=settings.lease_seconds,
    )
    agent = Agent(settings, OctaviaRows(), mirror, make_reporter(conf), is_active=leases.is_held)
    leases.start()
    try:
        LOG.info("the provider agent has started for %s", dict(settings.environments))
        agent.run(wait)
    finally:
        leases.stop()
