"""Makes one HAProxy run a configuration with the least disruption: nothing, runtime commands, or a reload.

Files are written before a reload or start, but after runtime commands; before any change, the record of what
runs is marked as unknown. So after a crash at any moment HAProxy starts with the new or the old
configuration. The configuration that the process last read is recorded beside the files (``running.json``):
from it a restarted daemon derives whether an adopted process runs what is on disk, and reloads it if that is
not certain. A load balancer that HAProxy refuses keeps its previous configuration; the others are applied.
Not safe for concurrent calls.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
import structlog

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.files import read_text
from evenkeel.haproxyd.disk.storage import PartitionStorage, RunningFile
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.binary import FindBinary
from evenkeel.haproxyd.haproxy.config.bindability import (
    LoadBalancers,
    bindable_load_balancers,
    drop_unbindable_peer,
    listening_load_balancers,
    ping_settings_differ,
    replace_unbindable,
    unbindable_load_balancers,
)
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_check import ConfigCheck
from evenkeel.haproxyd.haproxy.config.config_files import ConfigFiles, load_balancer_id_of_file
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.haproxy.config.local_config import LocalConfig
from evenkeel.haproxyd.haproxy.config.worker_size import HostWorkerSizes, WorkerSize, grown_connections
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.reloader import HaproxyReloader
from evenkeel.haproxyd.haproxy.running_state import RunningState
from evenkeel.haproxyd.haproxy.runtime.command import DriftFinding, NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.plan import RuntimePlan, plan_change
from evenkeel.haproxyd.haproxy.runtime.runtime_commands import RuntimeCommands
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_FRONTENDS, frontend_counts
from evenkeel.haproxyd.network.listening import listening_addresses
from evenkeel.haproxyd.ports import FrontendCounters, OnEvent
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)


RepairTextsById = Mapping[str, tuple[str, ...]]
"""``{load balancer id: texts for operators}`` about manual changes that were undone."""


class ApplyResult(Value):
    """Outcome of one attempt to run a configuration.

    ``errors``: reasons for load balancers that kept their previous configuration, by id; ``kept``: that
    previous configuration, where HAProxy runs it. ``problem``: reason why other parts, such as peers or the
    operator's file, were left out; empty: none. ``repaired``: manual changes that were undone.
    """

    how: wire.ApplyMethod
    errors: Mapping[str, str] = {}
    kept: LoadBalancers = {}
    problem: str = ""
    repaired: RepairTextsById = {}


class HaproxyRunner:
    """Runs one partition's HAProxy with its configuration. ``on_exit`` is called when HAProxy ends by itself."""

    def __init__(
        self,
        partition: str,
        settings: DaemonSettings,
        binary: FindBinary,
        storage: PartitionStorage,
        layout: PartitionLayout,
        counters: FrontendCounters,
        sizes: HostWorkerSizes,
        *,
        on_exit: Callable[[], None],
        on_event: OnEvent,
    ) -> None:
        self._binary = binary
        self._settings = settings
        self._storage = storage
        self._layout = layout
        self._partition = partition
        self._sizes = sizes
        self._saved = RunningFile()
        """Record of an earlier daemon's HAProxy."""
        self._grown = 0
        """Connections for which the worker's size has grown beyond its listeners' limits; 0: it has not."""
        self._log = log.bind(partition=partition)
        self._peer_problem = ""
        """Reason why peers cannot connect; empty if they can."""
        self.process = HaproxyProcess(
            partition,
            binary,
            settings,
            directory=layout.files_dir,  # HAProxy resolves certificate names in ``server`` lines relative to it
            config_dir=layout.config_dir,
            log_path=storage.log,
            master_socket=layout.master_socket,
            worker_socket=layout.worker_socket,
            on_exit=on_exit,
            on_event=on_event,
        )
        self._files = ConfigFiles(partition, settings, storage, layout)
        self._local = LocalConfig(storage.local)
        self._state = RunningState(storage, self._files, self.process)
        self._commands = RuntimeCommands(partition, self.process.cli)
        self._reloader = HaproxyReloader(
            partition,
            storage,
            layout,
            counters,
            process=self.process,
            files=self._files,
            state=self._state,
            local=self._local,
            config_check=ConfigCheck(partition, settings, binary, storage, layout),
            commands=self._commands,
        )

    # -- the process

    def read_saved_state(self) -> None:
        """Read the record of a HAProxy that an earlier daemon started, for :meth:`adopt`. Blocks."""
        self._saved = self._storage.read_running()

    async def adopt(self, config: HaproxyConfig) -> None:
        """Adopt a HAProxy that an earlier daemon started, if there is one, and determine by its record
        whether it runs ``config``; without one, nothing happens.
        """
        saved = self._saved
        if await self.process.adopt(saved.master_pid, saved.master_started):
            self._state.adopt(saved, config, read_text(self._layout.local_config_file) or "")
            self._grown = saved.connections
            self._sizes.record_size(self._partition, WorkerSize(tls_sessions=saved.tls_sessions))
            self._log.info("haproxy adopted", master=self.process.master_pid, as_configured=self._state.known)

    @property
    def state_lost(self) -> bool:
        """Whether a HAProxy runs although its configuration is not recorded on disk: the state directory was lost."""
        return self._state.lost and self.process.is_running

    async def stop_if_idle(self) -> bool:
        """Stop a HAProxy without load balancers, once no worker has connections to listeners left, or at once
        if it does not answer.

        Returns False if connections are left, and the caller has to try again; else True, also if there is
        nothing to stop: no HAProxy runs, or it has load balancers.
        """
        if not self.process.is_running or self._state.config.load_balancers:
            return True
        try:
            idle = not (await self.process.cli.processes()).workers_leaving and not await self._client_connections()
        except HaproxyDown:
            # A HAProxy that holds nothing and does not answer is stopped as well.
            idle = True
        if idle:
            await self.stop()
        return idle

    async def _client_connections(self) -> int:
        """Return the number of connections to all frontends of the current worker, including closed
        frontends. Raises :class:`HaproxyDown`.
        """
        counts = frontend_counts(await self.process.cli.command(SHOW_FRONTENDS))
        return sum(one.active for one in counts.values())

    async def stop(self) -> None:
        """Terminate HAProxy and all its connections."""
        await self.process.stop()
        self._forget_process()

    def _forget_process(self) -> None:
        self._state.reset()
        self._files.forget_written_files()
        self._sizes.release_sessions(self._partition)
        self._grown = 0

    # -- files

    def forget_files(self) -> None:
        """Forget which files are on disk, so that the next pass compares all of them: they may have been
        removed.
        """
        self._files.forget_written_files()

    async def write_outdated_files(self) -> None:
        """Write the files for HAProxy's next start, if runtime commands have changed the process since they were
        written.

        Raises :class:`OSError`.
        """
        if self._files.outdated:
            await asyncio.to_thread(self._write_outdated_files)

    def _write_outdated_files(self) -> None:
        self._files.write(self._state.config, with_local=bool(self._local.text_to_include()))
        if self._state.known:
            self._files.remove_unused_files(self._state.config)
            self._state.save()

    async def save_state_again(self) -> None:
        """Record what HAProxy runs, if an earlier attempt to write the record failed. Does not raise."""
        await self._state.save_again()

    # -- configuration

    def request_growth(self, connections: int) -> bool:
        """Return whether this number of connections needs a larger worker, which the next :meth:`apply` then
        starts; False while the running configuration is unknown.
        """
        running = self._state.config
        grown = grown_connections(running.size, running.frontends, connections) if self._state.known else 0
        self._grown = max(self._grown, grown)
        return grown > 0

    async def apply(self, config: HaproxyConfig, *, verify: bool) -> ApplyResult:
        """Make HAProxy run a configuration, by the least disruptive means; a load balancer that cannot be run
        keeps its previous configuration. ``verify``: also undo manual changes.

        Raises :class:`HaproxyDown` if HAProxy cannot be made to serve, :class:`OSError`.
        """
        if not self.process.is_running:
            self._forget_process()
            if not config.load_balancers:
                return ApplyResult(how="nothing")
        await self._read_running_binds()
        config, errors = self._bindable_config(config)
        size = self._sizes.choose_size(self._partition, config.frontends, self._grown)
        try:
            how, refused = await self._change_config(config, size, verify=verify)
        finally:
            self._sizes.record_size(self._partition, self._state.config.size)
        errors |= refused
        repaired: RepairTextsById = {}
        # A new worker runs what it has just read, so only a process that continued is compared.
        if verify and how != "reload" and self.process.is_running:
            took, repaired = await self._undo_manual_changes()
            how = how if took == "nothing" else took
        await self._delete_idle_servers()
        kept = {name: one for name, one in self._state.config.load_balancers.items() if name in errors}
        return ApplyResult(how=how, errors=errors, kept=kept, problem=self._describe_problems(), repaired=repaired)

    async def _read_running_binds(self) -> None:
        """Read the listening addresses from HAProxy if the configuration that it runs is not certain; if
        HAProxy does not answer, the recorded addresses count.

        A new address is checked by binding it unless HAProxy already listens there. Raises
        :class:`HaproxyDown` if HAProxy does not answer and there is no record.
        """
        if not self.process.is_running or self._state.known:
            return
        socket, limit_seconds = self._layout.worker_socket, self._settings.command_timeout_seconds
        try:
            self._state.binds = await asyncio.to_thread(listening_addresses, socket, limit_seconds)
        except HaproxyDown as error:
            if self._state.lost:
                raise HaproxyDown(
                    f"HAProxy is left as it is, because it is not known where it listens: {error}"
                ) from error
            self._log.warning("haproxy's listeners are taken from the record", reason=str(error))

    def _bindable_config(self, config: HaproxyConfig) -> tuple[HaproxyConfig, dict[str, str]]:
        """Return the configuration in which load balancers whose addresses cannot be bound now are replaced
        by what runs, or left out; and ``{load balancer id: error}``. Peers whose address cannot be bound are
        left out, and the reason is kept for the problem of the :class:`ApplyResult`.
        """
        config, self._peer_problem = drop_unbindable_peer(config, self._state.binds)
        errors = unbindable_load_balancers(config, self._state.config, self._state.binds)
        previous = self._state.previous_load_balancers
        # It is not known what runs: what listens now counts as running, unless a recorded configuration can be bound.
        if errors and not self._state.known:
            listening = listening_load_balancers(
                {name: config.load_balancers[name] for name in errors}, self._state.binds
            )
            previous = {**listening, **bindable_load_balancers(previous, self._state.binds)}
        return replace_unbindable(config, previous, errors), errors

    async def _change_config(
        self, config: HaproxyConfig, size: WorkerSize, *, verify: bool
    ) -> tuple[wire.ApplyMethod, dict[str, str]]:
        """Apply the configuration; returns how, and ``{load balancer id: error}``. Raises
        :class:`HaproxyDown`, :class:`OSError`.

        ``size``: that of a worker that has to be started; ``verify``: also reload if another program reloaded
        HAProxy or the operator's file changed.
        """
        started = msgspec.structs.replace(config, size=size)
        step = await self._plan_change(started, verify=verify)
        # A worker that goes on keeps the size with which it was started.
        config = msgspec.structs.replace(config, size=self._state.config.size)
        if step.commands and not step.reason:
            if await self._apply_at_runtime(config, step):
                return "runtime", {}
            step = RuntimePlan(reason="a runtime command was refused")
        if step.reason:
            self._log.info("reloading haproxy", reason=step.reason)
            refused, is_new = await self._reloader.reload(started)
            return "reload" if is_new else "nothing", refused
        if config == self._state.config:
            return "nothing", {}
        how: wire.ApplyMethod = "runtime" if ping_settings_differ(self._state.config, config) else "nothing"
        await self._reloader.write_config(config)  # only a revision changed, or checks that the daemon performs
        await self._state.record_config(config)
        return how, {}

    async def _plan_change(self, config: HaproxyConfig, *, verify: bool) -> RuntimePlan:
        if not self.process.is_running:
            return RuntimePlan(reason="haproxy is not running")
        # a process that cannot be reloaded is replaced before anything depends on a reload
        # not in a thread, whose turn costs more: these are looks at /proc and at sockets
        obstacle = self.process.reload_blocker()
        if obstacle:
            return RuntimePlan(reason=obstacle)
        if not self._state.known:
            return RuntimePlan(reason="it is not known what runs")
        if verify:
            reason = await self._external_change_reason()
            if reason:
                return RuntimePlan(reason=reason)
        return plan_change(
            self._state.config,
            config,
            await self._binary(),
            self._state.servers_to_delete,
            live=self._state.live,
            connections_end=bool(self._settings.hard_stop_after_seconds),
        )

    async def _external_change_reason(self) -> str:
        """Return the reason for a reload that others caused: another program reloaded HAProxy, or the
        operator's file changed; empty: none. Raises :class:`HaproxyDown`.
        """
        if await self.process.was_reloaded_by_others():
            return "another program reloaded haproxy"
        return "local.cfg changed" if self._local.text_to_include() != self._state.local else ""

    async def _apply_at_runtime(self, config: HaproxyConfig, step: RuntimePlan) -> bool:
        """Send the runtime commands of the plan. Returns True if the process then runs this configuration;
        False if a command failed, and its configuration is unknown. Raises :class:`OSError`.

        HAProxy's files and ``running.json`` are written after the response (:meth:`write_outdated_files`):
        only a reload or a start reads the files, and both write them first; a restarted daemon that finds no
        record reloads.
        """
        # on disk before the first command: a daemon that crashes between commands reloads at its next start
        await asyncio.to_thread(self._state.mark_unknown)
        for command in step.commands:
            if not await self._commands.send(command):
                return False
        self._state.record_config_unsaved(config)
        self._state.servers_to_delete, self._state.live, self._files.outdated = step.to_delete, step.live, True
        return True

    async def _delete_idle_servers(self) -> None:
        """Delete removed servers that have no connections left; others are tried again at the next pass. A
        reload removes them in any case.
        """
        if not self.process.is_running or not self._state.known:
            return
        for backend, name in self._state.servers_to_delete:
            # HAProxy refuses to delete a server that still has connections; the next pass tries again.
            if await self._commands.send(RuntimeCommand(text=f"del server {backend}/{name}", expects="deleted")):
                # The set is replaced, not modified, so the loop may continue over the previous one.
                self._state.servers_to_delete -= {(backend, name)}

    def _describe_problems(self) -> str:
        peers = f"peers are left out: {self._peer_problem}" if self._peer_problem else ""
        return "; ".join(filter(None, (peers, self._local.problem())))

    # -- manual changes

    async def _undo_manual_changes(self) -> tuple[wire.ApplyMethod, RepairTextsById]:
        """Compare files and process with the configuration, and undo manual changes, by a reload where no
        command can. Returns how they were undone (:data:`~evenkeel.haproxyd.wire.ApplyMethod`), and the repairs of
        each load balancer. Raises :class:`HaproxyDown`, :class:`OSError`.
        """
        # First, because files that are merely outdated must not count as changed by hand.
        await self.write_outdated_files()
        running = self._state.config
        files = await self._repair_files()
        findings: list[DriftFinding] = []
        worker_pid = self.process.worker_pid
        if worker_pid is None:
            raise HaproxyDown("HAProxy has no worker")
        try:
            findings.extend(await self._repair_servers_and_frontends(running, worker_pid))
            findings.extend(await self._commands.repair_lists(running))
            findings.extend(await self._commands.repair_certificates(running))
            await self._commands.check_policies(running, self._state.live, worker_pid)
        except NeedsReload as reason:
            self._log.warning("reloading haproxy to undo a manual change", reason=str(reason))
            # nothing certain is known after a change from outside that no command can undo
            self._state.known = False
            await self._reloader.reload(running)
            return "reload", _repairs_by_load_balancer(
                [*files, *_texts_with_load_balancer_id(findings), (reason.load_balancer_id, str(reason))]
            )
        how: wire.ApplyMethod = "runtime" if files or findings else "nothing"
        return how, _repairs_by_load_balancer([*files, *_texts_with_load_balancer_id(findings)])

    async def _repair_servers_and_frontends(self, running: HaproxyConfig, worker_pid: int) -> tuple[DriftFinding, ...]:
        findings, to_delete = await self._commands.repair_servers_and_frontends(running, worker_pid)
        self._state.servers_to_delete |= to_delete
        return findings

    async def _repair_files(self) -> list[tuple[str, str]]:
        """Write files again that others changed. Returns ``(load balancer id, finding)`` pairs; the id is
        empty for a file that is no single load balancer's. Raises :class:`OSError`.

        The running HAProxy has already read the files: they matter for the next worker.
        """
        running = self._state.config
        changed = await asyncio.to_thread(self._files.find_changed_files, running)
        if changed:
            self._log.warning("configuration files were changed by hand; rewriting them", files=changed)
            await self._reloader.write_config(running)
            await self._state.record_config(running)
        return [(load_balancer_id_of_file(running, name), f"file {name} was changed") for name in changed]


def _texts_with_load_balancer_id(findings: Iterable[DriftFinding]) -> Iterator[tuple[str, str]]:
    return ((finding.load_balancer_id, finding.text) for finding in findings)


def _repairs_by_load_balancer(texts_with_ids: Iterable[tuple[str, str]]) -> RepairTextsById:
    """Group ``(load balancer id, text)`` pairs of repairs by id; pairs with an empty id are left out."""
    repaired: dict[str, tuple[str, ...]] = {}
    for load_balancer_id, text in texts_with_ids:
        if load_balancer_id:
            repaired[load_balancer_id] = (*repaired.get(load_balancer_id, ()), f"{text}; repaired")
    return repaired
