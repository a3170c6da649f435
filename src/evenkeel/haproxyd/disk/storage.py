"""A partition's directory. "On disk" means synced with fsync: it survives a power failure.

========================  ============================================================================================
``guard.json``            owner and peers; written before anything else changes
``held.json, held.log``   the accepted state and changes since; authoritative after a restart (:mod:`disk.change_log`)
``conf/haproxy.cfg``      composed of them; ``conf/local.cfg`` links to ``local.cfg`` while HAProxy accepts that
``worker.json``           the user that its workers run as (:mod:`haproxy.worker_users`)
``local.cfg``             the operator's own configuration; never written by the daemon
``running.json``          what the running process last read; not synced, because the process does not survive either
``drains.json``           when the connections of servers end that were taken out of service
``states``                server states that the last reload loaded (:mod:`haproxy.runtime.state_file`)
``counters/``             totals of its frontends
``haproxy.log``           HAProxy's standard output and error; ``haproxy.log.1``: before the last rotation
========================  ============================================================================================

Private keys are in another directory, in memory if the host has a memory file system (:mod:`disk.keys_dir`):

========================  ============================================================================================
``held/``                 contents of certificates, which ``held.json`` and ``held.log`` leave out
``files/``                certificates and lists that the configuration refers to
``check/``                a copy for ``haproxy -c``, to find what HAProxy refuses
``peer.pem``              its HAProxy's certificate and key for peers (:mod:`network.peer_keys`)
========================  ============================================================================================

Only the daemon's user may read any of it. Every function here may block.
"""

import contextlib
import hashlib
import os
import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from evenkeel.core.kit.values import Wire
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.certificate_contents import CertificateContents
from evenkeel.haproxyd.disk.change_log import ChangeLog
from evenkeel.haproxyd.disk.files import (
    StorageBroken,
    has_content,
    read_json_file,
    read_text,
    update_file,
    write_file,
)
from evenkeel.haproxyd.network.binds import BindAddress
from evenkeel.haproxyd.network.peer_keys import peer_certificate

LOG_BYTES_MAX = 4 * 1024 * 1024


class GuardFile(Wire):
    """Content of the guard file, which records a partition's owner and peers. ``epoch``: the newest owner's;
    -1: none yet.

    ``owner``: environment and device group; empty if the agent sent none. ``peer_port``: port on which this
    HAProxy accepts its peers; 0 if it has none.
    """

    epoch: int
    session_id: str = ""
    owner: str = ""
    peer_port: int = 0
    peers: tuple[wire.HaproxyPeer, ...] = ()


class WorkerFile(Wire):
    """Content of the file with the workers' user. ``uid``: user id; 0: the partition's workers have no user of their
    own.
    """

    uid: int = 0


class RunningFile(Wire):
    """Record of what the HAProxy process runs. ``digest``: of everything the process has read
    (:func:`texts_digest`), empty while that is not certain; ``places``: where it may be listening;
    ``connections``: for which the worker is sized.

    ``master_pid`` and ``master_started`` (clock ticks after boot) together identify one process; 0: none.
    """

    master_pid: int = 0
    master_started: int = 0
    worker_pid: int = 0
    digest: str = ""
    places: tuple[BindAddress, ...] = ()
    connections: int = 0
    tls_sessions: int = 0
    """TLS sessions that the worker can remember, as in
    :class:`~evenkeel.haproxyd.haproxy.config.worker_size.WorkerSize`.
    """
    live: tuple[str, ...] = ()
    """Frontends whose L7 policies were changed since the process loaded them."""


class ServerDrain(Wire):
    """A server out of service whose remaining connections are ended at ``until`` (seconds since 1970)."""

    load_balancer_id: str
    backend: str
    server: str
    until: float


class DrainsFile(Wire):
    """Content of the file with the times at which connections of servers are ended."""

    drains: tuple[ServerDrain, ...] = ()


FileVersion = tuple[int, int]
"""Inode number of a file, and time of its last modification in nanoseconds."""


