"""One server of a kind for all pytest workers of a run.

A server belongs to a keeper, a process of its own. Each worker holds a shared lock on a file for as long as it needs
the server; the keeper waits for the exclusive lock, which it gets when the last worker let go, was killed or crashed,
and stops the server. A keeper may use servers of other keepers in the same way. A keeper that is killed takes its
servers with it (see :mod:`tests.services.process`).

``python -m tests.services.sharing DIRECTORY MODULE:FUNCTION`` is a keeper.
"""

import contextlib
import fcntl
import importlib
import json
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import canary
from tests.services.installation import locked
from tests.services.process import ServiceFailed

_ROOT = Path(__file__).parents[2]
_USERS, _KEEPER = "users", "keeper"
"""Files that its users, and its keeper, hold locks on."""
STOP_SECONDS = 120.0

Starter = Callable[[ExitStack, Path], dict[str, Any]]
"""Starts a server, to be stopped by the stack, and returns what its users need to know, as JSON has it:
``homes``, the directories into which it writes, and what else is needed to reach it. The path is that of all servers of
the run."""


def directory_of_run(tmp_path_factory: pytest.TempPathFactory, config: pytest.Config) -> Path:
    """The directory of the servers that the workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    directory = (base.parent if hasattr(config, "workerinput") else base) / "servers"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


@contextmanager
def shared(servers: Path, starter: Starter, *, start_seconds: float) -> Iterator[Any]:
    """What a running server's starter returned; ``servers`` is :func:`directory_of_run`, ``starter`` a function of a
    module. Raises :class:`ServiceFailed` with the end of the keeper's log.

    Before the server is let go of, its directory is searched for the private key that this process planted.
    """
    directory = servers / starter.__name__
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / _USERS).open("a") as users:
        with locked(directory / "start"):
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a keeper that is just ending
            if not _is_kept(directory):
                (directory / "place").unlink(missing_ok=True)  # of a keeper that was killed
                _start_keeper(directory, starter, start_seconds)
        place = json.loads((directory / "place").read_text())
        yield place
        for home in place["homes"]:
            canary.search(Path(home))


def wait_until_stopped(servers: Path) -> list[str]:
    """At the end of a run: wait for the keepers, whose users have gone. Names of the servers that run on all the
    same."""
    deadline = time.monotonic() + STOP_SECONDS
    running = {lock.parent for lock in servers.glob(f"*/{_KEEPER}")}
    while running and time.monotonic() < deadline:
        # another pytest may have removed the folder of this run, as it does with old ones
        running = {directory for directory in running if directory.exists() and _is_kept(directory)}
        time.sleep(0.02)
    return sorted(directory.name for directory in running)


def _is_kept(directory: Path) -> bool:
    """Is there a keeper of this server? It holds its lock as long as it lives."""
    with contextlib.suppress(FileNotFoundError), (directory / _KEEPER).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _start_keeper(directory: Path, starter: Starter, start_seconds: float) -> None:
    """Not a child of ours: it may outlive this worker. In a session of its own: Ctrl-C is for pytest, which lets go."""
    failed, log = directory / "failed", directory / "keeper.log"
    failed.unlink(missing_ok=True)
    detached = ["/bin/sh", "-c", '"$@" >>"$0" 2>&1 </dev/null &', str(log)]
    name = f"{starter.__module__}:{starter.__name__}"
    keeper = [sys.executable, "-W", "ignore", "-m", "tests.services.sharing", str(directory), name]
    subprocess.run([*detached, *keeper], cwd=_ROOT, check=True, start_new_session=True)
    deadline = time.monotonic() + start_seconds
    while not (directory / "place").exists():
        if failed.exists() or time.monotonic() > deadline:
            raise ServiceFailed(f"{directory.name} did not come up:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.02)


def keep(directory: Path, name: str) -> None:
    """Serve until nobody holds the lock. ``name``: the starter's module and name."""
    try:
        with (directory / _KEEPER).open("a") as mine, ExitStack() as servers:
            fcntl.flock(mine, fcntl.LOCK_EX)
            ready = directory / "place.new"
            ready.write_text(json.dumps(_starter_of(name)(servers, directory.parent)))
            ready.rename(directory / "place")
            with (directory / _USERS).open("a") as users:
                fcntl.flock(users, fcntl.LOCK_EX)
                (directory / "place").unlink(missing_ok=True)
                servers.close()
    except BaseException:
        traceback.print_exc()  # before the worker that waits reads the log
        (directory / "failed").touch()
        sys.exit(1)


def _starter_of(name: str) -> Starter:
    module, _, function = name.partition(":")
    found: Starter = getattr(importlib.import_module(module), function)
    return found


if __name__ == "__main__":
    keep(Path(sys.argv[1]), sys.argv[2])
