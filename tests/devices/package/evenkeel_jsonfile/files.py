"""The device: files that one agent at a time changes, and only the owner that the file's guard names."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from evenkeel.core.kit.errors import DeviceUnavailable, OwnershipGuardLost, StaleOwner

RETRY_SECONDS = 0.02


class Partition(msgspec.Struct):
    """A file: the guard, what agents put there, and what somebody else did."""

    epoch: int | None = None
    session_id: str = ""
    seal: str = ""
    objects: dict[str, Any] = {}
    foreign: dict[str, Any] = {}


class Files:
    """The partitions of one prefix. Methods block: call them in a thread."""

    def __init__(self, directory: Path, prefix: str, lock_timeout_seconds: float) -> None:
        self._directory = directory
        self._prefix = prefix
        self._lock_timeout_seconds = lock_timeout_seconds

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else changes anything meanwhile. Raises :class:`DeviceUnavailable`."""
        ends_at = time.monotonic() + self._lock_timeout_seconds
        try:
            with (self._directory / ".lock").open("w") as file:
                while True:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        if time.monotonic() >= ends_at:
                            raise
                        time.sleep(RETRY_SECONDS)
                yield
        except OSError as error:
            raise DeviceUnavailable(str(self._directory), error.strerror or "locked") from error

    def read(self, project_id: str) -> Partition:
        """What the partition holds; an empty one if there is no file."""
        file = self._file(project_id)
        return msgspec.json.decode(file.read_bytes(), type=Partition) if file.exists() else Partition()

    def all(self) -> dict[str, Partition]:
        """Every partition of the prefix, by project."""
        names = [file.stem.removeprefix(f"{self._prefix}_") for file in self._directory.glob(f"{self._prefix}_*.json")]
        return {name: self.read(name) for name in sorted(names)}

    def write(self, project_id: str, partition: Partition) -> None:
        """All of it or nothing."""
        file = self._file(project_id)
        partial = file.with_suffix(".new")
        partial.write_bytes(msgspec.json.encode(partition))
        partial.replace(file)

    def _file(self, project_id: str) -> Path:
        return self._directory / f"{self._prefix}_{project_id}.json"


def refuse_stale(project_id: str, partition: Partition, epoch: int, session_id: str) -> None:
    """Raises :class:`StaleOwner` if the guard is newer, or as new and another session's."""
    if partition.epoch is None or partition.epoch < epoch:
        return
    if partition.epoch > epoch or partition.session_id != session_id:
        raise StaleOwner(project_id, partition.epoch)


def refuse_unguarded(device: str, project_id: str, partition: Partition, epoch: int) -> None:
    """Raises :class:`OwnershipGuardLost` if the guard is not the sender's."""
    if partition.epoch != epoch:
        raise OwnershipGuardLost(device, project_id, partition.epoch)
