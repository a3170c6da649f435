"""One partition: who may change it, what it holds, and the one task that applies changes in turn.

Changes that arrive while one is being applied wait and are applied together. What is held changes only after HAProxy
does it and the disk has it; the guard moves before anything else, and whoever moved it knows that no change of an
older owner lands any more. A HAProxy that dies is started again, at once the first time and then after growing pauses.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import structlog

from evenkeel.core.errors import EvenKeelError
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.haproxy.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runner import ApplyResult, HaproxyRunner
from evenkeel.haproxyd.haproxy.worker_users import PartitionUser, WorkerUsers
from evenkeel.haproxyd.network.binds import BindRegistry
from evenkeel.haproxyd.network.forbidden_addresses import ForbiddenAddresses
from evenkeel.haproxyd.network.peer_ports import PeerPorts
from evenkeel.haproxyd.partition.change_queue import ApplyPass, PartitionBusy
from evenkeel.haproxyd.partition.digests import Digests
from evenkeel.haproxyd.partition.guard import PartitionGuard
from evenkeel.haproxyd.partition.merge import MergedChanges, QueuedChange
from evenkeel.haproxyd.partition.restarts import Restarts
from evenkeel.haproxyd.ports import HaproxyDown, PartitionEvent, PartitionFailed, WorkerCli
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)

RETIRE_LOOK_SECONDS = 1.0
PUT_RIGHT_AGAIN_SECONDS = 60.0
FOUND_LOGGED = 5
WAITING_MAX = 200
"""Changes that may wait for their turn."""


class PartitionSupervisor:
    """One partition. Made by :class:`~evenkeel.haproxyd.partition.manager.PartitionManager`."""

    def __init__(
        self,
        name: str,
        settings: DaemonSettings,
        storage: PartitionStorage,
        registry: BindRegistry,
        peer_ports: PeerPorts,
        users: WorkerUsers,
        forbidden_addresses: ForbiddenAddresses,
        *,
        state_id: Callable[[], str],
        make_runner: Callable[[Callable[[], None]], HaproxyRunner],
        on_event: Callable[[PartitionEvent], None],
    ) -> None:
        self.name = name
        self.problem = ""
        self._settings = settings
        self._storage = storage
        self._registry = registry
        self._forbidden_addresses = forbidden_addresses
        self._state_id = state_id
        self._on_event = on_event
        self._guard = PartitionGuard(name, settings, storage, peer_ports)
        self._user = PartitionUser(name, storage, users)
        self._held: dict[str, wire.LoadBalancerConfig] = {}
        self._digests = Digests()
        self._requests: list[QueuedChange] = []
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._attention = False
        """Is a pass due without anybody's request?"""
        self._incomplete = False
        """Did somebody take away what is on disk?"""
        self._verify_next = True
        """A daemon before us may have ended in the middle of something."""
        self._passes = 0
        self._last_repair: tuple[float, tuple[str, ...]] = (0.0, ())
        """What was put right last, and until when it is not tried again."""
        self._started = False
        self._awaits_owner = False
        """Is its HAProxy to be left alone until its owner has said what it is to do?"""
        self._passing: ApplyPass | None = None
        self._closing = False
        self._down_told = False
        self._restarts = Restarts(settings)
        self._runner = make_runner(self._on_exit)
        self._log = log.bind(partition=name)

    # -- what others see

    @property
    def epoch(self) -> int:
        """The guard's; -1 before there is one."""
        return self._guard.epoch

    @property
    def session_id(self) -> str:
        """The guard's."""
        return self._guard.session_id

    @property
    def owner(self) -> str:
        """Environment and device group; empty: not known."""
        return self._guard.owner

    @property
    def digests(self) -> Mapping[str, str]:
        """Of all that is held of each load balancer, by id."""
        return self._digests.of(self._held)

    @property
    def held(self) -> Mapping[str, wire.LoadBalancerConfig]:
        """What was accepted, by id."""
        return self._held

    @property
    def cli(self) -> WorkerCli:
        """The current worker's."""
        return self._runner.process.cli

    @property
    def worker_pid(self) -> int | None:
        """The current worker; None when there is none."""
        return self._runner.process.worker_pid

    @property
    def master_pid(self) -> int | None:
        """The master; None when there is none."""
        return self._runner.process.master_pid if self._runner.process.up else None

    @property
    def runs(self) -> bool:
        """Is there a HAProxy? An empty partition needs none."""
        return self._runner.process.up

    @property
    def in_use(self) -> bool:
        """Does it hold anything, or still run?"""
        return bool(self._held) or self.runs

    @property
    def directory(self) -> Path:
        """Everything of this partition on disk."""
        return self._storage.directory

    @property
    def config_path(self) -> Path:
        """The composed configuration."""
        return self._storage.config_dir / "haproxy.cfg"

    @property
    def local_path(self) -> Path:
        """Where an operator's own configuration may be put."""
        return self._storage.local

    @property
    def peers(self) -> tuple[wire.HaproxyPeer, ...]:
        """The HAProxys that it shares its stick tables with."""
        return self._guard.peers

    @property
    def peer(self) -> wire.HaproxyPeer | None:
        """This one, as its peers must name it."""
        return self._guard.peer

    # -- life

    async def load(self) -> None:
        """Read the folder. Raises :class:`~evenkeel.haproxyd.disk.files.StorageBroken`, :class:`OSError`; what could be
        read is known then, and HAProxy's places are its own all the same."""
        try:
            await asyncio.to_thread(self._read)
        finally:
            self._claim()

    def _read(self) -> None:
        self._storage.prepare()
        self._user.read()  # also of one that cannot be read: its HAProxy goes on
        self._held = self._storage.change_log.read()
        self._guard.read()

    def _claim(self) -> None:
        self._registry.settle(self.name, {})
        for one in self._held.values():
            problem = self._registry.take(self.name, one)
            if problem:
                self._log.error("two listen at one place", load_balancer=one.id, reason=problem)
        self._guard.claim_port(wanted=bool(self._held))

    async def occupy(self) -> None:
        """Let nobody else have a place where this one's HAProxy may be listening."""
        self._registry.occupy(self.name, (await asyncio.to_thread(self._storage.read_running)).places)

    async def start(self) -> None:
        """Start a HAProxy if there is none. One that runs is adopted, and left alone for a while: the disk may be an
        older copy, and its owner is about to say what it is to do. Its trouble is in ``problem``."""
        try:
            await self._runner.adopt(self._config_of(self._held))
        finally:
            self._started = True
        self._awaits_owner = self.runs
        if not self._awaits_owner:
            self._attention = True
            await self._kick()
        elif not self._runner.unknown:
            self._wake_in(self._settings.owner_wait_seconds)

    async def close(self) -> None:
        """Finish what is under way and go; HAProxy stays."""
        self._closing = True
        self._cancel_timer()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._runner.process.leave()

    async def stop(self) -> None:
        """End HAProxy too."""
        self._closing = True
        self._cancel_timer()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._runner.stop()

    async def trim_log(self) -> None:
        """HAProxy's own words take no more than a certain space. Raises :class:`OSError`."""
        await asyncio.to_thread(self._storage.trim_log)

    # -- when somebody takes away what it needs

    def damage(self) -> str:
        """What somebody took away of its files or of what HAProxy needs to be reloaded; empty: nothing. Blocks
        shortly."""
        return self._storage.taken_away() or ("" if self._awaits_owner else self._runner.process.adrift())

    def mend(self, damage: str) -> None:
        """Put it back: what is held is known without the disk."""
        if self._closing or not self._started:
            return
        self._log.error("put right what was taken away", what=damage)
        self._incomplete = self._verify_next = self._attention = True
        self._kick()

    @property
    def settled(self) -> int | None:
        """How many passes there were; None while one is under way, or where HAProxy is left as it is."""
        working = self._task is not None and not self._task.done()
        return None if working or self._awaits_owner or not self._started else self._passes

    def repair_drift(self, found: Sequence[str]) -> None:
        """Somebody changed by hand what HAProxy does. What does not help is not tried again soon."""
        now = asyncio.get_running_loop().time()
        if self._closing or (tuple(found) == self._last_repair[1] and now < self._last_repair[0]):
            return
        self._last_repair = (now + PUT_RIGHT_AGAIN_SECONDS, tuple(found))
        self._log.warning("changed by hand; put right", found=found[:FOUND_LOGGED], count=len(found))
        self._on_event(PartitionEvent(partition=self.name, text=f"changed by hand, put right: {found[0]}"))
        self._verify_next = self._attention = True
        self._kick()

    async def _complete_files(self) -> None:
        """Raises :class:`OSError`."""
        await asyncio.to_thread(self._storage.prepare)
        await self._guard.write_again()
        await self._user.write_again()
        await asyncio.to_thread(self._storage.change_log.write, self._held.values())
        self._runner.forget_files()
        self._incomplete = False

    # -- changes

    async def guard(self, wanted: wire.GuardState) -> wire.GuardState:
        """Move the guard, on disk, before anything else. Once this returns, no change of an older owner lands. Raises
        as :meth:`~evenkeel.haproxyd.partition.guard.PartitionGuard.move`; :class:`PartitionBusy`, :class:`OSError`."""
        await self._guard.move(wanted)
        if self._passing is not None and self._passing.is_of_another(wanted.epoch, wanted.session_id):
            await self._passing.over(self._settings.guard_timeout_seconds)
        return msgspec.structs.replace(wanted, owner=self._guard.owner, state_id=self._state_id())

    async def change(self, change: wire.PartitionChange, *, complete: bool) -> wire.Receipt:
        """Apply a change that was checked. Raises as :meth:`~evenkeel.haproxyd.partition.guard.PartitionGuard.admit`;
        :class:`PartitionFailed`, :class:`PartitionBusy`, :class:`~evenkeel.haproxyd.ports.InvalidChange`."""
        self.admit(change)
        if self._closing or not self._started:
            raise PartitionBusy(f"the daemon is {'ending' if self._closing else 'beginning'}; try again later")
        if len(self._requests) >= WAITING_MAX:
            raise PartitionBusy(f"{WAITING_MAX} changes of partition {self.name} wait already")
        request = QueuedChange(change, complete=complete)
        self._requests.append(request)
        self._kick()
        return await asyncio.shield(request.receipt)

    def admit(self, change: wire.PartitionChange) -> None:
        """Raises as :meth:`~evenkeel.haproxyd.partition.guard.PartitionGuard.admit`."""
        self._guard.admit(change, self._state_id())

    def _kick(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name=f"partition {self.name}")
        return self._task

    async def _work(self) -> None:
        while self._requests or self._attention:
            self._attention = False
            requests, self._requests = self._requests, []
            try:
                await self._pass(requests)
            except Exception as error:
                failure = error if isinstance(error, PartitionFailed) else self._failed(error)
                for request in requests:
                    request.fail(failure)
        self._look_after_it()

    def _failed(self, error: Exception) -> PartitionFailed:
        if not isinstance(error, (EvenKeelError, OSError)):
            self._log.exception("pass failed")
        words = str(error) if isinstance(error, EvenKeelError) else type(error).__name__
        if isinstance(error, OSError):
            words = error.strerror or words
        self.problem = words if self._is_down() else self.problem or words
        self._restarts.failed()
        failure = PartitionFailed(f"partition {self.name}: {words}")
        failure.__cause__ = error
        return failure

    async def _pass(self, requests: list[QueuedChange]) -> None:
        if self._incomplete:
            await self._complete_files()
        if not requests and self._awaits_owner:
            return
        merge = MergedChanges(
            self._held,
            requests,
            settings=self._settings,
            registry=self._registry,
            forbidden_addresses=self._forbidden_addresses,
            peers=self._guard.peers,
            partition=self.name,
        )
        merge.refuse_unguarded(self.admit)
        self._awaits_owner = self._awaits_owner and not merge.requests
        self._passes += 1
        self._passing = ApplyPass(merge.requests)
        try:
            merge.merge()
            if not merge.requests and requests:
                return
            applied = await self._become(merge)
        finally:
            if merge.moved:
                self._registry.settle(self.name, self._held)
            self._passing.end()
        self._settle_problem(merge, applied)
        for request in merge.requests:
            request.answer(merge, applied, self.peer, self._guard.peers)
        await self._runner.catch_up()
        await asyncio.to_thread(self._storage.change_log.compact, self._held.values())
        if not self._held and not self._runner.process.up:
            await self._leave()

    async def _leave(self) -> None:
        """There is no HAProxy and there need not be one: others may have what it had."""
        await self._guard.leave_peers()
        await self._user.leave()

    async def _become(self, merge: MergedChanges) -> ApplyResult:
        """Let HAProxy do what is wanted, and hold what it does."""
        if merge.wanted:
            await self._guard.have_port()
            await self._user.have()
        peers = self._guard.peers if merge.peers is None else merge.peers
        verify = self._verify_next or any(request.complete for request in merge.requests)
        applied = await self._runner.become(self._config_of(merge.wanted, peers), verify=verify)
        self._verify_next = False
        await self._accept(merge, applied, peers)
        return applied

    async def _accept(self, merge: MergedChanges, applied: ApplyResult, peers: tuple[wire.HaproxyPeer, ...]) -> None:
        """Hold what HAProxy does now: first on disk."""
        merge.errors.update({name: words for name, words in applied.errors.items() if name in merge.named})
        held = merge.accepted(self._held)
        changed = [one for name, one in held.items() if self._held.get(name) != one]
        removed = self._held.keys() - held.keys()
        if changed or removed:
            await asyncio.to_thread(self._storage.change_log.append, changed, removed)
        self._held = held
        await self._guard.set_peers(peers)

    def _config_of(
        self, held: Mapping[str, wire.LoadBalancerConfig], peers: tuple[wire.HaproxyPeer, ...] | None = None
    ) -> HaproxyConfig:
        return HaproxyConfig(
            load_balancers=held,
            peer=self.peer,
            peer_key=self._guard.peer_key,
            peers=self._guard.peers if peers is None else peers,
            user=self._user.user,
        )

    # -- when HAProxy is in trouble

    def _settle_problem(self, merge: MergedChanges, applied: ApplyResult) -> None:
        left_out = {
            name: words for name, words in applied.errors.items() if name in self._held and name not in merge.named
        }
        reasons = [f"load balancer {name} is left out: {words}" for name, words in sorted(left_out.items())]
        reasons.extend([applied.problem] if applied.problem else [])
        if self._is_down():  # it died meanwhile, or nothing is left that it could do
            self.problem = "; ".join(reasons) or self.problem
            self._restarts.failed()
            return
        self.problem = "; ".join(reasons)
        self._restarts.served()
        if self._down_told and self._runner.process.up:
            self._down_told = False
            self._on_event(PartitionEvent(partition=self.name, up=True, text="HAProxy serves again"))

    def _on_exit(self) -> None:
        """HAProxy ended by itself."""
        if self._closing:
            return
        said = self._runner.process.last_words()
        pause_seconds = self._restarts.died()
        self.problem = f"HAProxy ended{f' ({said})' if said else ''}; {self._restarts.words()}"
        if not self._down_told:
            self._down_told = True
            self._on_event(PartitionEvent(partition=self.name, up=False, text=self.problem))
        self._wake_in(pause_seconds)

    def _look_after_it(self) -> None:
        """Nobody asks for anything: is there still something to be done, later?"""
        if self._closing or self._awaits_owner:
            return
        if self._runner.process.up and not self._held:
            self._wake_in(RETIRE_LOOK_SECONDS, retire=True)
        elif (self.problem or self._is_down()) and (self._timer is None or self._timer.cancelled()):
            down = not self._runner.process.up
            self._wake_in(self._restarts.pause_seconds if down else self._settings.restart_max_seconds)

    def _is_down(self) -> bool:
        """Is there no HAProxy although something is held?"""
        return bool(self._held) and not self._runner.process.up

    def _wake_in(self, seconds: float, *, retire: bool = False) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._wake, retire)

    def _wake(self, retire: bool) -> None:
        self._timer = None
        if self._closing or (self._task is not None and not self._task.done()):
            return  # who works looks after it afterwards
        self._awaits_owner = False
        if retire:
            self._task = asyncio.create_task(self._retire(), name=f"partition {self.name} retires")
            return
        self._attention = True
        self._kick()

    async def _retire(self) -> None:
        if not self._requests and not self._held:
            with contextlib.suppress(HaproxyDown, OSError):
                if await self._runner.retire():
                    await self._leave()
        await self._work()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
