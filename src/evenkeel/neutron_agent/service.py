"""The thread that reports to Neutron. A failure of Neutron or its bus is logged and retried with the next report."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import structlog

from evenkeel.core.ports import Attachable
from evenkeel.neutron_agent.bus import FAILURES, NeutronBus
from evenkeel.neutron_agent.settings import OVS_AGENT, AgentFacts, NeutronAgentSettings
from evenkeel.neutron_agent.states import agent_id, agent_states, tunnels

log = structlog.get_logger(__name__)

T = TypeVar("T")

PORTS_MAX = 2_000
"""Ports that may wait to be bound; beyond this number the oldest are dropped."""
PORTS_PER_ROUND = 50
PORT_ROUNDS = 40
"""Number of times that Neutron is queried whether a port is bound before the port is dropped."""
PORT_SECONDS = 3.0
STOP_SECONDS = 5.0
ERROR_CHARACTERS = 300
"""Length at which errors are cut in the log: Neutron's contain its tracebacks."""


class NeutronAgent:
    """Reports to Neutron until it is stopped.

    ``on_networks`` is called in the event loop with the ids of networks whose ports have moved.
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
        """Open the bus. Raises :class:`ValueError` for unusable settings."""
        self._settings = settings
        self._facts = facts
        self._device = device
        self._on_networks = on_networks
        self._bus = open_bus(settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._ports: dict[str, int] = {}
        """Queries so far by port id, of ports that are not bound yet."""
        self._ports_turn = threading.Lock()
        self._tunnels: tuple[tuple[str, str, str], ...] = ()
        self._started = True
        # A daemon thread: a call to Neutron that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="neutron-agent", daemon=True)

    def start(self) -> None:
        """Start the thread. Call it in the event loop in which ``on_networks`` is to run."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Stop the thread, waiting at most :data:`STOP_SECONDS` for a call to Neutron that is in progress."""
        self._stopped.set()
        await asyncio.to_thread(self._thread.join, STOP_SECONDS)

    def serve(self, port_ids: Iterable[str]) -> None:
        """Report these ports as up once Neutron has bound them to this host. No effect without the type
        :data:`OVS_AGENT`.
        """
        if OVS_AGENT not in self._settings.agent_types:
            return  # without that agent type, no mechanism driver binds ports to this host
        with self._ports_turn:
            for port_id in port_ids:
                self._ports.setdefault(port_id, 0)
            while len(self._ports) > PORTS_MAX:
                del self._ports[next(iter(self._ports))]

    # -- in the thread

    def _run(self) -> None:
        listens = False
        next_report_seconds = 0.0
        while not self._stopped.is_set():
            listens = listens or self._bus_work(lambda: self._bus.listen(self._report_networks))
            if time.monotonic() >= next_report_seconds:
                self._bus_work(self._report)
                next_report_seconds = time.monotonic() + self._settings.report_interval_seconds
            self._bus_work(self._ports_up)
            self._stopped.wait(min(PORT_SECONDS, self._settings.report_interval_seconds))
        self._bus_work(self._bus.close)

    def _bus_work(self, work: Callable[[], None]) -> bool:
        """Run ``work``; failures are logged. Returns whether it succeeded."""
        try:
            work()
            return True
        except FAILURES as error:
            log.warning("Neutron's message bus does not answer; trying again", error=f"{type(error).__name__}: {error}")
        except Exception as error:  # the thread must go on; what devices or Neutron answered is unexpected
            log.warning("report to Neutron failed; trying again", error=repr(error)[:ERROR_CHARACTERS])
        return False

    def _report(self) -> None:
        found = self._wait_for(self._device.attachments())
        for state in agent_states(self._settings, self._facts, found, started=self._started):
            answer = self._bus.report(state)
            if answer != "alive":
                log.info("Neutron lists this agent", agent_type=state["agent_type"], host=state["host"], status=answer)
        # After all reports: if one of them failed, the next ones carry the flag again.
        self._started = False
        wanted = tunnels(self._settings, found)
        if wanted != self._tunnels:
            for kind, address, host in wanted:
                known = self._bus.sync_tunnel(kind, address, host)
                log.info("tunnel end point registered at Neutron", type=kind, address=address, host=host, known=known)
            # After all were registered: a failure repeats them all, which Neutron accepts.
            self._tunnels = wanted

    def _ports_up(self) -> None:
        with self._ports_turn:
            some = list(self._ports)[:PORTS_PER_ROUND]
        own_id = agent_id(self._settings)
        for port_id in some:
            # Outside of the lock: serve() runs in the event loop, which must not wait for Neutron.
            bound = self._port_up(port_id, own_id)
            with self._ports_turn:
                # A missing entry was dropped by serve() meanwhile, because too many ports wait, and is not put back.
                queries = self._ports.pop(port_id, PORT_ROUNDS) + 1
                if not bound and queries < PORT_ROUNDS:
                    self._ports[port_id] = queries  # after the others

    def _port_up(self, port_id: str, own_id: str) -> bool:
        """Whether the port is bound and was reported as up. A failure for one port must not delay the others."""
        try:
            if not self._bus.port_is_bound(port_id, own_id):
                return False
            self._bus.port_is_up(port_id, own_id)
        except FAILURES:
            raise
        except Exception as error:  # whatever went wrong at Neutron is raised here by its name
            log.warning("port not up; trying again", port=port_id, error=repr(error)[:ERROR_CHARACTERS])
            return False
        return True

    def _report_networks(self, networks: frozenset[str]) -> None:
        if networks and self._loop is not None and not self._stopped.is_set():
            self._loop.call_soon_threadsafe(self._on_networks, networks)

    def _wait_for(self, question: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            raise RuntimeError("not started")
        # Devices are used only in the event loop.
        return asyncio.run_coroutine_threadsafe(question, self._loop).result(self._settings.timeout_seconds)
