"""The database is replaced by another one while agents and devices live on; an operator accepts that at last.

In its place comes an empty database, that of another cloud, or an older copy of this one that has gone its own way.
Some tenants return to it and write. Until an operator accepts the history that only agents know, nothing that devices
hold and the database does not know may be removed from them; afterwards it goes.
"""

import asyncio
import re
import uuid
from collections.abc import Iterable
from typing import Any

from evenkeel.core.kit.ids import COMMON_PROJECT
from tests.sim.chaos import Chaos
from tests.sim.clients import Client
from tests.sim.database import Tables
from tests.sim.process import Process
from tests.sim.verdict import forget_unknown
from tests.sim.world import World

EMPTY, FOREIGN, OLDER = "empty", "foreign", "older"
WAYS = (EMPTY, FOREIGN, OLDER)
KEPT = ("environment", "network", "subnet")
"""Tables that operators fill again in an empty database."""
GRACE_SECONDS = 30.0
"""Grace time of orphans: longer than any fault keeps an agent from naming the history that it saw."""
HOLD_SECONDS = 45.0
"""Time after the last fault until an operator accepts the history: longer than the grace time."""
REMOVED_SECONDS = 100.0
"""Orphans go within this time after that: agents ask once a minute while removals are halted."""
RETURNING = 3
"""Tenants that come to the new database."""
UNKNOWN = "SELECT id FROM other_history WHERE kind = 'unknown' ORDER BY id"
LEAVING = "SELECT id FROM load_balancer WHERE deleted"
_ELSEWHERE = uuid.UUID("6d1f7c1e-5f0a-4b0e-9f2e-0a5b8f0c7d11")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def of_another_cloud(text: str) -> str:
    """The text with other ids, projects and hosts; addresses and endpoints stay."""
    text = _UUID.sub(lambda found: str(uuid.uuid5(_ELSEWHERE, found[0])), text)
    return text.replace("project-", "elsewhere-").replace("agent-", "host-elsewhere-")