def _file_version(path: Path) -> FileVersion | None:
    """Return inode number and time of last modification of a file, in nanoseconds; None if the file does not
    exist or cannot be examined.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


class PartitionStorage:
    """Files of one partition: its directory on disk, and its directory for keys. Methods that write raise
    :class:`OSError`; all methods may block.
    """

    def __init__(self, directory: Path, keys_dir: Path) -> None:
        self.directory = directory
        self.keys_dir = keys_dir
        self._contents = CertificateContents(keys_dir / "held")
        self.change_log = ChangeLog(directory, self._contents)
        self.config_dir = directory / "conf"
        self.files_dir = keys_dir / "files"
        self.check_dir = keys_dir / "check"
        self.counters_dir = directory / "counters"
        self.states = directory / "states"
        self.log = directory / "haproxy.log"
        self.old_log = directory / "haproxy.log.1"
        self.local = directory / "local.cfg"
        self._peer_key = keys_dir / "peer.pem"
        self._worker = directory / "worker.json"
        self._guard = directory / "guard.json"
        self._running = directory / "running.json"
        self._drains = directory / "drains.json"
        self._guard_version: FileVersion | None = None
        self._guard_lock = threading.Lock()
        """Held while the guard file is written or compared with the remembered version."""

    def prepare(self) -> None:
        """Create the partition's missing directories, mode 0700, and an empty change log. Raises
        :class:`OSError`.
        """
        for folder in (self.directory, self.config_dir, self.counters_dir, self.keys_dir, *self._key_folders):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Without a guard no change is admitted, and the first guard is written with an fsync of this directory.
        self.change_log.prepare(sync=self._guard.exists())

    @property
    def keys_missing(self) -> bool:
        """Whether one of the directories in the directory for keys, ``files`` or ``held``, is missing."""
        return not all(folder.is_dir() for folder in self._key_folders)

    @property
    def _key_folders(self) -> tuple[Path, Path]:
        return self.files_dir, self._contents.folder

    # -- durable state

    def read_guard(self) -> GuardFile | None:
        """Read the guard file, and remember its version for :meth:`describe_missing_files`; None if the partition was
        never guarded. Raises :class:`StorageBroken` if it cannot be read or decoded.
        """
        with self._guard_lock:
            found = read_json_file(self._guard, GuardFile)
            self._guard_version = _file_version(self._guard)
        return found

    def write_guard(self, guard: GuardFile) -> None:
        """Write the guard file, which survives a power failure once this returns. Raises :class:`OSError`."""
        with self._guard_lock:
            write_file(self._guard, msgspec.json.encode(guard), sync=True)
            self._guard_version = _file_version(self._guard)

    def describe_missing_files(self) -> str:
        """Return a text, for operators, that names a missing directory or change log, or a guard file
        replaced since its last use; empty if none is found. Other files are not checked.
        """
        for folder in (self.config_dir, self.counters_dir, *self._key_folders):
            if not folder.is_dir():
                return f"{folder.name} is gone"
        if self._guard_was_replaced():
            return f"{self._guard.name} was removed or replaced"
        return "" if self.change_log.exists else "held.log is gone"

    def _guard_was_replaced(self) -> bool:
        # the file is being written now, so a difference means nothing
        if not self._guard_lock.acquire(blocking=False):
            return False
        try:
            return _file_version(self._guard) != self._guard_version
        finally:
            self._guard_lock.release()

    def read_peer_key(self) -> str:
        """Read this HAProxy's certificate and private key for peers, as PEM; empty if there is none, or it
        cannot be used.
        """
        key = read_text(self._peer_key) or ""
        # A key that cannot be used is made anew (`PartitionGuard.ensure_port`).
        return key if peer_certificate(key) else ""

    def write_peer_key(self, key: str) -> None:
        """Write the certificate and private key for peers, which survive a power failure once this returns.
        Raises :class:`OSError`.
        """
        write_file(self._peer_key, key.encode(), sync=True)

    def read_worker_uid(self) -> int:
        """Read the user id of the partition's workers; 0: not assigned, or not readable."""
        with contextlib.suppress(StorageBroken):
            return (read_json_file(self._worker, WorkerFile) or WorkerFile()).uid
        return 0

    def write_worker_uid(self, uid: int) -> None:
        """Write the user id of the partition's workers (0: none), which survives a power failure once this
        returns. Raises :class:`OSError`.
        """
        write_file(self._worker, msgspec.json.encode(WorkerFile(uid=uid)), sync=True)

    def read_drains(self) -> tuple[ServerDrain, ...]:
        """Read the times at which connections of servers are ended; empty if the file is missing or cannot be
        read.
        """
        with contextlib.suppress(StorageBroken):
            return (read_json_file(self._drains, DrainsFile) or DrainsFile()).drains
        return ()

    def write_drains(self, drains: tuple[ServerDrain, ...]) -> None:
        """Write the times at which connections of servers are ended; they survive a power failure once this
        returns. Raises :class:`OSError`.
        """
        write_file(self._drains, msgspec.json.encode(DrainsFile(drains=drains)), sync=True)

    # -- HAProxy's output

    def trim_log(self) -> None:
        """Rotate HAProxy's log if it has more than 4 MiB: copy it to ``haproxy.log.1`` and empty it. HAProxy
        opened the log for appending, so it needs no signal. Raises :class:`OSError`.
        """
        # There is no log before HAProxy's first start.
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_BYTES_MAX:
                # Copied and truncated, not renamed, because HAProxy keeps the file open. Output between the two calls
                # is lost.
                shutil.copy(self.log, self.old_log)
                os.truncate(self.log, 0)

    # -- HAProxy's input

    def write_files(self, folder: Path, wanted: Mapping[str, str], known_contents: Mapping[str, str]) -> None:
        """Write the wanted files, ``{name: content}``, to ``folder``, except those with the same content in
        ``known_contents`` or on disk. Other files stay, because they may be in use. Raises :class:`OSError`.
        """
        for name, content in wanted.items():
            if known_contents.get(name) != content:
                update_file(folder / name, content.encode())

    def remove_unused_files(self, wanted: Iterable[str]) -> None:
        """Remove all files in the directory of HAProxy's files whose names are not in ``wanted``. Raises
        :class:`OSError`.
        """
        with contextlib.suppress(FileNotFoundError):  # the directory was removed
            for name in {path.name for path in self.files_dir.iterdir()} - set(wanted):
                (self.files_dir / name).unlink(missing_ok=True)

    def differing_files(self, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """Return the names of those ``wanted`` files, ``{name: content}``, that are missing or have another
        content on disk.
        """
        return tuple(
            name for name, content in wanted.items() if not has_content(self.files_dir / name, content.encode())
        )

    def include_local_config(self, *, include: bool) -> None:
        """Include the operator's file ``local.cfg`` in HAProxy's configuration by a link, or with ``include``
        False remove that link. Raises :class:`OSError`.
        """
        link = self.config_dir / self.local.name
        if include and not link.is_symlink():
            link.symlink_to(Path("..") / self.local.name)
        elif not include and os.path.lexists(link):  # on a read-only disk, removing what is not there would fail, too
            link.unlink(missing_ok=True)

    def make_check_dir(self) -> Path:
        """Create the directory for a check of a configuration, with empty directories ``conf`` and ``files``,
        and return its path; an earlier one is removed. Raises :class:`OSError`.
        """
        # A daemon that was killed during a check has left its directory.
        shutil.rmtree(self.check_dir, ignore_errors=True)
        for folder in (self.check_dir, self.check_dir / "conf", self.check_dir / "files"):
            folder.mkdir(mode=0o700)
        return self.check_dir

    def remove_check_dir(self) -> None:
        """Remove the directory of :meth:`make_check_dir`; errors are ignored."""
        shutil.rmtree(self.check_dir, ignore_errors=True)

    # -- the process

    def read_running(self) -> RunningFile:
        """Read the record of what the HAProxy process last loaded; an empty record if the file is missing or
        cannot be read.
        """
        with contextlib.suppress(StorageBroken):
            return read_json_file(self._running, RunningFile) or RunningFile()
        return RunningFile()

    def write_running(self, running: RunningFile) -> None:
        """Write the record of what HAProxy runs, for the next daemon, without fsync. Raises :class:`OSError`."""
        write_file(self._running, msgspec.json.encode(running))


def partition_names(directory: Path) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def texts_digest(*texts: str) -> str:
    """Return the SHA-256 digest, in hexadecimal, of a sequence of texts: those that a HAProxy process has
    read.
    """
    total = hashlib.sha256()
    for text in texts:
        # The length keeps the texts ("ab", "c") and ("a", "bc") apart.
        total.update(f"{len(text)} ".encode())
        total.update(text.encode())
    return total.hexdigest()
