"""Directory of Unix sockets, which contains the chroot directory of workers that run as other users.

A worker in the chroot has three sockets: it logs its servers' health to one, requests Prometheus metrics at another,
and passes its stick tables to the next worker at the third. HAProxy uses their absolute paths, so a symbolic link in
the chroot maps the directory's own path back to it. No other process reaches the chroot: only the daemon's user may
enter the directory around it.
"""

from pathlib import Path

from evenkeel.haproxyd.settings import DaemonSettings


def create_run_dirs(settings: DaemonSettings) -> None:
    """Create the directories for Unix sockets, and the workers' chroot with its link to itself, with fixed
    modes whatever the umask is. Existing ones are kept. Blocks. Raises :class:`OSError`.
    """
    jail = settings.jail_dir
    settings.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_folder(jail.parent, 0o700)
    # Workers that run as other users may pass through the chroot's directories, but not list them.
    _make_folder(jail, 0o711)
    inside = jail
    for part in jail.parent.parts[1:]:
        inside /= part
        _make_folder(inside, 0o711)
    link = inside / jail.name
    if not link.is_symlink():
        link.symlink_to("/")


def _make_folder(folder: Path, mode: int) -> None:
    folder.mkdir(mode=mode, exist_ok=True)
    folder.chmod(mode)
