"""The configuration that one HAProxy runs, as far as the daemon knows, and its record for the next daemon
(``running.json``).
"""

import asyncio

from evenkeel.haproxyd.disk.storage import PartitionStorage, RunningFile
from evenkeel.haproxyd.haproxy.config.bindability import Binds, binds_of
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_files import ConfigFiles
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.processes import start_ticks
from evenkeel.haproxyd.haproxy.runtime.plan import ServersToDelete


class RunningState:
    """The running state of one partition. Methods that write raise :class:`OSError`."""

    def __init__(self, storage: PartitionStorage, files: ConfigFiles, process: HaproxyProcess) -> None:
        self._storage = storage
        self._files = files
        self._process = process
        self._saved = False
        """Whether the record on disk is current."""
        self.config = HaproxyConfig()
        self.known = False
        """Whether the process runs exactly :attr:`config`."""
        self.local = ""
        """The operator's file as HAProxy read it."""
        self.binds: Binds = frozenset()
        """Addresses on which the process may be listening."""
        self.binds_unknown = False
        """Whether it may be listening elsewhere, too: it was adopted and runs another configuration than the one on
        disk."""
        self.lost = False
        """Whether it was adopted without any record of its configuration."""
        self.servers_to_delete: ServersToDelete = frozenset()
        """Servers in maintenance that remain in the process until their connections have ended."""

    def adopt(self, saved: RunningFile, config: HaproxyConfig, local: str) -> None:
        """Adopt a running process. ``saved``: the record of an earlier daemon; ``config``: the configuration it should
        run; ``local``: the operator's file that it may have read."""
        self.binds = frozenset((address, port) for address, port in saved.places)
        self.local = local
        same_worker = saved.worker_pid == self._process.worker_pid
        self.known = same_worker and saved.digest == self._files.digest(config, local)
        self._saved = True
        self.config = config if self.known else HaproxyConfig()
        self.binds_unknown, self.lost = not self.known, not saved.master_pid

    def forget(self) -> None:
        """There is no process."""
        self.config, self.known = HaproxyConfig(), False
        self.binds, self.servers_to_delete = frozenset(), frozenset()
        self.binds_unknown = self.lost = False

    def mark_unknown(self) -> None:
        """Mark the configuration as unknown until :meth:`set`, because the process is about to be changed. Blocks."""
        if self._saved:
            self._storage.write_running(self._file(""))
        self.known = self._saved = False

    async def set(self, config: HaproxyConfig) -> None:
        """The process runs exactly this configuration; record it."""
        self.set_unsaved(config)
        await asyncio.to_thread(self.save)

    def set_unsaved(self, config: HaproxyConfig) -> None:
        """The process runs exactly this configuration; :meth:`save` records it later."""
        self.config, self.known = config, True

    async def set_new_worker(self, config: HaproxyConfig, local: str) -> None:
        """A new worker has read this configuration, and ``local``, the operator's file."""
        self.binds, self.binds_unknown, self.lost = binds_of(config), False, False
        self.local, self.servers_to_delete = local, frozenset()
        await self.set(config)

    def save(self) -> None:
        """Write the record for the next daemon. Blocks."""
        self._storage.write_running(self._file(self._files.digest(self.config, self.local)))
        self._saved = True

    def _file(self, digest: str) -> RunningFile:
        return RunningFile(
            master_pid=self._process.master_pid,
            master_started=start_ticks(self._process.master_pid),
            worker_pid=self._process.worker_pid or 0,
            digest=digest,
            places=tuple(sorted(self.binds)),
        )
