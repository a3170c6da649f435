"""Device groups: the product's no-op devices (one or a pair) behind a faulty network, with hands that change things.

What a driver of a pair promises is done here for no-op devices: every device gets everything, one that is out of
reach lags, a stale owner is refused if any device says so. A write that is under way when its process freezes or dies
lands anyway; one that its own process gave up is dropped before that process's next one, as the BIG-IP driver does.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from evenkeel.core.devices.device import (
    Applied,
    DeviceFacts,
    DeviceState,
    Observation,
    PartitionBatch,
    PartitionOutcome,
    PartitionRetirement,
)
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable, OwnershipGuardLost, StaleOwner
from evenkeel.core.kit.ids import ProjectId, SessionId
from evenkeel.core.networking.networks import ROUTED_NETWORK_LAYOUT
from evenkeel.core.resources.statuses import HaType, OperatingStatus, RescheduleMode
from evenkeel.core.status.outcomes import ObservedStatus
from evenkeel.devices.noop import NoopGroup, NoopMemory
from evenkeel.devices.noop.memory import Partition
from tests.sim.effects import Effects, Latency, Lost
from tests.sim.networks import layout
from tests.sim.process import Process
from tests.sim.watch import Watch

T = TypeVar("T")
FOREIGN = "made by somebody else"


class Box:
    """One device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.memory = NoopMemory()
        self.group = NoopGroup(self.memory)
        self.backup: dict[str, Partition] = {}
        self.backup_floor = self.memory.floor
        self.restores = 0
        self._up = True
        self._silent = False

    @property
    def reachable(self) -> bool:
        return self.memory.reachable

    @reachable.setter
    def reachable(self, up: bool) -> None:
        self._up = up
        self.memory.reachable = up and not self._silent

    @property
    def silent(self) -> bool:
        """It refuses nothing and answers nothing."""
        return self._silent

    @silent.setter
    def silent(self, silent: bool) -> None:
        self._silent = silent
        self.memory.reachable = self._up and not silent

    def take_backup(self) -> None:
        self.backup = _copied(self.memory.partitions)
        self.backup_floor = self.memory.floor

    def holds(self) -> dict[str, ServiceDefinition]:
        """Everything of ours on it, by load balancer."""
        return {lb: service for _, part in self.memory.tenants() for lb, service in part.holds.items()}

    def everything(self) -> set[str]:
        """Ids of load balancers and shared networks of ours on it."""
        return {id_ for part in self.memory.partitions.values() for id_ in part.holds}


