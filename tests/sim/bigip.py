"""Device groups of BIG-IPs: the product's ``bigip`` driver, unchanged, against the emulator's devices without sockets.

Only the exchange of one HTTP request is replaced: it takes its way through :mod:`tests.sim.effects`, so that each
request of a transaction may be lost, late, or left behind by a process that dies. The emulator decides everything else,
guards included. Every commit must begin with a guard, and nothing of a tenant may be written outside of one.
"""

import base64
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace
from yarl import URL

from evenkeel.core.control.epochs import is_epoch_in_range
from evenkeel.core.devices.device import DeviceFacts, PartitionBatch, PartitionOutcome, PartitionRetirement
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable, OwnershipGuardLost, StaleOwner
from evenkeel.core.kit.ids import COMMON_PROJECT, ProjectId, SessionId
from evenkeel.core.resources.statuses import HaType, RescheduleMode
from evenkeel.devices.bigip import device as device_module
from evenkeel.devices.bigip import driver as driver_module
from evenkeel.devices.bigip.driver import BigIpGroup
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import BigIpNames, Guard, parse_guard, parse_mark
from evenkeel.devices.bigip.options import BigIpOptions, parse_options
from evenkeel.devices.bigip.ownership.minimum_epoch import NO_MINIMUM
from evenkeel.devices.errors import RequestNotSent
from evenkeel.devices.https import HttpsTransport
from icontrol_emulator import Emulator
from icontrol_emulator.rest.message import Reply, parse_query
from icontrol_emulator.server import TRANSACTION_HEADER
from tests.sim.effects import Effects, Latency, Lost
from tests.sim.networks import PHYSICAL
from tests.sim.process import Process
from tests.sim.silence import answer_awaited
from tests.sim.watch import Watch

ENVIRONMENT = "sim"
TRANSACTION = "/mgmt/tm/transaction"
DATA_GROUP = "ltm/data-group/internal"
FREE = (TRANSACTION, "/mgmt/tm/auth/partition", "/mgmt/tm/sys/config", "/mgmt/shared/")
"""What may be written without a guard: it touches nothing that a tenant has."""
LOSES_UNSAVED_SECONDS = 8.0
"""A shorter absence might not be noticed by anybody, as no reboot of a BIG-IP is."""
FOREIGN = "hand-made"
OPERATORS_NODE = "10.9.0.1"
ADJACENT = {"f5_global_routed_mode": False, "f5_external_physical_mappings": [f"{PHYSICAL}:1.1:True"]}
ADMIN = {"Authorization": "Basic " + base64.b64encode(b"admin:admin").decode()}


