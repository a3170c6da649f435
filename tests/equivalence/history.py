"""Random histories: what users change, what happens to members, and what is killed meanwhile. Pure."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS
from tests.equivalence import definitions as d
from tests.equivalence import values
from tests.equivalence.challenges import Challenges
from tests.equivalence.riders import RIDINGS, Rider
from tests.equivalence.site import places

LOAD_BALANCERS = (1, 2)
"""Numbers of the load balancers that histories change."""
STEPS = 10
EFFECTS_MAX = 25
"""A daemon that dies within a change does so before one of so many effects on disk and HAProxy."""
Trees = dict[str, ServiceDefinition]
"""Load balancers by id, as users want them."""


class Set(NamedTuple):
    """Attributes of a part are changed; of the load balancer itself, if ``part_id`` is empty."""

    load_balancer_id: str
    part_id: str
    values: dict[str, Any]

    def on(self, trees: Trees) -> Trees:
        tree = trees.get(self.load_balancer_id)
        if tree is None:
            return trees
        if not self.part_id:
            return {**trees, self.load_balancer_id: replace(tree, **self.values)}
        return {**trees, self.load_balancer_id: d.edited(tree, self.part_id, lambda one: replace(one, **self.values))}


class Add(NamedTuple):
    """A part is added, or a load balancer, if ``parent_id`` is None."""

    load_balancer_id: str
    parent_id: str | None
    part: Any

    def on(self, trees: Trees) -> Trees:
        if self.parent_id is None:
            return {**trees, self.load_balancer_id: self.part}
        tree = trees.get(self.load_balancer_id)
        gone = tree is None or (self.parent_id and d.find(tree, self.parent_id) is None)
        if gone or tree is None:
            return trees
        return {**trees, self.load_balancer_id: d.added(tree, self.parent_id, self.part)}


class Remove(NamedTuple):
    """A part is removed, or the load balancer, if ``part_id`` is empty."""

    load_balancer_id: str
    part_id: str

    def on(self, trees: Trees) -> Trees:
        tree = trees.get(self.load_balancer_id)
        if tree is None:
            return trees
        if not self.part_id:
            return {name: one for name, one in trees.items() if name != self.load_balancer_id}
        return {**trees, self.load_balancer_id: d.edited(tree, self.part_id, lambda _: None)}


Edit = Set | Add | Remove


class Change(NamedTuple):
    """Users change something. ``dies_after``: the daemon is killed after so many effects; 0: it lives."""

    edits: tuple[Edit, ...]
    dies_after: int = 0


class MemberDies(NamedTuple):
    """Nobody answers at this place any more. ``noticed``: the next step waits until the checks have seen it."""

    place: tuple[str, int]
    noticed: bool


class MemberReturns(NamedTuple):
    """It answers again."""

    place: tuple[str, int]
    noticed: bool


class DaemonDies(NamedTuple):
    """The daemon is killed and started again. ``state_lost``: its state directory is gone by then."""

    state_lost: bool = False


class WorkerDies(NamedTuple):
    """HAProxy's worker is killed."""


class Reload(NamedTuple):
    """A change of another load balancer of the project needs a reload."""


class Unbindable(NamedTuple):
    """A load balancer at a place that another program has is wanted, and always refused; or it is wanted no more."""

    wanted: bool


Step = Change | MemberDies | MemberReturns | DaemonDies | WorkerDies | Reload | Unbindable


class History(NamedTuple):
    """``first``: what is there in the beginning."""

    seed: str
    first: Trees
    steps: tuple[Step, ...]


def wanted(history: History) -> Trees:
    """The load balancers at the end."""
    trees = history.first
    for step in history.steps:
        for edit in step.edits if isinstance(step, Change) else ():
            trees = edit.on(trees)
    return trees


def dead(history: History) -> frozenset[tuple[str, int]]:
    """Places at which nobody answers at the end."""
    found: set[tuple[str, int]] = set()
    for step in history.steps:
        if isinstance(step, MemberDies):
            found.add(step.place)
        elif isinstance(step, MemberReturns):
            found.discard(step.place)
    return frozenset(found)


class Device(NamedTuple):
    """A device type. ``render``: why its driver cannot render a definition; empty: it can. ``happens``: the kinds of
    steps besides changes, with weights."""

    table: Capabilities
    render: Callable[[ServiceDefinition], str]
    happens: tuple[tuple[str, int], ...]
    riders: bool = False
    """Whether load balancers that the kernel forwards ride along. Other load balancers then have nothing of UDP."""
    challenges: bool = False
    """Whether load balancers answer challenges of a certificate authority."""


