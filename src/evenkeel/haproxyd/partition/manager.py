"""All partitions of one daemon. A broken partition does not affect the others."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import structlog

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk import keys_dir, run_dir
from evenkeel.haproxyd.disk.identity import DaemonIdentity
from evenkeel.haproxyd.disk.storage import PartitionStorage, partition_names
from evenkeel.haproxyd.errors import HaproxyDown, InvalidChange, PartitionFailed, PartitionUnknown
from evenkeel.haproxyd.haproxy.binary import BinaryFinder
from evenkeel.haproxyd.haproxy.config.layout import partition_layout
from evenkeel.haproxyd.haproxy.config.worker_size import HostWorkerSizes
from evenkeel.haproxyd.haproxy.old_workers import limit_memory, memory_limit_bytes
from evenkeel.haproxyd.haproxy.runner import HaproxyRunner
from evenkeel.haproxyd.haproxy.worker_users import WorkerUsers
from evenkeel.haproxyd.layer4.balancer import DatagramBalancer
from evenkeel.haproxyd.network.binds import BindRegistry
from evenkeel.haproxyd.network.forbidden_addresses import ForbiddenAddresses
from evenkeel.haproxyd.network.peer_ports import PeerPorts
from evenkeel.haproxyd.partition.applier import HostResources
from evenkeel.haproxyd.partition.contents import remove_private_keys
from evenkeel.haproxyd.partition.guard import NotPartitionOwner
from evenkeel.haproxyd.partition.owners import PrefixOwners
from evenkeel.haproxyd.partition.request_validation import check_change, check_guard, check_name
from evenkeel.haproxyd.partition.supervisor import PartitionSupervisor
from evenkeel.haproxyd.ports import MakeCounters, NoCounters, OnEvent, PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings, check_settings

log = structlog.get_logger(__name__)

CONCURRENT_STARTS_MAX = 8


def _ignore_event(event: PartitionEvent) -> None:
    """Ignore the event: the default of a manager without observers."""


def _make_no_counters(name: str, directory: Path) -> NoCounters:
    return NoCounters()


class PartitionManager:
    """Creates, loads, finds and maintains the partitions of this host. The constructor raises
    :class:`ValueError` for settings that cannot be used.
    """

    def __init__(
        self,
        settings: DaemonSettings,
        *,
        on_event: OnEvent = _ignore_event,
        make_counters: MakeCounters = _make_no_counters,
    ) -> None:
        check_settings(settings)
        self._settings = settings
        self._keys_dir = keys_dir.find_keys_dir(settings)
        self._on_event = on_event
        self._make_counters = make_counters
        self.forbidden_addresses = ForbiddenAddresses(settings)
        self.datagrams = DatagramBalancer(settings, on_event=on_event)
        self._host = HostResources(
            settings=settings,
            binds=BindRegistry(),
            peer_ports=PeerPorts(settings),
            worker_users=WorkerUsers(settings),
            forbidden_addresses=self.forbidden_addresses,
            datagrams=self.datagrams,
        )
        self._sizes = HostWorkerSizes(settings.maxconn)
        self.identity = DaemonIdentity(settings.state_dir)
        self._supervisors: dict[str, PartitionSupervisor] = {}
        self._owners = PrefixOwners()
        self._broken: dict[str, str] = {}
        """``{partition: reason}`` for partitions whose directories cannot be read: they are shown with their problem.

        They are left unchanged, and their HAProxys keep running, until a change arrives and the directory can be read.
        """
        self._creating: dict[str, asyncio.Task[None]] = {}
        """Partitions that are being created; several changes of one wait for the same task."""
        self.loaded = asyncio.Event()
        """Set when :meth:`names` returns all partitions; an observation made before would be incomplete."""
        self._binary = BinaryFinder(settings.haproxy)

    @property
    def note(self) -> str:
        """Return hints for operators about settings that are less secure than possible, and restrictions of
        this HAProxy; empty if there are none.
        """
        return "; ".join(self._partition_notes())

    def _partition_notes(self) -> Iterator[str]:
        if reason := self._host.worker_users.shared_reason:
            yield f"HAProxy's workers run as the daemon's user, because it is {reason}"
        if not keys_dir.is_in_memory(self._keys_dir):
            yield f"private keys are on disk, because {self._keys_dir.parent} is not in memory (tmpfs)"
        if self._binary.note:
            yield self._binary.note

    @property
    def separate_worker_users(self) -> bool:
        """Whether workers run as other users than the daemon."""
        return self._host.worker_users.has_separate_users

    @property
    def problem(self) -> str:
        """Return the reason why no HAProxy can be started or reloaded; empty if there is none. Running HAProxys keep
        running.
        """
        return self._binary.problem

    @property
    def haproxy_version(self) -> str:
        """Return HAProxy's version; empty when there is no usable HAProxy."""
        return self._binary.version

    # -- start and end

    async def start(self) -> None:
        """Load all partitions, adopt the running HAProxys and start the missing ones; sets ``loaded`` in
        between.

        Returns after one attempt for each partition: a partition that cannot be loaded or started keeps the
        reason in its ``problem``. Raises :class:`ValueError` or :class:`OSError` if a directory cannot be
        created.
        """
        await asyncio.to_thread(self._settings.partitions_dir.mkdir, mode=0o700, parents=True, exist_ok=True)
        await asyncio.to_thread(run_dir.create_run_dirs, self._settings)
        await asyncio.to_thread(keys_dir.create_keys_dir, self._keys_dir)
        for note in self._partition_notes():
            log.warning("less secure than it could be", reason=note)
        await asyncio.to_thread(self.identity.begin_run)
        for name in await asyncio.to_thread(partition_names, self._settings.partitions_dir):
            await self._load_partition(name)
        await self.datagrams.start({name: each.held for name, each in self._supervisors.items()})
        loaded = [supervisor for supervisor in self._supervisors.values() if supervisor.name not in self._broken]
        # Requests are answered from here on, while the HAProxys are being started.
        self.loaded.set()
        await self._find_binary()
        slots = asyncio.Semaphore(CONCURRENT_STARTS_MAX)
        await asyncio.gather(*(self._start_supervisor(supervisor, slots) for supervisor in loaded))

    async def close(self) -> None:
        """Finish creations and passes in progress, and stop managing the partitions; every HAProxy keeps
        running.
        """
        await self._await_partition_creations()
        await asyncio.gather(*(supervisor.close() for supervisor in self._supervisors.values()))
        await self.datagrams.close()

    async def stop_all(self) -> None:
        """Terminate the HAProxys of all partitions, and stop the forwarding of datagrams."""
        await self._await_partition_creations()
        await asyncio.gather(*(supervisor.stop() for supervisor in self._supervisors.values()))
        await self.datagrams.stop_forwarding()

    async def _await_partition_creations(self) -> None:
        # Its errors are those of the requests that wait for it.
        await asyncio.gather(*self._creating.values(), return_exceptions=True)

    async def maintain(self) -> None:
        """Do the periodic work: find a usable HAProxy if there was none, restore the kernel's table, and
        rotate logs. A log that cannot be rotated is only logged.
        """
        await self._find_binary()
        await self.datagrams.verify_table()
        await asyncio.to_thread(_trim_logs, tuple(self._supervisors.values()))

    async def limit_old_workers(self) -> None:
        """End old workers while those of all partitions together exceed the host's memory limit. Called every
        few seconds.
        """
        partitions = [supervisor.old_workers for supervisor in self._supervisors.values()]
        await limit_memory(partitions, memory_limit_bytes(self._settings.old_workers_memory_max_mib))

    async def restore_missing_files(self) -> None:
        """Begin to restore files that were removed while the daemon runs, and emit an event for each
        partition concerned. Called every few seconds.

        If the whole state directory was removed, ``state_id`` changes, so that agents compare everything
        again. Raises :class:`OSError` or :class:`ValueError` if a directory cannot be created.
        """
        gone = not await asyncio.to_thread(self.identity.is_current)
        await asyncio.to_thread(self._settings.partitions_dir.mkdir, mode=0o700, parents=True, exist_ok=True)
        await asyncio.to_thread(run_dir.create_run_dirs, self._settings)
        await asyncio.to_thread(keys_dir.create_keys_dir, self._keys_dir)
        if gone:
            log.error("the state directory was removed or replaced", path=str(self._settings.state_dir))
            await asyncio.to_thread(self.identity.renew_state_id)
        supervisors = [supervisor for supervisor in self._supervisors.values() if supervisor.name not in self._broken]
        for supervisor, missing in await asyncio.to_thread(_supervisors_with_missing_files, supervisors):
            lost = missing or ("the state directory was removed or replaced" if gone else "")
            if lost and supervisor.restore(lost):
                text = "missing files or directories are restored"
                self._on_event(PartitionEvent(partition=supervisor.name, text=text))

    async def _find_binary(self) -> None:
        # The reason stays in the finder's `problem`, and the periodic work looks again.
        with contextlib.suppress(HaproxyDown):
            await self._binary.find()

    async def _load_partition(self, name: str) -> None:
        supervisor = self._new_supervisor(name)
        try:
            await supervisor.load()
        except (EvenKeelError, OSError) as error:
            self._broken[name] = supervisor.problem = str(error)
            # its HAProxy keeps running, so no other partition may get its addresses
            await supervisor.reserve_running_binds()
            log.error("partition not loaded", partition=name, reason=str(error))
        else:
            self._broken.pop(name, None)
        self._supervisors[name] = supervisor
        self._owners.add_loaded(name, supervisor.owner)

    async def _start_supervisor(self, supervisor: PartitionSupervisor, slots: asyncio.Semaphore) -> None:
        async with slots:
            try:
                await supervisor.start()
            except (EvenKeelError, OSError) as error:
                supervisor.problem = str(error)
                log.error("partition not started", partition=supervisor.name, reason=str(error))

    def _new_supervisor(self, name: str) -> PartitionSupervisor:
        storage = PartitionStorage(self._settings.partitions_dir / name, self._keys_dir / name)

        def make_runner(on_exit: Callable[[], None]) -> HaproxyRunner:
            counters = self._make_counters(name, storage.counters_dir)
            layout = partition_layout(name, storage, self._settings)
            return HaproxyRunner(
                name,
                self._settings,
                self._binary.find,
                storage,
                layout,
                counters,
                self._sizes,
                on_exit=on_exit,
                on_event=self._on_event,
            )

        return PartitionSupervisor(
            name,
            storage,
            self._host,
            state_id=lambda: self.identity.state_id,
            make_runner=make_runner,
            on_event=self._on_event,
        )

    # -- reads

    def names(self) -> tuple[str, ...]:
        """Return the names of all partitions, sorted, including partitions that cannot be read."""
        return tuple(sorted(self._supervisors))

    def get(self, name: str) -> PartitionSupervisor:
        """Return the partition with this name. Raises :class:`PartitionUnknown` if there is none."""
        try:
            return self._supervisors[name]
        except KeyError:
            raise PartitionUnknown(name) from None

    def is_worker(self, name: str, pid: int) -> bool:
        """Whether this process is the current worker of the partition's HAProxy, or a worker that is about to
        be; False for an unknown partition.
        """
        supervisor = self._supervisors.get(name)
        return supervisor is not None and supervisor.is_worker(pid)

    @property
    def owners(self) -> Mapping[str, str]:
        """Return ``{prefix of partitions' names: owner}``; an owner is environment and device group."""
        return self._owners.by_prefix

    def show(self, name: str) -> wire.PartitionConfig:
        """Return the accepted configuration of one partition, without private keys. Raises
        :class:`PartitionUnknown` if there is none of that name.
        """
        supervisor = self.get(name)
        return wire.PartitionConfig(
            name=name,
            epoch=supervisor.epoch,
            session_id=supervisor.session_id,
            owner=supervisor.owner,
            load_balancers=tuple(map(remove_private_keys, supervisor.held.values())),
            peer=supervisor.peer,
            peers=supervisor.peers,
            problem=supervisor.problem,
        )

    @property
    def problem_count(self) -> int:
        """Return the number of partitions that could not be loaded, or whose HAProxy does not run as
        configured.
        """
        return sum(bool(each.problem or each.name in self._broken) for each in self._supervisors.values())

    # -- writes

    async def take_over(self, name: str, wanted: wire.GuardState) -> wire.GuardState:
        """Make the sender of ``wanted`` the partition's owner, and return the new guard; creates the
        partition if it does not exist.

        Raises ``StaleOwner``, ``EpochJumpTooLarge`` or ``ForeignPartition`` if the sender may not become its
        owner; :class:`InvalidChange` for invalid values or too many partitions, :class:`PartitionFailed` if
        files cannot be read or written, ``PartitionBusy`` if a change of an older owner takes too long.
        """
        check_guard(wanted)
        self._owners.check_owner(name, wanted.owner)
        supervisor = await self._get_or_create(name)
        # again: another group may have claimed the prefix while the partition was created
        self._owners.check_owner(name, wanted.owner)
        # at once: of two groups that arrive concurrently, one is refused
        self._owners.record_owner(name, wanted.owner)
        try:
            return await supervisor.take_over(wanted)
        except OSError as error:
            raise PartitionFailed(f"partition {name}: {error.strerror}") from error

    async def change(self, name: str, change: wire.PartitionChange, *, complete: bool) -> wire.Receipt:
        """Apply a change and return the receipt. ``complete``: it replaces the whole contents (PUT), else it
        changes parts (PATCH).

        Raises ``StaleOwner`` or :class:`NotPartitionOwner` if the sender is not the owner, :class:`InvalidChange`,
        :class:`PartitionFailed` if it cannot be applied, ``PartitionBusy`` if too many changes wait or the
        partition is being started or stopped.
        """
        check_change(change, complete=complete, settings=self._settings)
        check_name("partition name", name)
        # A change creates no partition: only a takeover does, because there is no guard yet that could admit the
        # change.
        if name not in self._supervisors:
            raise NotPartitionOwner(name, None, "there is no such partition")
        supervisor = await self._get_or_create(name)
        # a stale owner is refused as such first, whatever else is wrong with the change
        supervisor.admit(change)
        # An empty partition is not counted until it gets load balancers, so the limit is checked when it does.
        if change.load_balancers and not supervisor.in_use:
            self._check_partition_count(name)
        return await supervisor.change(change, complete=complete)

    async def _get_or_create(self, name: str) -> PartitionSupervisor:
        """Wait until all partitions are loaded, and return the one with this name, created if it does not
        exist and read again if it is broken.

        Raises :class:`InvalidChange` for an invalid name or too many partitions, :class:`PartitionFailed` if
        there is no usable HAProxy or the directory cannot be read.
        """
        check_name("partition name", name)
        await self.loaded.wait()
        # A broken partition is read again, because an operator may have repaired its directory.
        if name not in self._supervisors or name in self._broken or name in self._creating:
            await self._create_once(name)
        return self._supervisors[name]

    async def _create_once(self, name: str) -> None:
        """Create a partition, or read a broken one again, or wait until another request has. Raises
        :class:`InvalidChange` if there are too many, :class:`PartitionFailed` if that fails.
        """
        task = self._creating.get(name)
        if task is None:
            task = self._creating[name] = asyncio.create_task(self._create_partition(name), name=f"create {name}")
            task.add_done_callback(lambda _: self._creating.pop(name))
        # a client that disconnects must not cancel what others wait for
        await asyncio.shield(task)

    async def _create_partition(self, name: str) -> None:
        if name not in self._supervisors:
            await self._require_binary()
            self._check_partition_count(name)
        await self._load_partition(name)
        if name in self._broken:
            raise PartitionFailed(f"partition {name}: {self._broken[name]}")
        await self._start_supervisor(self._supervisors[name], asyncio.Semaphore(1))

    async def _require_binary(self) -> None:
        try:
            await self._binary.find()
        except HaproxyDown as error:
            raise PartitionFailed(self.problem) from error

    def _check_partition_count(self, name: str) -> None:
        """Raise :class:`InvalidChange` if ``partitions_max`` partitions are in use.

        Empty partitions are not counted: each is only a guard, and costs almost nothing.
        """
        limit = self._settings.partitions_max
        if len(self._supervisors) < limit:  # they need not be counted one by one
            return
        count = sum(supervisor.in_use for supervisor in self._supervisors.values())
        if count >= limit:
            raise InvalidChange(f"partition {name}: there are {count} already, and no more are allowed")


def _trim_logs(supervisors: Iterable[PartitionSupervisor]) -> None:
    for supervisor in supervisors:
        try:
            supervisor.trim_log()
        except OSError as error:
            log.warning("haproxy log not truncated", partition=supervisor.name, reason=error.strerror)


def _supervisors_with_missing_files(
    supervisors: Iterable[PartitionSupervisor],
) -> list[tuple[PartitionSupervisor, str]]:
    return [(supervisor, supervisor.describe_missing_files()) for supervisor in supervisors]
