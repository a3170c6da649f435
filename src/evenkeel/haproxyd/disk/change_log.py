"""The content of a partition on disk: a snapshot and a log of the changes since.

A change is one append with fsync, which costs the disk one flush; replacing a file costs three. When the log
is larger than 1 MiB and the snapshot, both are compacted into a new snapshot, after the response. Replaying a
log over a snapshot that already includes it gives the same result, so a crash between the two steps does no
harm. Contents of certificates are stored separately (:mod:`disk.certificate_contents`). Every function may
block.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from evenkeel.core.kit.values import Wire
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.certificate_contents import CertificateContents
from evenkeel.haproxyd.disk.files import StorageBroken, read_json_file, sync_folder, write_file

LOG_BYTES_MIN = 1024 * 1024
"""Minimum size of a log that is compacted, however small the snapshot is."""


class LoadBalancerSnapshot(Wire):
    """Content of ``held.json``: all load balancers of the partition at one moment."""

    load_balancers: tuple[wire.LoadBalancerConfig, ...] = ()


class ChangeLogEntry(Wire):
    """One line of ``held.log``: load balancers that one change added or replaced, and ids of those that it
    removed.
    """

    changed: tuple[wire.LoadBalancerConfig, ...] = ()
    removed: tuple[str, ...] = ()


class ChangeLog:
    """Reads and writes ``held.json`` and ``held.log`` in one partition's directory. ``contents``: store of
    the certificates' contents.
    """

    def __init__(self, directory: Path, contents: CertificateContents) -> None:
        self._snapshot = directory / "held.json"
        self._log = directory / "held.log"
        self._contents = contents

    def prepare(self, *, sync: bool) -> None:
        """Create an empty log if there is none. ``sync``: also fsync the directory, so that the new log
        survives a power failure. Raises :class:`OSError`.
        """
        if not self._log.exists():
            self._log.touch(mode=0o600)
            if sync:
                sync_folder(self._log.parent)

    @property
    def exists(self) -> bool:
        """Whether the log file exists. Blocks shortly."""
        return self._log.exists()

    @property
    def needs_compaction(self) -> bool:
        """Whether the log is to be compacted: it is larger than 1 MiB and than the snapshot."""
        size = _file_size(self._log)
        return size > LOG_BYTES_MIN and size > _file_size(self._snapshot)

    def read(self) -> dict[str, wire.LoadBalancerConfig]:
        """Read ``{id: load balancer}`` from snapshot and log; contents of certificates that are lost are
        empty. Cuts an incomplete last line off the log.

        Raises :class:`StorageBroken` if a file cannot be decoded, :class:`OSError`.
        """
        snapshot = read_json_file(self._snapshot, LoadBalancerSnapshot) or LoadBalancerSnapshot()
        written = {one.id: one for one in snapshot.load_balancers}
        for entry in self._read_entries():
            written.update({one.id: one for one in entry.changed})
            for name in entry.removed:
                written.pop(name, None)
        return {name: self._contents.fill_in_contents(one) for name, one in written.items()}

    def _read_entries(self) -> list[ChangeLogEntry]:
        # Without a log nothing has changed since the snapshot.
        with contextlib.suppress(FileNotFoundError):
            *lines, torn = self._log.read_bytes().split(b"\n")
            if torn:  # a torn write: power failed before the change was acknowledged
                os.truncate(self._log, sum(len(line) + 1 for line in lines))
            try:
                return [msgspec.json.decode(line, type=ChangeLogEntry) for line in lines]
            except msgspec.MsgspecError as error:
                raise StorageBroken(self._log, error) from error
        return []

    def append(self, changed: Iterable[wire.LoadBalancerConfig], removed: Iterable[str]) -> None:
        """Append a change (load balancers to set, ids to remove), which survives a power failure once this
        returns. Raises :class:`OSError`, and the log is then as before.
        """
        # contents are on disk before the entry that refers to them
        written = tuple(map(self._contents.store_contents, changed))
        line = msgspec.json.encode(ChangeLogEntry(changed=written, removed=tuple(removed))) + b"\n"
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            try:
                _write_all_bytes(descriptor, line)
                # fdatasync() includes the file's new size, which reading depends on, and leaves out its times
                # (fdatasync(2)).
                os.fdatasync(descriptor)
            except OSError:
                # a torn line would merge with the next entry, and make both unreadable
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)

    def compact(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """Replace snapshot and log by a new snapshot if the log is long. ``held``: the state that snapshot
        and log give together. Raises :class:`OSError`.
        """
        if self.needs_compaction:
            self.write(held)

    def write(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """Write ``held``, the complete state, as a new synced snapshot, and empty the log. Raises
        :class:`OSError`.
        """
        self._write_snapshot(held)
        os.truncate(self._log, 0)

    def rewrite(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """Write the files of certificates and a new snapshot of ``held``, the complete state, also where they exist:
        files may have been removed by others. Raises :class:`OSError`.
        """
        self._contents.forget_written_contents()
        self.write(held)

    def remove_unused_contents(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """Remove the contents that no load balancer in ``held``, the complete state, refers to. Raises
        :class:`OSError`.
        """
        self._contents.remove_contents_except(held)

    def _write_snapshot(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        written = LoadBalancerSnapshot(load_balancers=tuple(map(self._contents.store_contents, held)))
        write_file(self._snapshot, msgspec.json.encode(written), sync=True)


def _write_all_bytes(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        # os.write() may write less than it was given, as on a disk that is almost full.
        rest = rest[os.write(descriptor, rest) :]


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