def draw(seed: str, device: Device, *, steps: int = STEPS) -> History:
    """The history of a seed."""
    return _Drawing(seed, device).history(steps)


def _ridden(
    before: ServiceDefinition | None, after: ServiceDefinition | None
) -> tuple[ServiceDefinition | None, tuple[Edit, ...]]:
    """A load balancer that rides along after a change, and the edits that lead to it."""
    if after is None:
        return None, (() if before is None else (Remove(before.load_balancer_id, ""),))
    return after, (() if after is before else (Add(after.load_balancer_id, None, after),))


def _without_datagrams(table: Capabilities) -> Capabilities:
    """The table of what load balancers are drawn with beside those that ride along."""
    pairs = {name: pools for name, pools in table.protocol_pairs.items() if name not in DATAGRAM_PROTOCOLS}
    monitors = tuple(name for name in table.health_monitor_types if name not in ("UDP-CONNECT", "SCTP"))
    return msgspec.structs.replace(table, protocol_pairs=pairs, health_monitor_types=monitors)


class _Drawing:
    def __init__(self, seed: str, device: Device) -> None:
        self._seed = seed
        self._rng = Random(seed)
        self._device = device
        self._maker = d.Maker(self._rng, _without_datagrams(device.table) if device.riders else device.table)
        self._riders = [Rider(each, seed, self._problem) for each in RIDINGS] if device.riders else []
        self._challenges = Challenges(seed) if device.challenges else None
        self._dead: set[tuple[str, int]] = set()
        self._wants_unbindable = False

    def history(self, steps: int) -> History:
        first = {}
        for number in LOAD_BALANCERS[: self._rng.choice((1, 1, 2))]:
            first[f"lb-{number}"] = self._load_balancer(number)
        if self._challenges:
            first = {name: replace(tree, **self._challenges.drawn()) for name, tree in first.items()}
        trees, made = first, []
        ridden = [rider.first() for rider in self._riders]
        first = {**first, **{tree.load_balancer_id: tree for tree in ridden if tree is not None}}
        for _ in range(steps):
            step = self._step(trees)
            if isinstance(step, Change):
                for edit in step.edits:
                    trees = edit.on(trees)
                if self._challenges:
                    asked = tuple(Set(name, "", values) for name, values in self._challenges.changed(trees))
                    step = step._replace(edits=(*step.edits, *asked))
                    for edit in asked:
                        trees = edit.on(trees)
                for number, rider in enumerate(self._riders):
                    ridden[number], edits = _ridden(ridden[number], rider.after(ridden[number]))
                    step = step._replace(edits=(*step.edits, *edits))
            made.append(step)
        return History(self._seed, first, tuple(made))

    def _load_balancer(self, number: int) -> ServiceDefinition:
        while True:
            tree = self._maker.load_balancer(number, "project")
            if not self._problem(tree):
                return tree

    def _problem(self, tree: ServiceDefinition) -> str:
        return d.problem(tree, self._device.table, self._device.render)

    # -- steps

    def _step(self, trees: Trees) -> Step:
        kinds, weights = zip(*self._device.happens, strict=True)
        (kind,) = self._rng.choices(kinds, weights)
        made: Step = getattr(self, f"_{kind}")(trees)
        return made

    def _change(self, trees: Trees) -> Step:
        edits: list[Edit] = []
        for _ in range(self._rng.choice((1, 1, 1, 2, 3))):
            edit = self._edit(trees)
            trees = edit.on(trees)
            edits.append(edit)
        return Change(tuple(edits))

    def _interrupted_change(self, trees: Trees) -> Step:
        made = self._change(trees)
        assert isinstance(made, Change)
        return made._replace(dies_after=self._rng.randint(1, EFFECTS_MAX))

    def _member_dies(self, trees: Trees) -> Step:
        place = self._rng.choice(sorted(self._checked_places(trees) or set(places())))
        self._dead.add(place)
        return MemberDies(place, noticed=self._rng.random() < 0.7)

    def _member_returns(self, trees: Trees) -> Step:
        if not self._dead:
            return self._member_dies(trees)
        place = self._rng.choice(sorted(self._dead))
        self._dead.discard(place)
        return MemberReturns(place, noticed=self._rng.random() < 0.5)

    def _checked_places(self, trees: Trees) -> set[tuple[str, int]]:
        """Where members are, or are checked."""
        found = {
            (member.monitor_address or member.address, member.monitor_port or member.protocol_port)
            for tree in trees.values()
            for pool in tree.pools
            for member in pool.members
        }
        return found - self._dead

    def _daemon_dies(self, trees: Trees) -> Step:
        return DaemonDies()

    def _state_lost(self, trees: Trees) -> Step:
        return DaemonDies(state_lost=True)

    def _worker_dies(self, trees: Trees) -> Step:
        return WorkerDies()

    def _reload(self, trees: Trees) -> Step:
        return Reload()

    def _unbindable(self, trees: Trees) -> Step:
        self._wants_unbindable = not self._wants_unbindable
        return Unbindable(self._wants_unbindable)

    # -- edits

    def _edit(self, trees: Trees) -> Edit:
        """One that leaves the load balancer without problems."""
        while True:
            name = self._rng.choice(sorted(trees)) if trees else ""
            edit = self._some_edit(trees, name)
            if edit is None:
                continue
            after = edit.on(trees)
            tree = after.get(edit.load_balancer_id)
            if after != trees and (tree is None or not self._problem(tree)):
                return edit

    def _some_edit(self, trees: Trees, name: str) -> Edit | None:
        absent = [number for number in LOAD_BALANCERS if f"lb-{number}" not in trees]
        draw = self._rng.random()
        if not name or (absent and draw < 0.05):
            number = self._rng.choice(absent)
            return Add(f"lb-{number}", None, self._load_balancer(number))
        if draw < 0.08:
            return Remove(name, "")
        if draw < 0.1:
            return Set(name, "", {"admin_state_up": not trees[name].admin_state_up})
        if draw < 0.3:
            return self._addition(trees[name])
        if draw < 0.42:
            return self._removal(trees[name])
        return self._setting(trees[name])

    def _setting(self, tree: ServiceDefinition) -> Edit | None:
        by_kind: dict[str, list[Any]] = {}
        for _, part in d.parts(tree):
            by_kind.setdefault(d.KIND_OF[type(part)], []).append(part)
        if not by_kind:
            return None
        # monitors and pools are few, and what depends on them is much
        kinds = sorted(by_kind)
        weights = [{"pool": 4, "monitor": 3, "member": 4, "listener": 4}.get(kind, 2) for kind in kinds]
        (kind,) = self._rng.choices(kinds, weights)
        part = self._rng.choice(by_kind[kind])
        name = self._rng.choice(values.attributes(kind))
        return Set(tree.load_balancer_id, part.id, self._maker.drawn(part, name, tree))

    def _addition(self, tree: ServiceDefinition) -> Edit | None:
        rng, name = self._rng, tree.load_balancer_id
        kind = rng.choice(("member", "member", "monitor", "listener", "pool", "policy", "policy", "rule"))
        if kind == "listener" and len(tree.listeners) < d.LISTENERS_MAX:
            return Add(name, "", self._maker.listener(tree))
        if kind == "pool" and len(tree.pools) < len(d.POOL_PLACES):
            own = int(name.rpartition("-")[2])
            numbers = [number for number in d.POOL_PLACES if d.find(tree, f"pool-{own}-{number}") is None]
            return Add(name, "", self._maker.pool(own, rng.choice(numbers)))
        if kind in ("member", "monitor") and tree.pools:
            pool = rng.choice(tree.pools)
            if kind == "monitor":
                return Add(name, pool.id, self._maker.monitor()) if pool.monitor is None else None
            taken = {int(one.address.rpartition(".")[2]) for one in pool.members}
            free = [place for place in d.POOL_PLACES[int(pool.id.rpartition("-")[2])] if place not in taken]
            return Add(name, pool.id, self._maker.member(pool, rng.choice(free))) if free else None
        return self._policy_addition(tree, kind)

    def _policy_addition(self, tree: ServiceDefinition, kind: str) -> Edit | None:
        rng, name = self._rng, tree.load_balancer_id
        if not tree.listeners:
            return None
        listener = rng.choice(tree.listeners)
        if kind == "policy" and len(listener.l7policies) < d.POLICIES_MAX:
            return Add(name, listener.id, self._maker.policy(tree, listener))
        policies = [one for one in listener.l7policies if len(one.rules) < d.RULES_MAX]
        return Add(name, rng.choice(policies).id, self._maker.rule()) if kind == "rule" and policies else None

    def _removal(self, tree: ServiceDefinition) -> Edit | None:
        found = [part for _, part in d.parts(tree)]
        kinds: Sequence[str] = sorted({d.KIND_OF[type(one)] for one in found})
        if not kinds:
            return None
        kind = self._rng.choice(kinds)
        return Remove(tree.load_balancer_id, self._rng.choice([o for o in found if d.KIND_OF[type(o)] == kind]).id)
