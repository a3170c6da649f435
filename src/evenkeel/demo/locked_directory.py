"""The demo's directory: one demo at a time, emptied at every start."""

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

LOCK_FILE = "lock"


class DirectoryInUse(Exception):
    """The demo cannot use the directory: another demo runs there, or it has content that no demo made."""


@contextlib.contextmanager
def locked_directory(directory: Path) -> Iterator[Path]:
    """Empty the demo's directory, which is created if missing, and lock it until the context ends; the files
    of this run remain. Raises :class:`DirectoryInUse` if another demo runs there, or if the directory has
    content but no lock file, so that no demo made it.
    """
    if directory.exists() and not (directory / LOCK_FILE).exists() and any(directory.iterdir()):
        raise DirectoryInUse(f"{directory} exists and was not made by the demo; name another with --directory")
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / LOCK_FILE).open("a") as mark:
        try:
            # The kernel releases the lock when the process ends, however it ends.
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DirectoryInUse(
                f"another demo is running in {directory}; stop it, or name another --directory"
            ) from error
        for item in directory.iterdir():
            if item.is_dir():
                shutil.rmtree(item)
            # If the lock file were replaced, another demo could lock the new one.
            elif item.name != LOCK_FILE:
                item.unlink()
        yield directory
