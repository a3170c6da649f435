"""What one HAProxy does now, as far as the daemon knows, and what the next daemon is told of it (``running.json``)."""

import asyncio

from evenkeel.haproxyd.disk.storage import PartitionStorage, RunningFile
from evenkeel.haproxyd.haproxy.config.bindability import Binds, binds_of
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.config_files import ConfigFiles
from evenkeel.haproxyd.haproxy.process import HaproxyProcess
from evenkeel.haproxyd.haproxy.processes import start_ticks
from evenkeel.haproxyd.haproxy.runtime.plan import ServersToDelete


class RunningState:
    """Of one partition. What writes raises :class:`OSError`."""

    def __init__(self, storage: PartitionStorage, files: ConfigFiles, process: HaproxyProcess) -> None:
        self._storage = storage
        self._files = files
        self._process = process
        self._saved = False
        """Does the disk tell the next daemon what runs?"""
        self.config = HaproxyConfig()
        self.known = False
        """Does the process do exactly :attr:`config`?"""
        self.local = ""
        """The operator's file as HAProxy read it."""
        self.binds: Binds = frozenset()
        """Where the process may be listening."""
        self.binds_unknown = False
        """May it be listening elsewhere, too? It was adopted, and does something else than the disk says."""
        self.lost = False
        """Was it adopted without anything on disk that tells what it does?"""
        self.servers_to_delete: ServersToDelete = frozenset()
        """Servers in maintenance that stay in the process until their connections have ended."""

    def adopt(self, saved: RunningFile, config: HaproxyConfig, local: str) -> None:
        """The process was found running. ``saved``: what an earlier daemon knew of it; ``config``: what it should do;
        ``local``: the operator's file that it may have read."""
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
        """The process is about to be changed: until :meth:`set`, nobody can be sure what it does. Blocks."""
        if self._saved:
            self._storage.write_running(self._file(""))
        self.known = self._saved = False

    async def set(self, config: HaproxyConfig) -> None:
        """The process does exactly this, and the next daemon may know."""
        self.set_unsaved(config)
        await asyncio.to_thread(self.save)

    def set_unsaved(self, config: HaproxyConfig) -> None:
        """The process does exactly this; the next daemon is told later, by :meth:`save`."""
        self.config, self.known = config, True

    async def set_new_worker(self, config: HaproxyConfig, local: str) -> None:
        """A new worker has read this configuration, and ``local`` of the operator's."""
        self.binds, self.binds_unknown, self.lost = binds_of(config), False, False
        self.local, self.servers_to_delete = local, frozenset()
        await self.set(config)

    def save(self) -> None:
        """Tell the next daemon. Blocks."""
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
