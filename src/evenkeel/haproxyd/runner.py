"""Makes one HAProxy do what is wished, by the smallest means: nothing, commands, or a reload.

Files are written before HAProxy is told anything, so that a crash of HAProxy at any moment brings up the new state or
the old one. What the process was last told is kept beside them (``running.json``): a daemon that comes back knows
whether the process it finds does as the disk says, and reloads it if it cannot be sure.

A load balancer that HAProxy refuses is taken out of the wish alone: it goes on as it was before. One caller at a time.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

import structlog

from evenkeel.core.values import Value
from evenkeel.haproxyd import binds, wire
from evenkeel.haproxyd.binary import FindBinary
from evenkeel.haproxyd.compose import Composer, Layout, Wish
from evenkeel.haproxyd.culprits import check_config, find_culprits
from evenkeel.haproxyd.files import read_text, write_file
from evenkeel.haproxyd.plan import Command, NeedsReload, Plan, acl_changes, entries, plan
from evenkeel.haproxyd.ports import Counters, HaproxyDown, HaproxyRefused
from evenkeel.haproxyd.process import HaproxyProcess, start_ticks
from evenkeel.haproxyd.settings import DaemonSettings
from evenkeel.haproxyd.storage import PartitionStorage, RunningFile, digest
from evenkeel.haproxyd.verify import frontend_repairs, kept_states, parse_acl, server_repairs

log = structlog.get_logger(__name__)

TRIES_MAX = 4
"""Reloads for one wish, each without what the last one showed to be bad; the last is back to what ran before."""


class Applied(Value):
    """``errors``: load balancers that are not as wished but as before, and why. ``problem``: of the operator's file."""

    how: wire.How
    errors: Mapping[str, str] = {}
    problem: str = ""