class BigBox:
    """One emulated device."""

    def __init__(self, name: str, emulator: Emulator, site: "BigIpSite") -> None:
        self.name = name
        self.device = emulator.devices[name]
        self._server = emulator._servers[name]
        self._log = emulator.write_log
        self._site = site
        self._away_since = 0.0
        self.silent = False
        """It refuses nothing and answers nothing."""
        self.backup = self.device.engine.store.snapshot()

    @property
    def reachable(self) -> bool:
        return self.device.reachable

    @reachable.setter
    def reachable(self, up: bool) -> None:
        now = self._site.effects.loop.now
        if not up:
            self._away_since = now
            self.device.forget_sessions()
        elif not self.device.reachable and now - self._away_since > LOSES_UNSAVED_SECONDS:
            self._site.load(self, self.device.saved)
        self.device.reachable = up

    def holds(self) -> dict[str, str]:
        """Every object of ours on it but guards, by type and path: which load balancer it is of."""
        return {
            f"{key.type} {key.parent} {key.path}": mark.load_balancer_id
            for key, item in self.device.engine.store.snapshot().objects.items()
            if (mark := parse_mark(item.props.get("description"))) is not None and mark.load_balancer_id
        }

    def take_backup(self) -> None:
        self.backup = self.device.engine.store.snapshot()

    def execute(
        self, method: str, path: str, query: str, raw: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes, bool]:
        """One request, as the device carries it out: status, body, and whether it was done."""
        arrived = self._log.arrive(
            device=self.name,
            user="",
            user_agent="",
            method=method,
            path=path,
            transaction_id=headers.get(TRANSACTION_HEADER, ""),
            body=None,
        )
        try:
            outcome = self._server._execute(path, parse_query(query), raw, arrived, headers, "127.0.0.1")
        finally:
            self._log.leave(arrived)
        response = self._server._response(outcome)
        body = response.body if isinstance(response.body, bytes) else b""
        return response.status, body, isinstance(outcome, Reply)

    def by_hand(self, method: str, path: str, body: Any = None) -> bool:
        """Somebody with the admin's password."""
        raw = b"" if body is None else json.dumps(body).encode()
        return self.execute(method, f"/mgmt/tm/{path}", "", raw, ADMIN)[2]

    def names(self, kind: str, partition: str) -> list[str]:
        return sorted(path.rpartition("/")[2] for path in self.device.objects(kind, partition))

    def guards(self, partition: str) -> list[Guard]:
        found = (parse_guard(name) for name in self.names(DATA_GROUP, partition))
        return sorted((guard for guard in found if guard is not None), key=lambda guard: (guard.epoch, guard.session))

    def epochs(self, partition: str) -> list[int]:
        return [guard.epoch for guard in self.guards(partition)]


