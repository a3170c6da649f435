"""Atomic and durable file operations. Every function may block."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from evenkeel.core.kit.errors import EvenKeelError

T = TypeVar("T")


class StorageBroken(EvenKeelError):
    """A file of the daemon cannot be read or parsed; the text names the file and its partition."""

    def __init__(self, path: Path, error: Exception) -> None:
        super().__init__(f"{path.name} of partition {path.parent.name} cannot be read: {type(error).__name__}")


def read_text(path: Path) -> str | None:
    """Read a UTF-8 text file with its line ends unchanged; None if it is missing, unreadable or not UTF-8."""
    try:
        return path.read_bytes().decode()  # line ends as they are: certificates may have CR LF
    except (OSError, UnicodeDecodeError):
        return None


def write_file(path: Path, content: bytes, *, sync: bool = False, temporary_dir: Path | None = None) -> None:
    """Replace a file atomically, mode 0600: readers see the old or the new content, complete. Raises
    :class:`OSError`, and then the old file stays, unless only the last fsync failed.

    ``sync``: the new content survives a power failure once this returns. ``temporary_dir``: directory of the
    temporary file, on the same file system; None: that of ``path``.
    """
    # The name is fixed, so that the next write replaces a temporary file that a crash left.
    temporary = (temporary_dir or path.parent) / f".{path.name}.new"
    # O_NOFOLLOW: a symbolic link in the place of the temporary file must not redirect the write.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            # Before the rename: after a power failure the name must not lead to a file without content.
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if sync:
        # the rename itself is durable only after this
        sync_folder(path.parent)


def update_file(path: Path, content: bytes, *, temporary_dir: Path | None = None) -> None:
    """Replace a file atomically unless it has this content already, which works even while the disk is full.
    ``temporary_dir``: as in :func:`write_file`. Raises :class:`OSError`.
    """
    if not has_content(path, content):
        write_file(path, content, temporary_dir=temporary_dir)


def has_content(path: Path, content: bytes) -> bool:
    """Whether there is a readable file with exactly this content."""
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def sync_folder(folder: Path) -> None:
    """Call fsync for a directory: earlier creations, renames and removals of files in it survive a power
    failure once this returns. Raises :class:`OSError`.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json_file(path: Path, kind: type[T]) -> T | None:
    """Decode a JSON file as ``kind``; None if the file does not exist. Raises :class:`StorageBroken` if it cannot be
    read or decoded.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise StorageBroken(path, error) from error
