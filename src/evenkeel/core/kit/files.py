"""Permissions of files with tenants' data: only the owner may access them."""

import contextlib
import os
from pathlib import Path

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")


def make_sqlite_file_private(path: str) -> tuple[str, ...]:
    """Create the SQLite file ``path`` and its directory, if missing, accessible to their owner only. From an
    existing file, and SQLite's journal files beside it, permissions of others are removed. Returns the
    names of files that others could access before. Raises :class:`OSError`.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True, mode=DIRECTORY_MODE)
    with contextlib.suppress(FileExistsError):
        # SQLite creates its journal files with the mode of this file
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))
    return tuple(name for suffix in SQLITE_SUFFIXES if _tighten_mode(name := f"{path}{suffix}"))


def _tighten_mode(name: str) -> bool:
    try:
        mode = Path(name).stat().st_mode & 0o777
        if not mode & ~FILE_MODE:
            return False
        # Permissions are only removed: a stricter mode that the owner chose stays.
        Path(name).chmod(mode & FILE_MODE)
    except FileNotFoundError:
        return False
    return True