class BigIpSite:
    """The devices of one group, as all its agents reach them."""

    driver = "bigip"

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
        self.effects = effects
        self.watch = watch
        self.rng = rng
        self.latency = Latency(0.002, 0.02)
        self.undone: dict[str, set[tuple[int, Process]]] = {}
        """By project, passes that have not reached every device yet: epoch and who makes them."""
        self.networks = False
        """The devices are attached to networks."""
        self.error = self.lose = 0.0
        self.poisoned: set[str] = set()
        self._reschedule = reschedule
        self._projects: dict[str, str] = {}
        """Tenants by partition."""
        self._foreign: dict[str, set[str]] = {}
        """Partitions of ours in which somebody made an object, by device."""
        names = [f"bigip-{number}-{index}" for index in range(1, boxes + 1)]
        emulator = Emulator(
            names,
            ha="standalone" if boxes == 1 else "pair",
            data_plane=False,
            state_dir=Path("/nonexistent"),
            clock=lambda: 1_700_000_000.0 + effects.loop.now,
        )
        self.boxes = [BigBox(name, emulator, self) for name in names]
        for box in self.boxes:
            box.device.transactions._random = random.Random(rng.random())
        self._names = BigIpNames(environment=ENVIRONMENT, prefix=ENVIRONMENT, group=1)

    def attach(self) -> None:
        """The devices are attached to networks; what projects share of them has a guard of its own."""
        self.networks = True
        self._projects[self._names.partition_name(COMMON_PROJECT)] = COMMON_PROJECT

    def options(self, host: str) -> BigIpOptions:
        given = {
            "icontrol_hostname": [box.name for box in self.boxes],
            "icontrol_password": "admin",
            "f5_ha_type": (HaType.STANDALONE if len(self.boxes) == 1 else HaType.PAIR).value,
            "connect_timeout": 1.0,
            "request_timeout": 2.0,
            "commit_timeout": 2.0,
            "retry_time": 1.0,
            "save_interval": 2.0,
            "full_read_interval": 600.0,
            **(ADJACENT if self.networks else {}),
        }
        options = parse_options(given, environment=ENVIRONMENT, group_number=1, host=host)
        return replace(options, hosts=tuple(box.name for box in self.boxes))

    def open(self, process: Process) -> "SimBigIp":
        return SimBigIp(self, self._group(process.name, lambda box: _Wire(self, box, process).exchange), process)

    def _group(self, host: str, wire: Callable[[BigBox], Any]) -> BigIpGroup:
        boxes = {box.name: box for box in self.boxes}

        def icontrol(name: str, options: BigIpOptions, _tls: Any) -> IControl:
            now = self.effects.loop.time
            transport = _Transport(name, options, _tls, requests_max=options.connections_max, now=now)
            transport.wire = wire(boxes[name])
            return _IControl(name, options, https=transport, now=now)

        with (
            patch.object(device_module, "IControl", icontrol),
            patch.object(driver_module, "tls_context", lambda options: object()),
        ):
            return BigIpGroup(self.options(host))

    # -- foreign objects

    def add_foreign(self, project_id: str) -> None:
        self._projects[self._names.partition_name(project_id)] = project_id
        for box in self.boxes:
            box.by_hand("POST", "auth/partition", {"name": "sim_other_environment"})
            box.by_hand("POST", "ltm/pool", {"name": FOREIGN, "partition": "sim_other_environment"})
            box.by_hand("POST", "ltm/pool", {"name": FOREIGN, "partition": "Common"})
            if self.networks:  # tenants' members have it too
                box.by_hand("POST", "ltm/node", {"name": FOREIGN, "address": OPERATORS_NODE})

    def foreign_untouched(self, project_ids: list[str]) -> bool:
        return all(
            FOREIGN in box.names("ltm/pool", partition)
            for box in self.boxes
            for partition in ("Common", "sim_other_environment", *sorted(self._foreign.get(box.name, ())))
        ) and (not self.networks or all(FOREIGN in box.names("ltm/node", "Common") for box in self.boxes))

    # -- what arrives

    def carry_out(
        self, process: Process, box: BigBox, request: tuple[str, str, str, bytes, Mapping[str, str]]
    ) -> tuple[int, bytes]:
        """A request lands on a device."""
        method, path, _, raw, headers = request
        if not box.reachable or process.cut_from_devices:
            raise RequestNotSent(box.name, "no connection")
        if self.effects.fault("device error", self.error / 4):
            raise DeviceUnavailable(box.name, "connection lost: before")
        commits = method == "PATCH" and path.startswith(f"{TRANSACTION}/") and b"VALIDATING" in raw
        commands = box.device.transactions.commands_of(path.split("/")[4]) if commits else []
        status, body, done = box.execute(*request)
        if done and commits:
            self._committed(process, box, commands)
        elif done and method != "GET" and not headers.get(TRANSACTION_HEADER) and not self._free(path, raw):
            self.watch.violation(f"{box.name}: {process.name} wrote without a guard: {method} {path}")
        if self.effects.fault("device answer lost", self.lose / 4):
            raise Lost
        return status, body

    def _free(self, path: str, raw: bytes) -> bool:
        """Is it something that may be written without a guard?"""
        names = (
            self._names.device_claim_name,
            self._names.minimum_epoch_sentinel,
            self._names.minimum_epoch_guard_name(NO_MINIMUM),
        )
        named = any(path.endswith(name) or f'"{name}"'.encode() in raw for name in names)
        return path.startswith(FREE) or (DATA_GROUP in path and named)

    def _committed(self, process: Process, box: BigBox, commands: Sequence[Any]) -> None:
        guards = [guard for command in commands if (guard := _guard_of(command)) is not None]
        kept = [(partition, epoch) for partition, epoch, method in guards if method != "DELETE"]
        if not kept:
            self.watch.violation(f"{box.name}: {process.name} committed without a guard")
            return
        partition, epoch = kept[0]
        project_id = self._projects.get(partition, partition)
        self.watch.accepted(box.name, self.number, project_id, epoch, process)

    # -- what happens to devices

    def load(self, box: BigBox, snapshot: Any) -> None:
        box.device.load(snapshot)
        self.watch.contents_lost(self.number, self._projects.values())
        guards = {
            project: max(filter(is_epoch_in_range, box.epochs(name)), default=0)
            for name, project in self._projects.items()
        }
        self.watch.restored(box.name, dict(guards))
        self._foreign.pop(box.name, None)
        for project_id in list(self._projects.values()):
            self.add_foreign(project_id)

    def restore(self, box: BigBox) -> None:
        """An older backup comes back, guards and all; or the device is replaced by an empty one."""
        if self.rng.random() < 0.3:
            self.wipe(box)
            return
        box.device.forget_sessions()
        box.device.saved = box.backup
        self.load(box, box.device.saved)

    def wipe(self, box: BigBox) -> None:
        """It is replaced by an empty one."""
        box.device.forget_sessions()
        box.device.saved = box.device.factory
        self.load(box, box.device.saved)

    def edit_by_hand(self, box: BigBox, new_id: str) -> str:
        """Somebody changes, removes or adds objects; says what."""
        rng = self.rng
        partition = rng.choice(sorted(name for name, project in self._projects.items() if project))
        pools, virtuals = box.names("ltm/pool", partition), box.names("ltm/virtual", partition)
        way = rng.choice(("changed", "removed", "orphan", "foreign", "guard", "impossible guard", "member", "claim"))
        if way == "changed" and pools:
            pool = rng.choice(pools)
            box.by_hand("PATCH", f"ltm/pool/~{partition}~{pool}", {"loadBalancingMode": "least-connections-member"})
        elif way == "removed" and virtuals:
            box.by_hand("DELETE", f"ltm/virtual/~{partition}~{rng.choice(virtuals)}")
        elif way == "orphan":
            mark = self._names.marked_description("pool", new_id, new_id)
            body = {"name": self._names.object_name(new_id), "partition": partition, "description": mark}
            box.by_hand("POST", "ltm/pool", body)
        elif way == "foreign" and box.by_hand("POST", "ltm/pool", {"name": FOREIGN, "partition": partition}):
            self._foreign.setdefault(box.name, set()).add(partition)
        elif way == "guard" and (guards := box.guards(partition)):
            box.by_hand("DELETE", f"{DATA_GROUP}/~{partition}~{guards[-1].name}")
            self.watch.guard_moved(box.name, self._projects[partition], 0)
        elif way == "impossible guard":
            body = {"name": f"evenkeel_guard_{2**63 - 1}", "partition": partition, "type": "string"}
            box.by_hand("POST", DATA_GROUP, body)
        elif way == "member" and pools:
            box.by_hand("PATCH", f"ltm/pool/~{partition}~{rng.choice(pools)}", {"members": []})
        elif way == "claim":
            box.by_hand("DELETE", f"{DATA_GROUP}/~Common~{self._names.device_claim_name}")
        return way

    # -- in the end

    def forget(self, project_ids: Iterable[str]) -> None:
        """What is there of these tenants is judged by nobody: only tenants that have a shard are judged."""

    def old_guards(self, project_id: str, epoch: int) -> Iterable[str]:
        """Devices that do not know the owner yet."""
        partition = self._names.partition_name(project_id)
        for box in self.boxes:
            if box.epochs(partition) != [epoch]:
                yield f"{box.name} is guarded by {box.epochs(partition)}, not {epoch}, for {project_id}"

    def unfinished(self) -> Iterable[str]:
        """Passes that are under way or will be made again."""
        for project_id, passes in sorted(self.undone.items()):
            if any(not process.dead for _, process in passes):
                yield f"a pass over {project_id} in group {self.number} has not reached every device"

    async def judge(self, wanted: Sequence[PartitionBatch], stored: dict[str, ServiceDefinition]) -> None:
        """A driver that knows nothing finds everything as it must be, orphans included."""
        group = self._group("judge", _at_once)
        for batch in wanted:
            partition = self._names.partition_name(batch.project_id)
            if not batch.services and not all(box.guards(partition) for box in self.boxes):
                continue  # nobody ever wrote here, or since a device was emptied
            try:
                outcome = await group.apply(batch)
            except Exception as error:
                moved = isinstance(error, OwnershipGuardLost | StaleOwner)
                if not moved or any(not service.deleted for service in batch.services):  # else: before the next change
                    self.watch.violation(f"group {self.number} refuses its owner: {error!r}")
                continue
            errors = [one.error for one in outcome.outcomes if one.error]
            if outcome.writes or errors:
                self.watch.violation(
                    f"group {self.number}: another pass over {batch.project_id} writes {outcome.writes} times, {errors}"
                )
        await group.close()


