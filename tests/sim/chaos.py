"""Faults: each is begun at a moment the seed decides and ends by itself, or with the run's calm at the latest."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from evenkeel.core.kit.errors import EvenKeelError, RequestError
from evenkeel.core.resources.statuses import FailbackMode
from tests.sim.clients import Client
from tests.sim.effects import Latency
from tests.sim.scenario import LOSS, SILENCE, WEIGHTS
from tests.sim.world import Life, World

HEARTBEAT_SECONDS = 8.0
"""After this long the broker gives up a connection that says nothing."""
DETECTION_SECONDS = 3.0


class Chaos:
    """See the module."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng: random.Random = world.stream("chaos")
        self.calm = False
        self.clients: list[Client] = []
        """Whose writes may be lost."""
        self._lagging = False
        self._begun = world.loop.now
        self._ways: dict[str, Callable[[], None]] = {
            "crash agent": lambda: self._crash(self._agent()),
            "crash controller": lambda: self._crash(self._controller()),
            "freeze agent": lambda: self._freeze(self._agent()),
            "freeze controller": lambda: self._freeze(self._controller()),
            "stop agent": lambda: self._stop(self._agent()),
            "stop controller": lambda: self._stop(self._controller()),
            "bus outage": lambda: self._bus_outage(emptied=False),
            "bus emptied": lambda: self._bus_outage(emptied=True),
            "agent cut from bus": lambda: self._cut_from_bus(self._agent()),
            "controller cut from bus": lambda: self._cut_from_bus(self._controller()),
            "database outage": self._database_outage,
            "controller cut from database": lambda: self._cut_from_store(self._controller()),
            "database clock jumps": self._clock_jump,
            "device reboot": self._reboot,
            "device restored": self._restore,
            "device edited by hand": self._edit,
            "load balancer poisoned": self._poison,
            "agent drained": self._drain,
            "agent forced down": self._force_down,
            "agent rebound": self._rebind,
            "agent deleted": self._delete_agent,
            "agent cut from devices": lambda: self._cut_from_devices(self._agent()),
            "agent started twice": lambda: self._start_twice(self._agent()),
            "hand-back asked": self._ask_back,
            "hand-back forbidden": self._forbid_back,
            "breaker closed by hand": lambda: self._ask(
                lambda store: store.operators.resume_environment(world.environment)
            ),
            LOSS: self._lose_commits,
            SILENCE: self._fall_silent,
        }
        self._ends: list[Callable[[], None]] = []
        """What ends faults that are under way."""

    # -- the run of it

    def noise(self) -> None:
        """Small faults, at any time, from now on."""
        world, scenario = self.world, self.world.scenario
        noise, broker, server = scenario.noise, world.broker, world.server
        broker.lost, broker.repeated, broker.delayed = noise["lost"], noise["repeated"], noise["delayed"]
        broker.hints_repeated, broker.hints_delayed = scenario.hints_repeated, scenario.hints_delayed
        broker.latency = Latency(0.0005, 0.004, scenario.slow_bus, 2.0)
        server.refuse, server.lose = noise["store refused"], noise["commit unknown"]
        server.repeat = noise["transaction repeated"]
        server.latency = Latency(0.0005, 0.004, scenario.slow_store, 2.0)
        for site in world.sites.values():
            site.error, site.lose = noise["device error"], noise["device answer lost"]
            site.latency = Latency(0.005, 0.05, scenario.slow_device, 3.0)

    async def run(self, until: float) -> None:
        """One fault after the other."""
        world, rng = self.world, self.rng
        weights = [WEIGHTS[kind] for kind in world.scenario.kinds]
        while True:
            pause = rng.expovariate(1 / world.scenario.fault_spacing_seconds)
            if world.loop.now + pause >= until:
                return
            await asyncio.sleep(pause)
            kind = rng.choices(world.scenario.kinds, weights)[0]
            world.note("fault", kind)
            world.effects.faults[kind] += 1
            self._ways[kind]()

    def end(self) -> None:
        """All faults are over; whatever is dead is started."""
        world = self.world
        self.calm = True
        world.note("calm")
        broker, server = world.broker, world.server
        broker.lost = broker.repeated = broker.delayed = broker.hints_repeated = broker.hints_delayed = 0.0
        broker.latency = server.latency = Latency(0.0005, 0.004)
        server.refuse = server.lose = server.repeat = 0.0
        for site in world.sites.values():
            site.error = site.lose = 0.0
            site.latency = Latency(0.005, 0.05)
        ends, self._ends = self._ends, []
        for end in ends:
            end()
        for life in world.lives:
            if not life.up:
                world.start(life)

    def supervise(self) -> None:
        """A process that ended by itself is started again."""
        for life in self.world.lives:
            if not life.up and life.name not in self.world.restarting:
                self._restart(life, 1.0)
        if self.calm:  # an operator's order may have been on its way for long
            look = self.world.server.look
            for (agent_id,) in look("SELECT id FROM agent WHERE NOT admin_state_up ORDER BY id"):
                self._undrain(agent_id)
            for (agent_id,) in look("SELECT id FROM agent WHERE forced_down ORDER BY id"):
                self._force_up(agent_id)
            if look("SELECT name FROM environment WHERE failback != 'auto'"):
                self._allow_back()

    # -- helpers

    def _pick(self, lives: list[Life]) -> Life | None:
        up = [life for life in lives if life.up]
        return self.rng.choice(up) if up else None

    def _agent(self) -> Life | None:
        return self._pick(self.world.agents)

    def _controller(self) -> Life | None:
        return self._pick(self.world.controllers)

    def _for(self, seconds: float, end: Callable[[], None]) -> None:
        """``end`` after that time, or at the calm, whichever is first."""

        def once() -> None:
            if end in self._ends:
                self._ends.remove(end)
                end()

        self._ends.append(end)
        self.world.effects.later(seconds, once)

    def _restart(self, life: Life, seconds: float) -> None:
        world = self.world
        world.restarting.add(life.name)

        def start() -> None:
            world.restarting.discard(life.name)
            if not life.up:
                world.start(life)

        self._for(seconds, start)

    # -- processes

    def _crash(self, life: Life | None) -> None:
        if life is not None and life.process is not None:
            self.world.note("crash", life.name)
            life.process.die()
            self._restart(life, self.rng.choice((0.1, 1.0, 6.0)) * self.rng.uniform(0.5, 1.5))

    def _stop(self, life: Life | None) -> None:
        if life is not None and life.process is not None:
            self.world.note("stop", life.name)
            life.process.spawn(_call(life.stop), "signal")

    def _freeze(self, life: Life | None) -> None:
        if life is None or life.process is None or life.process.frozen:
            return
        process, bus = life.process, life.bus
        self.world.note("freeze", life.name)
        process.freeze()
        seconds = self.rng.choice((1.0, 6.0, 12.0)) * self.rng.uniform(0.5, 1.5)
        timers_first = self.rng.random() < 0.5

        def thaw() -> None:
            self.world.note("thaw", life.name)
            process.thaw(timers_first=timers_first)

        def give_up() -> None:
            if process.frozen and bus is not None:
                bus.lost()

        self.world.effects.later(HEARTBEAT_SECONDS, give_up)
        self._for(seconds, thaw)

    # -- the bus

    def _bus_outage(self, *, emptied: bool) -> None:
        broker = self.world.broker
        broker.down = True
        for life in self.world.lives:
            if life.up and life.bus is not None:
                life.bus.lost()

        def end() -> None:
            broker.down = False

        if emptied:
            broker.empty()
        self._for(self.rng.choice((0.5, 5.0)) * self.rng.uniform(0.5, 1.5), end)

    def _cut_from_bus(self, life: Life | None) -> None:
        if life is None or life.process is None:
            return
        process, bus = life.process, life.bus
        process.cut_from_bus = True

        def notice() -> None:
            if process.cut_from_bus and bus is not None:
                bus.lost()

        def end() -> None:
            process.cut_from_bus = False

        self.world.effects.later(self.rng.uniform(0.0, DETECTION_SECONDS), notice)
        self._for(self.rng.uniform(1.0, 12.0), end)

    # -- the database

    def _database_outage(self) -> None:
        server = self.world.server
        server.down = True

        def end() -> None:
            server.down = False

        self._for(self.rng.choice((1.0, 8.0)) * self.rng.uniform(0.5, 1.5), end)

    def _cut_from_store(self, life: Life | None) -> None:
        if life is None or life.process is None:
            return
        process = life.process
        process.cut_from_store = True

        def end() -> None:
            process.cut_from_store = False

        self._for(self.rng.uniform(1.0, 12.0), end)

    def _lose_commits(self) -> None:
        """Once: agents begin a new history at most once a minute."""
        world = self.world
        if self._lagging or world.loop.now < self._begun + world.scenario.loss_after_seconds:
            return
        self._lagging = True
        if world.scenario.lost_tenants:
            world.before_create = self._lose_if_new
        else:
            self._lose_commits_from_now()

    def _lose_if_new(self, project_id: str) -> None:
        """With a tenant's first load balancer its shard."""
        world = self.world
        known = {shard.project_id for shard in world.watch.shards.values()}
        if project_id in world.scenario.lost_tenants - known:
            world.before_create = lambda project_id: None
            self._lose_commits_from_now()

    def _lose_commits_from_now(self) -> None:
        world = self.world
        copy, seen, believed = world.server.copy(), world.watch.copy(), [client.copy() for client in self.clients]

        def lose() -> None:
            world.note("commits lost")
            owners = [row.acting for id_, row in world.watch.shards.items() if id_ not in seen["shards"] and row.acting]
            world.server.lose_commits(copy)
            world.watch.lost(seen)
            for client, belief in zip(self.clients, believed, strict=True):
                client.lost(belief)
            # Else an agent would get its lost shards again: it has the fewest, as it had before.
            if world.scenario.drains_losers and owners:
                self._drain_agent(owners[-1])

        self._for(self.rng.choice(world.scenario.loss_seconds) * self.rng.uniform(0.5, 1.5), lose)

    def _clock_jump(self) -> None:
        self.world.server.offset_seconds += self.rng.choice((-3600.0, 3600.0, -3.0, 3.0))

    # -- devices

    def _reboot(self) -> None:
        site = self.rng.choice(list(self.world.sites.values()))
        box = self.rng.choice(site.boxes)
        box.reachable = False

        def end() -> None:
            box.reachable = True

        self._for(self.rng.choice((1.0, 4.0, 15.0)) * self.rng.uniform(0.5, 1.5), end)

    def _fall_silent(self) -> None:
        site = self.rng.choice(list(self.world.sites.values()))
        box = self.rng.choice(site.boxes)
        box.silent = True

        def end() -> None:
            box.silent = False

        self._for(self.rng.choice((2.0, 12.0)) * self.rng.uniform(0.5, 1.5), end)

    def _restore(self) -> None:
        site = self.rng.choice(list(self.world.sites.values()))
        box = self.rng.choice(site.boxes)
        box.reachable = False
        if self.rng.random() < 0.5:
            box.take_backup()

        def end() -> None:
            site.restore(box)
            box.reachable = True

        self._for(self.rng.uniform(1.0, 10.0), end)

    def _edit(self) -> None:
        site = self.rng.choice(list(self.world.sites.values()))
        way = site.edit_by_hand(self.rng.choice(site.boxes), self.world.new_id())
        self.world.note("edited", way)

    def _poison(self) -> None:
        site = self.rng.choice(list(self.world.sites.values()))
        held = sorted(lb for lb in self.world.watch.load_balancers)
        if not held:
            return
        victim = self.rng.choice(held)
        site.poisoned.add(victim)
        self._for(self.rng.uniform(2.0, 12.0), lambda: site.poisoned.discard(victim))

    # -- operators

    def _drain(self) -> None:
        agent_id = self._agent_id()
        if agent_id is not None:
            self._drain_agent(agent_id)

    def _drain_agent(self, agent_id: str) -> None:
        self._ask(lambda store: store.operators.set_agent_admin_state(agent_id, False))
        self._for(self.rng.uniform(2.0, 12.0), lambda: self._undrain(agent_id))

    def _ask_back(self) -> None:
        agent_id = self._agent_id()
        if agent_id is not None:
            self._ask(lambda store: store.operators.request_failback(agent_id))

    def _forbid_back(self) -> None:
        mode, name = self.rng.choice(("manual", "never")), self.world.environment
        self._ask(lambda store: store.operators.update_environment(name, {"failback": FailbackMode(mode)}))
        self._for(self.rng.uniform(2.0, 12.0), self._allow_back)

    def _allow_back(self) -> None:
        name = self.world.environment
        self._insist(lambda store: store.operators.update_environment(name, {"failback": FailbackMode.AUTO}))

    def _force_down(self) -> None:
        agent_id = self._agent_id()
        if agent_id is not None:
            self._ask(lambda store: store.operators.force_agent_down(agent_id, True))
            self._for(self.rng.uniform(2.0, 12.0), lambda: self._force_up(agent_id))

    def _force_up(self, agent_id: str) -> None:
        self._insist(lambda store: store.operators.force_agent_down(agent_id, False))

    def _rebind(self) -> None:
        one, other = self._agent_id(), self._agent_id()
        if one is not None and other is not None:
            self._ask(lambda store: store.operators.rebind_agent(one, other))

    def _delete_agent(self) -> None:
        """It is refused while the agent is alive, so the agent dies first."""
        life, other = self._agent(), self._agent_id()
        if life is None or life.process is None or other is None:
            return
        agent_id = self.world.agent_id(life)
        life.process.die()
        self.world.note("crash", life.name)
        self._restart(life, self.rng.uniform(4.0, 10.0))
        self.world.effects.later(self.rng.uniform(0.1, 6.0), self._ask_delete, agent_id, other)

    def _ask_delete(self, agent_id: str, other: str) -> None:
        self._ask(lambda store: store.operators.delete_agent(agent_id, rebind_to=other))

    def _cut_from_devices(self, life: Life | None) -> None:
        if life is None or life.process is None:
            return
        process = life.process
        process.cut_from_devices = True

        def end() -> None:
            process.cut_from_devices = False

        self._for(self.rng.uniform(1.0, 12.0), end)

    def _start_twice(self, life: Life | None) -> None:
        """Somebody starts it again, thinking that it is dead; the first process goes on, or wakes up later."""
        if life is None or life.process is None:
            return
        former = life.process
        if self.rng.random() < 0.7:
            self._freeze(life)
        self.world.start(life)

        def end() -> None:
            self.world.note("kill the first", life.name)
            former.die()

        self._for(self.rng.uniform(2.0, 20.0), end)

    def _agent_id(self) -> str | None:
        rows = self.world.server.look("SELECT id FROM agent ORDER BY id")
        return self.rng.choice(rows)[0] if rows else None

    def _ask(self, work: Callable[..., Awaitable[object]]) -> None:
        answer = self.world.serve(self.rng, work, change=False)
        answer.add_done_callback(_seen)

    def _undrain(self, agent_id: str) -> None:
        self._insist(lambda store: store.operators.set_agent_admin_state(agent_id, True))

    def _insist(self, work: Callable[..., Awaitable[object]]) -> None:
        self.world.loop.create_task(self.until_done(work))

    async def until_done(self, work: Callable[..., Awaitable[object]]) -> None:
        """An operator asks until it is done, or refused."""
        while True:
            try:
                async with asyncio.timeout(3.0):
                    await self.world.serve(self.rng, work, change=False)
                return
            except RequestError:  # the agent was deleted
                return
            except (EvenKeelError, TimeoutError, ConnectionError):
                await asyncio.sleep(0.5)


def _seen(answer: "asyncio.Future[object]") -> None:
    if not answer.cancelled():
        answer.exception()


async def _call(what: Callable[[], None]) -> None:
    what()
