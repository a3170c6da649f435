"""A tenant's client: keeps so many load balancers, and changes all that is in them, one request after the other."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.history.http import LBAAS, Api

ALGORITHMS = ("ROUND_ROBIN", "LEAST_CONNECTIONS")
PORTS = (80, 443)
MEMBERS_MAX = 6
AFTER_TROUBLE_SECONDS = 0.5
GOING = ("PENDING_DELETE",)


@dataclass
class Root:
    """One load balancer: ids by the names that the client gave. None: not yet looked up."""

    id: str
    name: str
    listeners: dict[str, str] = field(default_factory=dict)
    pools: dict[str, str] = field(default_factory=dict)


class Writer:
    """Every value written is new, so that each tells which request wrote it."""

    def __init__(
        self,
        api: Api,
        project_id: str,
        *,
        subnet_id: str,
        load_balancers: int,
        rng: random.Random,
        pause_seconds: float,
    ) -> None:
        self.project_id = project_id
        self.roots: dict[str, Root] = {}
        self._api = api
        self._subnet_id = subnet_id
        self._wanted = load_balancers
        self._rng = rng
        self._pause_seconds = pause_seconds
        self._serials = itertools.count(1)
        self._doubtful = False

    async def fill(self) -> None:
        """Create until there are as many as there should be."""
        while len(self.roots) < self._wanted:
            await self._create()

    async def run(self, stop: asyncio.Event) -> None:
        """Write until told to stop; the request under way is ended."""
        while not stop.is_set():
            if self._doubtful:
                await self._look()
            elif len(self.roots) < self._wanted:
                await self._create()
            else:
                await self._something()
            pause = self._pause_seconds * self._rng.uniform(0.5, 1.5)
            try:
                async with asyncio.timeout(pause + (AFTER_TROUBLE_SECONDS if self._doubtful else 0.0)):
                    await stop.wait()
            except TimeoutError:
                continue

    async def _look(self) -> None:
        """After doubt: which load balancers are there?"""
        answer = await self._api.read(f"{LBAAS}/loadbalancers", project_id=self.project_id)
        if answer is None:
            return
        there = {row["name"]: row["id"] for row in answer["loadbalancers"] if row["provisioning_status"] not in GOING}
        self.roots = {name: self.roots.get(name) or Root(id=root_id, name=name) for name, root_id in there.items()}
        self._doubtful = False

    def _serial(self) -> str:
        return f"{self.project_id}-{next(self._serials)}"

    def _weight(self) -> int:
        return self._rng.randint(0, 100)

    async def _write(self, method: str, path: str, body: Any, writes: dict[str, Any], replaces: str = "") -> Any:
        """The answer if it was acknowledged, else None."""
        status, answer = await self._api.write(method, LBAAS + path, body, writes=writes, replaces=replaces)
        if 200 <= status < 300:
            return answer or {}
        self._doubtful = True
        return None

    # -- whole load balancers

    async def _create(self) -> None:
        serial = self._serial()
        name = f"{self.project_id}-lb-{serial.rpartition('-')[2]}"
        writes: dict[str, Any] = {f"{name}/": {"description": serial}}
        listeners = [
            self._listener(name, port, serial, writes) for port in PORTS[: 1 if self._rng.random() < 0.8 else 2]
        ]
        root = {
            "name": name,
            "description": serial,
            "project_id": self.project_id,
            "vip_subnet_id": self._subnet_id,
            "listeners": listeners,
        }
        answer = await self._write("POST", "/loadbalancers", {"loadbalancer": root}, writes)
        if answer is not None:
            self.roots[name] = _root_of(answer["loadbalancer"])

    def _listener(self, root: str, port: int, serial: str, writes: dict[str, Any]) -> dict[str, Any]:
        members = [self._member(number, serial) for number in range(1, self._rng.randint(2, 4))]
        pool, listener, limit = f"pool-{port}", f"listener-{port}", 1_000_000 + next(self._serials)
        writes[f"{root}/{listener}"] = {"description": serial, "connection_limit": limit}
        writes[f"{root}/{pool}"] = {"description": serial, "lb_algorithm": ALGORITHMS[0]}
        writes.update(_member_writes(f"{root}/{pool}", members))
        return {
            "name": listener,
            "description": serial,
            "protocol": "TCP",
            "protocol_port": port,
            "connection_limit": limit,
            "default_pool": {
                "name": pool,
                "description": serial,
                "protocol": "TCP",
                "lb_algorithm": ALGORITHMS[0],
                "members": members,
            },
        }

    def _member(self, number: int, serial: str) -> dict[str, Any]:
        return {"address": f"198.18.0.{number}", "protocol_port": 80, "name": serial, "weight": self._weight()}

    async def _delete(self, root: Root) -> None:
        self.roots.pop(root.name)
        self._doubtful = True
        await self._write(
            "DELETE", f"/loadbalancers/{root.id}?cascade=true", None, {f"{root.name}/": None}, f"{root.name}/"
        )

    # -- what is inside

    async def _something(self) -> None:
        root = self._rng.choice(list(self.roots.values()))
        if not root.pools and not await self._look_inside(root):
            self._doubtful = True
            return
        kinds: list[Callable[[Root], Awaitable[None]]] = [
            self._add_member,
            self._change_member,
            self._remove_member,
            self._replace_members,
            self._change_listener,
            self._change_pool,
            self._change_root,
            self._delete,
        ]
        chosen = self._rng.choices(kinds, weights=(20, 25, 12, 12, 14, 8, 4, 4))[0]
        await chosen(root)

    async def _look_inside(self, root: Root) -> bool:
        """Ids of its listeners and pools; False: it could not be read, or it has gone."""
        listeners = await self._api.read(f"{LBAAS}/listeners", loadbalancer_id=root.id)
        pools = await self._api.read(f"{LBAAS}/pools", loadbalancer_id=root.id)
        if not listeners or not pools:
            return False
        root.listeners = {row["name"]: row["id"] for row in listeners["listeners"]}
        root.pools = {row["name"]: row["id"] for row in pools["pools"]}
        return bool(root.pools)

    async def _members(self, root: Root) -> tuple[str, str, list[dict[str, Any]]] | None:
        """A pool's id and path, and its members now."""
        name, pool_id = self._rng.choice(list(root.pools.items()))
        answer = await self._api.read(f"{LBAAS}/pools/{pool_id}/members")
        if not answer:
            self._doubtful = True
            return None
        rows = [row for row in answer["members"] if row["provisioning_status"] not in GOING]
        return pool_id, f"{root.name}/{name}", rows

    async def _add_member(self, root: Root) -> None:
        if (pool := await self._members(root)) is None:
            return
        pool_id, path, rows = pool
        taken = {row["address"] for row in rows}
        if len(rows) >= MEMBERS_MAX:
            await self._remove(pool_id, path, rows)
            return
        free = [number for number in range(1, 250) if f"198.18.0.{number}" not in taken]
        member = self._member(self._rng.choice(free[:20]), self._serial())
        await self._write("POST", f"/pools/{pool_id}/members", {"member": member}, _member_writes(path, [member]))

    async def _change_member(self, root: Root) -> None:
        pool = await self._members(root)
        if pool is None or not pool[2]:
            return
        pool_id, path, rows = pool
        row = self._rng.choice(rows)
        change = {"name": self._serial(), "weight": self._weight()}
        key = f"{path}/{row['address']}:{row['protocol_port']}"
        await self._write("PUT", f"/pools/{pool_id}/members/{row['id']}", {"member": change}, {key: change})

    async def _remove_member(self, root: Root) -> None:
        if (pool := await self._members(root)) is not None:
            await self._remove(*pool)

    async def _remove(self, pool_id: str, path: str, rows: list[dict[str, Any]]) -> None:
        if rows:
            row = self._rng.choice(rows)
            key = f"{path}/{row['address']}:{row['protocol_port']}"
            await self._write("DELETE", f"/pools/{pool_id}/members/{row['id']}", None, {key: None})

    async def _replace_members(self, root: Root) -> None:
        name, pool_id = self._rng.choice(list(root.pools.items()))
        serial, path = self._serial(), f"{root.name}/{name}"
        numbers = self._rng.sample(range(1, 12), self._rng.randint(1, 4))
        members = [self._member(number, serial) for number in numbers]
        writes = _member_writes(path, members)
        await self._write("PUT", f"/pools/{pool_id}/members", {"members": members}, writes, f"{path}/")

    async def _change_listener(self, root: Root) -> None:
        name, listener_id = self._rng.choice(list(root.listeners.items()))
        change = {"description": self._serial(), "connection_limit": 1_000_000 + next(self._serials)}
        await self._write("PUT", f"/listeners/{listener_id}", {"listener": change}, {f"{root.name}/{name}": change})

    async def _change_pool(self, root: Root) -> None:
        name, pool_id = self._rng.choice(list(root.pools.items()))
        change = {"description": self._serial(), "lb_algorithm": self._rng.choice(ALGORITHMS)}
        await self._write("PUT", f"/pools/{pool_id}", {"pool": change}, {f"{root.name}/{name}": change})

    async def _change_root(self, root: Root) -> None:
        change = {"description": self._serial()}
        await self._write("PUT", f"/loadbalancers/{root.id}", {"loadbalancer": change}, {f"{root.name}/": change})


def _member_writes(path: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        f"{path}/{member['address']}:{member['protocol_port']}": {"name": member["name"], "weight": member["weight"]}
        for member in members
    }


def _root_of(row: Any) -> Root:
    return Root(
        id=row["id"],
        name=row["name"],
        listeners={one["name"]: one["id"] for one in row["listeners"]},
        pools={one["name"]: one["id"] for one in row["pools"]},
    )