class Site:
    """The devices of one group, as all its agents reach them."""

    driver = "noop"

    def __init__(
        self,
        number: int,
        boxes: int,
        effects: Effects,
        watch: Watch,
        rng: random.Random,
        reschedule: RescheduleMode = RescheduleMode.CONTROL,
    ) -> None:
        self.number = number
        self.reschedule = reschedule
        self.boxes = [Box(f"device-{number}-{index}") for index in range(1, boxes + 1)]
        self.effects = effects
        self.watch = watch
        self.rng = rng
        self.latency = Latency(0.005, 0.05)
        self.error = self.lose = 0.0
        """Chances of: failed before anything was written, written without an answer."""
        self.poisoned: set[str] = set()
        """Load balancers that the devices refuse for now."""
        self.networks = False
        """The devices are attached to networks."""
        self.view: type[SimDevice] = SimDevice
        """Of a process that opens the site."""
        self.unseen: set[str] = set()
        """Load balancers that were written, and that a look at the devices in reach found on none of them."""
        self._written: set[str] = set()
        self._shared: set[str] = set()
        """Tenants in whose partitions somebody made something."""

    def attach(self) -> None:
        """The devices are attached to networks."""
        self.networks = True

    def open(self, process: Process) -> "SimDevice":
        """A process's view."""
        return self.view(self, process)

    def add_foreign(self, project_id: str) -> None:
        """Somebody uses the same devices, also inside partitions of ours: each second one, which then stays when it is
        empty otherwise."""
        if int(project_id.rpartition("-")[2]) % 2:
            return
        self._shared.add(project_id)
        for box in self.boxes:
            box.memory.partitions.setdefault(project_id, Partition()).foreign.add(FOREIGN)

    def foreign_untouched(self, project_ids: list[str]) -> bool:
        return all(
            project_id in box.memory.partitions and FOREIGN in box.memory.partitions[project_id].foreign
            for box in self.boxes
            for project_id in self._shared.intersection(project_ids)
        )

    # -- what arrives from agents

    def take_over(self, process: Process, project_id: str, epoch: int, session_id: str) -> None:
        """The guard moves on every device in reach."""

        def move(box: Box) -> None:
            _now(box.group.take_over(project_id, epoch, session_id))

        self._each(process, project_id, epoch, session_id, move)

    def apply(self, process: Process, batch: PartitionBatch) -> PartitionOutcome:
        """A batch lands."""
        services, refused = self._without_poisoned(batch)
        self._written |= {service.load_balancer_id for service in services}
        sent = replace(batch, services=services)
        done, lagging = self._each(
            process, batch.project_id, batch.epoch, batch.session_id, lambda box: _now(box.group.apply(sent))
        )
        outcomes = {one.load_balancer_id: one for outcome in done for one in outcome.outcomes}
        for outcome in done:  # an error of any device counts
            outcomes |= {one.load_balancer_id: one for one in outcome.outcomes if one.error}
        outcomes |= refused
        self.watch.applied(batch, [one for one in outcomes.values() if not one.error])
        return PartitionOutcome(
            outcomes=tuple(outcomes.values()),
            lagging=lagging,
            writes=sum(outcome.writes for outcome in done),
            left=tuple(sorted({one for outcome in done for one in outcome.left})),
            orphans=tuple(sorted({one for outcome in done for one in outcome.orphans})),
        )

    def retire(self, process: Process, project_id: str, epoch: int, session_id: str) -> PartitionRetirement:
        """Empty partitions go."""
        if self.effects.fault("device error", self.error):
            raise DeviceUnavailable(self.boxes[0].name, "busy")
        left = []
        for box in self.boxes:
            if not box.memory.reachable:
                continue
            guarded = project_id in box.memory.partitions and box.memory.partitions[project_id].epoch is not None
            if not box.memory.retire(ProjectId(project_id), epoch, SessionId(session_id)):
                left.append(box.name)
            elif guarded:
                self.watch.accepted(box.name, self.number, project_id, epoch, process, session_id)
                self.watch.counts["partitions removed"] += 1
        if self.effects.fault("device answer lost", self.lose):
            raise Lost
        lagging = tuple(box.name for box in self.boxes if not box.memory.reachable)
        if len(lagging) == len(self.boxes):
            raise DeviceUnavailable(self.boxes[0].name, "out of reach")
        return PartitionRetirement(left=tuple(left), lagging=lagging)

    def _without_poisoned(self, batch: PartitionBatch) -> tuple[tuple[ServiceDefinition, ...], dict[str, Applied]]:
        if not self.poisoned:
            return batch.services, {}
        held = self.boxes[0].holds()
        kept = []
        refused = {}
        for service in batch.services:
            if service.load_balancer_id not in self.poisoned or service.deleted:
                kept.append(service)
                continue
            if service.load_balancer_id in held:
                kept.append(held[service.load_balancer_id])
            refused[service.load_balancer_id] = Applied(
                load_balancer_id=service.load_balancer_id,
                revision=service.revision,
                change_id=service.change_id,
                error="refused by the device",
            )
        return tuple(kept), refused

    def _each(
        self, process: Process, project_id: str, epoch: int, session_id: str, work: Callable[[Box], T]
    ) -> tuple[list[T], tuple[str, ...]]:
        if self.effects.fault("device error", self.error):
            raise DeviceUnavailable(self.boxes[0].name, "busy")
        reached = [box for box in self.boxes if box.memory.reachable]
        if not reached:
            raise DeviceUnavailable(self.boxes[0].name, "out of reach")
        done: list[T] = []
        stale: StaleOwner | OwnershipGuardLost | None = None
        for box in reached:
            try:
                done.append(work(box))
            except StaleOwner as error:
                stale = error
            except OwnershipGuardLost as error:
                stale = stale or error
            else:
                self.watch.accepted(box.name, self.number, project_id, epoch, process, session_id)
            if self.watch.protected:
                self.watch.still_held(box.name, box.everything())
        if stale is not None:
            raise stale
        if self.effects.fault("device answer lost", self.lose):
            raise Lost
        return done, tuple(box.name for box in self.boxes if not box.memory.reachable)

    def states(self, *, cut: bool = False) -> tuple[DeviceState, ...]:
        """As an agent sees them; ``cut``: it sees none."""
        seen = [(box, box.memory.reachable and not cut) for box in self.boxes]
        return tuple(
            DeviceState(
                name=box.name,
                reachable=reachable,
                version="1",
                problem="" if reachable else "out of reach",
                identity=f"serial of {box.name}" if reachable else "",
                incarnation=str(box.restores) if reachable else "",
            )
            for box, reachable in seen
        )

    def observed(self) -> Observation:
        """One look at the devices in reach: what any of them holds works."""
        reached = [box for box in self.boxes if box.memory.reachable]
        digests = {box.name: box.memory.digests() for box in reached}
        held = sorted({lb for found in digests.values() for lb in found})
        self.unseen |= self._written.difference(held)
        missing = {lb: [box.name for box in reached if lb not in digests[box.name]] for lb in held}
        return Observation(
            devices=self.states(),
            statuses=tuple(ObservedStatus(kind="loadbalancer", id=lb, status=OperatingStatus.ONLINE) for lb in held),
            configurations={lb: " ".join(found.get(lb, "") for found in digests.values()) for lb in held},
            lacking={lb: ", ".join(names) for lb, names in missing.items() if names},
        )

    # -- what happens to devices

    def restore(self, box: Box) -> None:
        """An older backup comes back, guards and all; the device says that it was restored."""
        box.memory.floor = box.backup_floor
        self._put_back(box, box.backup)
        box.restores += 1

    def wipe(self, box: Box) -> None:
        """Everything of ours is gone, guards and all; the device cannot tell."""
        box.memory.floor = NoopMemory().floor
        self._put_back(box, {})

    def _put_back(self, box: Box, backup: dict[str, Partition]) -> None:
        foreign = {project: part.foreign for project, part in box.memory.partitions.items()}
        self.watch.contents_lost(self.number, box.memory.partitions)
        box.memory.partitions = _copied(backup)
        box.memory.reindex_addresses()
        for project, things in foreign.items():
            if things:
                box.memory.partitions.setdefault(project, Partition()).foreign |= things
        self.watch.restored(box.name, {project: part.epoch for project, part in box.memory.partitions.items()})

    def edit_by_hand(self, box: Box, new_id: str) -> str:
        """Somebody changes, removes or adds an object of ours, or moves a guard; says what."""
        rng = self.rng
        parts = [(project, part) for project, part in sorted(box.memory.partitions.items()) if part.holds]
        if not parts:
            return "nothing"
        project, part = rng.choice(parts)
        victim = rng.choice(sorted(part.holds))
        way = rng.choice(("changed", "removed", "added", "guard"))
        if way == "changed":
            part.holds[victim] = replace(part.holds[victim], name="changed by hand")
        elif way == "removed":
            del part.holds[victim]
            self.watch.contents_lost(self.number, {project})
        elif way == "added":
            service = part.holds[victim]
            vip = replace(service.vip, address=f"198.51.100.{rng.randrange(1, 255)}")
            part.holds[new_id] = replace(service, load_balancer_id=new_id, vip=vip)
            box.memory.reindex_addresses()
        elif part.epoch is not None:
            part.epoch += rng.randrange(1, 4)
            self.watch.guard_moved(box.name, project, part.epoch)
        return way

    # -- in the end

    def forget(self, project_ids: Iterable[str]) -> None:
        """What is there of these tenants is judged by nobody."""
        for box in self.boxes:
            for project_id in box.memory.partitions.keys() & set(project_ids):
                box.memory.partitions[project_id].holds.clear()

    def old_guards(self, project_id: str, epoch: int) -> Iterable[str]:
        """Devices that do not know the owner yet."""
        for box in self.boxes:
            partition = box.memory.partitions.get(project_id)
            if partition is None or partition.epoch != epoch:
                yield f"{box.name} is guarded by {partition and partition.epoch}, not {epoch}, for {project_id}"

    def unfinished(self) -> Iterable[str]:
        """Here a pass is one moment."""
        return ()

    async def judge(self, wanted: Sequence[PartitionBatch], stored: dict[str, ServiceDefinition]) -> None:
        """Every device holds what the store says and nothing else, and another complete pass writes nothing."""
        for box in self.boxes:
            held = box.holds()
            for load_balancer_id in sorted(stored.keys() | held.keys()):
                there, found = stored.get(load_balancer_id), held.get(load_balancer_id)
                if there is None:
                    self.watch.violation(f"{box.name} holds an orphan: {load_balancer_id}")
                elif there != found:
                    self.watch.violation(f"{box.name} differs from the store: {load_balancer_id}: {found} != {there}")
            for batch in wanted:
                self._judge_pass(box, batch)

    def _judge_pass(self, box: Box, batch: PartitionBatch) -> None:
        try:
            outcome = _now(box.group.apply(batch))
        except (OwnershipGuardLost, StaleOwner) as error:  # where nothing is, nobody finds out before the next change
            if any(not service.deleted for service in batch.services):
                self.watch.violation(f"{box.name} does not know its owner: {error!r}")
            return
        except Exception as error:
            self.watch.violation(f"{box.name} refuses its owner: {error!r}")
            return
        errors = [one.error for one in outcome.outcomes if one.error]
        if outcome.writes or errors:
            self.watch.violation(f"{box.name}: another pass writes {outcome.writes} times, errors {errors}")


