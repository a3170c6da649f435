"""The faults: what can be done to a site, from a seed.

Whatever is done is undone some seconds later. It begins with a storm: faults of all kinds, a new one every few seconds
while others last; every kind comes once before any comes again. Storms take turns with calmer times, in which agents
alone are hit, and no two at a time: those show how long one takeover lasts. Two agents, one controller and one device
are always left alone, and either the broker or the database.
"""

import asyncio
import itertools
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.acceptance.history.site import CONTROLLERS, HOSTS, Site, agent_name, controller_name

SPARED = {"agent": 2, "controller": 1, "device": 1, "server": 1}
"""How many of each kind are left alone."""

Fault = tuple[str, str]
"""What is hit, and how."""
WEIGHTS: dict[Fault, int] = {
    ("agent", "kill"): 10,
    ("agent", "freeze"): 6,
    ("agent", "cut_off"): 6,
    ("agent", "stop"): 8,
    ("agent", "blink"): 3,
    ("controller", "kill"): 5,
    ("controller", "freeze"): 3,
    ("controller", "stop"): 3,
    ("device", "silent"): 3,
    ("device", "refusing"): 3,
    ("device", "losing_answers"): 3,
    ("broker", "kill"): 2,
    ("broker", "restart"): 1,
    ("broker", "wipe"): 1,
    ("database", "kill"): 2,
    ("database", "restart"): 2,
}
KINDS = {"broker": "server", "database": "server"}
CALM = (("agent", "kill"), ("agent", "freeze"), ("agent", "cut_off"), ("agent", "stop"))
STORM_SECONDS, CALM_SECONDS = 100.0, 100.0


