"""The thread that reports to Neutron. A failure of Neutron or its bus is logged and retried with the next report."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import structlog

from evenkeel.core.ports import Attachable
from evenkeel.neutron_agent.bus import MESSAGING_ERRORS, NeutronBus
from evenkeel.neutron_agent.settings import OVS_AGENT, AgentFacts, NeutronAgentSettings
from evenkeel.neutron_agent.states import agent_id, agent_states, tunnel_end_points

log = structlog.get_logger(__name__)

T = TypeVar("T")

PORTS_MAX = 2_000
"""Number of ports that may wait to be bound; beyond it the oldest are dropped."""
PORTS_PER_ROUND = 50
PORT_ROUNDS = 40
"""Number of times that Neutron is queried whether a port is bound before the port is dropped."""
PORT_SECONDS = 3.0
STOP_SECONDS = 5.0
ERROR_CHARACTERS = 300
"""Length at which errors are cut in the log, because Neutron's contain tracebacks."""


class NeutronAgent:
    """Thread that reports an agent to Neutron, and ports once they are bound, until it is stopped.

    ``on_networks`` is called in the event loop with the ids of networks whose ports were added, removed or
    changed.
    """

    def __init__(
        self,
        settings: NeutronAgentSettings,
        facts: AgentFacts,
        device: Attachable,
        on_networks: Callable[[frozenset[str]], None],
        *,
        open_bus: Callable[[NeutronAgentSettings], NeutronBus] = NeutronBus,
    ) -> None:
        """Open Neutron's bus, without connecting yet. Raises :class:`ValueError` for unusable settings."""
        self._settings = settings
        self._facts = facts
        self._device = device
        self._on_networks = on_networks
        self._bus = open_bus(settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._ports: dict[str, int] = {}
        """Number of queries so far, by id of a port that is not bound yet."""
        self._ports_lock = threading.Lock()
        self._tunnels: tuple[tuple[str, str, str], ...] = ()
        self._started = True
        # A daemon thread: a call to Neutron that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="neutron-agent", daemon=True)

    def start(self) -> None:
        """Start the thread. Call it in the event loop in which ``on_networks`` is to run."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Make the thread end, and wait for at most :data:`STOP_SECONDS`; a call to Neutron that takes longer
        is abandoned.
        """
        self._stopped.set()
        await asyncio.to_thread(self._thread.join, STOP_SECONDS)

    def report_when_bound(self, port_ids: Iterable[str]) -> None:
        """Report these ports as up once Neutron has bound them to this host; Neutron is queried a limited
        number of times. No effect without the type :data:`OVS_AGENT`.
        """
        if OVS_AGENT not in self._settings.agent_types:
            return  # without that agent type, no mechanism driver binds ports to this host
        with self._ports_lock:
            for port_id in port_ids:
                self._ports.setdefault(port_id, 0)
            while len(self._ports) > PORTS_MAX:
                del self._ports[next(iter(self._ports))]

    # -- in the thread

    def _run(self) -> None:
        listens = False
        next_report_seconds = 0.0
        while not self._stopped.is_set():
            listens = listens or self._run_and_log_failures(lambda: self._bus.listen(self._report_networks))
            if time.monotonic() >= next_report_seconds:
                self._run_and_log_failures(self._report_state)
                next_report_seconds = time.monotonic() + self._settings.report_interval_seconds
            self._run_and_log_failures(self._report_bound_ports)
            self._stopped.wait(min(PORT_SECONDS, self._settings.report_interval_seconds))
        self._run_and_log_failures(self._bus.close)

    def _run_and_log_failures(self, work: Callable[[], None]) -> bool:
        """Run ``work``, log a failure, and return whether it succeeded."""
        try:
            work()
            return True
        except MESSAGING_ERRORS as error:
            log.warning("Neutron's message bus does not answer; trying again", error=f"{type(error).__name__}: {error}")
        except Exception as error:  # the thread must go on; what devices or Neutron answered is unexpected
            log.warning("report to Neutron failed; trying again", error=repr(error)[:ERROR_CHARACTERS])
        return False

    def _report_state(self) -> None:
        found = self._await_in_loop(self._device.attachments())
        for state in agent_states(self._settings, self._facts, found, started=self._started):
            answer = self._bus.report_state(state)
            if answer != "alive":
                log.info("Neutron lists this agent", agent_type=state["agent_type"], host=state["host"], status=answer)
        # After all reports: if one of them failed, the next ones carry the flag again.
        self._started = False
        wanted = tunnel_end_points(self._settings, found)
        if wanted != self._tunnels:
            for kind, address, host in wanted:
                known = self._bus.sync_tunnel(kind, address, host)
                log.info("tunnel end point registered at Neutron", type=kind, address=address, host=host, known=known)
            # After all were registered: a failure repeats them all, which Neutron accepts.
            self._tunnels = wanted

    def _report_bound_ports(self) -> None:
        with self._ports_lock:
            some = list(self._ports)[:PORTS_PER_ROUND]
        own_id = agent_id(self._settings)
        for port_id in some:
            # Outside of the lock: serve() runs in the event loop, which must not wait for Neutron.
            bound = self._report_if_bound(port_id, own_id)
            with self._ports_lock:
                # A missing entry was dropped by serve() meanwhile, because too many ports wait, and is not put back.
                queries = self._ports.pop(port_id, PORT_ROUNDS) + 1
                if not bound and queries < PORT_ROUNDS:
                    self._ports[port_id] = queries  # after the others

    def _report_if_bound(self, port_id: str, own_id: str) -> bool:
        """Report the port as up if Neutron has bound it here; returns whether that was done. Raises
        :data:`MESSAGING_ERRORS` of the bus; other errors are logged, so that one port does not delay the others.
        """
        try:
            if not self._bus.port_is_bound(port_id, own_id):
                return False
            self._bus.report_port_up(port_id, own_id)
        except MESSAGING_ERRORS:
            raise
        except Exception as error:  # whatever went wrong at Neutron is raised here by its name
            log.warning("port not up; trying again", port=port_id, error=repr(error)[:ERROR_CHARACTERS])
            return False
        return True

    def _report_networks(self, networks: frozenset[str]) -> None:
        if networks and self._loop is not None and not self._stopped.is_set():
            self._loop.call_soon_threadsafe(self._on_networks, networks)

    def _await_in_loop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            raise RuntimeError("not started")
        # Devices are used only in the event loop.
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(self._settings.timeout_seconds)