class Replacement:
    """What becomes of one run's database. ``way``: one of :data:`WAYS`."""

    def __init__(self, world: World, chaos: Chaos, way: str) -> None:
        self.world = world
        self.clients: list[Client] = []
        """Tenants that come to the new database."""
        self._chaos = chaos
        self._way = way
        self._rng = world.stream("replacement")
        self._witnesses: list[Process] = []
        """Agents' processes that saw the former history."""
        self._noticed = False

    async def run(self, until: float) -> None:
        """Replace the database some seconds after it was copied, and let tenants write to it."""
        world, rng = self.world, self._rng
        await asyncio.sleep(rng.uniform(2.0, 4.0) if self._way == OLDER else rng.uniform(9.0, 12.0))
        copy, seen = world.server.copy(), world.watch.copy()
        believed = [client.copy() for client in self._chaos.clients]
        await asyncio.sleep(rng.uniform(9.0, 12.0) if self._way == OLDER else rng.uniform(3.0, 6.0))
        world.note("database replaced", self._way)
        world.effects.faults[f"{self._way} database"] += 1
        self._witnesses = [
            life.process
            for life in world.agents
            if life.up and life.process is not None and life.agent is not None and life.agent._database_history.history
        ]
        leaving = {id_ for (id_,) in world.server.look(LEAVING)}
        world.server.lose_commits(self._other(copy))
        if self._way == OLDER:
            world.watch.lost(seen)
        else:
            world.watch.replaced(seen if self._way == FOREIGN else {}, of_another_cloud)
            believed = [{} for _ in believed]
        for client, belief in zip(self._chaos.clients, believed, strict=True):
            client.lost(belief)
        self._protect(leaving)
        self.clients = [
            Client(world, rng.choice(world.scenario.projects), world.stream(f"returning {number}"), f"192.0.2.{number}")
            for number in range(51, 51 + RETURNING)
        ]
        await asyncio.gather(*(client.run(world.scenario.writes, until) for client in self.clients), self._look(until))

    def _other(self, copy: Tables) -> Tables:
        """The database that takes the place of the one that was copied."""
        now = self.world.server.now()
        tables = {name: rows if name in KEPT or self._way != EMPTY else [] for name, rows in copy.items()}
        if self._way == FOREIGN:
            tables = {name: [_renamed(row) for row in rows] for name, rows in tables.items()}
            tables["agent"] = [self._ended(row) for row in tables["agent"]]
        begun_at = self._rng.choice((0.0, now)) if self._way == EMPTY else 0.0
        return tables | {"history": [(1, str(uuid.uuid4()), begun_at)], "other_history": []}

    def _ended(self, row: Any) -> tuple[Any, ...]:
        """The row of an agent without a session."""
        names = [name for _, name, *_ in self.world.server.raw.execute("PRAGMA table_info(agent)")]
        ended = {"session_id": None, "session_expires_at": None, "silent_since": None}
        return tuple(ended.get(name, value) for name, value in zip(names, row, strict=True))

    def _protect(self, leaving: set[str]) -> None:
        """Nothing that the new database does not know may leave the devices now, but what its tenant had deleted in the
        former one: an agent may be about to remove that.
        """
        look = self.world.server.look
        known = {id_ for (id_,) in look("SELECT id FROM load_balancer UNION SELECT network_id FROM common_network")}
        for site in self.world.sites.values():
            for box in site.boxes:
                self.world.watch.protected[box.name] = box.everything() - known - leaving
                self.world.counts["load balancers of a replaced database"] += len(box.holds().keys() - known)

    async def _look(self, until: float) -> None:
        while self.world.loop.now < until:
            self._notice()
            await asyncio.sleep(0.5)

    def _notice(self) -> None:
        """Where nobody is left who saw the former history, the database cannot be known as another one."""
        self._noticed = self._noticed or bool(self.world.server.look(UNKNOWN))
        if self.world.watch.protected and not self._noticed and all(process.dead for process in self._witnesses):
            self.world.counts["histories that nobody knew"] += 1
            self.world.watch.protected.clear()

    async def settle(self) -> None:
        """Hold long enough for everything to be removed if anything were, then accept what the database is."""
        world = self.world
        until = world.loop.now + HOLD_SECONDS
        while world.loop.now < until:
            self._notice()
            self._chaos.supervise()
            await asyncio.sleep(1.0)
        if world.watch.protected and not self._noticed:
            world.watch.violation(f"nobody noticed that the database was replaced: {self._way}")
        world.note("accepted")
        world.watch.protected.clear()
        for (history,) in world.server.look(UNKNOWN):
            await self._chaos.until_done(lambda store, id_=history: store.operators.accept_history(id_))
        await self._chaos.until_done(lambda store: store.operators.resume_environment(world.environment))
        for agent_id, group_number in world.server.look("SELECT id, group_number FROM agent ORDER BY id"):
            if agent_id not in map(world.agent_id, world.agents):
                await self._delete(agent_id, group_number)
        await self._removed()

    async def _delete(self, agent_id: str, group_number: int) -> None:
        """An operator removes an agent of the other cloud."""
        scenario = self.world.scenario
        own = next(
            life
            for life, number in zip(self.world.agents, scenario.agent_groups, strict=True)
            if number == group_number
        )
        other = self.world.agent_id(own)
        await self._chaos.until_done(lambda store: store.operators.delete_agent(agent_id, rebind_to=other))

    async def _removed(self) -> None:
        world = self.world
        until = world.loop.now + REMOVED_SECONDS
        while (left := [*self._orphans(), *self._networks()]) and world.loop.now < until:
            self._chaos.supervise()
            forget_unknown(world)  # partitions of tenants without a shard use networks, and stay
            await asyncio.sleep(1.0)
        for each in left:
            world.watch.violation(f"nobody removed it although the history was accepted: {each}")

    def _orphans(self) -> Iterable[str]:
        """Load balancers that the database does not know, in partitions of tenants that have a shard."""
        world = self.world
        known = {lb for (lb,) in world.server.look("SELECT id FROM load_balancer")}
        for number, site in world.sites.items():
            tenants = {
                id_ for (id_,) in world.server.look("SELECT project_id FROM shard WHERE group_number = ?", number)
            }
            for box in site.boxes:
                for project_id, partition in box.memory.tenants():
                    yield from (
                        f"{box.name}: {lb}"
                        for lb in sorted(partition.holds)
                        if project_id in tenants and lb not in known
                    )

    def _networks(self) -> Iterable[str]:
        """Shared networks on devices that the database does not know."""
        world = self.world
        for number, site in world.sites.items():
            rows = world.server.look(
                "SELECT network_id FROM common_network JOIN shard ON shard.id = shard_id WHERE group_number = ?", number
            )
            known = {network_id for (network_id,) in rows}
            for box in site.boxes:
                held = box.memory.partitions.get(COMMON_PROJECT)
                yield from (f"{box.name}: {id_}" for id_ in sorted(held.holds if held else ()) if id_ not in known)


def _renamed(row: Any) -> tuple[Any, ...]:
    return tuple(of_another_cloud(value) if isinstance(value, str) else value for value in row)
