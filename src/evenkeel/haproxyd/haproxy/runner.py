"""Makes one HAProxy do what is wished, by the smallest means: nothing, commands, or a reload.

Files are written before HAProxy is told anything, so that a crash of HAProxy at any moment brings up the new state or
the old one. What the process was last told is kept beside them (``running.json``): a daemon that comes back knows
whether the process it finds does as the disk says, and reloads it if it cannot be sure.

A load balancer that HAProxy refuses stays as it was before; the others are applied. One caller at a time.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import structlog

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.files import read_text, write_file
from evenkeel.haproxyd.disk.storage import PartitionStorage, RunningFile
from evenkeel.haproxyd.haproxy.binary import FindBinary
from evenkeel.haproxyd.haproxy.bindability import (
    Places,
    ping_changed,
    places_of,
    unbindable,
    with_bindable_peer,
    without,
)
from evenkeel.haproxyd.haproxy.compose import HaproxyConfig, Layout
from evenkeel.haproxyd.haproxy.config_check import ConfigCheck
from evenkeel.haproxyd.haproxy.config_files import ConfigFiles
from evenkeel.haproxyd.haproxy.drift import kept_states
from evenkeel.haproxyd.haproxy.plan import NeedsReload, RuntimeCommand, RuntimePlan, plan
from evenkeel.haproxyd.haproxy.process import HaproxyProcess, start_ticks
from evenkeel.haproxyd.haproxy.runtime_commands import Leftovers, RuntimeCommands
from evenkeel.haproxyd.ports import Counters, HaproxyDown, HaproxyRefused
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)

TRIES_MAX = 4
"""Reloads for one configuration, each without what the last one showed to be bad; the last is what ran before."""


class ApplyResult(Value):
    """``errors``: load balancers that are not as wished but as before, and why. ``problem``: of the operator's file."""

    how: wire.How
    errors: Mapping[str, str] = {}
    problem: str = ""


