"""The folder of Unix sockets, and in it the one that workers of other users are shut into.

A worker that is shut in (chroot) sees three things there: where it says what becomes of its servers, where it asks for
figures for Prometheus, and where it hands its stick tables to the next worker. It knows them by their whole paths, so a
link in that folder leads from the folder's own path back to it. Only who is shut in gets there: the folder around it is
the daemon's alone.
"""

from pathlib import Path

from evenkeel.haproxyd.settings import DaemonSettings


def prepare(settings: DaemonSettings) -> None:
    """Make the folders, whatever the umask. Blocks. Raises :class:`OSError`."""
    jail = settings.jail_dir
    settings.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    _folder(jail.parent, 0o700)
    _folder(jail, 0o711)
    inside = jail
    for part in jail.parent.parts[1:]:
        inside /= part
        _folder(inside, 0o711)
    link = inside / jail.name
    if not link.is_symlink():
        link.symlink_to("/")


def _folder(folder: Path, mode: int) -> None:
    folder.mkdir(mode=mode, exist_ok=True)
    folder.chmod(mode)
