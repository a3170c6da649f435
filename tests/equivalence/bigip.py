"""Histories on BIG-IPs: an emulated device that got every change must hold, and do, the same as one that is configured
from nothing.
"""

import asyncio
import contextlib
import itertools
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from evenkeel.core.devices.device import Observation, PartitionBatch
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.kit.ids import ProjectId, SessionId
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from icontrol_emulator import Emulator
from icontrol_emulator.config.schema import Scope
from icontrol_emulator.config.types import load_registry
from tests.devices.bigip.rig import ENVIRONMENT, BigIpRig
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, session_of
from tests.equivalence import definitions as d
from tests.equivalence import history as h
from tests.equivalence.site import Site
from tests.equivalence.traffic import AGREE_SECONDS, different, set_dead, traffic_differences, within
from tests.equivalence.verdict import Verdict

NAMES = BigIpNames(environment=ENVIRONMENT, prefix=ENVIRONMENT, group=1)
BIGIP = h.Device(
    table=CAPABILITIES,
    render=lambda tree: render_load_balancer(tree, NAMES).problem,
    happens=(("change", 12), ("interrupted_change", 2), ("member_dies", 2), ("member_returns", 1), ("daemon_dies", 1)),
)
"""``daemon_dies``: the agent does, and another one takes over."""
NO_GUARD = "evenkeel_guard"
_DIGEST = re.compile(r"\b(dev_monitor|dev_vip|listener|loadbalancer)-[0-9a-f]{12}(?![0-9a-f-])")
_KINDS = tuple(
    one.path for one in load_registry() if one.scope is Scope.PARTITIONED and not one.owner and one.creatable
)
"""Types of objects that a partition can hold."""


class Place(NamedTuple):
    """One device with its site."""

    rig: BigIpRig
    site: Site


