"""The directory of ESD files: ``*.json``, as F5's agent reads it. Blocking; call it in a thread."""

import stat
from collections.abc import Iterable
from pathlib import Path

from evenkeel.config.esd.parse import FILE_BYTES_MAX
from evenkeel.core.kit.values import Value

FILES_MAX = 64
Fingerprint = tuple[tuple[str, int, int, int], ...]
"""Metadata that change with the files: name, time of modification (nanoseconds), size (bytes) and inode of each; for an
unreadable directory the reason and zeros.
"""


class Snapshot(Value):
    """Content of the ESD files by name, at most one byte longer than ``FILE_BYTES_MAX``; in place of a
    content the reason (text) why the file could not be read.

    ``problem``: the reason why the directory could not be read; empty: it was read.
    """

    fingerprint: Fingerprint = ()
    contents: dict[str, bytes | str] = {}
    problem: str = ""


def read_directory(path: Path, known: Fingerprint | None) -> Snapshot | None:
    """Read all ESD files of a directory; None if nothing changed since the fingerprint ``known`` (None: no
    earlier one). An unreadable directory, or one with too many files, gives a snapshot with ``problem``.

    A file that changes while it is read is read again with the next call, because its metadata are taken
    before its content.
    """
    try:
        files = sorted(each for each in path.iterdir() if each.suffix == ".json" and not each.name.startswith("."))
        fingerprint = _fingerprint_of_files(files[: FILES_MAX + 1])
    except OSError as error:
        return _unreadable_snapshot(path, error.strerror or "unreadable", known)
    if len(files) > FILES_MAX:
        return _unreadable_snapshot(path, f"{len(files)} files; at most {FILES_MAX} are allowed", known)
    if fingerprint == known:
        return None
    return Snapshot(fingerprint=fingerprint, contents={file.name: _read_content(file) for file in files})


def _unreadable_snapshot(path: Path, reason: str, known: Fingerprint | None) -> Snapshot | None:
    fingerprint: Fingerprint = ((reason, 0, 0, 0),)
    return None if fingerprint == known else Snapshot(fingerprint=fingerprint, problem=f"{path}: {reason}")


def _fingerprint_of_files(files: Iterable[Path]) -> Fingerprint:
    return tuple(map(_fingerprint_of_file, files))


def _fingerprint_of_file(file: Path) -> tuple[str, int, int, int]:
    try:
        state = file.stat()
    except OSError:  # a broken link, or removed meanwhile
        return file.name, 0, 0, 0
    return file.name, state.st_mtime_ns, state.st_size, state.st_ino


def _read_content(file: Path) -> bytes | str:
    try:
        # Opening a named pipe would block until another process writes to it.
        if not stat.S_ISREG(file.stat().st_mode):
            return "a regular file is allowed"
        with file.open("rb") as opened:
            return opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        return error.strerror or "unreadable"