class SimBigIp:
    """One process's driver. Tells the watch what the devices hold before anybody can report it."""

    def __init__(self, site: BigIpSite, group: BigIpGroup, process: Process) -> None:
        self._site = site
        self._group = group
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)

    @property
    def facts(self) -> DeviceFacts:
        """What the group is."""
        return replace(self._group.facts, reschedule=self._site._reschedule)

    async def apply(self, batch: PartitionBatch) -> PartitionOutcome:
        """Write."""
        self._site.effects.note("device", self._process.name, "apply")
        undone = self._site.undone.setdefault(batch.project_id, set())
        undone.add((batch.epoch, self._process))
        try:
            outcome = await self._group.apply(batch)
        except StaleOwner:
            undone.discard((batch.epoch, self._process))
            raise
        if not outcome.lagging:  # whatever older owners left undone
            undone.difference_update({one for one in undone if one[0] <= batch.epoch})
        self._site.watch.applied(batch, [one for one in outcome.outcomes if not one.error])
        return outcome

    async def retire(self, project_id: str, epoch: int, session_id: str) -> PartitionRetirement:
        """Remove what is empty."""
        retirement = await self._group.retire(ProjectId(project_id), epoch, SessionId(session_id))
        if not retirement.left and not retirement.lagging:
            self._site.watch.counts["partitions removed"] += 1
            undone = self._site.undone.setdefault(project_id, set())
            undone.difference_update({one for one in undone if one[0] <= epoch})
        return retirement

    async def close(self) -> None:
        """Disconnect."""
        await self._group.close()


