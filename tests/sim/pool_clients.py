"""Tenants of LBaaS v1: their load balancers have a VIP only now and then, and two of them want the same address."""

import random
from collections.abc import Awaitable, Callable

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Pool
from tests.sim.clients import Client, Thing
from tests.sim.world import World

ADDRESSES = 2
REFUSALS = {"vip_exists", "address_taken"}


class PoolClient(Client):
    """One tenant's dealings with one pool, and the vips in front of it."""

    def __init__(self, world: World, project_id: str, rng: random.Random, address: str) -> None:
        super().__init__(world, project_id, rng, f"198.18.0.{rng.randrange(1, 1 + ADDRESSES)}")

    async def _create(self) -> None:
        root, pool = (Thing(kind, self.world.new_id(), self._name()) for kind in (LoadBalancer, Pool))
        pool.parent = root
        self.things += [root, pool]
        row = LoadBalancer(
            id=root.id,
            project_id=self.project_id,
            vip=None,
            provider=self.world.environment,
            name=next(iter(root.names)),
            root_pool_id=pool.id,
        )
        tree = LoadBalancerTree(load_balancer=row, pools=(self._pool_row(pool),))
        await self._ask("create", lambda store: store.tenants.create_load_balancer(tree, None))
        for thing in self.things:
            thing.created = True

    def _something(self) -> Callable[[], Awaitable[None]]:
        ways: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (6, self._add_vip),
            (4, self._delete_vip),
            (2, self._rename),
            (2, self._add_member),
            (1, self._add_monitor),
            (1, self._delete_pool),
        ]
        return self._rng.choices([way for _, way in ways], [weight for weight, _ in ways])[0]

    async def _add_vip(self) -> None:
        pool = self._pick(Pool)
        if pool is None:
            return
        vip = Thing(Listener, self.world.new_id(), self._name(), self.root)
        row = self._listener_row(vip, pool.id)
        plan = VipPlan(subnet_id="s", network_id="n", port_id=self.world.new_id(), address=self.address)
        try:
            await self._add(vip, "add vip", lambda store: store.lbaas_v1.add_vip(row, plan, None, project_id=None))
        except Conflict as error:
            if error.code not in REFUSALS:
                raise
            self.things.remove(vip)
            self.world.counts[f"refused {error.code}"] += 1

    async def _delete_vip(self) -> None:
        if (vip := self._pick(Listener)) is not None:
            await self._remove(
                vip, "delete vip", lambda store: store.tenants.delete_child(Listener, vip.id, project_id=None)
            )
            self.world.counts["vips deleted"] += 1

    async def _delete_pool(self) -> None:
        root, pool = self.root, self._pick(Pool)
        if pool is None:
            return
        try:
            await self._remove(
                root, "delete pool", lambda store: store.lbaas_v1.delete_v1_pool(pool.id, project_id=None)
            )
        except Conflict as error:
            if error.code != "pool_has_vip":
                raise