class SimDevice:
    """One process's view of a site. Implements :class:`evenkeel.core.ports.Device`."""

    def __init__(self, site: Site, process: Process) -> None:
        self._site = site
        self._process = process
        self._under_way: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site.boxes[0].group, name)

    @property
    def facts(self) -> DeviceFacts:
        """What the group is."""
        site = self._site
        return replace(
            site.boxes[0].group.facts,
            reschedule=site.reschedule,
            ha_type=HaType.STANDALONE if len(site.boxes) == 1 else HaType.PAIR,
            endpoints=tuple(box.name for box in site.boxes),
            carries_traffic=True,
            exclusive=True,
            network_layout=layout(box.name for box in site.boxes) if site.networks else ROUTED_NETWORK_LAYOUT,
        )

    async def check(self) -> tuple[DeviceState, ...]:
        """As the devices are."""
        site, process = self._site, self._process
        states: tuple[DeviceState, ...] = await self._request(
            "check", lambda: site.states(cut=process.cut_from_devices), effect=False
        )
        return states

    async def take_over(self, project_id: str, epoch: int, session_id: str) -> None:
        """Move the guard."""
        await self._write(
            "take_over", project_id, lambda: self._site.take_over(self._process, project_id, epoch, session_id)
        )

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Write."""
        outcome: PartitionOutcome = await self._write(
            "apply", batch.project_id, lambda: self._site.apply(self._process, batch)
        )
        return outcome

    async def retire(self, project_id: str, epoch: int, session_id: str) -> PartitionRetirement:
        """Remove what is empty."""
        retirement: PartitionRetirement = await self._write(
            "retire", project_id, lambda: self._site.retire(self._process, project_id, epoch, session_id)
        )
        return retirement

    async def observe(self) -> Observation:
        """Look."""

        def look() -> Observation:
            if self._process.cut_from_devices or not any(box.memory.reachable for box in self._site.boxes):
                raise DeviceUnavailable(self._site.boxes[0].name, "out of reach")
            return self._site.observed()

        seen: Observation = await self._request("observe", look, effect=False)
        return seen

    async def wait_for_change(self) -> None:
        """It cannot tell."""
        await asyncio.Event().wait()

    async def enhanced_services(self) -> None:
        """There are none."""

    def forget(self, project_id: str) -> None:
        """Nothing is remembered."""

    async def close(self) -> None:
        """Nothing is open."""

    async def _write(self, what: str, project_id: str, do: Callable[[], T]) -> T:
        """A write of ours that we gave up is dropped before the next one."""
        number = self._under_way[project_id] = self._under_way.get(project_id, 0) + 1

        def arrive() -> T:
            if self._process.cut_from_devices:
                raise DeviceUnavailable(self._site.boxes[0].name, "out of this agent's reach")
            if self._under_way[project_id] != number:
                raise DeviceUnavailable(self._site.boxes[0].name, "dropped")
            return do()

        result: T = await self._request(what, arrive)
        return result

    async def _request(self, what: str, do: Callable[[], Any], *, effect: bool = True) -> Any:
        effects = self._site.effects
        effects.note("device", self._process.name, what)
        return await effects.request(
            self._process,
            f"device {what}",
            do,
            latency=self._site.latency,
            lost=DeviceUnavailable(self._site.boxes[0].name, "no answer"),
            effect=effect,
        )


def _copied(partitions: dict[str, Partition]) -> dict[str, Partition]:
    copies = {}
    for project_id, partition in partitions.items():
        copy = copies[project_id] = Partition()
        copy.epoch, copy.holds, copy.foreign = partition.epoch, dict(partition.holds), set(partition.foreign)
    return copies


def _now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a no-op device waited")
