"""Everything of one run: the loop, the neighbours, and the processes, which are started, struck and started again."""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from evenkeel.agent.service import AgentMisconfigured, AgentService
from evenkeel.controller.service import Controller
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import BusUnavailable, StoreUnavailable
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore
from tests.sim.bigip import BigIpSite
from tests.sim.broker import Broker
from tests.sim.bus import SimBus
from tests.sim.database import Server, SimDatabase
from tests.sim.device import Site
from tests.sim.effects import Effects
from tests.sim.loop import SimLoop
from tests.sim.process import Process, SimClock
from tests.sim.scenario import Scenario
from tests.sim.silence import ProbedDevice
from tests.sim.watch import Watch

NEIGHBOUR_RETRY_SECONDS = 0.5


class Life:
    """One process as the world keeps it: who it is, and the life it is in."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.process: Process | None = None
        self.bus: SimBus | None = None
        self.stop: Callable[[], None] = lambda: None
        self.store: SqlStore | None = None
        self.controller: Controller | None = None
        self.agent: AgentService | None = None
        self.lives = 0

    @property
    def up(self) -> bool:
        return self.process is not None and not self.process.dead


class World:
    """See the module."""

    environment = "sim"

    def __init__(self, seed: str, scenario: Scenario, *, tracing: bool = False) -> None:
        self.seed = seed
        self.scenario = scenario
        self.loop = SimLoop()
        self.trace: list[tuple[Any, ...]] = []
        self.tracing = tracing
        self.over = False
        self.counts: Counter[str] = Counter()
        self.ids = self.stream("ids")
        self.watch = Watch(self.note, self.loop.time, scenario.tenant_limits)
        self.effects = Effects(self.loop, self.stream("effects"), self.note)
        self.server = Server(self.effects, self.watch, self.stream("database"))
        self.broker = Broker(self.effects, self.stream("broker"))
        make = BigIpSite if scenario.driver == BigIpSite.driver else Site
        self.sites: dict[int, Any] = {
            number: make(number, boxes, self.effects, self.watch, self.stream(f"site {number}"), scenario.reschedule)
            for number, boxes in enumerate(scenario.boxes, 1)
        }
        for site in self.sites.values() if scenario.networks else ():
            site.attach()
        for site in self.sites.values() if scenario.probed else ():
            site.view = ProbedDevice
        self.controllers = [Life(f"controller-{number}", "controller") for number in range(scenario.controllers)]
        self.agents = [Life(f"agent-{number}", "agent") for number in range(len(scenario.agent_groups))]
        self.restarting: set[str] = set()
        self.before_create: Callable[[str], None] = lambda project_id: None
        """Called when a client of the project is about to create its load balancer."""

    # -- what everything else uses

    @staticmethod
    def stream_of(seed: str, name: str) -> random.Random:
        """Random numbers of their own for each part: one that draws more does not shift the others."""
        return random.Random(f"{seed}/{name}")

    def stream(self, name: str) -> random.Random:
        """As :meth:`stream_of`, of this run's seed."""
        return self.stream_of(self.seed, name)

    def new_id(self) -> str:
        """A fresh id, as from the operating system."""
        return str(uuid.UUID(int=self.ids.getrandbits(128), version=4))

    def note(self, *what: Any) -> None:
        """One line of the event log."""
        if not self.over:
            self.trace.append((self.loop.now, *what))

    def trace_log(self, *what: Any) -> None:
        """What a process logs; no part of what two runs are compared by."""
        self.trace.append((self.loop.now, "log", *what))

    def agent_id(self, life: Life) -> str:
        """The id under which it registers."""
        return self.scenario.agent_settings(life.name, 1, self.environment).agent_id

    @property
    def lives(self) -> list[Life]:
        return [*self.controllers, *self.agents]

    # -- processes

    def start(self, life: Life) -> None:
        """Begin a new life of it."""
        life.lives += 1
        process = Process(self.loop, life.name, self.stream(f"{life.name} {life.lives}"))
        life.process = process
        self.note("start", life.name, life.lives)
        life.bus = SimBus(self.broker, process)
        main = self._controller(life, process) if life.kind == "controller" else self._agent(life, process)
        process.spawn(self._run(process, main), life.name)

    async def _run(self, process: Process, main: Any) -> None:
        try:
            await main
        except AgentMisconfigured as error:
            self.counts["agents refused"] += 1
            self.note("refused", process.name, str(error))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.watch.violation(f"{process.name} ended with {error!r}")
        process.die()

    async def _controller(self, life: Life, process: Process) -> None:
        bus = life.bus
        assert bus is not None
        store = SqlStore(
            SimDatabase(self.server, process),
            StoreOptions(pending_deadline_seconds=self.scenario.pending_deadline_seconds),
            process.rng,
        )
        controller = Controller(
            store=store,
            bus=bus,
            clock=self._clock(process),
            settings=self.scenario.controller_settings(),
            rng=process.rng,
        )
        stop = asyncio.Event()
        life.stop = stop.set
        await self._reach(store.ping, StoreUnavailable)
        await self._reach(bus.start, BusUnavailable)
        await controller.start()
        life.store, life.controller = store, controller
        await stop.wait()
        life.store = life.controller = None
        await controller.stop()
        await bus.close()

    async def _agent(self, life: Life, process: Process) -> None:
        bus = life.bus
        assert bus is not None
        number = self.scenario.agent_groups[self.agents.index(life)]
        process.identity = self.agent_id(life)
        agent = AgentService(
            bus=bus,
            device=self.sites[number].open(process),
            clock=self._clock(process),
            settings=self.scenario.agent_settings(life.name, number, self.environment),
            new_id=self.new_id,
            rng=process.rng,
            capacity_policy=self._capacity_policy(number),
        )
        life.agent, life.stop = agent, agent.stop
        await self._reach(bus.start, BusUnavailable)
        await agent.run()
        await bus.close()

    def _capacity_policy(self, number: int) -> dict[str, float]:
        limit = self.scenario.tenant_limits.get(number)
        return {} if limit is None else {"tenant_count": limit}

    def _clock(self, process: Process) -> SimClock:
        return SimClock(self.loop, process.rng.uniform(0.0, 1e5))

    async def _reach(self, work: Callable[[], Awaitable[Any]], error: type[Exception]) -> None:
        while True:
            try:
                await work()
                return
            except error:
                await asyncio.sleep(NEIGHBOUR_RETRY_SECONDS)

    # -- requests

    def serve(
        self, rng: random.Random, work: Callable[[Any], Awaitable[Any]], *, change: bool = True
    ) -> "asyncio.Future[Any]":
        """One request to the API of some controller; the answer may never come."""
        answer = self.loop.create_future()
        up = [life for life in self.controllers if life.up and life.store is not None]
        if not up:
            answer.set_exception(ConnectionError("no controller"))
            return answer
        life = rng.choice(up)
        assert life.process is not None
        life.process.spawn(self._serve(life, work, answer, change), "request")
        life.process.on_death.append(lambda: self._reset(answer))
        return answer

    def _reset(self, answer: "asyncio.Future[Any]") -> None:
        if not answer.done():
            answer.set_exception(ConnectionError("connection reset"))

    async def _serve(
        self, life: Life, work: Callable[[Any], Awaitable[Any]], answer: "asyncio.Future[Any]", change: bool
    ) -> None:
        store, controller = life.store, life.controller
        try:
            if store is None or controller is None:
                raise ConnectionError("stopping")
            result = await work(store)
            if change and isinstance(result, Change):
                await controller.driver.change_accepted(result)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
            return
        if not answer.done():
            answer.set_result(result)