class Runner:
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
        self._partition = partition
        self._settings = settings
        self._binary = binary
        self._storage = storage
        self._layout = layout
        self._counters = counters
        self._composer = Composer(partition, layout, settings)
        self._log = log.bind(partition=partition)
        self._doing = Wish()
        self._known = False
        """Does the process do exactly :attr:`_doing`?"""
        self._told = False
        """Does the disk say so to the next daemon?"""
        self._places: frozenset[binds.Place] = frozenset()
        """Where the process may be listening."""
        self._leftovers: frozenset[tuple[str, str]] = frozenset()
        self._behind = False
        """Are HAProxy's files older than what it does?"""
        self._refusals = 0
        """Reloads refused since the last one that was not."""
        self._files: dict[str, str] = {}
        """What we know to be in the files."""
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

    async def adopt(self, wish: Wish) -> None:
        """Take over a HAProxy that runs already, if there is one, and see whether it does as wished."""
        told = await asyncio.to_thread(self._storage.read_running)
        if not await self.process.find(told.master_pid, told.master_started):
            return
        self._places = frozenset((address, port) for address, port in told.places)
        self._local = read_text(self._layout.local) or ""
        self._known = told.worker_pid == self.process.worker_pid and told.digest == self._digest(wish)
        self._told = True
        self._doing = wish if self._known else Wish()
        self._log.info("haproxy found running", master=self.process.master_pid, as_wished=self._known)

    async def become(self, wish: Wish, *, verify: bool) -> Applied:
        """Make it so. Raises :class:`HaproxyDown` if HAProxy can't be brought to serve, :class:`OSError`."""
        if not self.process.up:
            self._forget()
            if not wish.load_balancers:
                return Applied(how="nothing")
        wish = self._with_bindable_peer(wish)
        errors = self._unbindable(wish)
        wish = self._without(wish, errors)
        step = await self._plan(wish, verify=verify)
        how: wire.How = "nothing"
        if step.commands and not step.reason:
            how = "runtime"
            if not await self._at_runtime(wish, step):
                step = Plan(reason="refused at runtime")
        if step.reason:
            self._log.info("reload", reason=step.reason)
            refused, changed = await self._reload_until_good(wish)
            errors |= refused
            how = "reload" if changed else "nothing"
        elif wish != self._doing:  # a revision, or checks that are not HAProxy's
            how = "runtime" if _ping_changed(self._doing, wish) else how
            await self._write(wish)
            await self._remember(wish)
        if verify and how != "reload" and self.process.up:
            how = await self._verify() or how
        await self._sweep()
        return Applied(how=how, errors=errors, problem=self._problem())

    def _problem(self) -> str:
        problems = [f"peers are left out: {self._bad_peer}"] if self._bad_peer else []
        if self._bad_local and read_text(self._storage.local) == self._bad_local[0]:
            problems.append(f"local.cfg is left out: {self._bad_local[1]}")
        else:
            self._bad_local = None
        return "; ".join(problems)

    async def retire(self) -> bool:
        """An empty HAProxy ends once nobody's connections are left in old workers. True: there is none any more."""
        if not self.process.up or self._doing.load_balancers:
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
        self._doing, self._known = Wish(), False
        self._places, self._leftovers, self._files = frozenset(), frozenset(), {}
        self._composer = Composer(self._partition, self._layout, self._settings)

    # -- what is to be done

    def _with_bindable_peer(self, wish: Wish) -> Wish:
        """A HAProxy that cannot listen for its peers does without them; no load balancer is to blame."""
        self._bad_peer = ""
        place = _peer_place(wish)
        if place is None or place in self._places:
            return wish
        self._bad_peer = binds.unbindable([place]).get(place, "")
        return Wish(load_balancers=wish.load_balancers) if self._bad_peer else wish

    def _unbindable(self, wish: Wish) -> dict[str, str]:
        """Load balancers whose new places cannot be listened on, so that HAProxy never tries."""
        ours = self._places - {_peer_place(self._doing)}
        new = {
            place: one.id
            for one in wish.load_balancers.values()
            if one != self._doing.load_balancers.get(one.id)
            for place in binds.places(one)
            if place not in ours
        }
        problems = binds.unbindable(new)
        return {new[place]: problem for place, problem in problems.items()}

    def _without(self, wish: Wish, bad: dict[str, str]) -> Wish:
        """The wish with some load balancers as they are now; those who would be in their way join them."""
        if not bad:
            return wish
        kept = {name: one for name, one in wish.load_balancers.items() if name not in bad}
        as_now = {name: one for name, one in self._doing.load_balancers.items() if name in bad}
        more = binds.in_the_way(as_now.values(), kept.values())
        without = Wish(load_balancers=kept | as_now, peer=wish.peer, peers=wish.peers)
        bad.update(more)
        return self._without(without, bad) if more else without

    async def _plan(self, wish: Wish, *, verify: bool) -> Plan:
        if not self.process.up:
            return Plan(reason="start")
        if not self._known:
            return Plan(reason="not known what runs")
        if verify:
            reason = await self._replaced()
            if reason:
                return Plan(reason=reason)
        return plan(self._doing, wish, await self._binary(), self._leftovers)

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

    async def _write(self, wish: Wish) -> None:
        await asyncio.to_thread(self._write_now, wish)

    def _write_now(self, wish: Wish) -> None:
        self._doubt()
        self._write_all(wish)

    def _doubt(self) -> None:
        """Until it is done, nobody can be sure what the process does."""
        if self._told:
            self._storage.write_running(self._running_file(""))
        self._known = self._told = False

    async def catch_up(self) -> None:
        """Write what HAProxy reads at its next start, if commands went ahead of it. Raises :class:`OSError`."""
        if self._behind:
            await asyncio.to_thread(self._write_all, self._doing)
            if self._known:
                await asyncio.to_thread(self._tell_next_daemon)

    def _write_all(self, wish: Wish) -> None:
        self._write_files(wish, self._layout, self._files, self._composer)
        self._files |= _files(wish)
        self._storage.link_local(take=bool(self._local_to_take()))
        self._behind = False

    def _write_files(self, wish: Wish, layout: Layout, known: Mapping[str, str], composer: Composer) -> None:
        self._storage.write_files(layout.files_dir, _files(wish), known)
        # written beside its folder: HAProxy reads all that is in it
        write_file(layout.config, composer.text(wish).encode(), temporary_dir=layout.config_dir.parent)

    async def _remember(self, wish: Wish) -> None:
        """The process does exactly this, and the next daemon may know."""
        self._doing, self._known = wish, True
        await asyncio.to_thread(self._tell_next_daemon)

    def _tell_next_daemon(self) -> None:
        self._storage.write_running(self._running_file(self._digest(self._doing)))
        self._told = True

    def _running_file(self, known: str) -> RunningFile:
        return RunningFile(
            master_pid=self.process.master_pid,
            master_started=start_ticks(self.process.master_pid),
            worker_pid=self.process.worker_pid or 0,
            digest=known,
            places=tuple(sorted(self._places)),
        )

    def _digest(self, wish: Wish) -> str:
        text = self._composer.text(wish)
        files = (part for item in sorted(_files(wish).items()) for part in item)
        return digest(text, self._local, *files)

    # -- by commands

    async def _at_runtime(self, wish: Wish, step: Plan) -> bool:
        """True: the process does as wished. False: it is not known what it does.

        HAProxy's files follow (:meth:`catch_up`) when the answer has been given, and so does what the next daemon is
        told: nothing but a reload or a start reads the files, and both write them before; a daemon that finds nothing
        told reloads.
        """
        await asyncio.to_thread(self._doubt)
        for command in step.commands:
            if not await self._tell(command):
                return False
        self._doing, self._known = wish, True
        self._leftovers, self._behind = step.leftovers, True
        return True

    async def _tell(self, command: Command) -> bool:
        try:
            answer = await self.process.cli.command(command.text, command.payload)
        except HaproxyDown as error:
            self._log.warning("no answer at runtime", command=command.text, reason=str(error))
            return False
        if not command.done(answer):
            self._log.info("refused at runtime", command=command.text, answer=answer.strip()[:200])
            return False
        return True

    async def _sweep(self) -> None:
        """Delete servers that are out of service and have no connections any more; a reload does it in any case."""
        if not self.process.up or not self._known:
            return
        for backend, name in self._leftovers:
            if await self._tell(Command(text=f"del server {backend}/{name}", expects="deleted")):
                self._leftovers -= {(backend, name)}

    # -- by a new worker

    async def _reload_until_good(self, wish: Wish) -> tuple[dict[str, str], bool]:
        """Errors by load balancer, and whether there is a new worker. Raises :class:`HaproxyDown`."""
        errors: dict[str, str] = {}
        before = self._doing if self._known else None
        for _ in range(TRIES_MAX):
            try:
                await self._new_worker(wish)
                return errors, True
            except HaproxyRefused as refusal:
                self._refusals += 1
                self._log.warning("haproxy refused", reason=refusal.reason)
                errors |= await self._blame(wish, refusal.reason)
                wish = self._without(wish, errors)
            if not self.process.up and not wish.load_balancers:
                return errors, False
            if self.process.up and wish == before and self._local == self._local_to_take():
                await self._write(wish)
                await self._remember(wish)
                return errors, False
        raise HaproxyDown("HAProxy does not take its configuration, and it cannot be told why")

    async def _new_worker(self, wish: Wish) -> None:
        """Raises :class:`HaproxyRefused`, :class:`HaproxyDown`."""
        if self._refusals and self.process.up:
            await self._check_first(wish)
        await self._write(wish)
        local = self._local_to_take()
        if self.process.up:
            await self._reload(wish)
        else:  # what was known of servers is from before the last reload, which may be long ago
            await asyncio.to_thread(self._storage.states.unlink, missing_ok=True)
            await self.process.start()
        self._places = _places(wish)
        self._local, self._leftovers, self._refusals = local, frozenset(), 0
        await self._remember(wish)
        with contextlib.suppress(NeedsReload):  # it would end no better
            await self._put_servers_right()
        await asyncio.to_thread(self._storage.remove_others, _files(wish))
        self._files = _files(wish)

    async def _reload(self, wish: Wish) -> None:
        await self.process.let_workers_leave()
        await self._counters.carry_over(self.process.cli)
        await self._keep_states(wish)
        await self.process.reload()

    async def _check_first(self, wish: Wish) -> None:
        """A refused reload counts against the worker that serves on: enough of them would end its connections at the
        next good one. So after one, HAProxy is asked before."""
        words = await self._check(wish.load_balancers)
        if words:
            raise HaproxyRefused(words)

    async def _keep_states(self, wish: Wish) -> None:
        states = await self.process.cli.command("show servers state")
        await asyncio.to_thread(write_file, self._storage.states, kept_states(wish, states).encode())

    async def _blame(self, wish: Wish, words: str) -> dict[str, str]:
        """Who is it? Raises :class:`HaproxyDown` if it cannot be found out."""
        doing = self._doing.load_balancers
        suspects = sorted(name for name, one in wish.load_balancers.items() if one != doing.get(name))

        async def check(names: Sequence[str]) -> str:
            return await self._check({name: wish.load_balancers[name] for name in names})

        found = await find_culprits(suspects, check)
        if found:
            return found
        local = self._local_to_take()
        if local and not await self._check(wish.load_balancers):
            self._bad_local = (local, words)
            return {}
        if not suspects:
            raise HaproxyDown(f"HAProxy does not take its configuration: {words}")
        named = [name for name in suspects if _mentions(words, wish.load_balancers[name])]
        return dict.fromkeys(named or suspects, words)

    async def _check(self, load_balancers: Mapping[str, wire.LoadBalancer]) -> str:
        """Why HAProxy would refuse these, without the operator's file."""
        directory = await asyncio.to_thread(self._storage.clean_check)
        layout = Layout(
            config_dir=directory / "conf",
            files_dir=directory / "files",
            server_states=None,
            master_socket=self._layout.master_socket,
            worker_socket=self._layout.worker_socket,
            peer_socket=self._layout.peer_socket,
        )
        composer = Composer(self._partition, layout, self._settings)
        await asyncio.to_thread(self._write_files, Wish(load_balancers=load_balancers), layout, {}, composer)
        return await check_config(await self._binary(), layout.config_dir, self._settings.check_timeout_seconds)

    # -- making sure

    async def _verify(self) -> wire.How | None:
        """Look at the files and the process, and put right what is otherwise. None: all was well."""
        await self.catch_up()
        commands = await self._put_files_right()
        try:
            commands += await self._put_servers_right()
            commands += await self._put_frontends_right()
            commands += await self._put_acls_right()
        except NeedsReload as reason:
            self._log.warning("reload needed to put right", reason=str(reason))
            self._known = False
            await self._reload_until_good(self._doing)
            return "reload"
        return "runtime" if commands else None

    async def _put_files_right(self) -> int:
        """HAProxy read them long ago: it is the next worker that they matter for."""
        wanted = _files(self._doing)
        text = self._composer.text(self._doing)
        differing = await asyncio.to_thread(self._storage.differing_files, wanted)
        if not differing and await asyncio.to_thread(read_text, self._layout.config) == text:
            return 0
        self._files = {name: content for name, content in wanted.items() if name not in differing}
        self._log.warning("files were changed by somebody", files=differing)
        await self._write(self._doing)
        await self._remember(self._doing)
        return 1

    async def _put_servers_right(self) -> int:
        repairs = server_repairs(self._doing, await self.process.cli.command("show servers state"))
        self._leftovers |= repairs.leftovers
        return await self._repair(repairs.commands)

    async def _put_frontends_right(self) -> int:
        return await self._repair(frontend_repairs(self._doing, await self.process.cli.command("show stat -1 1 -1")))

    async def _put_acls_right(self) -> int:
        count = 0
        for name, content in _files(self._doing, "acl").items():
            answer = await self.process.cli.command(f"show acl {name}")
            if not answer.startswith("Unknown"):  # no line names it
                count += await self._repair(tuple(acl_changes(name, parse_acl(answer), entries(content))))
        return count

    async def _repair(self, commands: Sequence[Command]) -> int:
        """How many. Raises :class:`NeedsReload` if one does not help."""
        for command in commands:
            self._log.warning("put right", command=command.text)
            if not await self._tell(command):
                raise NeedsReload(command.text)
        return len(commands)


