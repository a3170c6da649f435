"""Applies a new configuration by a new worker: through a reload, a first start, or another process in its place.

A load balancer that HAProxy refuses keeps its previous configuration, and the others are tried again without its
change.
"""

import asyncio
import contextlib
from contextlib import AbstractAsyncContextManager

import msgspec
import structlog

from evenkeel.haproxyd.disk.files import write_file
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import HaproxyDown, HaproxyRefused
from evenkeel.haproxyd.haproxy.config.bindability import (
    bindable_load_balancers,
    replace_unbindable,
    unbindable_load_balancers,
)
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_check import ConfigCheck
from evenkeel.haproxyd.haproxy.config.config_files import ConfigFiles
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.haproxy.config.local_config import LocalConfig
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.running_state import RunningState
from evenkeel.haproxyd.haproxy.runtime.command import DriftFinding, NeedsReload
from evenkeel.haproxyd.haproxy.runtime.runtime_commands import RuntimeCommands
from evenkeel.haproxyd.haproxy.runtime.state_file import state_file_content
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_SERVERS_STATE
from evenkeel.haproxyd.ports import FrontendCounters
from evenkeel.metrics.haproxyd import RELOAD_DURATION

log = structlog.get_logger(__name__)

TRIES_MAX = 4
"""Maximum number of attempts for one configuration; each leaves out what the previous one showed to be invalid."""


