"""Makes one HAProxy run a configuration, by the smallest means: nothing, runtime commands, or a reload.

Files are written before HAProxy is told anything, so that a crash of HAProxy at any moment brings up the new state or
the old one. What the process was last told is kept beside them (``running.json``): a daemon that comes back knows
whether the process it adopts does as the disk says, and reloads it if it cannot be sure.

A load balancer that HAProxy refuses stays as it was before; the others are applied. One caller at a time.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.files import read_text
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.binary import FindBinary
from evenkeel.haproxyd.haproxy.config.bindability import ping_changed, unbindable, with_bindable_peer, without
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_check import ConfigCheck
from evenkeel.haproxyd.haproxy.config.config_files import ConfigFiles, owner_of
from evenkeel.haproxyd.haproxy.config.layout import Layout
from evenkeel.haproxyd.haproxy.config.local_config import LocalConfig
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.reloader import Reloader
from evenkeel.haproxyd.haproxy.running_state import RunningState
from evenkeel.haproxyd.haproxy.runtime.command import Finding, NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.plan import RuntimePlan, plan
from evenkeel.haproxyd.haproxy.runtime.runtime_commands import RuntimeCommands
from evenkeel.haproxyd.ports import FrontendCounters
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)


Repaired = Mapping[str, tuple[str, ...]]
"""Manual changes that were undone, for people, by load balancer id."""


class ApplyResult(Value):
    """``errors``: load balancers that are not as wanted but as before, and why. ``problem``: of what is left out for
    no load balancer's sake, peers or the operator's file."""

    how: wire.How
    errors: Mapping[str, str] = {}
    problem: str = ""
    repaired: Repaired = {}


class HaproxyRunner:
    """One partition's HAProxy and what it runs."""

    def __init__(
        self,
        partition: str,
        settings: DaemonSettings,
        binary: FindBinary,
        storage: PartitionStorage,
        layout: Layout,
        counters: FrontendCounters,
        *,
        on_exit: Callable[[], None],
    ) -> None:
        self._binary = binary
        self._storage = storage
        self._layout = layout
        self._log = log.bind(partition=partition)
        self._peer_problem = ""
        """Why peers do not reach it; empty when they do."""
        self.process = HaproxyProcess(
            partition,
            binary,
            settings,
            directory=layout.files_dir,  # where HAProxy looks for certificates that servers name
            config_dir=layout.config_dir,
            log_path=storage.log,
            master_socket=layout.master_socket,
            on_exit=on_exit,
        )
        self._files = ConfigFiles(partition, settings, storage, layout)
        self._local = LocalConfig(storage.local)
        self._state = RunningState(storage, self._files, self.process)
        self._commands = RuntimeCommands(partition, self.process.cli)
        self._reloader = Reloader(
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

    async def adopt(self, config: HaproxyConfig) -> None:
        """Take over a HAProxy that runs already, if there is one, and see whether it runs ``config``."""
        saved = await asyncio.to_thread(self._storage.read_running)
        if await self.process.adopt(saved.master_pid, saved.master_started):
            self._state.adopt(saved, config, read_text(self._layout.local) or "")
            self._log.info("haproxy adopted", master=self.process.master_pid, as_configured=self._state.known)

    @property
    def state_lost(self) -> bool:
        """Is there a HAProxy of which nothing on disk tells what it does? The state directory was lost."""
        return self._state.lost and self.process.up

    async def retire(self) -> bool:
        """An empty HAProxy ends once nobody's connections are left in old workers. True: there is none any more."""
        if not self.process.up or self._state.config.load_balancers:
            return True
        try:
            idle = not (await self.process.cli.processes()).workers_leaving
        except HaproxyDown:
            idle = True
        if idle:
            await self.stop()
        return idle

    async def stop(self) -> None:
        """End HAProxy and all its connections."""
        await self.process.stop()
        self._forget()

    def _forget(self) -> None:
        self._state.forget()
        self._files.forget()

    # -- files

    def forget_files(self) -> None:
        """Those that HAProxy reads may be gone: the next pass writes them all."""
        self._files.forget()

    async def write_outdated_files(self) -> None:
        """Write what HAProxy reads at its next start, if commands went ahead of it. Raises :class:`OSError`."""
        if self._files.outdated:
            await asyncio.to_thread(self._write_outdated_files)

    def _write_outdated_files(self) -> None:
        self._files.write(self._state.config, take_local=bool(self._local.text_to_include()))
        if self._state.known:
            self._files.remove_unused_files(self._state.config)
            self._state.save()

    # -- what it runs

    async def apply(self, config: HaproxyConfig, *, verify: bool) -> ApplyResult:
        """Make it run this. ``verify``: and undo manual changes. Raises :class:`HaproxyDown` if HAProxy can't be
        brought to serve, :class:`OSError`."""
        if not self.process.up:
            self._forget()
            if not config.load_balancers:
                return ApplyResult(how="nothing")
        config, errors = self._bindable(config)
        how, refused = await self._change(config, verify=verify)
        errors |= refused
        repaired: Repaired = {}
        if verify and how != "reload" and self.process.up:
            took, repaired = await self._verify()
            how = how if took == "nothing" else took
        await self._delete_idle_servers()
        return ApplyResult(how=how, errors=errors, problem=self._problem(), repaired=repaired)

    def _bindable(self, config: HaproxyConfig) -> tuple[HaproxyConfig, dict[str, str]]:
        """Without what cannot be bound now, so that HAProxy never tries; errors by load balancer."""
        config, self._peer_problem = with_bindable_peer(config, self._state.binds)
        running = self._state.config
        errors = {} if self._state.binds_unknown else unbindable(config, running, self._state.binds)
        return without(config, running, errors), errors

    async def _change(self, config: HaproxyConfig, *, verify: bool) -> tuple[wire.How, dict[str, str]]:
        """What it took, and errors by load balancer."""
        step = await self._plan(config, verify=verify)
        if step.commands and not step.reason:
            if await self._apply_at_runtime(config, step):
                return "runtime", {}
            step = RuntimePlan(reason="a runtime command was refused")
        if step.reason:
            self._log.info("reloading haproxy", reason=step.reason)
            refused, is_new = await self._reloader.reload(config)
            return "reload" if is_new else "nothing", refused
        if config == self._state.config:
            return "nothing", {}
        how: wire.How = "runtime" if ping_changed(self._state.config, config) else "nothing"
        await self._reloader.write(config)  # a revision, or checks that are not HAProxy's
        await self._state.set(config)
        return how, {}

    async def _plan(self, config: HaproxyConfig, *, verify: bool) -> RuntimePlan:
        if not self.process.up:
            return RuntimePlan(reason="haproxy is not running")
        obstacle = await asyncio.to_thread(self.process.reload_obstacle)
        if obstacle:
            return RuntimePlan(reason=obstacle)
        if not self._state.known:
            return RuntimePlan(reason="it is not known what runs")
        if verify:
            reason = await self._changed_by_others()
            if reason:
                return RuntimePlan(reason=reason)
        return plan(self._state.config, config, await self._binary(), self._state.servers_to_delete)

    async def _changed_by_others(self) -> str:
        """Has somebody else reloaded HAProxy, or the operator changed the file of theirs? Empty: neither."""
        worker = (await self.process.cli.processes()).worker_pid
        if worker != self.process.worker_pid:
            return "somebody else reloaded haproxy"
        return "local.cfg changed" if self._local.text_to_include() != self._state.local else ""

    async def _apply_at_runtime(self, config: HaproxyConfig, step: RuntimePlan) -> bool:
        """True: the process runs this. False: it is not known what it runs.

        HAProxy's files follow (:meth:`write_outdated_files`) when the answer has been given, and so does what the next
        daemon is told: nothing but a reload or a start reads the files, and both write them before; a daemon that
        finds nothing told reloads.
        """
        await asyncio.to_thread(self._state.mark_unknown)
        for command in step.commands:
            if not await self._commands.send(command):
                return False
        self._state.set_unsaved(config)
        self._state.servers_to_delete, self._files.outdated = step.to_delete, True
        return True

    async def _delete_idle_servers(self) -> None:
        """Delete servers that are out of service and have no connections any more; a reload does it in any case."""
        if not self.process.up or not self._state.known:
            return
        for backend, name in self._state.servers_to_delete:
            if await self._commands.send(RuntimeCommand(text=f"del server {backend}/{name}", expects="deleted")):
                self._state.servers_to_delete -= {(backend, name)}

    def _problem(self) -> str:
        peers = f"peers are left out: {self._peer_problem}" if self._peer_problem else ""
        return "; ".join(filter(None, (peers, self._local.problem())))

    # -- manual changes

    async def _verify(self) -> tuple[wire.How, Repaired]:
        """Look at the files and the process, and undo manual changes: what it took, and what was found."""
        await self.write_outdated_files()
        running = self._state.config
        files = await self._repair_files()
        findings: list[Finding] = []
        try:
            findings.extend(await self._reloader.repair_servers())
            findings.extend(await self._commands.repair_frontends(running))
            findings.extend(await self._commands.repair_acls(running))
            findings.extend(await self._commands.repair_certificates(running))
        except NeedsReload as reason:
            self._log.warning("reloading haproxy to undo a manual change", reason=str(reason))
            self._state.known = False
            await self._reloader.reload(running)
            return "reload", _repaired([*files, *_texts(findings), (reason.load_balancer_id, str(reason))])
        how: wire.How = "runtime" if files or findings else "nothing"
        return how, _repaired([*files, *_texts(findings)])

    async def _repair_files(self) -> list[tuple[str, str]]:
        """Load balancers and what was found. HAProxy read the files long ago: it is the next worker that they matter
        for."""
        running = self._state.config
        changed = await asyncio.to_thread(self._files.find_changed, running)
        if changed:
            self._log.warning("configuration files were changed by hand; rewriting them", files=changed)
            await self._reloader.write(running)
            await self._state.set(running)
        return [(owner_of(running, name), f"file {name} was changed") for name in changed]


def _texts(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    return ((finding.load_balancer_id, finding.text) for finding in findings)


def _repaired(found: Iterable[tuple[str, str]]) -> Repaired:
    """By load balancer; what is no load balancer's own is in the log only."""
    repaired: dict[str, tuple[str, ...]] = {}
    for load_balancer_id, text in found:
        if load_balancer_id:
            repaired[load_balancer_id] = (*repaired.get(load_balancer_id, ()), f"{text}; put right")
    return repaired