class HaproxyRunner:
    """One partition's HAProxy and what it does."""

    def __init__(
        self,
        partition: str,
        settings: DaemonSettings,
        binary: FindBinary,
        storage: PartitionStorage,
        layout: Layout,
        counters: Counters,
        *,
        on_exit: Callable[[], None],
    ) -> None:
        self._binary = binary
        self._storage = storage
        self._layout = layout
        self._counters = counters
        self._files = ConfigFiles(partition, settings, storage, layout)
        self._trial = ConfigCheck(partition, settings, binary, storage, layout)
        self._log = log.bind(partition=partition)
        self._running = HaproxyConfig()
        self._known = False
        """Does the process do exactly :attr:`_running`?"""
        self._told = False
        """Does the disk say so to the next daemon?"""
        self._places: Places = frozenset()
        """Where the process may be listening."""
        self._anywhere = False
        """May it be listening elsewhere, too? It was found, and does something else than the disk says."""
        self._lost = False
        """Was it found without anything that tells what it does?"""
        self._leftovers: Leftovers = frozenset()
        self._refusals = 0
        """Reloads refused since the last one that was not."""
        self._local = ""
        """The operator's file as HAProxy has it."""
        self._bad_peer = ""
        """Why peers do not reach it; empty when they do."""
        self._bad_local: tuple[str, str] | None = None
        """The operator's file as HAProxy refused it, and why."""
        self.process = HaproxyProcess(
            binary,
            settings,
            directory=storage.directory,
            config_dir=layout.config_dir,
            log_path=storage.log,
            master_socket=layout.master_socket,
            on_exit=on_exit,
        )
        self._amends = RuntimeCommands(partition, self.process.cli)

    async def adopt(self, config: HaproxyConfig) -> None:
        """Take over a HAProxy that runs already, if there is one, and see whether it does as wished."""
        told = await asyncio.to_thread(self._storage.read_running)
        if not await self.process.find(told.master_pid, told.master_started):
            return
        self._places = frozenset((address, port) for address, port in told.places)
        self._local = read_text(self._layout.local) or ""
        self._known = told.worker_pid == self.process.worker_pid and told.digest == self._files.digest(
            config, self._local
        )
        self._told = True
        self._running = config if self._known else HaproxyConfig()
        self._anywhere, self._lost = not self._known, not told.master_pid
        self._log.info("haproxy found running", master=self.process.master_pid, as_wished=self._known)

    @property
    def unknown(self) -> bool:
        """Is there a HAProxy of which nothing tells what it does? The state directory was lost."""
        return self._lost and self.process.up

    async def become(self, config: HaproxyConfig, *, verify: bool) -> ApplyResult:
        """Make it so. Raises :class:`HaproxyDown` if HAProxy can't be brought to serve, :class:`OSError`."""
        if not self.process.up:
            self._forget()
            if not config.load_balancers:
                return ApplyResult(how="nothing")
        config, self._bad_peer = with_bindable_peer(config, self._places)
        errors = {} if self._anywhere else unbindable(config, self._running, self._places)
        config = without(config, self._running, errors)
        step = await self._plan(config, verify=verify)
        how: wire.How = "nothing"
        if step.commands and not step.reason:
            how = "runtime"
            if not await self._at_runtime(config, step):
                step = RuntimePlan(reason="refused at runtime")
        if step.reason:
            self._log.info("reload", reason=step.reason)
            refused, changed = await self._reload_until_good(config)
            errors |= refused
            how = "reload" if changed else "nothing"
        elif config != self._running:  # a revision, or checks that are not HAProxy's
            how = "runtime" if ping_changed(self._running, config) else how
            await self._write(config)
            await self._remember(config)
        if verify and how != "reload" and self.process.up:
            how = await self._verify() or how
        await self._sweep()
        return ApplyResult(how=how, errors=errors, problem=self._problem())

    def _problem(self) -> str:
        problems = [f"peers are left out: {self._bad_peer}"] if self._bad_peer else []
        if self._bad_local and read_text(self._storage.local) == self._bad_local[0]:
            problems.append(f"local.cfg is left out: {self._bad_local[1]}")
        else:
            self._bad_local = None
        return "; ".join(problems)

    async def retire(self) -> bool:
        """An empty HAProxy ends once nobody's connections are left in old workers. True: there is none any more."""
        if not self.process.up or self._running.load_balancers:
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

    def forget_files(self) -> None:
        """Those that HAProxy reads may be gone: the next pass writes them all."""
        self._files.forget()

    def _forget(self) -> None:
        self._running, self._known = HaproxyConfig(), False
        self._places, self._leftovers = frozenset(), frozenset()
        self._anywhere = self._lost = False
        self._files.forget()

    # -- what is to be done

    async def _plan(self, config: HaproxyConfig, *, verify: bool) -> RuntimePlan:
        if not self.process.up:
            return RuntimePlan(reason="start")
        adrift = await asyncio.to_thread(self.process.adrift)
        if adrift:
            return RuntimePlan(reason=adrift)
        if not self._known:
            return RuntimePlan(reason="not known what runs")
        if verify:
            reason = await self._replaced()
            if reason:
                return RuntimePlan(reason=reason)
        return plan(self._running, config, await self._binary(), self._leftovers)

    async def _replaced(self) -> str:
        """Has somebody else reloaded HAProxy, or the operator changed the file of theirs?"""
        worker = (await self.process.cli.processes()).worker_pid
        if worker != self.process.worker_pid:
            return "the worker is not ours"
        return "local.cfg changed" if self._local_to_take() != self._local else ""

    def _local_to_take(self) -> str:
        text = read_text(self._storage.local) or ""
        return "" if self._bad_local and text == self._bad_local[0] else text

    # -- files

    async def _write(self, config: HaproxyConfig) -> None:
        await asyncio.to_thread(self._write_now, config)

    def _write_now(self, config: HaproxyConfig) -> None:
        self._doubt()
        self._files.write(config, take_local=bool(self._local_to_take()))

    def _doubt(self) -> None:
        """Until it is done, nobody can be sure what the process does."""
        if self._told:
            self._storage.write_running(self._running_file(""))
        self._known = self._told = False

    async def catch_up(self) -> None:
        """Write what HAProxy reads at its next start, if commands went ahead of it. Raises :class:`OSError`."""
        if self._files.behind:
            await asyncio.to_thread(self._catch_up)

    def _catch_up(self) -> None:
        self._files.write(self._running, take_local=bool(self._local_to_take()))
        if self._known:
            self._tell_next_daemon()

    async def _remember(self, config: HaproxyConfig) -> None:
        """The process does exactly this, and the next daemon may know."""
        self._running, self._known = config, True
        await asyncio.to_thread(self._tell_next_daemon)

    def _tell_next_daemon(self) -> None:
        self._storage.write_running(self._running_file(self._files.digest(self._running, self._local)))
        self._told = True

    def _running_file(self, known: str) -> RunningFile:
        return RunningFile(
            master_pid=self.process.master_pid,
            master_started=start_ticks(self.process.master_pid),
            worker_pid=self.process.worker_pid or 0,
            digest=known,
            places=tuple(sorted(self._places)),
        )

    # -- by commands

    async def _at_runtime(self, config: HaproxyConfig, step: RuntimePlan) -> bool:
        """True: the process does as wished. False: it is not known what it does.

        HAProxy's files follow (:meth:`catch_up`) when the answer has been given, and so does what the next daemon is
        told: nothing but a reload or a start reads the files, and both write them before; a daemon that finds nothing
        told reloads.
        """
        await asyncio.to_thread(self._doubt)
        for command in step.commands:
            if not await self._amends.tell(command):
                return False
        self._running, self._known = config, True
        self._leftovers, self._files.behind = step.leftovers, True
        return True

    async def _sweep(self) -> None:
        """Delete servers that are out of service and have no connections any more; a reload does it in any case."""
        if not self.process.up or not self._known:
            return
        for backend, name in self._leftovers:
            if await self._amends.tell(RuntimeCommand(text=f"del server {backend}/{name}", expects="deleted")):
                self._leftovers -= {(backend, name)}

    # -- by a new worker

    async def _reload_until_good(self, config: HaproxyConfig) -> tuple[dict[str, str], bool]:
        """Errors by load balancer, and whether there is a new worker. Raises :class:`HaproxyDown`."""
        errors: dict[str, str] = {}
        before = self._running if self._known else None
        for _ in range(TRIES_MAX):
            try:
                await self._new_worker(config)
                return errors, True
            except HaproxyRefused as refusal:
                self._refusals += 1
                self._log.warning("haproxy refused", reason=refusal.reason)
                errors |= await self._blame(config, refusal.reason)
                config = without(config, self._running, errors)
            if not self.process.up and not config.load_balancers:
                return errors, False
            if self.process.up and config == before and self._local == self._local_to_take():
                await self._write(config)
                await self._remember(config)
                return errors, False
        raise HaproxyDown("HAProxy does not take its configuration, and it cannot be told why")

    async def _new_worker(self, config: HaproxyConfig) -> None:
        """Raises :class:`HaproxyRefused`, :class:`HaproxyDown`."""
        if self._refusals and self.process.up:
            await self._check_first(config)
        await self._write(config)
        local = self._local_to_take()
        if await asyncio.to_thread(self.process.adrift):
            await self._replace(config)
        elif self.process.up:
            await self._reload(config)
        else:  # what was known of servers is from before the last reload, which may be long ago
            await asyncio.to_thread(self._storage.states.unlink, missing_ok=True)
            await self.process.start()
        self._places, self._anywhere, self._lost = places_of(config), False, False
        self._local, self._leftovers, self._refusals = local, frozenset(), 0
        await self._remember(config)
        with contextlib.suppress(NeedsReload):  # it would end no better
            await self._put_servers_right()
        await asyncio.to_thread(self._files.remove_others, config)

    async def _reload(self, config: HaproxyConfig) -> None:
        await self.process.let_workers_leave()
        await self._counters.carry_over(self.process.cli)
        await self._keep_states(config)
        await self.process.reload()

    async def _replace(self, config: HaproxyConfig) -> None:
        """What cannot be asked any more is lost: totals since the last look, and what was known of servers."""
        try:
            await self._counters.carry_over(self.process.cli)
            await self._keep_states(config)
        except HaproxyDown:
            await asyncio.to_thread(self._storage.states.unlink, missing_ok=True)
        await self.process.replace(self._layout.worker_socket)

    async def _check_first(self, config: HaproxyConfig) -> None:
        """A refused reload counts against the worker that serves on: enough of them would end its connections at the
        next good one. So after one, HAProxy is asked before."""
        words = await self._trial.check(config.load_balancers)
        if words:
            raise HaproxyRefused(words)

    async def _keep_states(self, config: HaproxyConfig) -> None:
        states = await self.process.cli.command("show servers state")
        await asyncio.to_thread(write_file, self._storage.states, kept_states(config, states).encode())

    async def _blame(self, config: HaproxyConfig, words: str) -> dict[str, str]:
        """Who is it? Raises :class:`HaproxyDown` if it cannot be found out."""
        local = self._local_to_take()
        wanted, running = config.load_balancers, self._running.load_balancers
        found = await self._trial.blame(wanted, running, words, with_local=bool(local))
        if not found:
            self._bad_local = (local, words)
        return found

    # -- making sure

    async def _verify(self) -> wire.How | None:
        """Look at the files and the process, and put right what is otherwise. None: all was well."""
        await self.catch_up()
        commands = await self._put_files_right()
        try:
            commands += await self._put_servers_right()
            commands += await self._amends.frontends(self._running)
            commands += await self._amends.acls(self._running)
        except NeedsReload as reason:
            self._log.warning("reload needed to put right", reason=str(reason))
            self._known = False
            await self._reload_until_good(self._running)
            return "reload"
        return "runtime" if commands else None

    async def _put_files_right(self) -> int:
        """HAProxy read them long ago: it is the next worker that they matter for."""
        differing = await asyncio.to_thread(self._files.look, self._running)
        if not differing:
            return 0
        self._log.warning("files were changed by somebody", files=differing)
        await self._write(self._running)
        await self._remember(self._running)
        return 1

    async def _put_servers_right(self) -> int:
        commands, leftovers = await self._amends.servers(self._running)
        self._leftovers |= leftovers
        return commands
