"""One Neutron for all pytest workers of a run: starting it costs half a minute of CPU.

The server belongs to a keeper, a process of its own. Each worker holds a shared lock on a file for as long as it needs
the server; the keeper waits for the exclusive lock, which it gets when the last worker let go, was killed or crashed,
and stops the server. Run as ``python -m tests.network.neutron_server.sharing DIRECTORY`` it is the keeper.
"""

import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.network.neutron_server.server import REQUIREMENTS, VERSION, Neutron
from tests.services.installation import environment, locked
from tests.services.process import ServiceFailed

_ROOT = Path(__file__).parents[3]
START_SECONDS = 1500.0  # its database, the tables, the server


@contextmanager
def shared_neutron(directory: Path) -> Iterator[str]:
    """The URL of a running Neutron; ``directory`` is the same for all workers of a run, and of no other run.

    Raises :class:`NotInstallable`, :class:`ServiceFailed`.
    """
    venv = environment("neutron", VERSION, REQUIREMENTS)
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / "users").open("a") as users:
        with locked(directory / "start"):
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a keeper that is just ending
            if not (directory / "url").exists():
                _start_keeper(directory, venv)
        yield (directory / "url").read_text()


def _start_keeper(directory: Path, venv: Path) -> None:
    """Not a child of ours: it may outlive this worker."""
    failed, log = directory / "failed", directory / "keeper.log"
    failed.unlink(missing_ok=True)
    detached = ["/bin/sh", "-c", '"$@" >>"$0" 2>&1 </dev/null &', str(log)]
    keeper = [sys.executable, "-m", "tests.network.neutron_server.sharing", str(directory), str(venv)]
    subprocess.run([*detached, *keeper], cwd=_ROOT, check=True, start_new_session=True)
    deadline = time.monotonic() + START_SECONDS
    while not (directory / "url").exists():
        if failed.exists() or time.monotonic() > deadline:
            raise ServiceFailed(f"Neutron did not come up:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.1)


def keep(directory: Path, venv: Path) -> None:
    """Serve until nobody holds the lock."""
    neutron = Neutron(venv)
    try:
        neutron.start()
        ready = directory / "url.new"
        ready.write_text(neutron.url)
        ready.rename(directory / "url")
        with (directory / "users").open("a") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            (directory / "url").unlink()
            neutron.close()
    except BaseException:
        (directory / "failed").touch()
        raise
    finally:
        neutron.close()


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
