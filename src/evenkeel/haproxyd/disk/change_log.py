"""What a partition holds, on disk: a snapshot, and a log of the changes since.

A change is one synced append, which costs the disk one flush; to replace a file costs three. When the log has
outgrown the snapshot, both are folded into a new one, after the answer. Replaying a log over a snapshot that
includes it already ends at the same, so a crash between the two steps does no harm. Every function may block.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from evenkeel.core.values import Wire
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.files import StorageBroken, read_value, sync_folder, write_file

LOG_BYTES_MIN = 1024 * 1024
"""A shorter log is not folded, however small the snapshot is."""


class HeldSnapshot(Wire):
    """Everything at one moment."""

    load_balancers: tuple[wire.LoadBalancerConfig, ...] = ()


class ChangeLogEntry(Wire):
    """One change: a line of the log."""

    changed: tuple[wire.LoadBalancerConfig, ...] = ()
    removed: tuple[str, ...] = ()


class ChangeLog:
    """``held.json`` and ``held.log`` of one partition's folder."""

    def __init__(self, directory: Path) -> None:
        self._snapshot = directory / "held.json"
        self._log = directory / "held.log"

    def prepare(self) -> None:
        """Make the log, so that appending needs no sync of the folder."""
        if not self._log.exists():
            self._log.touch(mode=0o600)
            sync_folder(self._log.parent)

    @property
    def exists(self) -> bool:
        """Nobody has taken it away."""
        return self._log.exists()

    def read(self) -> dict[str, wire.LoadBalancerConfig]:
        """By id. Raises :class:`StorageBroken`, :class:`OSError`."""
        snapshot = read_value(self._snapshot, HeldSnapshot) or HeldSnapshot()
        held = {one.id: one for one in snapshot.load_balancers}
        for entry in self._entries():
            held.update({one.id: one for one in entry.changed})
            for name in entry.removed:
                held.pop(name, None)
        return held

    def _entries(self) -> list[ChangeLogEntry]:
        with contextlib.suppress(FileNotFoundError):
            *lines, torn = self._log.read_bytes().split(b"\n")
            if torn:  # power went while it was written: nobody was told that it was done
                os.truncate(self._log, sum(len(line) + 1 for line in lines))
            try:
                return [msgspec.json.decode(line, type=ChangeLogEntry) for line in lines]
            except msgspec.MsgspecError as error:
                raise StorageBroken(self._log, error) from error
        return []

    def append(self, changed: Iterable[wire.LoadBalancerConfig], removed: Iterable[str]) -> None:
        """On disk when this returns; if it raises :class:`OSError`, nothing was changed."""
        line = msgspec.json.encode(ChangeLogEntry(changed=tuple(changed), removed=tuple(removed))) + b"\n"
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, line)
                os.fdatasync(descriptor)
            except OSError:
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)

    def compact(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """Begin the log anew if it is long. ``held``: what snapshot and log come to."""
        if _size(self._log) <= max(LOG_BYTES_MIN, _size(self._snapshot)):
            return
        self.write(held)

    def write(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """All of it, whatever is there."""
        write_file(self._snapshot, msgspec.json.encode(HeldSnapshot(load_balancers=tuple(held))), sync=True)
        os.truncate(self._log, 0)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
