"""Tenants: each client writes to one load balancer, one request after the other, and remembers what it was told.

A write that returned is acknowledged. One that raised or got no answer is unknown: it may have happened, may happen
later, or never. :mod:`tests.sim.verdict` compares what is stored in the end with what that allows.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound, RequestError, Unavailable
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Vip
from tests.sim.networks import MEMBERS, own_subnet
from tests.sim.world import World

PATIENCE_SECONDS = 4.0
ABSENT = "absent"


class Unknown(Exception):
    """No answer, or one that says nothing."""


class Thing:
    """An object as its client knows it: is it there, and which names may it have?"""

    def __init__(self, kind: type[Any], thing_id: str, name: str, parent: "Thing | None" = None) -> None:
        self.kind = kind
        self.id = thing_id
        self.parent = parent
        self.created = False
        """Acknowledged."""
        self.deleted = False
        """Acknowledged, its own or that of what it is below."""
        self.uncertain = False
        """A delete of it, or of what it is below, is unknown."""
        self.names = {name}
        """What its name may be: the last one acknowledged, and those whose fate is unknown."""
        self._lost_names: set[str] = set()
        self._asked_name = name

    def asked(self, name: str) -> None:
        """To be renamed so; stored perhaps long before it is acknowledged."""
        self._asked_name = name

    def renamed(self, name: str) -> None:
        self.names = {name} | self._lost_names

    def perhaps_renamed(self, *names: str) -> None:
        self._lost_names.update(names)
        self.names.update(names)

    @property
    def belief(self) -> "Belief":
        return Belief(self.created, self.deleted, self.uncertain, frozenset({*self.names, self._asked_name}))

    @property
    def usable(self) -> bool:
        parent = self.parent
        return self.created and not self.deleted and not self.uncertain and (parent is None or parent.usable)

    def within(self, other: "Thing") -> bool:
        return self is other or (self.parent is not None and self.parent.within(other))


class Belief(NamedTuple):
    """What was acknowledged of a thing, and what is open."""

    created: bool
    deleted: bool
    uncertain: bool
    names: frozenset[str]


class Client:
    """One tenant's dealings with one load balancer."""

    def __init__(self, world: World, project_id: str, rng: random.Random, address: str) -> None:
        self.world = world
        self.project_id = project_id
        self.address = address
        self.begin_after = 0.0
        """Seconds before which it does nothing."""
        self.things: list[Thing] = []
        self.revisions: dict[int, str] = {}
        """Acknowledged revisions, and by which write."""
        self._rng = rng
        self._tree: tuple[LoadBalancerTree, VipPlan] | None = None
        self._names = 0
        self._ports = 0

    def copy(self) -> dict[Thing, Belief]:
        """What is believed now."""
        return {thing: thing.belief for thing in self.things}

    def lost(self, before: dict[Thing, Belief]) -> None:
        """What was acknowledged since then may be gone, or not: its commit may have been earlier."""
        self.revisions.clear()
        for thing in self.things:
            was = before.get(thing)
            if was is None:
                thing.uncertain, thing.deleted = True, False
                continue
            thing.perhaps_renamed(*was.names)
            if (was.created, was.deleted, was.uncertain) != thing.belief[:3]:
                thing.uncertain, thing.deleted = True, was.deleted

    async def run(self, writes: int, until: float) -> None:
        """Create, then change this and that."""
        rng, loop = self._rng, self.world.loop
        await asyncio.sleep(self.begin_after + rng.uniform(0.0, self.world.scenario.arrival_seconds))
        self.world.before_create(self.project_id)
        await self._attempt(self._create)
        for _ in range(writes):
            if loop.now >= until or self.root.deleted:
                return
            await asyncio.sleep(rng.expovariate(1 / self.world.scenario.client_pause_seconds))
            if not self.root.created:
                await self._attempt(self._look_for_root)
            elif self.root.usable:
                await self._attempt(self._something())

    @property
    def root(self) -> Thing:
        return self.things[0]

    def _something(self) -> Callable[[], Awaitable[None]]:
        rng = self._rng
        ways: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (4, self._rename),
            (2, self._add_listener),
            (2, self._add_pool),
            (2, self._delete_child),
        ]
        scenario = self.world.scenario
        if not scenario.loss_after_seconds or self.world.server.losses:  # else nobody would be left by then
            ways.append((1, self._delete))
        if any(thing.kind is Pool and thing.usable for thing in self.things):
            ways += [(4, self._add_member), (1, self._add_monitor), (1, self._replace_members)]
        return rng.choices([way for _, way in ways], [weight for weight, _ in ways])[0]

    async def _attempt(self, write: Callable[[], Awaitable[None]]) -> None:
        world = self.world
        losses = world.server.losses
        try:
            await write()
        except Unknown:
            world.counts["writes unknown"] += 1
        except (NotFound, Conflict) as error:
            if world.server.losses > losses:
                return  # what it was about is lost
            world.watch.violation(f"an acknowledged object is not there, or a refusal without a reason: {error}")
        except RequestError as error:
            world.watch.violation(f"unexpected refusal: {error!r}")

    async def _ask(self, what: str, work: Callable[[Any], Awaitable[Change]]) -> Change:
        """Send one request to some controller, as to the API. Raises :class:`Unknown`."""
        world = self.world
        world.note("client", what, *(thing.id for thing in self.things[:1]))
        answer, losses = world.serve(self._rng, work), world.server.losses
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                change = await answer
        except (TimeoutError, Unavailable, ConnectionError) as error:
            world.note("client", "unknown", what, type(error).__name__)
            raise Unknown from error
        if world.server.losses > losses:
            world.note("client", "perhaps lost", what)
            raise Unknown
        world.counts["writes acknowledged"] += 1
        world.note("client", "acknowledged", what, change.revision)
        self._acknowledged(what, change)
        return change

    def _acknowledged(self, what: str, change: Change) -> None:
        watch = self.world.watch
        row = watch.load_balancers.get(change.load_balancer_id)
        if change.load_balancer_id not in watch.gone and (row is None or row.revision < change.revision):
            watch.violation(f"{what} of {change.load_balancer_id} was acknowledged at {change.revision}; stored: {row}")
        if what.startswith("delete"):
            return  # a second delete changes nothing and says so
        if change.revision in self.revisions:
            watch.violation(f"two writes were acknowledged as revision {change.revision} of {self.root.id}")
        self.revisions[change.revision] = what

    def _name(self) -> str:
        self._names += 1
        return f"name-{self._names}"

    def _pick(self, *kinds: type[Any]) -> Thing | None:
        found = [thing for thing in self.things if thing.usable and (not kinds or thing.kind in kinds)]
        return self._rng.choice(found) if found else None

    # -- requests of a story, which are made again until they are answered

    async def create_tree(self) -> None:
        """The same tree at every try."""
        if self._tree is None:
            self._tree = self._new_tree(full=True)
        tree, plan = self._tree
        try:
            await self._ask("create", lambda store: store.tenants.create_load_balancer(tree, plan))
        finally:
            if self.root.id in self.world.watch.load_balancers:
                for thing in self.things:
                    thing.created = True

    async def rename_root(self) -> None:
        """Another name."""
        await self._change(self.root)

    async def add_member(self) -> None:
        """One more."""
        await self._add_member()

    async def delete_root(self) -> None:
        """All of it."""
        self.root.uncertain = False
        await self._delete()

    # -- writes

    async def _create(self) -> None:
        tree, plan = self._new_tree(full=self._rng.random() < 0.6)
        await self._ask("create", lambda store: store.tenants.create_load_balancer(tree, plan))
        for thing in self.things:
            thing.created = True

    def _new_tree(self, *, full: bool) -> tuple[LoadBalancerTree, VipPlan]:
        world = self.world
        root = Thing(LoadBalancer, world.new_id(), self._name())
        self.things.append(root)
        port_id = world.new_id()
        row = LoadBalancer(
            id=root.id,
            project_id=self.project_id,
            vip=Vip(address=self.address, subnet_id="s", network_id="n", port_id=port_id),
            provider=world.environment,
            name=next(iter(root.names)),
        )
        tree = LoadBalancerTree(load_balancer=row)
        below: list[Thing] = []
        if full:
            tree, below = self._full_tree(root, row)
        self.things += below
        plan = VipPlan(subnet_id="s", network_id="n", port_id=port_id, address=self.address)
        return tree, plan

    def _full_tree(self, root: Thing, row: LoadBalancer) -> tuple[LoadBalancerTree, list[Thing]]:
        pool = Thing(Pool, self.world.new_id(), self._name(), root)
        listener = Thing(Listener, self.world.new_id(), self._name(), root)
        members = [Thing(Member, self.world.new_id(), self._name(), pool) for _ in range(self._rng.randrange(3))]
        tree = LoadBalancerTree(
            load_balancer=row,
            pools=(self._pool_row(pool),),
            listeners=(self._listener_row(listener, pool.id),),
            members=tuple(self._member_row(member) for member in members),
        )
        return tree, [pool, listener, *members]

    async def _look_for_root(self) -> None:
        """The create was unknown: look, as a client would."""
        found = await self._ask_get()
        if found is not None:
            for thing in self.things:
                thing.created = True

    async def _ask_get(self) -> Any:
        answer = self.world.serve(
            self._rng, lambda store: store.tenants.get(LoadBalancer, self.root.id, project_id=None), change=False
        )
        losses = self.world.server.losses
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found = await answer
        except NotFound:
            return None
        except (TimeoutError, Unavailable, ConnectionError) as error:
            raise Unknown from error
        if self.world.server.losses > losses:
            raise Unknown  # read before the loss, answered after it
        return found

    async def _rename(self) -> None:
        if (thing := self._pick()) is not None:
            await self._change(thing)

    async def _change(self, thing: Thing) -> None:
        name = self._name()
        parent_id = thing.parent.id if thing.kind is Member and thing.parent else None
        thing.asked(name)
        try:
            if thing.kind is LoadBalancer:
                await self._ask(
                    "change",
                    lambda store: store.tenants.update_load_balancer(thing.id, {"name": name}, project_id=None),
                )
            else:
                await self._ask(
                    f"change {thing.kind.__name__}",
                    lambda store: store.tenants.update_child(
                        thing.kind, thing.id, {"name": name}, parent_id=parent_id, project_id=None
                    ),
                )
        except Unknown:
            thing.perhaps_renamed(name)
            raise
        thing.renamed(name)

    async def _add(self, thing: Thing, what: str, work: Callable[[Any], Awaitable[Change]]) -> None:
        self.things.append(thing)
        await self._ask(what, work)
        thing.created = True

    async def _add_listener(self) -> None:
        listener = Thing(Listener, self.world.new_id(), self._name(), self.root)
        row = self._listener_row(listener, None)
        await self._add(listener, "add listener", lambda store: store.tenants.add_listener(row, project_id=None))

    async def _add_pool(self) -> None:
        pool = Thing(Pool, self.world.new_id(), self._name(), self.root)
        row = self._pool_row(pool)
        await self._add(
            pool, "add pool", lambda store: store.tenants.add_pool(row, [], None, listener_id=None, project_id=None)
        )

    async def _add_member(self) -> None:
        if (pool := self._pick(Pool)) is not None:
            member = Thing(Member, self.world.new_id(), self._name(), pool)
            row = self._member_row(member)
            await self._add(member, "add member", lambda store: store.tenants.add_members((row,), project_id=None))

    async def _add_monitor(self) -> None:
        pools = [
            pool
            for pool in self.things
            if pool.kind is Pool
            and pool.usable
            and not any(each.kind is HealthMonitor and each.parent is pool for each in self.things)
        ]
        if not pools:
            return
        pool = self._rng.choice(pools)
        monitor = Thing(HealthMonitor, self.world.new_id(), self._name(), pool)
        row = HealthMonitor(
            id=monitor.id,
            pool_id=pool.id,
            load_balancer_id=self.root.id,
            project_id=self.project_id,
            type="TCP",
            delay=5,
            timeout=3,
            max_retries=2,
            name=next(iter(monitor.names)),
        )
        await self._add(monitor, "add monitor", lambda store: store.tenants.add_health_monitor(row, project_id=None))

    async def _replace_members(self) -> None:
        pool = self._pick(Pool)
        if pool is None:
            return
        old = [thing for thing in self.things if thing.kind is Member and thing.parent is pool]
        new = [Thing(Member, self.world.new_id(), self._name(), pool) for _ in range(2)]
        rows = [self._member_row(thing) for thing in new]
        self.things += new
        try:
            await self._ask(
                "replace members",
                lambda store: store.tenants.replace_members(pool.id, rows, additive_only=False, project_id=None),
            )
        except Unknown:
            pool.uncertain = True  # whenever it lands, it decides over all members
            raise
        for thing in old:
            thing.deleted = True
        for thing in new:
            thing.created = True

    async def _delete_child(self) -> None:
        thing = self._pick(Listener, Pool, Member, HealthMonitor)
        if thing is not None:
            parent_id = thing.parent.id if thing.kind is Member and thing.parent else None
            await self._remove(
                thing,
                f"delete {thing.kind.__name__}",
                lambda store: store.tenants.delete_child(thing.kind, thing.id, parent_id=parent_id, project_id=None),
            )

    async def _delete(self) -> None:
        root = self.root
        await self._remove(
            root, "delete", lambda store: store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)
        )

    async def _remove(self, thing: Thing, what: str, work: Callable[[Any], Awaitable[Change]]) -> None:
        below = [each for each in self.things if each.within(thing)]
        try:
            await self._ask(what, work)
        except Unknown:
            for each in below:
                each.uncertain = True
            raise
        for each in below:
            each.deleted = True

    # -- rows

    def _listener_row(self, listener: Thing, pool_id: str | None) -> Listener:
        self._ports += 1
        return Listener(
            id=listener.id,
            load_balancer_id=self.root.id,
            project_id=self.project_id,
            protocol="TCP",
            protocol_port=1000 + self._ports,
            default_pool_id=pool_id,
            name=next(iter(listener.names)),
        )

    def _pool_row(self, pool: Thing) -> Pool:
        return Pool(
            id=pool.id,
            load_balancer_id=self.root.id,
            project_id=self.project_id,
            protocol="TCP",
            lb_algorithm="ROUND_ROBIN",
            name=next(iter(pool.names)),
        )

    def _member_row(self, member: Thing) -> Member:
        self._ports += 1
        assert member.parent is not None
        address, subnet_id = "10.0.0.1", None
        if self.world.scenario.networks:
            ways = (("10.0.0.1", MEMBERS), ("10.1.0.1", own_subnet(self.project_id)), ("10.9.0.1", None))
            address, subnet_id = self._rng.choice(ways)
        return Member(
            id=member.id,
            pool_id=member.parent.id,
            load_balancer_id=self.root.id,
            project_id=self.project_id,
            address=address,
            subnet_id=subnet_id,
            protocol_port=1000 + self._ports,
            name=next(iter(member.names)),
        )
