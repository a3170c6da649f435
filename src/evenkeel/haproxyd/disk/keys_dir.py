"""Directory for private keys in use: in a memory file system, if the host has one.

The content is lost when the host reboots; agents then send it again. The directory does not protect keys from root, nor
from being swapped out.
"""

import hashlib
import os
import stat
from pathlib import Path

from evenkeel.haproxyd.settings import DaemonSettings

SHARED_MEMORY_DIR = Path("/dev/shm")  # noqa: S108 - the directory in it is the daemon's own, see prepare
_MEMORY_FILE_SYSTEMS = frozenset(("ramfs", "tmpfs"))
_MOUNTS_FILE = Path("/proc/self/mountinfo")


def find_keys_dir(settings: DaemonSettings) -> Path:
    """Return the path of the daemon's own directory for keys, without creating it. Blocks shortly.

    The directory is below ``keys_dir`` if that is set; else in memory, below ``run_dir`` or ``/dev/shm``;
    else in the state directory.
    """
    return (settings.keys_dir or _base_folder(settings)) / _keys_folder_name(settings.state_dir)


def _base_folder(settings: DaemonSettings) -> Path:
    in_memory = (base for base in (settings.run_dir, SHARED_MEMORY_DIR) if is_in_memory(base))
    return next(in_memory, settings.state_dir)


def _keys_folder_name(state_dir: Path) -> str:
    """Return the name of the keys' directory, derived from the state directory's path, so that two daemons on
    one host have different ones.
    """
    return f"evenkeel-keys-{hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:16]}"


def is_in_memory(path: Path) -> bool:
    """Whether the path, or its nearest existing parent, is in a memory file system (tmpfs, ramfs); False if
    that cannot be determined. Blocks shortly.
    """
    # A directory that does not exist yet will be on the file system of its parent.
    while not path.exists():
        path = path.parent
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = _MOUNTS_FILE.read_text(errors="replace").splitlines()
    except OSError:
        # Where it cannot be determined, keys count as stored on disk, which is reported to operators.
        return False
    for line in lines:  # proc(5): the third field is the device, the first after the hyphen the file system type
        mount, _, source = line.partition(" - ")
        if mount.split()[2:3] == [number]:
            return source.split(maxsplit=1)[0] in _MEMORY_FILE_SYSTEMS
    return False


def create_keys_dir(folder: Path) -> None:
    """Create the directory for keys with mode 0700, or give an existing one that mode. Blocks.

    Raises :class:`ValueError` if the path is a link to a directory, or the directory belongs to another user;
    :class:`OSError` if it cannot be created, also because the path is a file.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    # Every user can write to /dev/shm, so another one may have put a directory or a link there before.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ValueError(f"keys_dir: {folder} is not a folder of the daemon's user; remove it, or set another keys_dir")
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