class Nemesis:
    """``pause_seconds``: between one fault's beginning and the next's, on average. ``storms``: else it stays calm.
    ``once``: the faults that storms have, each of which comes once; empty: all, again and again."""

    def __init__(
        self, site: Site, rng: random.Random, *, pause_seconds: float, storms: bool, once: Sequence[Fault] = ()
    ) -> None:
        self._site = site
        self._rng = rng
        self._pause_seconds = pause_seconds
        self._storms = storms
        self._calm = itertools.cycle(rng.sample(CALM, len(CALM)))
        self._numbers = itertools.count(1)
        self._hit: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._once = bool(once)
        self._due = rng.sample(list(once or WEIGHTS), len(once or WEIGHTS))

    async def run(self, seconds: float) -> None:
        """Cause faults for so long at most, then undo all of them. Raises what could not be undone."""
        begun = self._now()
        while (passed := self._now() - begun) < seconds and (self._due or not self._once):
            if self._storms and passed % (STORM_SECONDS + CALM_SECONDS) < STORM_SECONDS:
                await self._one(self._due or self._rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values())))
                await asyncio.sleep(self._pause_seconds * self._rng.uniform(0.5, 1.5))
            else:
                await self._quiet()
                await self._one([next(self._calm)])
        self._over.set()
        await self._quiet()
        self._site.history.add("faults_over")

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _quiet(self) -> None:
        """Until nothing is wrong, and a little longer, so that what was waiting is done."""
        await asyncio.gather(*self._tasks)
        self._tasks.clear()
        await asyncio.sleep(self._pause_seconds * self._rng.uniform(0.25, 0.75))

    async def _one(self, kinds: Sequence[tuple[str, str]]) -> None:
        """The first of these that leaves enough alone."""
        for task in [task for task in self._tasks if task.done()]:
            self._tasks.discard(task)
            task.result()
        serving = await self._site.serving()
        for kind, what in kinds:
            target = self._target(kind, serving)
            if target is not None:
                self._begin(kind, what, target, serving)
                return

    def _begin(self, kind: str, what: str, target: str, serving: dict[str, dict[str, int]]) -> None:
        if (kind, what) in self._due:
            self._due.remove((kind, what))
        number = next(self._numbers)
        self._hit[target] = KINDS.get(kind, kind)
        served = serving.get(target.removeprefix("agent-"), {})
        self._site.history.add("fault", number=number, fault=what, target=target, serving=served)
        self._tasks.add(asyncio.create_task(self._carry_out(number, kind, what, target)))

    def _target(self, kind: str, serving: dict[str, dict[str, int]]) -> str | None:
        """Somebody to hit, of agents rather one who serves something; None: enough are hit already."""
        names = {
            "agent": [agent_name(host) for host in HOSTS],
            "controller": [controller_name(number) for number in CONTROLLERS],
            "device": [device.name for device in self._site.cluster.emulator.devices],
            "broker": ["broker"],
            "database": ["database"],
        }[kind]
        general = KINDS.get(kind, kind)
        hit = sum(other == general for other in self._hit.values())
        left = [name for name in names if name not in self._hit]
        if not left or hit >= {"server": 2}.get(general, len(names)) - SPARED[general]:
            return None
        busy = [name for name in left if serving.get(name.removeprefix("agent-"))]
        return self._rng.choice(busy or left)

    async def _carry_out(self, number: int, kind: str, what: str, target: str) -> None:
        effects: dict[str, Callable[[str, Ended], Awaitable[None]]] = {
            "kill": self._kill,
            "stop": self._stop,
            "freeze": self._freeze,
            "blink": self._blink,
            "cut_off": self._cut_off,
            "silent": self._silent,
            "refusing": self._refusing,
            "losing_answers": self._losing_answers,
            "restart": self._restart_server,
            "wipe": self._wipe,
        }
        ended = Ended(self._site, number)
        effect = self._kill_server if KINDS.get(kind) == "server" and what == "kill" else effects[what]
        try:
            await effect(target, ended)
            self._site.history.add("ready", number=number)
        finally:
            del self._hit[target]

    async def _for(self, least: float, most: float) -> None:
        """Let a fault last; less when it is all over."""
        try:
            async with asyncio.timeout(self._rng.uniform(least, most)):
                await self._over.wait()
        except TimeoutError:
            return

    # -- processes

    async def _kill(self, target: str, ended: "Ended") -> None:
        self._site.end(target)
        await self._for(6.0, 10.0)
        ended()
        await self._site.begin(target)

    async def _stop(self, target: str, ended: "Ended") -> None:
        self._site.ask_to_end(target)
        if not await self._site.ended(target):
            self._site.history.add("exited", target=target, state="did not end when asked to, killed", tail="")
        await self._for(4.0, 8.0)
        ended()
        await self._site.begin(target)

    async def _freeze(self, target: str, ended: "Ended") -> None:
        await self._frozen(target, 8.0, 12.0)
        ended()

    async def _blink(self, target: str, ended: "Ended") -> None:
        await self._frozen(target, 0.3, 3.0)
        ended()

    async def _frozen(self, target: str, least: float, most: float) -> None:
        self._site.cluster.kill(target, signal.SIGSTOP)
        await self._for(least, most)
        self._site.cluster.kill(target, signal.SIGCONT)

    async def _cut_off(self, target: str, ended: "Ended") -> None:
        wire = self._site.wires[target.removeprefix("agent-")]
        wire.cut()
        await self._for(8.0, 12.0)
        wire.heal()
        ended()

    # -- devices

    async def _silent(self, target: str, ended: "Ended") -> None:
        await self._device_fault(kind="unreachable", device=target)
        ended()

    async def _refusing(self, target: str, ended: "Ended") -> None:
        await self._device_fault(kind="refuse", device=target)
        ended()

    async def _losing_answers(self, target: str, ended: "Ended") -> None:
        """What is committed happens, and nobody is told."""
        await self._device_fault(kind="drop_after", device=target, method="PATCH", path="^/mgmt/tm/transaction/")
        ended()

    async def _device_fault(self, **fields: Any) -> None:
        fault = await self._site.devices("POST", "/faults", fields)
        await self._for(4.0, 10.0)
        await self._site.devices("DELETE", f"/faults/{fault['id']}")

    # -- servers

    async def _kill_server(self, target: str, ended: "Ended") -> None:
        server = self._site.broker if target == "broker" else self._site.database
        await asyncio.to_thread(server.kill)
        await self._for(0.5, 4.0)
        await asyncio.to_thread(server.start)
        ended()

    async def _restart_server(self, target: str, ended: "Ended") -> None:
        if target == "broker":
            await asyncio.to_thread(self._site.broker.stop_application)
            await asyncio.to_thread(self._site.broker.start)
        else:
            await asyncio.to_thread(self._site.database.stop)
            await asyncio.to_thread(self._site.database.start)
        ended()

    async def _wipe(self, target: str, ended: "Ended") -> None:
        """The broker comes back without its queues."""
        await asyncio.to_thread(self._site.broker.stop_application)
        await asyncio.to_thread(self._site.broker.wipe)
        await asyncio.to_thread(self._site.broker.start)
        ended()


class Ended:
    """Called when a fault's cause is gone."""

    def __init__(self, site: Site, number: int) -> None:
        self._site = site
        self._number = number

    def __call__(self) -> None:
        self._site.history.add("fault_ended", number=self._number)