class HaproxyReloader:
    """Makes one partition's HAProxy run a configuration by starting a new worker. Not safe for concurrent
    calls.
    """

    def __init__(
        self,
        partition: str,
        storage: PartitionStorage,
        layout: PartitionLayout,
        counters: FrontendCounters,
        *,
        process: HaproxyProcess,
        files: ConfigFiles,
        state: RunningState,
        local: LocalConfig,
        config_check: ConfigCheck,
        commands: RuntimeCommands,
    ) -> None:
        self._storage = storage
        self._layout = layout
        self._counters = counters
        self._process = process
        self._files = files
        self._state = state
        self._local = local
        self._config_check = config_check
        self._commands = commands
        self._refusals = 0
        """Number of refused reloads since the last successful one."""
        self._log = log.bind(partition=partition)

    async def write_config(self, config: HaproxyConfig) -> None:
        """Write the files that HAProxy reads, and remove what the record says of the running configuration,
        which is unknown until it is recorded again.

        Raises :class:`OSError`.
        """
        await asyncio.to_thread(self._write_files, config)

    def _write_files(self, config: HaproxyConfig) -> None:
        self._state.mark_unknown()
        # In this order: if the daemon dies between the two, no record may claim that HAProxy runs what is on disk.
        self._files.write(config, with_local=bool(self._local.text_to_include()))

    async def reload(self, config: HaproxyConfig) -> tuple[dict[str, str], bool]:
        """Start a worker with the configuration, without the load balancers that HAProxy refuses.

        Returns ``{load balancer id: error}`` of those that kept their previous configuration, and whether
        there is a new worker. Raises :class:`HaproxyDown` if HAProxy does not serve, or refuses for a reason
        that cannot be determined; :class:`OSError`.
        """
        errors: dict[str, str] = {}
        before = self._state.config if self._state.known else None
        # a configuration that is not certain to run may name addresses that another process has by now
        previous = (
            self._state.previous_load_balancers
            if before
            else bindable_load_balancers(self._state.previous_load_balancers, self._state.binds)
        )
        for _ in range(TRIES_MAX):
            try:
                await self._start_worker(config)
                return errors, True
            except HaproxyRefused as refusal:
                self._refusals += 1
                self._log.warning("haproxy refused the configuration", reason=refusal.reason)
                errors |= await self._find_refused_load_balancers(config, refusal.reason)
                # the load balancers at fault go back to their previous configuration, and the others are tried again
                config = replace_unbindable(config, previous, errors)
            if not self._process.is_running and not config.load_balancers:
                return errors, False
            # HAProxy already runs what is left of the configuration: only the files have to go back to it.
            if (
                self._process.is_running
                and before
                and _differ_at_most_in_size(config, before)
                and self._state.local == self._local.text_to_include()
            ):
                await self.write_config(before)
                await self._state.record_config(before)
                return errors, False
        raise HaproxyDown("HAProxy does not take its configuration, for a reason that cannot be determined")

    async def repair_servers(self) -> tuple[DriftFinding, ...]:
        """Restore servers that differ from the configuration after a reload; returns what was repaired.
        Raises :class:`NeedsReload` if a server is missing or cannot be restored, :class:`HaproxyDown`.
        """
        findings, to_delete = await self._commands.repair_servers(self._state.config)
        self._state.servers_to_delete |= to_delete
        return findings

    async def _start_worker(self, config: HaproxyConfig) -> None:
        """Write the configuration, start a worker with it, and record that. Raises :class:`HaproxyRefused` if
        HAProxy refuses the configuration, :class:`HaproxyDown`, :class:`OSError`.
        """
        # a check costs a process start, so it is left out while reloads succeed
        if self._process.is_running and (self._refusals or await self._config_check.is_due()):
            await self._check_before_reload(config)
        await self.write_config(config)
        # Read before HAProxy reads it: a change in between shows as a difference later, and leads to another reload.
        local = self._local.text_to_include()
        inherits = await self._run_new_worker(config)
        self._refusals = 0
        self._state.record_new_worker(config, local)
        await asyncio.to_thread(self._record_new_worker, config)
        if inherits:
            with contextlib.suppress(NeedsReload):  # another reload would have the same result
                await self.repair_servers()

    async def _run_new_worker(self, config: HaproxyConfig) -> bool:
        """Reload, replace or start the process. Returns whether the new worker may have loaded states of
        servers from an earlier one. Raises :class:`HaproxyRefused`, :class:`HaproxyDown`,
        :class:`OSError`.
        """
        if self._process.reload_blocker():
            await self._replace_process(config)
        elif self._process.is_running:
            await self._reload_process(config)
        else:
            dropped = self._drop_server_states()
            await self._process.start()
            return not dropped
        return True

    def _record_new_worker(self, config: HaproxyConfig) -> None:
        self._state.try_to_save()
        # Only now, because after a refusal the files of the previous configuration would be needed again.
        self._files.remove_unused_files(config)

    async def _reload_process(self, config: HaproxyConfig) -> None:
        async with self._carry_over_counters() as answers:
            await self._keep_server_states(config, answers)
            with RELOAD_DURATION.time():
                await self._process.reload()

    async def _replace_process(self, config: HaproxyConfig) -> None:
        """Start a new process in place of the old one, carrying over server states and counters. Raises
        :class:`HaproxyRefused`, :class:`HaproxyDown` or :class:`OSError` if the new process does not
        serve; the old one then keeps running.

        If the old process does not answer, its server states and its counts since the last read are lost.
        """
        async with self._carry_over_counters() as answers:
            try:
                await self._keep_server_states(config, answers)
            except HaproxyDown:
                self._drop_server_states()
            await self._process.replace()

    async def _check_before_reload(self, config: HaproxyConfig) -> None:
        """Check the configuration by ``haproxy -c``. Raises :class:`HaproxyRefused` with HAProxy's reason,
        :class:`HaproxyDown` if the check cannot be run.

        Done after a refused reload, and always where a refused reload would cost connections at the next one.
        """
        reason = await self._config_check.check(config.load_balancers)
        if reason:
            raise HaproxyRefused(reason)

    def _carry_over_counters(self) -> AbstractAsyncContextManager[tuple[str, ...]]:
        """Return a context in which counters are carried over, and which yields the worker's answer to
        :data:`SHOW_SERVERS_STATE`, or an empty tuple.
        """
        process = self._process
        return self._counters.carry_over(
            process.cli, self._layout.worker_socket, process.worker_pid, SHOW_SERVERS_STATE
        )

    async def _keep_server_states(self, config: HaproxyConfig, answers: tuple[str, ...]) -> None:
        """Write the states of servers for the next worker, from ``answers`` if it has the worker's states,
        else from a query. Raises :class:`HaproxyDown`, :class:`OSError`, and :class:`ValueError` or
        :class:`KeyError` for an answer in an unexpected form.
        """
        states = answers[0] if answers else await self._process.cli.command(SHOW_SERVERS_STATE)
        await asyncio.to_thread(write_file, self._storage.states, state_file_content(config, states).encode())

    def _drop_server_states(self) -> bool:
        """Remove the stored server states, which are from before the last reload, possibly long ago. Returns
        whether they are gone. Blocks shortly.

        On a read-only disk they stay: HAProxy then begins with that health, until its next checks, which is
        better than no HAProxy.
        """
        try:
            self._storage.states.unlink(missing_ok=True)
        except OSError as error:
            self._log.warning("old server states not removed", reason=error.strerror)
            return False
        return True

    async def _find_refused_load_balancers(self, config: HaproxyConfig, reason: str) -> dict[str, str]:
        """Find the load balancers that HAProxy refuses, and return ``{id: reason}``. ``reason``: HAProxy's
        message.

        Empty: the operator's file is the cause, and is left out from now on. Raises :class:`HaproxyDown` if
        the check cannot be run or no cause is found.
        """
        taken = unbindable_load_balancers(config, self._state.config, self._state.binds)
        if taken:  # another process bound it since the check
            return taken
        local = self._local.text_to_include()
        wanted, running = config.load_balancers, self._state.config.load_balancers
        found = await self._config_check.bisect(wanted, running, reason, with_local=bool(local))
        if not found:
            self._local.refuse(local, reason)
        return found


def _differ_at_most_in_size(first: HaproxyConfig, second: HaproxyConfig) -> bool:
    """Whether the configurations differ at most in the worker's size."""
    return msgspec.structs.replace(first, size=second.size) == second