class _IControl(IControl):
    """The driver's client, whose tokens are not given back: what it was started with is gone when it closes."""

    async def close(self) -> None:
        """Disconnect."""
        await self._https.close()


class _Transport(HttpsTransport):
    """The driver's transport with another wire."""

    wire: Callable[..., Any]

    async def _send_request(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        answer: tuple[int, bytes] = await self.wire(method, url.raw_path, url.raw_query_string, body or b"", headers)
        self._answered_at_seconds = self._now()
        return answer


class _Wire:
    """From one process to one device."""

    def __init__(self, site: BigIpSite, box: BigBox, process: Process) -> None:
        self._site = site
        self._box = box
        self._process = process

    async def exchange(
        self, method: str, path: str, query: str, raw: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """One request there, and its answer back."""
        site, box, process = self._site, self._box, self._process
        await answer_awaited(box)
        answer: tuple[int, bytes] = await site.effects.request(
            process,
            f"{method} {path}",
            lambda: site.carry_out(process, box, (method, path, query, raw, headers)),
            latency=site.latency,
            lost=DeviceUnavailable(box.name, "connection lost: after"),
            effect=method != "GET",
        )
        return answer


def _at_once(box: BigBox) -> Any:
    async def exchange(method: str, path: str, query: str, raw: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        return box.execute(method, path, query, raw, headers)[:2]

    return exchange


def _guard_of(command: Any) -> tuple[str, int, str] | None:
    """(partition, epoch, method) of a queued command about a guard."""
    call = command.call
    if DATA_GROUP not in call.path:
        return None
    if call.method == "POST":
        partition, name = call.body.get("partition", ""), call.body.get("name", "")
    else:
        _, _, last = call.path.rpartition("/")
        _, partition, name = ([*last.split("~", 2), "", ""])[:3]
    guard = parse_guard(name)
    return None if guard is None else (partition, guard.epoch, call.method)
