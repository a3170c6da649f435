"""Configuration that one HAProxy runs, as far as is certain, and its record for the next daemon (``running.json``)."""

import asyncio
from collections.abc import Mapping

import msgspec
import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage, RunningFile
from evenkeel.haproxyd.haproxy.config.bindability import BindAddresses, config_binds
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_files import ConfigFiles
from evenkeel.haproxyd.haproxy.config.live_policies import LivePolicies
from evenkeel.haproxyd.haproxy.config.worker_size import WorkerSize
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.processes import start_ticks
from evenkeel.haproxyd.haproxy.runtime.plan import ServersToDelete

log = structlog.get_logger(__name__)


class RunningState:
    """Record of what one partition's HAProxy runs, in memory and for the next daemon on disk. Methods that
    write raise :class:`OSError` unless stated otherwise.
    """

    def __init__(self, storage: PartitionStorage, files: ConfigFiles, process: HaproxyProcess) -> None:
        self._storage = storage
        self._files = files
        self._process = process
        self._saved = False
        """Whether the record on disk is current."""
        self.config = HaproxyConfig()
        self.known = False
        """Whether the process is certain to run exactly :attr:`config`."""
        self.local = ""
        """Text of the operator's file as HAProxy read it."""
        self.binds: BindAddresses = frozenset()
        """Addresses on which the process listens; recorded addresses while :attr:`known` is False."""
        self._adopted: Mapping[str, wire.LoadBalancerConfig] = {}
        """Load balancers on disk when a process was adopted that may run others, by id."""
        self.lost = False
        """Whether the process was adopted without any record of its configuration."""
        self.servers_to_delete: ServersToDelete = frozenset()
        """Servers in maintenance that remain in the process until their connections have ended."""
        self.live = LivePolicies()
        """Frontends whose policies were changed since the process loaded them."""

    def adopt(self, saved: RunningFile, config: HaproxyConfig, local: str) -> None:
        """Set the state in memory to that of a process that an earlier daemon started; ``known`` if its
        record proves that it runs ``config``.

        ``saved``: the earlier daemon's record; ``config``: the configuration that the process should run;
        ``local``: the operator's file that it may have read.
        """
        self.binds = frozenset((address, port) for address, port in saved.places)
        self.local = local
        self.live = LivePolicies(unknown=frozenset(saved.live))
        size = WorkerSize(connections=saved.connections, tls_sessions=saved.tls_sessions)
        config = msgspec.structs.replace(config, size=size)
        self.known = self._is_state_of_process(saved) and saved.digest == self._files.digest(config, local)
        # So that `mark_unknown` replaces the record, even if it is of another process.
        self._saved = True
        self.config, self._adopted = (config, {}) if self.known else (HaproxyConfig(), config.load_balancers)
        self.lost = not saved.master_pid

    @property
    def previous_load_balancers(self) -> Mapping[str, wire.LoadBalancerConfig]:
        """Return ``{id: load balancer}`` that the process runs as far as is certain; else those on disk when
        it was adopted. A refused load balancer goes back to these.
        """
        return self.config.load_balancers or self._adopted

    def _is_state_of_process(self, saved: RunningFile) -> bool:
        """Whether the record is of this very worker, compared by pid and the master's start time.

        Pids are reused, and the record may be of an earlier HAProxy, if the disk had no room for a newer record.
        """
        process = self._process
        recorded = (saved.master_pid, saved.master_started, saved.worker_pid)
        return recorded == (process.master_pid, start_ticks(process.master_pid), process.worker_pid)

    def reset(self) -> None:
        """Forget configuration, addresses and policies, because there is no process. The record on disk
        stays.
        """
        self.config, self.known = HaproxyConfig(), False
        self.binds, self.servers_to_delete = frozenset(), frozenset()
        self._adopted, self.lost, self.live = {}, False, LivePolicies()

    def mark_unknown(self) -> None:
        """Record that the running configuration is unknown until :meth:`record_config`, because the process is about to
        be changed. Blocks. Raises :class:`OSError`.

        Without a process the record on disk is left: it is of a process that has ended, and a full disk must
        not prevent a start.
        """
        if self._saved and self._process.is_running:
            self._storage.write_running(self._running_file(""))
        self.known = self._saved = False

    async def record_config(self, config: HaproxyConfig) -> None:
        """Record, in memory and on disk, that the process runs exactly this configuration. Raises
        :class:`OSError`.
        """
        self.record_config_unsaved(config)
        await asyncio.to_thread(self.save)

    def record_config_unsaved(self, config: HaproxyConfig) -> None:
        """Record in memory that the process runs exactly this configuration; :meth:`save` writes that to disk."""
        self.config, self.known, self._adopted = config, True, {}

    def record_new_worker(self, config: HaproxyConfig, local: str) -> None:
        """Record in memory that a new worker has read this configuration, and ``local``, the operator's file;
        :meth:`try_to_save` writes that to disk.
        """
        self.binds, self.lost = config_binds(config), False
        self.local, self.servers_to_delete, self.live = local, frozenset(), LivePolicies()
        self.record_config_unsaved(config)

    async def save_again(self) -> None:
        """Write the record to disk if an earlier attempt failed and the process runs a known configuration.
        Does not raise.
        """
        if self.known and not self._saved and self._process.is_running:
            await asyncio.to_thread(self.try_to_save)

    def try_to_save(self) -> None:
        """Write the record for the next daemon. Blocks. Does not raise.

        The worker serves, so a failure is only logged: until :meth:`save_again`, a restarted daemon would
        reload HAProxy.
        """
        try:
            self.save()
        except OSError as error:
            log.warning(
                "record of what haproxy runs not written", master=self._process.master_pid, reason=error.strerror
            )

    def save(self) -> None:
        """Write the record of the running process and its configuration for the next daemon. Blocks. Raises
        :class:`OSError`.
        """
        self._storage.write_running(self._running_file(self._files.digest(self.config, self.local)))
        self._saved = True

    def _running_file(self, digest: str) -> RunningFile:
        return RunningFile(
            master_pid=self._process.master_pid,
            master_started=start_ticks(self._process.master_pid),
            worker_pid=self._process.worker_pid or 0,
            digest=digest,
            places=tuple(sorted(self.binds)),
            connections=self.config.size.connections,
            tls_sessions=self.config.size.tls_sessions,
            live=self.live.names,
        )