def _files(wish: Wish, kind: str = "") -> dict[str, str]:
    """All of them, or of one kind."""
    return {
        file.name: file.content for one in wish.load_balancers.values() for file in one.files if kind in ("", file.kind)
    }


def _peer_place(wish: Wish) -> binds.Place | None:
    return binds.place(wish.peer.address, wish.peer.port) if wish.peer else None


def _places(wish: Wish) -> frozenset[binds.Place]:
    """Everywhere that a HAProxy which does this listens."""
    balancers = (place for one in wish.load_balancers.values() for place in binds.places(one))
    peer = _peer_place(wish)
    return frozenset((*balancers, peer)) if peer else frozenset(balancers)


def _mentions(words: str, one: wire.LoadBalancer) -> bool:
    names = (*(item.name for item in one.frontends), *(item.name for item in one.backends))
    return any(name in words for name in names)


def _ping_changed(before: Wish, after: Wish) -> bool:
    """Is there a difference that the daemon itself has to carry out?"""

    def pings(wish: Wish) -> set[tuple[str, wire.Ping | None, tuple[str | None, ...]]]:
        return {
            (backend.name, backend.ping, tuple(server.ping_address for server in backend.servers))
            for one in wish.load_balancers.values()
            for backend in one.backends
        }

    return pings(before) != pings(after)
