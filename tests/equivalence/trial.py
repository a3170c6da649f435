"""One trial: a history on one HAProxy, its final state on another one, and all differences between them.

Allowed are differences of counters and stick table entries, and of members that both judge by another number of checks.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServiceMember, ServicePool
from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import Vip
from evenkeel.devices import challenges
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.config.loaded import remove_unused_backends
from evenkeel.haproxyd.haproxy.runtime.drift import parse_list
from tests.devices.plain_http import ask
from tests.equivalence import definitions as d
from tests.equivalence import history as h
from tests.equivalence import runtime
from tests.equivalence.faults import FAULTS
from tests.equivalence.host import Host, Partition, host
from tests.equivalence.site import MEMBER_PORT, PORTS_FROM, STEADY_PLACE, Site, occupied, with_real_port
from tests.equivalence.traffic import (
    AGREE_SECONDS,
    LOOK_SECONDS,
    check_differences,
    different,
    set_dead,
    traffic_differences,
    within,
)
from tests.equivalence.verdict import Verdict

NOTICE_SECONDS, WATCH_SECONDS = 10.0, 0.02
KERNEL_LOOKS = 5
"""Looks in a row in which the kernels of both hosts must hold the same."""
BOUND_ELSEWHERE = ("10.1.0.7", 87)
"""A place that another program has."""


class Rig:
    """Two hosts with a site each: one for histories, one for what begins from nothing. Used again for each trial."""

    def __init__(self, old: tuple[Host, Site], new: tuple[Host, Site], folder: Path) -> None:
        self.old, self.new = old, new
        self.folder = folder

    async def run(self, history: h.History) -> Verdict:
        """The verdict on one history."""
        trial = _Trial(self, history)
        try:
            return Verdict(history, tuple(await trial.differences()))
        finally:
            await trial.clean_up()


@asynccontextmanager
async def rig(folder: Path, fault: str = "") -> AsyncIterator[Rig]:
    """A rig whose hosts run. ``fault``: planted in the daemon with a history, and in the agents here."""
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(patch.object(challenges, "CHALLENGE_PORT", PORTS_FROM + challenges.CHALLENGE_PORT))
        if fault:
            stack.enter_context(FAULTS[fault].plant())
        found = []
        for name, planted in (("old", fault), ("new", "")):
            own = folder / name
            own.mkdir()
            site = Site(own)
            stack.push_async_callback(site.stop)
            site.start()
            found.append((await stack.enter_async_context(host(own, planted)), site))
        yield Rig(*found, folder)


# -- load balancers that are there in every trial


def _small(number: int, port: int, *pools: ServicePool, **changes: Any) -> ServiceDefinition:
    listener = ServiceListener(
        id=f"listener-of-{number}",
        protocol="HTTP",
        protocol_port=port,
        default_pool_id=pools[0].id if pools else None,
        **changes,
    )
    return ServiceDefinition(
        load_balancer_id=LoadBalancerId(f"lb-{number}"),
        project_id=ProjectId("project"),
        revision=1,
        vip=Vip(address=f"10.1.0.{number}", subnet_id="s", network_id="n", port_id="p"),
        listeners=(listener,),
        pools=pools,
    )


_STEADY_MEMBER = ServiceMember(id="steady-member", address=f"10.2.0.{STEADY_PLACE}", protocol_port=MEMBER_PORT)
STEADY_PORT = 86
STEADY = _small(
    8,
    STEADY_PORT,
    ServicePool(id="steady-pool", protocol="HTTP", lb_algorithm="ROUND_ROBIN", members=(_STEADY_MEMBER,)),
)
"""It never changes, and serves all the time."""
UNBINDABLE = _small(7, BOUND_ELSEWHERE[1])
TICKER_PORT = 88


def _ticker(reloads: int) -> ServiceDefinition:
    """A load balancer that needs a reload to be another one than before."""
    return _small(9, TICKER_PORT, timeout_client_data=50_000 + reloads)


class _Steady:
    """A client of the load balancer that never changes. ``failures``: what it got instead of answers."""

    def __init__(self, site: Site) -> None:
        self._place = site.real(STEADY.vip.address, STEADY_PORT)
        self.failures: list[str] = []
        self.during = "the beginning"
        self.paused = False

    async def run(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self.paused:
                continue
            during = self.during
            head, _ = await ask(self._place, "/")
            if " 200 " not in head[:20] and not self.paused:
                self.failures.append(f"{head.partition(chr(13))[0] or 'refused'} during {during}")


# -- one trial


class _Trial:
    def __init__(self, rig: Rig, history: h.History) -> None:
        self._history = history
        (self._old_host, self._old_site), (self._new_host, self._new_site) = rig.old, rig.new
        self._old, self._new = self._old_host.partition(), self._new_host.partition()
        self._folder = rig.folder
        self._trees = history.first
        self._dead: set[tuple[str, int]] = set()
        self._reloads = 0
        self._unbindable = False
        self._steady = _Steady(self._old_site)
        self._found: list[str] = []
        self._holders = [occupied(site, *BOUND_ELSEWHERE) for site in (self._old_site, self._new_site)]

    async def clean_up(self) -> None:
        """Nothing of it is left on the hosts."""
        for one in self._holders:
            one.close()
        for site in (self._old_site, self._new_site):
            site.start()
            site.forget()
        await self._old_host.revive()
        for partition in (self._old, self._new):
            await partition.remove()
        for each in (self._old_host, self._new_host):
            each.silence(())

    async def differences(self) -> list[str]:
        """Everything that is not as it should be."""
        await self._apply(*self._everything(), complete=True)
        if self._found:
            return self._found
        watching = asyncio.create_task(self._steady.run())
        try:
            for number, step in enumerate(self._history.steps, start=1):
                self._steady.during = f"step {number}, {type(step).__name__}"
                await self._do(step)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        self._found += _first(self._steady.failures, "the load balancer that never changes: ")
        await self._start_new_one()
        return [*self._found, *await self._compare()]

    def _everything(self) -> list[ServiceDefinition]:
        more = [UNBINDABLE] if self._unbindable else []
        return [*self._trees.values(), STEADY, _ticker(self._reloads), *more]

    async def _apply(self, *trees: ServiceDefinition, complete: bool = False) -> None:
        moved = [d.certified(self._old_site.moved(tree)) for tree in trees]
        try:
            errors = await self._old.apply(*moved, complete=complete)
        except EvenKeelError as error:
            self._found.append(f"a change failed: {error}")
        else:
            self._found += _wrong_errors(trees, errors)

    # -- steps

    async def _do(self, step: h.Step) -> None:
        if isinstance(step, h.Change):
            await self._change(step)
        elif isinstance(step, h.MemberDies | h.MemberReturns):
            await self._die_or_return(step)
        elif isinstance(step, h.DaemonDies):
            await self._old_host.kill(state_lost=step.state_lost)
            await self._apply(*self._everything(), complete=True)
        elif isinstance(step, h.WorkerDies):
            await self._kill_worker()
        elif isinstance(step, h.Reload):
            self._reloads += 1
            await self._apply(_ticker(self._reloads))
        else:
            self._unbindable = step.wanted
            await self._apply(UNBINDABLE if step.wanted else d.deleted(UNBINDABLE))

    async def _change(self, step: h.Change) -> None:
        before = self._trees
        for edit in step.edits:
            self._trees = edit.on(self._trees)
        changed = [tree for name, tree in self._trees.items() if before.get(name) is not tree]
        gone = [
            replace(tree, deleted=True, listeners=(), pools=())
            for name, tree in before.items()
            if name not in self._trees
        ]
        if not step.dies_after:
            if changed or gone:
                await self._apply(*changed, *gone)
            return
        self._old_host.dies_after(step.dies_after)
        with contextlib.suppress(EvenKeelError):
            await self._old.apply(*(d.certified(self._old_site.moved(tree)) for tree in (*changed, *gone)))
        await self._old_host.kill()
        await self._apply(*self._everything(), complete=True)

    async def _die_or_return(self, step: h.MemberDies | h.MemberReturns) -> None:
        await set_dead(self._old_site, step.place, dead=isinstance(step, h.MemberDies))
        (self._dead.add if isinstance(step, h.MemberDies) else self._dead.discard)(step.place)
        self._old_host.silence(_silent(self._old_site, self._dead))
        if step.noticed:
            await self._until_noticed()

    async def _until_noticed(self) -> None:
        """Until the checks have run that see it; a HAProxy that checks elsewhere never does."""
        expected = _checked(self._trees.values(), self._dead)

        async def so() -> bool:
            rows = await _rows(self._old, self._old_site)
            up = {name.rpartition("/")[2]: row["srv_op_state"] != "0" for name, row in rows.items()}
            return runtime.settled(rows) and not any(up.get(name, False) for name in expected)

        await within(NOTICE_SECONDS, so)

    async def _kill_worker(self) -> None:
        self._steady.paused = True
        await self._old.kill_worker()

        async def serves() -> bool:
            return bool((await ask(self._old_site.real(STEADY.vip.address, STEADY_PORT), "/"))[1])

        await within(NOTICE_SECONDS, serves)
        self._steady.paused = False

    # -- the new one

    async def _start_new_one(self) -> None:
        for place in self._dead:
            await set_dead(self._new_site, place, dead=True)
        self._new_host.silence(_silent(self._new_site, self._dead))
        trees = self._everything()
        errors = await self._new.apply(*(d.certified(self._new_site.moved(tree)) for tree in trees), complete=True)
        self._found += [f"the new one: {text}" for text in _wrong_errors(trees, errors)]

    # -- comparing

    async def _compare(self) -> list[str]:
        sites = (self._old_site, self._new_site)
        found = await self._compare_states()
        found += await check_differences(*sites)
        found += await traffic_differences(self._trees.values(), *sites, self._folder, self._states)
        return found

    async def _states(self) -> Any:
        """Members' states on both HAProxys and in the kernel, and how often members went down; None while they
        differ."""
        old, new = await asyncio.gather(*(_changes(one, self._members()) for one in (self._old, self._new)))
        rules = self._old.rules(self._old_site), self._new.rules(self._new_site)
        if rules[0] != rules[1] or any(old[name][0] != new[name][0] for name in old.keys() & new.keys()):
            return None
        return old, new, rules

    async def _compare_states(self) -> list[str]:
        """What the runtime shows, and what the agent reports, once all checks have run."""
        last: list[str] = []

        async def agree() -> bool:
            old, new = await asyncio.gather(
                self._shown(self._old, self._old_site), self._shown(self._new, self._new_site)
            )
            dead = _checked(self._trees.values(), self._dead)
            last[:] = [*different(old, new), *_not_errors(old, dead)] or await self._compare_rules()
            return not last

        await within(AGREE_SECONDS, agree)
        return last

    async def _compare_rules(self) -> list[str]:
        """What the kernels hold, in several looks: a kernel learns of a dead member a moment after its HAProxy, so a
        kernel that is never told agrees with one that is not told yet."""
        for _ in range(KERNEL_LOOKS if self._old.rules(self._old_site) else 0):
            await asyncio.sleep(LOOK_SECONDS)
            await self._new.statuses()  # an observation, which the daemon tells its kernel
            if found := different(self._old.rules(self._old_site), self._new.rules(self._new_site)):
                return found
        return []

    async def _shown(self, partition: Partition, site: Site) -> dict[str, Any]:
        sections = frozenset[str]().union(*map(_sections, self._everything()))
        maps = [file.name for tree in self._everything() for file in _loaded(tree).files if file.kind == "map"]
        shown = await _shown(partition, site, self._members(), sections)
        return shown | await _maps(partition, maps)

    def _members(self) -> frozenset[str]:
        return frozenset(member.id for tree in self._everything() for pool in tree.pools for member in pool.members)


def _wrong_errors(trees: Sequence[ServiceDefinition], errors: Mapping[str, str]) -> list[str]:
    """Load balancers that were refused and should not have been, and the other way round."""
    name = UNBINDABLE.load_balancer_id
    found = [f"{each} refused: {text}" for each, text in errors.items() if each != name]
    if any(tree is UNBINDABLE for tree in trees) and name not in errors:
        found.append(f"{BOUND_ELSEWHERE} is bound, although another program has it")
    return found


def _first(texts: Sequence[str], before: str) -> list[str]:
    """A few of them, and how many there are."""
    return [f"{before}{text} ({count} times)" for text, count in Counter(texts).most_common(3)]


def _not_errors(shown: Mapping[str, Any], dead: frozenset[str]) -> list[str]:
    """Members that answer no check, and have another status than ERROR."""
    found = {name: shown.get(f"status of {name}") for name in sorted(dead)}
    return [
        f"{name} answers no check, and its status is {status}" for name, status in found.items() if status != "ERROR"
    ]


# -- looking


async def _rows(partition: Partition, site: Site) -> dict[str, dict[str, Any]]:
    try:
        return runtime.servers(site, await partition.ask(runtime.STATES), await partition.ask(runtime.STATISTICS))
    except HaproxyDown:
        return {}


async def _changes(partition: Partition, members: frozenset[str]) -> dict[str, tuple[str, str]]:
    with contextlib.suppress(HaproxyDown):
        return runtime.changes(await partition.ask(runtime.STATISTICS), members)
    return {}


async def _shown(partition: Partition, site: Site, members: frozenset[str], sections: frozenset[str]) -> dict[str, Any]:
    """``sections``: names of the listeners and pools that HAProxy is to have."""
    rows = runtime.without_ended(await _rows(partition, site), sections)
    compared = runtime.compared(rows, members)
    with contextlib.suppress(HaproxyDown):
        compared |= runtime.without_ended(runtime.backends(await partition.ask(runtime.STATISTICS)), sections)
    statuses = await partition.statuses()
    compared |= {f"status of {name}": status for name, status in statuses.items()}
    compared |= partition.rules(site)
    return compared | ({} if runtime.settled(rows) else {"unsettled": str(partition.project)})


async def _maps(partition: Partition, names: Sequence[str]) -> dict[str, Any]:
    """What the worker has in its maps, in any order."""
    with contextlib.suppress(HaproxyDown):
        return {f"map {name}": sorted(parse_list(await partition.ask(f"show map {name}"))) for name in names}
    return {}


def _loaded(tree: ServiceDefinition) -> wire.LoadBalancerConfig:
    """What HAProxy loads for a load balancer, at the addresses of definitions."""
    moved = replace(tree, listeners=tuple(map(with_real_port, tree.listeners)))
    rendered = render_load_balancer(d.certified(moved), d.CONTENTS).load_balancer
    assert rendered is not None
    return remove_unused_backends(rendered)


def _sections(tree: ServiceDefinition) -> frozenset[str]:
    """Names of the listeners and pools that HAProxy loads for a load balancer."""
    one = _loaded(tree)
    return frozenset((*(each.name for each in one.frontends), *(each.name for each in one.backends)))


def _checked(trees: Any, dead: set[tuple[str, int]]) -> frozenset[str]:
    """Members whose checks go to a place at which nobody answers; those of PING, to an address. Members of pools that
    no listener uses are not checked."""
    found = set()
    for tree in trees:
        sections = _sections(tree)
        for pool in tree.pools:
            if (
                pool.id not in sections
                or pool.monitor is None
                or not pool.monitor.admin_state_up
                or not pool.admin_state_up
            ):
                continue
            for member in pool.members:
                port = member.monitor_port or member.protocol_port
                port = MEMBER_PORT if pool.monitor.type == "PING" else port
                if member.admin_state_up and (member.monitor_address or member.address, port) in dead:
                    found.add(member.id)
    return frozenset(found)


def _silent(site: Site, dead: set[tuple[str, int]]) -> list[str]:
    """Addresses that no ping finds: those at whose first port nobody answers."""
    return [site.real_address(address) for address, port in dead if port == MEMBER_PORT]
