"""One plain story without faults (create, change, takeover, delete, partition removed), to be cut at any effect.

``python -m tests.sim.story [--cut N --way before|after|lost]`` tells it; the effects are numbered in the order in which
they happen.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from evenkeel.agent.settings import AgentSettings
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import Conflict, NotFound, Unavailable
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.resources.statuses import RescheduleMode
from tests.sim import networks
from tests.sim.chaos import Chaos
from tests.sim.clients import Client, Unknown
from tests.sim.effects import WAYS, Cut
from tests.sim.run import Result, come_to_rest, run_world
from tests.sim.scenario import Scenario
from tests.sim.verdict import judge, unrest
from tests.sim.world import Life, World

STEP_SECONDS = 60.0
TRIES_MAX = 500


class Plain(Scenario):
    """Two controllers, two agents, one device, no faults, and intervals so long that little happens in between."""

    def __init__(self, *, networks: bool = False) -> None:
        super().__init__(World.stream_of("story", "scenario"))
        self.networks = networks
        self.controllers, self.boxes, self.agent_groups = 2, (1,), [1, 1]
        self.projects = ["project-1"]
        self.reschedule, self.tenant_limits = RescheduleMode.CONTROL, {}
        self.kinds = []
        self.session_ttl_seconds = 6.0

    def controller_settings(self) -> ControllerSettings:
        """Of both controllers."""
        return ControllerSettings(
            session_ttl_seconds=self.session_ttl_seconds,
            schedule_interval_seconds=1.0,
            sweep_interval_seconds=5.0,
            settle_seconds=2.0,
            suspicion_interval_seconds=1.0,
            stop_timeout_seconds=2.0,
            orphan_grace_seconds=0.2,
            orphans_per_answer=1000,
        )

    def agent_settings(self, host: str, number: int, environment: str) -> AgentSettings:
        """Of both agents."""
        return replace(
            super().agent_settings(host, number, environment),
            keepalive_interval_seconds=2.0,
            report_interval_seconds=8.0,
            status_interval_seconds=8.0,
        )


class Story:
    """A client that asks until it knows, and a hand that kills the acting agent in the middle."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chaos = Chaos(world)
        self.client = Client(world, "project-1", world.stream("client"), "192.0.2.1")

    async def tell(self) -> None:
        """From the first request until the load balancer is gone."""
        world, client = self.world, self.client
        world.effects.counting = True
        await self._insist(client.create_tree)
        await self._settled()
        await self._insist(client.rename_root)
        await self._insist(client.add_member)
        await self._settled()
        self._kill_acting()
        await self._insist(client.rename_root)
        await self._settled()
        await self._insist(client.delete_root)
        await self._settled()
        await self._emptied()
        world.effects.counting = False
        world.effects.land()

    async def _insist(self, write: Callable[[], Awaitable[None]]) -> None:
        """The same request again until there is an answer."""
        unknown = False
        for _ in range(TRIES_MAX):
            try:
                await write()
                return
            except (Unknown, Unavailable, ConnectionError):
                unknown = True
            except Conflict:  # the one before had been committed
                return
            except NotFound:
                if unknown and write == self.client.delete_root:  # the one before had been committed
                    for thing in self.client.things:
                        thing.deleted = True
                if self.client.root.deleted or self.client.root.uncertain:
                    return
            await asyncio.sleep(0.3)
        self.world.watch.violation(f"{write.__name__} was not answered in {TRIES_MAX} tries")

    async def _settled(self) -> None:
        until = self.world.loop.now + STEP_SECONDS
        while True:
            await asyncio.sleep(0.2)
            self.chaos.supervise()
            rows = [row for row in self.world.watch.load_balancers.values() if row.status != "ACTIVE"]
            if not rows:
                return
            if self.world.loop.now > until:
                self.world.watch.violation(f"not settled within {STEP_SECONDS:g} s: {rows}")
                return

    async def _emptied(self) -> None:
        """Until no device has the tenant's partition."""
        until = self.world.loop.now + STEP_SECONDS
        boxes = [box for site in self.world.sites.values() for box in site.boxes]
        while any(box.memory.partitions.keys() & {"project-1", COMMON_PROJECT} for box in boxes):
            await asyncio.sleep(0.2)
            self.chaos.supervise()
            if self.world.loop.now > until:
                self.world.watch.violation(f"the empty partition is still there after {STEP_SECONDS:g} s")
                return

    def _kill_acting(self) -> None:
        life = self._acting()
        if life is not None and life.process is not None:
            self.world.note("kill", life.name)
            life.process.die()

    def _acting(self) -> Life | None:
        acting = {row.acting for row in self.world.watch.shards.values() if row.project_id}
        return next((life for life in self.world.agents if life.up and self.world.agent_id(life) in acting), None)


async def _live(world: World) -> None:
    world.server.add_environment(world.environment, world.scenario.driver)
    if world.scenario.networks:
        networks.declare(world.server, world.scenario.projects)
    for site in world.sites.values():
        site.add_foreign("project-1")
    for life in world.lives:
        world.start(life)
    story = Story(world)
    while unrest(world):  # noqa: ASYNC110 - the time is virtual
        await asyncio.sleep(0.5)
    await story.tell()
    story.chaos.end()
    await come_to_rest(world, story.chaos)
    await judge(world, [story.client])


def tell(cut: Cut | None = None, *, shared: bool = False, tracing: bool = False) -> tuple[Result, list[str]]:
    """The story, cut or whole: what became of it, and its effects. ``shared``: with networks that projects share."""
    world = World("story", Plain(networks=shared), tracing=tracing)
    world.effects.cut = cut
    result = run_world(world, partial(_live, world))
    return result, world.effects.counted


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.story", description=__doc__)
    parser.add_argument("--cut", type=int)
    parser.add_argument("--way", choices=(*WAYS, "late"), default="before")
    parser.add_argument("--shared", action="store_true", help="with networks that projects share")
    parser.add_argument("--trace", action="store_true")
    arguments = parser.parse_args()
    cut = None if arguments.cut is None else Cut(arguments.cut, arguments.way)
    result, effects = tell(cut, shared=arguments.shared, tracing=arguments.trace)
    for moment, *what in result.trace if arguments.trace else ():
        print(f"{moment - 1000.0:9.4f}", *what)
    for number, effect in enumerate(effects):
        print(f"{number:4d} {effect}")
    for violation in result.violations:
        print("VIOLATION", violation)
    return 1 if result.violations else 0


def command(cut: Cut, *, shared: bool = False) -> str:
    """What repeats it."""
    return f"python -m tests.sim.story --cut {cut.number} --way {cut.way} {'--shared ' if shared else ''}--trace"


def effects_of_story(*, shared: bool = False) -> list[Any]:
    """All effects, by number; the whole story must be without a flaw."""
    result, effects = tell(shared=shared)
    assert not result.violations, result.violations
    return effects


if __name__ == "__main__":
    sys.exit(main())