class _Agents:
    """The agents of one device, one after the other."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._epochs = itertools.count(1)
        self.take_over()

    def take_over(self) -> None:
        """Another agent is the owner from now on."""
        self.epoch = next(self._epochs)
        self._owner: Owner = self._place.rig.owner(allow_loopback_addresses="true")

    async def apply(self, *trees: ServiceDefinition, complete: bool = False) -> list[str]:
        """Make it so; what was refused."""
        batch = PartitionBatch(
            project_id=ProjectId(PROJECT),
            epoch=self.epoch,
            session_id=SessionId(session_of(self.epoch)),
            services=tuple(
                replace(d.certified(self._place.site.moved(tree)), project_id=ProjectId(PROJECT)) for tree in trees
            ),
            complete=complete,
            certificates=d.CONTENTS,
        )
        outcome = await self._owner.apply(batch)
        return [f"{one.load_balancer_id} refused: {one.error}" for one in outcome.outcomes if one.error]

    async def statuses(self) -> dict[str, Any]:
        """Operating status of everything, as the agent reports it."""
        seen: Observation = await self._owner.observe()
        return {f"status of {one.id}": one.status.value for one in seen.statuses}


async def content(place: Place) -> dict[str, Any]:
    """All objects of the partition, with the addresses of definitions. Files that were made again have another time
    and number; names of monitors for one member, and names and descriptions of what
    belongs to additional VIPs, have a digest of the address."""
    found = {}
    for kind in _KINDS:
        for name, item in (await place.rig.hands.items(kind)).items():
            if not name.startswith(NO_GUARD):
                text = _DIGEST.sub(r"\1-of-one-address", place.site.named(json.dumps({"name": name, **item})))
                shown = json.loads(text)
                key = f"{kind} {shown['name']} {shown.get('destination', '')} {shown.get('address', '')}"
                found[key] = None if kind.startswith("sys/file/") else shown
    return found


async def run(history: h.History, old: Place, new: Place, folder: Path) -> Verdict:
    """The verdict on one history. The devices must hold nothing."""
    trial = _Trial(history, old, new, folder)
    return Verdict(history, tuple(await trial.differences()))


class _Trial:
    def __init__(self, history: h.History, old: Place, new: Place, folder: Path) -> None:
        self._history = history
        self._old, self._new, self._folder = old, new, folder
        self._agents = _Agents(old)
        self._trees = history.first
        self._dead: set[tuple[str, int]] = set()
        self._revision = 1
        self._found: list[str] = []

    async def differences(self) -> list[str]:
        """Everything that is not as it should be."""
        self._found += await self._agents.apply(*self._trees.values(), complete=True)
        for step in self._history.steps:
            await self._do(step)
        for place in self._dead:
            await set_dead(self._new.site, place, dead=True)
        agents = _Agents(self._new)
        self._found += [f"the new one: {text}" for text in await agents.apply(*self._trees.values(), complete=True)]
        self._found += await self._content_differences()
        self._found += await self._status_differences(agents)
        sites = (self._old.site, self._new.site)
        trees = self._trees.values()
        found = await traffic_differences(trees, *sites, self._folder, self._states, hashes_members=True)
        return [*self._found, *found]

    async def _do(self, step: h.Step) -> None:
        if isinstance(step, h.Change):
            await self._change(step)
        elif isinstance(step, h.MemberDies | h.MemberReturns):
            dies = isinstance(step, h.MemberDies)
            await set_dead(self._old.site, step.place, dead=dies)
            (self._dead.add if dies else self._dead.discard)(step.place)
        elif isinstance(step, h.DaemonDies):
            self._agents.take_over()
            self._found += await self._agents.apply(*self._trees.values(), complete=True)

    async def _change(self, step: h.Change) -> None:
        before = self._trees
        for edit in step.edits:
            self._trees = edit.on(self._trees)
        self._revision += 1
        changed = {
            name: replace(one, revision=self._revision)
            for name, one in self._trees.items()
            if before.get(name) is not one
        }
        self._trees = {**self._trees, **changed}
        gone = [
            replace(one, deleted=True, listeners=(), pools=())
            for name, one in before.items()
            if name not in self._trees
        ]
        if not step.dies_after:
            self._found += await self._agents.apply(*changed.values(), *gone)
            return
        dying = asyncio.create_task(self._agents.apply(*changed.values(), *gone))
        for _ in range(step.dies_after):  # so many turns of the event loop it still has
            await asyncio.sleep(0)
        dying.cancel()
        with contextlib.suppress(asyncio.CancelledError, EvenKeelError):
            await dying
        self._agents.take_over()
        self._found += await self._agents.apply(*self._trees.values(), complete=True)

    async def _states(self) -> Any:
        """All objects of the partition, which have members' states; None while the devices differ."""
        old, new = await content(self._old), await content(self._new)
        return old if old == new else None

    async def _content_differences(self) -> list[str]:
        """Once members' states, which monitors set, are the same; else all of them."""
        last: list[str] = []

        async def agree() -> bool:
            last[:] = different(await content(self._old), await content(self._new))
            return not last

        await within(AGREE_SECONDS, agree)
        return last

    async def _status_differences(self, agents: _Agents) -> list[str]:
        last: list[str] = []

        async def agree() -> bool:
            last[:] = different(await self._agents.statuses(), await agents.statuses())
            return not last

        await within(AGREE_SECONDS, agree)
        return last


@asynccontextmanager
async def places(folder: Path) -> AsyncIterator[tuple[Place, Place]]:
    """Two empty devices with their sites; monitors are ten times as fast as they say."""
    async with contextlib.AsyncExitStack() as stack:
        found = []
        for name in ("old", "new"):
            own = folder / name
            own.mkdir(exist_ok=True)
            site = Site(own)
            stack.push_async_callback(site.stop)
            site.start()
            emulator = await stack.enter_async_context(
                Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1)
            )
            rig = BigIpRig(emulator, "standalone")
            stack.push_async_callback(rig.close)
            found.append(Place(rig, site))
        yield found[0], found[1]


async def tried(history: h.History, folder: Path) -> Verdict:
    """The verdict on one history, with devices of its own."""
    own = folder / f"trial-{os.urandom(4).hex()}"
    own.mkdir()
    async with places(own) as (old, new):
        return await run(history, old, new, own)
